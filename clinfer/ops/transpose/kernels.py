"""Kernels of Transpose: copies of a permuted view."""
from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from clinfer.base.format import Format
from clinfer.base.tensor_view import TensorView
from clinfer.kernels.contract import Formats, KernelTable, planar_formats
from clinfer.ops.shared import tensor_cores
from clinfer.ops.shared.copying import CopyReference, CopyRows, CopyStrided, CopyTiles, CopyTurned
from clinfer.ops.shared.data_formats import channels_last, data_formats
from clinfer.ops.shared.view_copy import CopyKernel, CopyProblem, ViewCopy
from clinfer.ops.transpose.op import Transpose, order_of
from clinfer.runtime.capabilities import Capabilities


@dataclass(frozen=True)
class TransposeProblem(CopyProblem):
    """Axes in another order."""

    primitive: Transpose

    @property
    def formats(self) -> Formats:
        """The input as it comes, if the order is known; the output planar."""
        data = self.inputs[0]
        return planar_formats(self) if self._order is None else data_formats(self, data.format)

    @property
    def kept_format(self) -> Format | None:
        """The format with channels last in which the output is the input's memory as it is."""
        data, order = self.inputs[0], self._order
        wanted = channels_last(data.rank)
        if order is None or data.format.blocks or not wanted.fits(data.rank):
            return None
        kept = tuple(order.index(axis) for axis in data.format.order_of(data.rank))
        return wanted if wanted.order_of(data.rank) == kept else None

    @cached_property
    def copies(self) -> tuple[ViewCopy, ...]:
        data, order = TensorView.of(self.inputs[0]), self._order
        return (self.copy_to_output(None if order is None else data.permute(order)),)

    @property
    def _order(self) -> tuple[int, ...] | None:
        return order_of(self.values, self.inputs[0].rank)


class RowsOfAxes(CopyRows):
    """Runs that are contiguous on both sides; where all is one run, the output lies within the input and nothing is
    copied."""

    def cost(self, problem: CopyProblem, config: None) -> float:
        copy, = problem.copies
        is_whole = copy.is_static and copy.joint is not None and len(copy.joint.axes) < 2
        return 0.0 if is_whole and not problem.primitive.fused_ops else super().cost(problem, config)


class _KeptMemory(CopyKernel):
    """To channels last where they are last already, for devices whose kernels want them so."""

    supports_large = False

    def targets(self, device: Capabilities) -> str | None:
        return tensor_cores.needs_tensor_cores(device)

    def formats(self, problem: CopyProblem) -> Formats:
        assert isinstance(problem, TransposeProblem)
        kept = problem.kept_format
        return problem.formats if kept is None else data_formats(problem, problem.inputs[0].format, kept)

    def supports(self, problem: CopyProblem, config: None) -> str | None:
        is_kept = problem.outputs[0].format == channels_last(problem.outputs[0].rank)
        return None if is_kept else "its output does not have the channels last where the input has them"


class KeptRows(_KeptMemory, RowsOfAxes):
    """Runs of memory that is kept."""

    variant = "kept_rows"


class KeptReference(_KeptMemory, CopyReference):
    """Memory that is kept, whatever sizes come."""

    variant = "kept_ref"


KERNELS = KernelTable(tuple(kernel("transpose", has_epilogue=True)
                            for kernel in (KeptRows, RowsOfAxes, CopyTiles, CopyTurned, CopyStrided, KeptReference,
                                          CopyReference)),
                      TransposeProblem)
