"""Kernels of TopK."""
from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import ceil, prod

from clinfer.base.errors import ClinferError
from clinfer.base.tensor_view import TensorView
from clinfer.kernels.contract import (
    Constant,
    Formats,
    Kernel,
    KernelTable,
    Lowered,
    Operand,
    Problem,
    Stage,
    Work,
    input_operand,
    output_operand,
    present_formats,
)
from clinfer.ops.shared.copying import local_items
from clinfer.ops.shared.ordering import key_constants
from clinfer.ops.shared.reduction import row_lanes, serial_time
from clinfer.ops.shared.views import axis_last, static
from clinfer.ops.topk.op import TopK
from clinfer.symbolic.symbols import computed

LEAVES = 256
_LEVELS = 8
"""Of the tree above the leaves."""
_FIRST_PASS, _TREE_STEP_ON_CPU, _TREE_STEP_ON_GPU = 3, 5, 4
"""How long the first pass over a row takes, and a step in the tree, against a step of the other passes."""
_ROWS_PER_UNIT = {True: 1024, False: 8}
"""Rows that a compute unit of a GPU works on at once: one per work-item, or per work-group."""


@dataclass(frozen=True)
class TopKProblem(Problem):
    """Rows along one axis, of which the first k in some order are wanted."""

    primitive: TopK

    @property
    def axis(self) -> int:
        """The axis, counted from the front."""
        return self.primitive.axis % self.inputs[0].rank

    @property
    def k(self) -> int:
        """How many are wanted; may be open, as the other sizes."""
        return static(self.outputs[0].shape)[self.axis]

    @property
    def length(self) -> int:
        """The elements of a row."""
        return static(self.inputs[0].shape)[self.axis]

    @cached_property
    def rows(self) -> int:
        """How many rows there are."""
        return prod(size for a, size in enumerate(static(self.inputs[0].shape)) if a != self.axis)

    def check(self) -> None:
        """An error where rows are shorter than k."""
        if self.is_static and self.k > self.length:
            raise ClinferError("TopK wants more elements than there are", where=self.primitive.where, values={
                "k": self.k, "axis": self.axis, "shape": self.inputs[0].shape}, hint="give a smaller k")

    @property
    def operands(self) -> tuple[Operand, ...]:
        """Data, values and places with the axis behind the others."""
        data, *results = (axis_last(TensorView.of(x), self.axis) for x in self.inputs[:1] + self.outputs)
        return input_operand(self, 0, data), *(output_operand(self, i, view) for i, view in enumerate(results))

    @property
    def constants(self) -> dict[str, Constant]:
        """The order of the elements."""
        largest = self.primitive.wants_largest
        return {**key_constants(self.inputs[0].element_type, descending=not largest),
                "BY_PLACE": self.primitive.sorts_by_place}

    @property
    def usual_length(self) -> int:
        """The elements of a row, and k at least: likely sizes need not fit together."""
        return computed(max, self.length, self.k)

    def time(self, steps: float, by_item: bool) -> float:
        """Nanoseconds for rows that take so many steps each, one after the other, by a work-item or by a group."""
        device = self.capabilities
        at_once = device.compute_units * (1 if self.runs_on_cpu else _ROWS_PER_UNIT[by_item])
        return device.ceilings.launch + serial_time(self, steps * ceil(self.rows / at_once))


class Reference(Kernel[TopKProblem, None]):
    """One work-item per row, which it reads once for each element that is wanted."""

    name = "topk_ref"
    supports_large = True

    def formats(self, problem: TopKProblem) -> Formats:
        return present_formats(problem)

    def cost(self, problem: TopKProblem, config: None) -> float:
        return problem.time(problem.usual_length * (problem.k - 1 + _FIRST_PASS), by_item=True)

    def lower(self, problem: TopKProblem, config: None) -> Lowered:
        problem.check()
        return Lowered((Stage("topk_ref.cl", problem.operands, local_items(problem.rows), problem.constants,
                              {"rows": problem.rows}),))


class Tree(Reference):
    """One work-group per row, which it reads about once: a tree of which the root is the next element."""

    name = "topk_tree"
    supports_large = False

    def supports(self, problem: TopKProblem, config: None) -> str | None:
        return "made for the order of values" if problem.primitive.sorts_by_place else None

    def cost(self, problem: TopKProblem, config: None) -> float:
        lanes, length = row_lanes(problem), problem.usual_length
        planting = (length + 2 * LEAVES) / lanes + _LEVELS
        searching = problem.k * (length / LEAVES / lanes + 2 * _LEVELS)
        step = _TREE_STEP_ON_CPU if problem.runs_on_cpu else _TREE_STEP_ON_GPU
        return problem.time(step * (planting + searching), by_item=False)

    def lower(self, problem: TopKProblem, config: None) -> Lowered:
        problem.check()
        lanes = row_lanes(problem)
        return Lowered((Stage("topk_tree.cl", problem.operands, Work((problem.rows * lanes,), (lanes,)),
                              {**problem.constants, "LANES": lanes, "LEAVES": LEAVES}),))


KERNELS = KernelTable((Tree(), Reference()), TopKProblem)
