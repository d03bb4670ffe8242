"""Kernels of SliceScatter: the data is copied, then the updates into a view of the output."""
from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from clinfer.base.tensor_view import TensorView
from clinfer.kernels.contract import BufferRef, Formats, KernelTable, Stage, planar_formats
from clinfer.ops.shared.copying import CopyReference, CopyRows, CopyStrided
from clinfer.ops.shared.view_copy import CopyProblem, ViewCopy
from clinfer.ops.shared.views import index_view, open_view
from clinfer.ops.slice_scatter.op import SliceScatter


@dataclass(frozen=True)
class SliceScatterProblem(CopyProblem):
    """Data, and updates that replace a slice of it."""

    primitive: SliceScatter

    @property
    def formats(self) -> Formats:
        return planar_formats(self)

    @cached_property
    def copies(self) -> tuple[ViewCopy, ...]:
        output = TensorView.of(self.outputs[0])
        index = self.primitive.index_of(self.values, output.rank)
        part = open_view(output.element_type, output.rank) if index is None else index_view(output, index)
        return (self.copy_to_output(TensorView.of(self.inputs[0])),
                ViewCopy(BufferRef("input", 1), BufferRef("output", 0), TensorView.of(self.inputs[1]), part))


class Rows(CopyRows):
    """Runs that are contiguous on both sides."""

    def stage(self, problem: CopyProblem, copy: ViewCopy) -> Stage:
        return _always_made(super().stage(problem, copy))


class Strided(CopyStrided):
    """Runs whose elements lie apart."""

    def stage(self, problem: CopyProblem, copy: ViewCopy) -> Stage:
        return _always_made(super().stage(problem, copy))


class Reference(CopyReference):
    """Element by element."""

    def stage(self, problem: CopyProblem, copy: ViewCopy) -> Stage:
        return _always_made(super().stage(problem, copy))


def _always_made(stage: Stage) -> Stage:
    """A copy that is not left out wherever its tensors lie: one of the two writes over what the other has written."""
    return replace(stage, moves=())


KERNELS = KernelTable((Rows("slice_scatter"), Strided("slice_scatter"), Reference("slice_scatter")),
                      SliceScatterProblem)
