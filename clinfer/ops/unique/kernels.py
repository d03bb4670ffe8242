"""Kernels of FindUnique and Unique."""
from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from clinfer.base.element_type import ElementType
from clinfer.base.tensor_view import TensorView
from clinfer.kernels.contract import (
    Formats,
    Kernel,
    KernelTable,
    Lowered,
    Problem,
    Stage,
    Work,
    input_operand,
    output_operand,
    scratch_operand,
)
from clinfer.ops.shared.copying import local_items
from clinfer.ops.shared.data_formats import data_as_it_comes
from clinfer.ops.shared.ordering import key_constants
from clinfer.ops.shared.reduction import row_lanes
from clinfer.ops.shared.view_copy import raw_view
from clinfer.ops.shared.views import at_least_one_axis
from clinfer.ops.unique.op import FindUnique, Unique


@dataclass(frozen=True)
class UniqueProblem(Problem):
    """Items, which are elements or slices along an axis."""

    primitive: FindUnique | Unique

    @property
    def axis(self) -> int | None:
        """The axis of the slices; None: elements."""
        axis = self.primitive.axis
        return None if axis is None else axis % self.inputs[0].rank

    @property
    def data(self) -> TensorView:
        """Input 0, with an axis at least."""
        return at_least_one_axis(TensorView.of(self.inputs[0]))


@dataclass(frozen=True)
class FindProblem(UniqueProblem):
    """Items that are compared."""

    primitive: FindUnique


class Find(Kernel[FindProblem, None]):
    """A merge sort of the items' numbers by one work-group."""

    name = "find_unique_ref"
    efficiency = 0.01

    def formats(self, problem: FindProblem) -> Formats:
        return data_as_it_comes(problem)

    def lower(self, problem: FindProblem, config: None) -> Lowered:
        items, axis, lanes, data = problem.outputs[1].count, problem.axis, row_lanes(problem), problem.data
        parts: Any = math.prod(size for a, size in enumerate(problem.inputs[0].shape) if axis not in (None, a))
        if axis is not None:
            data = data.permute((axis, *(a for a in range(data.rank) if a != axis)))
        operands = (input_operand(problem, 0, data), *(output_operand(problem, i) for i in range(4)),
                    scratch_operand(0, TensorView.dense(ElementType.of("i32"), (2, items))))
        constants = {**key_constants(problem.inputs[0].element_type), "SORTED": problem.primitive.sorted,
                     "LANES": lanes}
        stage = Stage("find_unique_ref.cl", operands, Work((lanes,), (lanes,)), constants,
                      {"items": items, "parts": parts})
        return Lowered((stage,), (items * 8,))


class Write(Kernel[UniqueProblem, None]):
    """The items that differ, then what FindUnique says of them in the types of the outputs."""

    name = "unique_ref"
    efficiency = 0.05

    def formats(self, problem: UniqueProblem) -> Formats:
        return data_as_it_comes(problem)

    def lower(self, problem: UniqueProblem, config: None) -> Lowered:
        items = Stage("unique_ref.cl", (input_operand(problem, 0, raw_view(problem.data)), input_operand(problem, 2),
                                        output_operand(problem, 0, raw_view(TensorView.of(problem.outputs[0])))),
                      local_items(problem.outputs[0].count), {"AXIS": -1 if problem.axis is None else problem.axis})
        places = Stage("unique_places.cl", (*(input_operand(problem, i) for i in (2, 3, 4)),
                                            *(output_operand(problem, i) for i in (1, 2, 3))),
                       local_items(problem.outputs[2].count))
        return Lowered((items, places))


FIND_KERNELS = KernelTable((Find(),), FindProblem)
KERNELS = KernelTable((Write(),), UniqueProblem)
