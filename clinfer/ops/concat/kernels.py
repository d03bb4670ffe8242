"""Kernels of Concat: each input is copied into its part of the output."""
from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from clinfer.base.format import Format
from clinfer.base.tensor_view import TensorView
from clinfer.kernels.contract import BufferRef, Formats, KernelTable
from clinfer.ops.concat.op import Concat
from clinfer.ops.shared.block_copying import CopyBlocks
from clinfer.ops.shared.copying import CopyReference, CopyRows
from clinfer.ops.shared.view_copy import CopyProblem, ViewCopy
from clinfer.ops.shared.views import Index, along_axis_in_turn, index_view, open_view


@dataclass(frozen=True)
class ConcatProblem(CopyProblem):
    """Tensors one behind the other."""

    primitive: Concat

    @property
    def formats(self) -> Formats:
        """The first input's format for all, unless blocks lie along an axis whose lengths are unknown."""
        first = self.inputs[0]
        present = first.format.block_of(self._axis) == 1 or self._places[-1] is not None
        kept = first.format if present else Format.planar(first.rank)
        return Formats((kept,) * len(self.inputs), (kept,))

    @cached_property
    def copies(self) -> tuple[ViewCopy, ...]:
        last = len(self.inputs) - 1
        return tuple(ViewCopy(BufferRef("input", n), BufferRef("output", 0), TensorView.of(data), self._target(place),
                              owns_tails=self._axis != 1 or n == last)
                     for n, (data, place) in enumerate(zip(self.inputs, self._places, strict=True)))

    def _target(self, place: Index | None) -> TensorView:
        result = self.outputs[0]
        if place is None and not any(result.format.block_of(a) > 1 for a in range(result.rank)):
            return open_view(result.element_type, result.rank)
        return index_view(TensorView.of(result), place or (slice(None),) * result.rank)

    @property
    def _axis(self) -> int:
        return self.primitive.axis % self.outputs[0].rank

    @cached_property
    def _places(self) -> tuple[Index | None, ...]:
        """The place of each input in the output."""
        return along_axis_in_turn(self.outputs[0].rank, self._axis, [x.shape[self._axis] for x in self.inputs])


KERNELS = KernelTable((CopyRows("concat"), CopyBlocks("concat"), CopyReference("concat")), ConcatProblem)
