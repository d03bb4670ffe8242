"""The kernel of EmbeddingBag."""
from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod
from typing import Any

from clinfer.kernels.contract import (
    Kernel,
    KernelTable,
    Lowered,
    Operand,
    Problem,
    Stage,
    input_operand,
    output_operand,
)
from clinfer.kernels.cost import time_of
from clinfer.ops.embedding_bag.op import EmbeddingBag
from clinfer.ops.shared.copying import local_items
from clinfer.ops.shared.views import static


@dataclass(frozen=True)
class EmbeddingBagProblem(Problem):
    """A table, and bags of indices of its rows."""

    primitive: EmbeddingBag

    @property
    def operands(self) -> tuple[Operand, ...]:
        """The table, the indices and the output; OFFSETS, DEFAULT and FACTORS where they are there."""
        primitive = self.primitive
        bounds = None if primitive.bags == "packed" else 2
        named = (("OFFSETS", bounds), ("DEFAULT", primitive.default_input), ("FACTORS", primitive.factors_input))
        return (input_operand(self, 0), input_operand(self, 1),
                *(replace(input_operand(self, index), macro=macro) for macro, index in named if index is not None),
                output_operand(self))


class Reference(Kernel[EmbeddingBagProblem, None]):
    """One element of a bag's result per work-item."""

    name = "embedding_bag_ref"
    supports_large = True

    def cost(self, problem: EmbeddingBagProblem, config: None) -> float:
        read: Any = problem.inputs[1].count * prod(static(problem.inputs[0].shape)[1:])
        nbytes = problem.inputs[0].element_type.byte_size(read) + problem.outputs[0].byte_size
        return time_of(problem.capabilities.ceilings, nbytes=nbytes, bandwidth=self.efficiency)

    def lower(self, problem: EmbeddingBagProblem, config: None) -> Lowered:
        primitive = problem.primitive
        constants = {"BAGS": ("packed", "offsets", "segments").index(primitive.bags),
                     "IS_MEAN": primitive.reduction == "mean", "HAS_DEFAULT": primitive.default_input is not None,
                     "HAS_FACTORS": primitive.factors_input is not None}
        return Lowered((Stage("embedding_bag_ref.cl", problem.operands, local_items(problem.outputs[0].count),
                              constants),))


KERNELS = KernelTable((Reference(),), EmbeddingBagProblem)
