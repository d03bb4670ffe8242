"""The kernel of RandomUniform."""
from __future__ import annotations

from dataclasses import dataclass
from math import ceil

from clinfer.base.tensor_view import TensorView
from clinfer.kernels.contract import Constant, Operand, Work, input_operand, output_operand
from clinfer.ops.random_uniform.op import RandomUniform
from clinfer.ops.shared.copying import local_items
from clinfer.ops.shared.only_kernel import OnlyKernelProblem, only_kernel
from clinfer.ops.shared.views import at_least_one_axis

_NUMBERS = 4
"""Those of a block of the generator."""
_FRACTION_BITS = {"f16": 10, "bf16": 7}
"""Of a narrow float; others have 23 that are random."""


@dataclass(frozen=True)
class RandomUniformProblem(OnlyKernelProblem):
    """Numbers that are drawn."""

    primitive: RandomUniform

    @property
    def operands(self) -> tuple[Operand, ...]:
        return (*(input_operand(self, index) for index in (1, 2, 3)),
                output_operand(self, 0, at_least_one_axis(TensorView.of(self.outputs[0]))))

    @property
    def constants(self) -> dict[str, Constant]:
        kind = self.outputs[0].element_type
        return {"NUMBERS": _NUMBERS, "IS_FLOAT": kind.is_float, "BITS": _FRACTION_BITS.get(kind.name, 23),
                "IS_LONG": kind.bits == 64 and not kind.is_float}

    @property
    def work(self) -> Work:
        return local_items(ceil(self.outputs[0].count / _NUMBERS))


KERNELS = only_kernel("random_uniform_ref", RandomUniformProblem, supports_large=False)
