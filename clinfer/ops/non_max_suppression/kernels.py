"""Kernels of SelectBoxes and NonMaxSuppression."""
from __future__ import annotations

import math
import struct
from dataclasses import dataclass
from typing import Any

from clinfer.base.element_type import ElementType
from clinfer.base.tensor_view import TensorView
from clinfer.kernels.contract import (
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
from clinfer.kernels.cost import time_of
from clinfer.ops.non_max_suppression.op import NonMaxSuppression, SelectBoxes
from clinfer.ops.shared.copying import local_items
from clinfer.ops.shared.reduction import row_lanes

_F32 = ElementType.of("f32")
_FLOPS = 32
"""Of comparing two boxes."""


@dataclass(frozen=True)
class SelectProblem(Problem):
    """Boxes and scores, and the numbers that bound what is chosen of them."""

    primitive: SelectBoxes


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
        overlap, lowest, sigma = (primitive.number(i, problem.values) for i in (3, 4, 5))
        select = Stage("select_boxes_ref.cl", (
            *(input_operand(problem, i) for i in (0, 1)), *(output_operand(problem, i) for i in (1, 2, 3)),
            scratch_operand(0, TensorView.dense(_F32, scores.shape))),
            Work((problem.outputs[3].count * lanes,), (lanes,)),
            {"LANES": lanes, "IS_CENTER": primitive.box_encoding == "center",
             "IS_ROTATED": primitive.box_encoding == "rotated", "TURN": 1 if primitive.clockwise else -1,
             "EXTENT": primitive.extent},
            {"overlap": _bits(overlap), "lowest": _bits(lowest),
             "scale": _bits(-0.5 / sigma if sigma > 0 else 0.0)})
        count = Stage("count_boxes.cl", tuple(output_operand(problem, i) for i in (0, 3, 4)), Work((1,), (1,)))
        return Lowered((select, count), (scores.count * 4,))


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


SELECT_KERNELS = KernelTable((Select(),), SelectProblem)
KERNELS = KernelTable((Write(),), WriteProblem)
