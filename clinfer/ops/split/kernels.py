"""Kernels of splits: one copy of a part of the input per output."""
from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from clinfer.base.tensor_view import TensorView
from clinfer.kernels.contract import BufferRef, Formats, KernelTable, planar_formats
from clinfer.ops.shared.block_copying import CopyBlocks
from clinfer.ops.shared.copying import CopyReference, CopyRows
from clinfer.ops.shared.data_formats import data_formats
from clinfer.ops.shared.view_copy import CopyProblem, ViewCopy
from clinfer.ops.shared.views import Index, along_axis_in_turn, can_cut_blocks, index_view, open_view
from clinfer.ops.split.op import Split


@dataclass(frozen=True)
class SplitProblem(CopyProblem):
    """One tensor in parts."""

    primitive: Split

    @property
    def formats(self) -> Formats:
        """The data in its present format where that can be cut, in and out; everything else planar."""
        data = self.inputs[0]
        present = all(i is not None and can_cut_blocks(data, i) for i in self._parts) or (
            not data.format.blocks and self._parts[0] is not None)
        return data_formats(self, data.format, data.format) if present else planar_formats(self)

    @cached_property
    def copies(self) -> tuple[ViewCopy, ...]:
        data = self.inputs[0]
        whole, unknown = TensorView.of(data), open_view(data.element_type, data.rank)
        return tuple(ViewCopy(BufferRef("input", 0), BufferRef("output", n),
                              unknown if part is None else index_view(whole, part), TensorView.of(result))
                     for n, (part, result) in enumerate(zip(self._parts, self.outputs, strict=True)))

    @cached_property
    def _parts(self) -> tuple[Index | None, ...]:
        """What each output is of the input; None while the axis or a length is unknown."""
        rank = self.inputs[0].rank
        axis = self.primitive.axis_of(self.values, rank)
        if axis is None:
            return (None,) * len(self.outputs)
        return along_axis_in_turn(rank, axis, [output.shape[axis] for output in self.outputs])


KERNELS = KernelTable((CopyRows("split"), CopyBlocks("split"), CopyReference("split")), SplitProblem)
