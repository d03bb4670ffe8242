"""How scattering kernels see indices and updates: under the axes of the output, then those that are walked."""
from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from clinfer.base.element_type import ElementType
from clinfer.base.shape import Shape, Size
from clinfer.base.tensor_view import Pitch, TensorView
from clinfer.kernels.contract import Problem
from clinfer.ops.scatter.op import Aliases, Scattering
from clinfer.ops.shared.views import open_view

_SLOT = ElementType.of("i32")


@dataclass(frozen=True)
class ScatterProblem(Problem):
    """Data, indices and updates. All views and numbers but ranks are open while places are unknown."""

    primitive: Scattering

    @cached_property
    def places(self) -> Aliases | None:
        """Which updates go where; None while it is unknown."""
        return self.primitive.places(self._shapes, self.values)

    @property
    def index_count(self) -> int:
        """How many indices make up one place."""
        return self.primitive.index_count(self._shapes)

    @property
    def joint_rank(self) -> int:
        """The axes of the output and those walked, of which there is one at least."""
        return self.inputs[0].rank + max(self.primitive.walked_rank(self.inputs[1].shape), 1)

    @property
    def walked(self) -> Any:
        """How many updates may go to an element; while places are unknown, of how many indices."""
        shape = self.inputs[1].shape
        return math.prod(shape if self.places is None else [shape[a] for a in self.places.walked_indices])

    def indices(self, each_once: bool = False) -> TensorView:
        """The indices under the joint axes; `each_once`: with size 1 where an axis of the output does not move them."""
        layout, places = self.inputs[1], self.places
        if places is None:
            return open_view(layout.element_type, self.joint_rank)
        return _joint(TensorView.of(layout), places.index_axes, places.walked_indices, self._still(each_once))

    def updates(self, each_once: bool = False) -> TensorView:
        """The updates under the joint axes; `each_once`: with size 1 where an axis of the output does not move them."""
        layout, places = self.inputs[2], self.places
        if places is None:
            return open_view(layout.element_type, self.joint_rank)
        return _joint(TensorView.of(layout), places.update_axes, places.walked_updates, self._still(each_once))

    @cached_property
    def slots(self) -> TensorView:
        """A slot for each place, by the coordinates of the output: dense over the axes that distinguish places."""
        places, sizes = self.places, self.outputs[0].shape
        if places is None:
            return open_view(_SLOT, len(sizes))
        kept = [index is not None or axis in places.looked_up for axis, index in enumerate(places.index_axes)]
        dense = TensorView.dense(_SLOT, tuple(size if keep else 1 for size, keep in zip(sizes, kept, strict=True)))
        pitches = tuple(pitch if keep or size == 1 else 0
                        for pitch, keep, size in zip(dense.pitches, kept, sizes, strict=True))
        return TensorView(_SLOT, sizes, pitches, 0, (None,) * len(sizes))

    @property
    def slot_count(self) -> Any:
        """How many slots there are."""
        return math.prod(size for size, pitch in zip(self.slots.sizes, self.slots.pitches, strict=True) if pitch != 0)

    @property
    def _shapes(self) -> tuple[Shape, ...]:
        return tuple(layout.shape for layout in self.inputs)

    def _still(self, each_once: bool) -> Shape:
        return (1,) * self.inputs[0].rank if each_once else self.outputs[0].shape


def _joint(view: TensorView, axes: Sequence[int | None], walked: Sequence[int], still: Shape) -> TensorView:
    """The view with the axes of the output, then those walked.

    Where an axis of the output does not move it, the view has the size in `still` and pitch 0.
    """
    sizes: list[Size] = [view.sizes[a] if a is not None else size for a, size in zip(axes, still, strict=True)]
    pitches: list[Pitch] = [view.pitches[a] if a is not None else 1 if size == 1 else 0
                            for a, size in zip(axes, still, strict=True)]
    sizes += [view.sizes[a] for a in walked] or [1]
    pitches += [view.pitches[a] for a in walked] or [1]
    return TensorView(view.element_type, tuple(sizes), tuple(pitches), view.offset, (None,) * len(sizes))
