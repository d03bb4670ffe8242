"""The kernels of rows of bytes."""
from __future__ import annotations

from dataclasses import dataclass
from math import prod

from clinfer.kernels.contract import Constant, Operand, Work, input_operand, output_operand
from clinfer.ops.byte_rows.op import DequantiseRows, QuantiseRows
from clinfer.ops.shared.copying import local_items
from clinfer.ops.shared.only_kernel import OnlyKernelProblem, SpanProblem, only_kernel
from clinfer.ops.shared.parts import PartsProblem, seen_input, seen_result
from clinfer.ops.shared.views import static


@dataclass(frozen=True)
class QuantiseProblem(OnlyKernelProblem, PartsProblem):
    """A work-item makes one row."""

    primitive: QuantiseRows

    @property
    def operands(self) -> tuple[Operand, ...]:
        return input_operand(self, 0, seen_input(self, 0)), output_operand(self, 0, seen_result(self))

    @property
    def constants(self) -> dict[str, Constant]:
        return {"LOCAL": self._local}

    @property
    def work(self) -> Work:
        return local_items(prod(static(seen_result(self).sizes[:-1])), self._local)

    @property
    def _local(self) -> int:
        return 1 if self.runs_on_cpu else 64


@dataclass(frozen=True)
class DequantiseProblem(SpanProblem):
    """A work-item makes a run of elements of a row."""

    primitive: DequantiseRows


QUANTISING = only_kernel("quantise_rows_ref", QuantiseProblem)
DEQUANTISING = only_kernel("dequantise_rows_ref", DequantiseProblem)
