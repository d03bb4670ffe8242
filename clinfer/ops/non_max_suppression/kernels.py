"""Kernels of SelectBoxes and NonMaxSuppression."""
from __future__ import annotations

import math
import struct
from dataclasses import dataclass
from typing import Any

from clinfer.base.element_type import ElementType
from clinfer.base.tensor_view import TensorView
from clinfer.kernels.contract import (
    Constant,
    Kernel,
    KernelTable,
    Lowered,
    Operand,
    Problem,
    Stage,
    Work,
    input_operand,
    output_operand,
    scratch_operand,
)
from clinfer.kernels.cost import time_of
from clinfer.ops.non_max_suppression.op import NonMaxSuppression, SelectBoxes
from clinfer.ops.shared.copying import local_items
from clinfer.ops.shared.ordering import key_constants
from clinfer.ops.shared.reduction import row_lanes, serial_time
from clinfer.ops.shared.views import static
from clinfer.runtime.capabilities import Capabilities

_F32, _I64 = ElementType.of("f32"), ElementType.of("i64")
_FLOPS = 32
"""Of comparing two boxes."""
_SORTING_STEPS = 16
"""Of a box, about the logarithm of how many there are."""
_VEC = 8
"""Boxes that `select_boxes_ordered.cl` compares at once."""


@dataclass(frozen=True)
class SelectProblem(Problem):
    """Boxes and scores, and the numbers that bound what is chosen of them."""

    primitive: SelectBoxes

    @property
    def lists(self) -> int:
        """How many lists are made."""
        return self.outputs[3].count

    @property
    def operands(self) -> tuple[Operand, ...]:
        """Boxes and scores; what is chosen, its scores, and how many."""
        return *(input_operand(self, i) for i in (0, 1)), *(output_operand(self, i) for i in (1, 2, 3))

    @property
    def constants(self) -> dict[str, Constant]:
        """How boxes are written."""
        return {"IS_CENTER": self.primitive.box_encoding == "center", "EXTENT": self.primitive.extent}

    @property
    def bounds(self) -> dict[str, int]:
        """The bits of the overlap that suppresses and of the score that is too low."""
        return {name: _bits(self.primitive.number(i, self.values)) for i, name in ((3, "overlap"), (4, "lowest"))}

    @property
    def count_stage(self) -> Stage:
        """Adds the lengths of the lists up."""
        return Stage("count_boxes.cl", tuple(output_operand(self, i) for i in (0, 3, 4)), Work((1,), (1,)))


class Select(Kernel[SelectProblem, None]):
    """A work-group for each list, which looks at all boxes for each that it chooses."""

    name = "select_boxes_ref"
    efficiency = 0.05

    def cost(self, problem: SelectProblem, config: None) -> float:
        looks = problem.inputs[1].count * problem.outputs[1].shape[1]
        return time_of(problem.capabilities.ceilings, flops=looks * _FLOPS, efficiency=self.efficiency,
                       nbytes=problem.moved_bytes, launches=2)

    def lower(self, problem: SelectProblem, config: None) -> Lowered:
        lanes, scores, primitive = row_lanes(problem), problem.inputs[1], problem.primitive
        sigma = primitive.number(5, problem.values)
        select = Stage("select_boxes_ref.cl", (
            *problem.operands, scratch_operand(0, TensorView.dense(_F32, scores.shape))),
            Work((problem.lists * lanes,), (lanes,)),
            {**problem.constants, "LANES": lanes, "IS_ROTATED": primitive.box_encoding == "rotated",
             "TURN": 1 if primitive.clockwise else -1},
            {**problem.bounds, "scale": _bits(-0.5 / sigma if sigma > 0 else 0.0)})
        return Lowered((select, problem.count_stage), (scores.count * 4,))


class SelectOrdered(Select):
    """A work-item for each list, which sorts the boxes and compares each with those that are chosen already."""

    name = "select_boxes_ordered"
    efficiency = 0.5

    def targets(self, device: Capabilities) -> str | None:
        return None if device.device_type == "CPU" else "one work-item alone is slow on a GPU"

    def supports(self, problem: SelectProblem, config: None) -> str | None:
        if problem.primitive.box_encoding == "rotated":
            return "made for boxes along the axes"
        is_open = 5 in problem.primitive.value_inputs and 5 not in problem.values
        return "sigma may not be 0" if is_open or problem.primitive.number(5, problem.values) > 0 else None

    def cost(self, problem: SelectProblem, config: None) -> float:
        return super().cost(problem, config) + serial_time(problem, problem.inputs[1].count * _SORTING_STEPS)

    def lower(self, problem: SelectProblem, config: None) -> Lowered:
        lists, boxes = problem.lists, static(problem.inputs[1].shape)[2]
        keys = TensorView.dense(_I64, (lists, 2, boxes))
        taken = TensorView.dense(_F32, (lists, 5, boxes + _VEC))
        select = Stage("select_boxes_ordered.cl", (
            *problem.operands, scratch_operand(0, keys), scratch_operand(1, taken)), Work((lists,), (1,)),
            {**problem.constants, **key_constants(_F32, descending=True), "VEC": _VEC}, problem.bounds)
        return Lowered((select, problem.count_stage), (lists * 2 * boxes * 8, lists * 5 * (boxes + _VEC) * 4))


def _bits(value: float) -> int:
    """The bits of an f32 as an integer; a value beyond its range as an infinity."""
    with_limits = math.copysign(math.inf, value) if abs(value) > 3.4e38 else value
    return int(struct.unpack("i", struct.pack("f", with_limits))[0])


@dataclass(frozen=True)
class WriteProblem(Problem):
    """The lists that were chosen."""

    primitive: NonMaxSuppression


class Write(Kernel[WriteProblem, None]):
    """A work-item for each place of the lists, which finds its place in the result."""

    name = "non_max_suppression_ref"
    efficiency = 0.05

    def lower(self, problem: WriteProblem, config: None) -> Lowered:
        operands = (*(input_operand(problem, i) for i in (1, 2, 3, 4)),
                    *(output_operand(problem, i) for i in (0, 1, 2)))
        numbers: dict[str, Any] = {"classes": problem.inputs[5].shape[1], "total": problem.outputs[0].shape[0]}
        work = local_items(max(problem.inputs[1].count, 1)) if problem.is_static else None
        return Lowered((Stage("non_max_suppression_ref.cl", operands, work,
                              {"SORTED": problem.primitive.sort_result_descending}, numbers),))


SELECT_KERNELS = KernelTable((SelectOrdered(), Select()), SelectProblem)
KERNELS = KernelTable((Write(),), WriteProblem)
