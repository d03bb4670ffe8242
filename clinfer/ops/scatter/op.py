"""The scattering primitives (OpenVINO ScatterUpdate-3, ScatterElementsUpdate-3, -12, ScatterNDUpdate-3, -15)."""
from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from clinfer.base.shape import Dim, Shape, StaticShape
from clinfer.ops.operation import by_attributes
from clinfer.ops.shared.constant_indices import Ranges, check_indices, constant_ranges
from clinfer.ops.shared.shape_rules import distinct_axes
from clinfer.symbolic.dimensions import differ
from clinfer.symbolic.shape_inference import Values
from clinfer.topology import Primitive, SourceNode


@dataclass(frozen=True)
class Aliases:
    """Which updates may change an element of the output.

    `update_axes` and `index_axes` give, per axis of the output, the axis of the updates and of the indices
    that moves with it, or None. `walked_updates` and `walked_indices` are the other axes of both, walked
    together. An update changes the element whose coordinates along `looked_up` its indices name, one each,
    side by side along axis `tuple_axis` of the indices (None: there is only one).
    """

    update_axes: tuple[int | None, ...]
    index_axes: tuple[int | None, ...]
    walked_updates: tuple[int, ...]
    walked_indices: tuple[int, ...]
    looked_up: tuple[int, ...]
    tuple_axis: int | None = None


@dataclass(frozen=True)
class Scattering(Primitive, ABC):
    """Input 0 with the updates of input 2 at the places that input 1 names.

    Negative indices count from the end; places outside are an error where the host knows the indices
    (`index_ranges`: those of constants), else their updates are passed over. Nothing is written to a tensor without
    elements, as in OpenVINO, wherever the places are. Of several updates
    of one element the last in row-major order counts, or they are combined in this order.
    """

    index_ranges: Ranges = ()
    own_fields: ClassVar[tuple[str, ...]] = ("index_ranges",)

    @property
    def combination(self) -> str:
        """How updates combine: "none", "sum", "prod", "min", "max" or "mean"."""
        return "none"

    @property
    def uses_initial(self) -> bool:
        """Whether what input 0 holds is combined with the updates."""
        return self.combination != "none"

    @property
    def can_evaluate(self) -> bool:
        return self.combination == "none"

    def index_count(self, shapes: tuple[Shape, ...]) -> int:
        """How many indices make up one place; `shapes`: of the inputs, which need not be static."""
        return 1

    def walked_rank(self, indices: Shape) -> int:
        """How many axes of the indices are walked."""
        return len(indices)

    @abstractmethod
    def places(self, shapes: tuple[Shape, ...], values: Values) -> Aliases | None:
        """Which updates go where for inputs of these shapes, of which only the ranks count; None while it is unknown.
        """

    def check_inputs(self, shapes: tuple[StaticShape, ...], values: Values,
                     outputs: tuple[StaticShape, ...]) -> None:
        if not self.index_ranges or 0 in shapes[0]:
            return
        places = self.places(shapes, values)
        if places is not None:
            check_indices(self.where, self.index_ranges, [shapes[0][axis] for axis in places.looked_up])

    def evaluate(self, values: tuple[np.ndarray, ...], shapes: tuple[Shape | None, ...]) -> tuple[np.ndarray, ...]:
        data, indices, updates = values[:3]
        result = np.array(data, order="C")
        if not result.size:
            return (result,)
        places = self.places((data.shape, indices.shape, updates.shape), dict(enumerate(values)))
        assert places is not None
        for at in np.ndindex(*(indices.shape[:-1] if places.tuple_axis is not None else indices.shape)):
            target, source = self._one(places, at, np.atleast_1d(indices[at]), data.shape)
            result[target] = updates[source]
        return (result,)

    def _one(self, places: Aliases, at: tuple[int, ...], found: np.ndarray,
             sizes: tuple[int, ...]) -> tuple[tuple[slice | int, ...], tuple[slice | int, ...]]:
        """The part of the output and that of the updates that belong to one place."""
        target: list[slice | int] = [slice(None)] * len(sizes)
        source: dict[int, slice | int] = {u: at[i] for u, i in zip(places.walked_updates, places.walked_indices,
                                                                   strict=True)}
        for axis, (update, index) in enumerate(zip(places.update_axes, places.index_axes, strict=True)):
            if update is not None:
                target[axis] = source[update] = slice(None) if index is None else at[index]
        for axis, value in zip(places.looked_up, found, strict=True):
            check_indices(self.where, ((value, value),), (sizes[axis],))
            target[axis] = int(value) % sizes[axis]
        return tuple(target), tuple(source[u] for u in sorted(source))


def _fit(updates: Shape, wanted: Shape) -> bool:
    return len(updates) == len(wanted) and not any(map(differ, updates, wanted))


