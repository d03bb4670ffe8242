"""Attention of bf16 on CPUs that multiply pairs of it."""
from __future__ import annotations

from math import ceil, prod

from clinfer.base.shape import Size
from clinfer.base.tensor_view import TensorView
from clinfer.kernels.contract import (
    Formats,
    Kernel,
    Lowered,
    Stage,
    Work,
    input_operand,
    output_operand,
    scratch_operand,
)
from clinfer.kernels.cost import time_of
from clinfer.ops.sdpa.problem import KEY, QUERY, VALUE, AttentionProblem, four_axes
from clinfer.ops.shared.float_products import BF16, COLUMNS, RECIPE, STEP_DEPTH
from clinfer.ops.shared.targets import cpu_only
from clinfer.ops.shared.views import static
from clinfer.runtime.capabilities import Capabilities

_SPAN = 128
"""Keys whose weights are held at a time."""
_WIDEST, _DEEPEST = 128, 256
_SHARES = {16: 0.05, 14: 0.4}
"""Rows of a tile, in tile registers and in vectors, with the share of the peak that they reach."""
_PACKED = 16
"""Keys, and columns of values, that are packed together."""


class PairsKernel(Kernel[AttentionProblem, None]):
    """Tiles of rows per work-item, from keys and values that are packed in pairs."""

    name = "sdpa_bf16"

    def targets(self, device: Capabilities) -> str | None:
        return cpu_only(device) or RECIPE.refusal(device)

    def formats(self, problem: AttentionProblem) -> Formats:
        return problem.formats_wanted()

    def supports(self, problem: AttentionProblem, config: None) -> str | None:
        if any(x.element_type != BF16 for x in problem.inputs[:3]):
            return "queries, keys or values other than bf16"
        if not problem.rows_are_contiguous((KEY, VALUE)) or not problem.result_is_contiguous():
            return "the last axis of a part does not lie last in memory"
        if not _is_within(problem.width, _WIDEST) or not _is_within(problem.depth, _DEEPEST):
            return "a last size is unknown or large"
        return problem.layout_refusal()

    def accepts(self, problem: AttentionProblem, config: None) -> str | None:
        return problem.table_refusal()

    def cost(self, problem: AttentionProblem, config: None) -> float:
        batch, queries, keys, depth, width = problem.sizes.values()
        rows = _rows(problem)
        flops = 2 * batch * ceil(queries / rows) * rows * keys * (depth + width)
        ceilings = problem.capabilities.ceilings
        packing = 2 * (problem.inputs[KEY].byte_size + problem.inputs[VALUE].byte_size)
        return time_of(ceilings, flops=flops, peak=ceilings.tiles or ceilings.bf16, efficiency=_SHARES[rows],
                       nbytes=problem.moved_bytes + packing, launches=3)

    def lower(self, problem: AttentionProblem, config: None) -> Lowered:
        depth, width = static((problem.depth, problem.width))
        steps, panels = ceil(depth / STEP_DEPTH), ceil(width / COLUMNS)
        a, b, keys, _ = static(four_axes(problem.data[KEY]).sizes)
        packed_keys = TensorView.dense(BF16, (a, b, 2 * ceil(keys / COLUMNS), steps * STEP_DEPTH * _PACKED))
        own_a, own_b, rows, _ = static(four_axes(problem.data[VALUE]).sizes)
        key_steps = ceil(rows / STEP_DEPTH)
        packed_values = TensorView.dense(BF16, (own_a, own_b, 2 * panels, key_steps * STEP_DEPTH * _PACKED))
        pack_keys = Stage("sdpa_pack_keys_bf16.cl", (input_operand(problem, KEY, four_axes(problem.data[KEY])),
                                                     scratch_operand(0, packed_keys)),
                          Work((2 * ceil(keys / COLUMNS), a * b), (1, 1)), {"DEPTH_STEPS": steps})
        pack_values = Stage("sdpa_pack_values_bf16.cl", (input_operand(problem, VALUE, four_axes(problem.data[VALUE])),
                                                         scratch_operand(1, packed_values)),
                            Work((key_steps, own_a * own_b), (1, 1)), {"COLUMN_GROUPS": 2 * panels})
        operands = (input_operand(problem, QUERY, four_axes(problem.stretched(QUERY))),
                    scratch_operand(0, _lifted(problem, packed_keys)),
                    scratch_operand(1, _lifted(problem, packed_values)), *problem.four_extras(),
                    output_operand(problem, 0, four_axes(problem.result)))
        tile = _rows(problem)
        constants = {**problem.constants, "TILE_ROWS": tile, "KEYS": COLUMNS, "SPAN": _SPAN, "DEPTH_STEPS": steps,
                     "PANELS": panels}
        tiles = Stage("sdpa_bf16.cl", operands, Work((ceil(problem.queries / tile), prod(static(problem.batch))),
                                                     (1, 1)), constants, {"keys": rows}, recipe=RECIPE)
        return Lowered((pack_keys, pack_values, tiles), (_bytes(packed_keys), _bytes(packed_values)))


def _rows(problem: AttentionProblem) -> int:
    """Of a tile."""
    return 16 if problem.capabilities.tile_registers else 14


def _is_within(size: Size, most: int) -> bool:
    return isinstance(size, int) and 0 < size <= most


def _lifted(problem: AttentionProblem, copy: TensorView) -> TensorView:
    """A copy [a, b, ...] of keys or values, stretched to the result's batch axes as these are."""
    shared = problem.shared_batch
    return copy.broadcast((*(1,) * (2 - len(shared)), *shared, *copy.sizes[2:]))


def _bytes(view: TensorView) -> int:
    return BF16.byte_size(prod(static(view.sizes)))
