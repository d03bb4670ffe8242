"""Attention in tiles of local memory."""
from __future__ import annotations

from math import ceil, prod

from clinfer.kernels.contract import Formats, Kernel, Lowered, Stage, Work
from clinfer.kernels.cost import time_of
from clinfer.ops.sdpa.problem import AttentionProblem
from clinfer.ops.shared.views import static

MOST_WIDTH = 128
"""The last size of values up to which kernels other than the reference are made for it."""
_GROUP = (16, 8, 1)
_ROWS = 32
_ON_GPU, _ON_CPU = 0.15, 0.005
"""The share of the peak that it reaches; work-items that wait for each other are slow on CPUs."""


class LocalKernel(Kernel[AttentionProblem, None]):
    """A group computes `_ROWS` rows of the result."""

    name = "sdpa_local"
    supports_large = True

    def formats(self, problem: AttentionProblem) -> Formats:
        return problem.formats_wanted()

    def supports(self, problem: AttentionProblem, config: None) -> str | None:
        depth, width = problem.depth, problem.width
        if not isinstance(depth, int) or not isinstance(width, int) or not depth or not width or width > MOST_WIDTH:
            return "the last sizes are unknown, zero or large"
        if any(x.element_type.name == "f64" for x in problem.inputs):
            return "computes in f32"
        if problem.primitive.in_byte_rows:
            return "made for floats"
        device, items = problem.capabilities, prod(_GROUP)
        needed = _local_bytes(depth, width)
        if needed > device.local_mem_size:
            return f"needs {needed} bytes of local memory"
        refusal = f"needs groups of {items}" if device.max_work_group_size < items else None
        return problem.layout_refusal() or refusal

    def cost(self, problem: AttentionProblem, config: None) -> float:
        return time_of(problem.capabilities.ceilings, flops=problem.flops,
                       efficiency=_ON_CPU if problem.runs_on_cpu else _ON_GPU, nbytes=problem.moved_bytes)

    def lower(self, problem: AttentionProblem, config: None) -> Lowered:
        depth, width = _padded(*static((problem.depth, problem.width)))
        work = Work((_GROUP[0], ceil(problem.queries / _ROWS) * _GROUP[1], prod(static(problem.batch))), _GROUP)
        constants = {**problem.constants, "KEYS": _keys(depth, width), "QUERY_WIDTH": depth, "VALUE_WIDTH": width}
        return Lowered((Stage("sdpa_local.cl", problem.in_place_operands(), work, constants),))


def _padded(depth: int, width: int) -> tuple[int, int]:
    return ceil(depth / 4) * 4, ceil(width / 16) * 16


def _keys(depth: int, width: int) -> int:
    return 64 if max(depth, width) <= 64 else 32


def _local_bytes(depth: int, width: int) -> int:
    """What a group holds in local memory."""
    depth, width = _padded(depth, width)
    keys = _keys(depth, width)
    return 4 * (_ROWS * (depth + 4) + keys * (max(depth, width) + 4) + _ROWS * (keys + 4))