@dataclass(frozen=True)
class ScatterUpdate(Scattering):
    """Slices along the axis in input 3 replaced by those of the updates."""

    op_type: ClassVar[str] = "ScatterUpdate"
    opset: ClassVar[str] = "opset3"

    @property
    def value_inputs(self) -> tuple[int, ...]:
        return (3,)

    def infer_shapes(self, shapes: tuple[Shape | None, ...], values: Values) -> tuple[Shape | None, ...] | None:
        data, indices, updates, _ = shapes
        axes = distinct_axes(values[3], len(data)) if data is not None and 3 in values else None
        if data is None or indices is None or updates is None or not axes:
            return None
        return (data,) if _fit(updates, (*data[:axes[0]], *indices, *data[axes[0] + 1:])) else None

    def places(self, shapes: tuple[Shape, ...], values: Values) -> Aliases | None:
        if 3 not in values:
            return None
        data, indices = shapes[:2]
        axis, count = int(values[3].reshape(-1)[0]) % len(data), len(indices)
        return Aliases(
            update_axes=(*range(axis), None, *range(axis + count, len(data) + count - 1)),
            index_axes=(None,) * len(data),
            walked_updates=tuple(range(axis, axis + count)), walked_indices=tuple(range(count)),
            looked_up=(axis,))


@dataclass(frozen=True)
class ScatterElementsUpdate(Scattering):
    """Elements at their own coordinates, but for that along the axis in input 3, which the indices hold."""

    reduction: str = "none"
    use_init_val: bool = True
    op_type: ClassVar[str] = "ScatterElementsUpdate"
    opset: ClassVar[str] = "opset12"

    @property
    def value_inputs(self) -> tuple[int, ...]:
        return (3,)

    @property
    def combination(self) -> str:
        return self.reduction.lower()

    @property
    def uses_initial(self) -> bool:
        return self.use_init_val and self.combination != "none"

    def walked_rank(self, indices: Shape) -> int:
        return 1

    def infer_shapes(self, shapes: tuple[Shape | None, ...], values: Values) -> tuple[Shape | None, ...] | None:
        data, indices, updates, _ = shapes
        axes = distinct_axes(values[3], len(data)) if data is not None and 3 in values else None
        if data is None or indices is None or updates is None or not axes or len(indices) != len(data):
            return None
        return (data,) if _fit(updates, indices) else None

    def places(self, shapes: tuple[Shape, ...], values: Values) -> Aliases | None:
        if 3 not in values:
            return None
        rank = len(shapes[0])
        axis = int(values[3].reshape(-1)[0]) % rank
        others = tuple(None if a == axis else a for a in range(rank))
        return Aliases(others, others, (axis,), (axis,), (axis,))


@dataclass(frozen=True)
class ScatterNDUpdate(Scattering):
    """Slices at the coordinates along the last axis of the indices."""

    reduction: str = "none"
    op_type: ClassVar[str] = "ScatterNDUpdate"
    opset: ClassVar[str] = "opset15"

    @property
    def combination(self) -> str:
        return self.reduction.lower()

    def index_count(self, shapes: tuple[Shape, ...]) -> int:
        """By the ranks, since the size may be open: the updates have the axes of the indices but the last, then those
        of the data that no index names."""
        data, indices, updates = shapes[:3]
        return len(indices) - 1 + len(data) - len(updates)

    def walked_rank(self, indices: Shape) -> int:
        return len(indices) - 1

    def infer_shapes(self, shapes: tuple[Shape | None, ...], values: Values) -> tuple[Shape | None, ...] | None:
        data, indices, updates = shapes
        if data is None or not indices or updates is None or isinstance(indices[-1], Dim):
            return None
        fits = 0 < indices[-1] <= len(data) and _fit(updates, (*indices[:-1], *data[indices[-1]:]))
        return (data,) if fits else None

    def places(self, shapes: tuple[Shape, ...], values: Values) -> Aliases | None:
        data, indices, updates = shapes[:3]
        count, last = self.index_count(shapes), len(indices) - 1
        return Aliases(
            update_axes=(*(None,) * count, *range(last, len(updates))),
            index_axes=(None,) * len(data),
            walked_updates=tuple(range(last)), walked_indices=tuple(range(last)),
            looked_up=tuple(range(count)), tuple_axis=last)


def convert_scattering(kind: type[Scattering], node: SourceNode) -> Scattering:
    """The primitive of a node, with the range of its indices where they are constants."""
    primitive = by_attributes(kind)(node)
    assert isinstance(primitive, Scattering)
    return replace(primitive, index_ranges=constant_ranges(node, kind is ScatterNDUpdate))
