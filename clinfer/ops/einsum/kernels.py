"""The kernel of Einsum."""
from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from clinfer.base.layout import Layout
from clinfer.base.shape import Size
from clinfer.base.tensor_view import Pitch, TensorView
from clinfer.kernels.contract import (
    Constant,
    Kernel,
    KernelTable,
    Lowered,
    Problem,
    Stage,
    input_operand,
    output_operand,
)
from clinfer.kernels.cost import time_of
from clinfer.ops.einsum.op import Einsum
from clinfer.ops.shared.copying import local_items
from clinfer.ops.shared.views import at_least_one_axis

_NOTHING = "-"
"""Stands where the output has no axis: a label of size 1 that no input has."""


@dataclass(frozen=True)
class EinsumProblem(Problem):
    """Inputs seen over all labels: those of the output (one at least), then those that are summed."""

    primitive: Einsum

    @property
    def kept(self) -> str:
        """The labels of the output."""
        return self.primitive.result or _NOTHING

    @property
    def labels(self) -> str:
        """All labels."""
        return self.kept + self.primitive.summed

    @cached_property
    def label_sizes(self) -> dict[str, Size]:
        """The size of every label."""
        return {_NOTHING: 1, **self.primitive.sizes(tuple(x.shape for x in self.inputs))}

    @property
    def summed(self) -> Any:
        """How many products go into one element."""
        return math.prod(self.label_sizes[label] for label in self.primitive.summed)

    def over_labels(self, layout: Layout, term: str) -> TensorView:
        """The view over all labels; a label that occurs twice walks along a diagonal."""
        view = TensorView.of(layout)
        sizes = tuple(self.label_sizes[label] for label in self.labels)
        pitches = tuple(_pitch(view, term, label, size) for label, size in zip(self.labels, sizes, strict=True))
        return TensorView(view.element_type, sizes, pitches, view.offset, (None,) * len(sizes))


def _pitch(view: TensorView, term: str, label: str, size: Size) -> Pitch:
    if size == 1:
        return 1
    total: Pitch = 0
    for axis, other in enumerate(term):
        if other != label or view.sizes[axis] == 1:
            continue
        pitch = view.pitches[axis] if isinstance(view.sizes[axis], int) else None
        total = None if total is None or pitch is None else total + pitch
    return total


class Reference(Kernel[EinsumProblem, None]):
    """One element per work-item."""

    name = "einsum_ref"
    supports_large = True
    efficiency = 0.02

    def cost(self, problem: EinsumProblem, config: None) -> float:
        products = problem.outputs[0].count * problem.summed
        return time_of(problem.capabilities.ceilings, flops=2 * products, efficiency=self.efficiency,
                       nbytes=problem.moved_bytes)

    def lower(self, problem: EinsumProblem, config: None) -> Lowered:
        output = problem.outputs[0]
        inputs = tuple(input_operand(problem, i, problem.over_labels(x, term))
                       for i, (x, term) in enumerate(zip(problem.inputs, problem.primitive.terms, strict=True)))
        steps = [f"(c)[{axis}] = m_ % INPUT0_SIZE_{axis}; m_ /= INPUT0_SIZE_{axis};"
                 for axis in reversed(range(len(problem.kept), len(problem.labels)))]
        constants: dict[str, Constant] = {"INPUTS": len(inputs), "LABELS": len(problem.labels),
                     "UNRAVEL_SUMMED(m, c)": f"do {{ index_t m_ = (m); {' '.join(steps)} }} while (0)"}
        operands = (*inputs, output_operand(problem, 0, at_least_one_axis(TensorView.of(output))))
        return Lowered((Stage("einsum_ref.cl", operands, local_items(output.count), constants,
                              {"summed": problem.summed}),))


KERNELS = KernelTable((Reference(),), EinsumProblem)
