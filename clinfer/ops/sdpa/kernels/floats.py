"""Attention by assembly on CPUs: of bf16 where the processor multiplies pairs of it, or of floats."""
from __future__ import annotations

from math import ceil, prod
from typing import ClassVar

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
from clinfer.ops.shared.float_products import BF16, F32, PAIR_TILES, STEP_DEPTH, Tiles, float_tiles, narrow_only
from clinfer.ops.shared.targets import cpu_only
from clinfer.ops.shared.views import static
from clinfer.runtime.capabilities import Capabilities

_SPAN = 128
"""Keys whose weights are held at a time."""
_WIDEST, _DEEPEST = 128, 256
_SHARES = {16: 0.05, 14: 0.4}
"""Rows of a tile, in tile registers and in vectors, with the share of the peak that they reach."""
_SHARE_OF_FLOATS = 0.6
_PACKED = 16
"""Keys, and columns of values, that are packed together."""


class PairsKernel(Kernel[AttentionProblem, None]):
    """Tiles of rows per work-item, from keys and values that are packed in pairs."""

    name = "sdpa_bf16"
    element_type: ClassVar = BF16

    def tiles(self, device: Capabilities) -> Tiles:
        """What it multiplies by."""
        return PAIR_TILES

    def rows(self, device: Capabilities) -> int:
        """Of a tile."""
        return 16 if device.tile_registers else 14

    def targets(self, device: Capabilities) -> str | None:
        return cpu_only(device) or self.tiles(device).recipe.refusal(device)

    def formats(self, problem: AttentionProblem) -> Formats:
        return problem.formats_wanted()

    def supports(self, problem: AttentionProblem, config: None) -> str | None:
        if any(x.element_type != self.element_type for x in problem.inputs[:3]):
            return f"queries, keys or values other than {self.element_type}"
        if not problem.rows_are_contiguous((KEY, VALUE)) or not problem.result_is_contiguous():
            return "the last axis of a part does not lie last in memory"
        if not _is_within(problem.width, _WIDEST) or not _is_within(problem.depth, _DEEPEST):
            return "a last size is unknown or large"
        return problem.layout_refusal()

    def accepts(self, problem: AttentionProblem, config: None) -> str | None:
        return problem.table_refusal()

    def cost(self, problem: AttentionProblem, config: None) -> float:
        batch, queries, keys, depth, width = problem.sizes.values()
        rows = self.rows(problem.capabilities)
        flops = 2 * batch * ceil(queries / rows) * rows * keys * (depth + width)
        peak, share = self.speed(problem.capabilities)
        packing = 2 * (problem.inputs[KEY].byte_size + problem.inputs[VALUE].byte_size)
        return time_of(problem.capabilities.ceilings, flops=flops, peak=peak, efficiency=share,
                       nbytes=problem.moved_bytes + packing, launches=3)

    def speed(self, device: Capabilities) -> tuple[float, float]:
        """The peak, and the share of it that tiles reach."""
        return device.ceilings.tiles or device.ceilings.bf16, _SHARES[self.rows(device)]

    def lower(self, problem: AttentionProblem, config: None) -> Lowered:
        depth, width = static((problem.depth, problem.width))
        columns = self.tiles(problem.capabilities).columns
        steps, panels = ceil(depth / STEP_DEPTH), ceil(width / columns)
        a, b, keys, _ = static(four_axes(problem.data[KEY]).sizes)
        key_groups, groups = (count * columns // _PACKED for count in (ceil(keys / columns), panels))
        packed_keys = TensorView.dense(self.element_type, (a, b, key_groups, steps * STEP_DEPTH * _PACKED))
        own_a, own_b, rows, _ = static(four_axes(problem.data[VALUE]).sizes)
        key_steps = ceil(rows / STEP_DEPTH)
        packed_values = TensorView.dense(self.element_type, (own_a, own_b, groups, key_steps * STEP_DEPTH * _PACKED))
        is_float = self.element_type == F32
        pack_keys = Stage("sdpa_pack_keys_floats.cl", (input_operand(problem, KEY, four_axes(problem.data[KEY])),
                                                       scratch_operand(0, packed_keys)),
                          Work((key_groups, a * b), (1, 1)), {"DEPTH_STEPS": steps, "PAIRS": not is_float})
        pack_values = Stage("sdpa_pack_values_floats.cl",
                            (input_operand(problem, VALUE, four_axes(problem.data[VALUE])),
                             scratch_operand(1, packed_values)),
                            Work((key_steps, own_a * own_b), (1, 1)), {"COLUMN_GROUPS": groups, "PAIRS": not is_float})
        operands = (input_operand(problem, QUERY, four_axes(problem.stretched(QUERY))),
                    scratch_operand(0, _lifted(problem, packed_keys)),
                    scratch_operand(1, _lifted(problem, packed_values)), *problem.four_extras(),
                    output_operand(problem, 0, four_axes(problem.result)))
        tile = self.rows(problem.capabilities)
        constants = {**problem.constants, "TILE_ROWS": tile, "VECTOR_FLOATS": columns // 2, "TILES_OF_FLOATS": is_float,
                     "PANELS_JOINED": 0, "SPAN": _SPAN, "DEPTH_STEPS": steps, "PANELS": panels}
        tiles = Stage("sdpa_floats.cl", operands, Work((ceil(problem.queries / tile), prod(static(problem.batch))),
                                                       (1, 1)), constants, {"keys": rows},
                      recipe=self.tiles(problem.capabilities).recipe)
        return Lowered((pack_keys, pack_values, tiles), (_bytes(packed_keys), _bytes(packed_values)))


class FloatsKernel(PairsKernel):
    """The same of floats, in tiles of narrow vectors."""

    name = "sdpa_f32"
    element_type = F32

    def tiles(self, device: Capabilities) -> Tiles:
        return float_tiles(device)

    def rows(self, device: Capabilities) -> int:
        return max(float_tiles(device).speeds)

    def targets(self, device: Capabilities) -> str | None:
        return super().targets(device) or narrow_only(device)

    def speed(self, device: Capabilities) -> tuple[float, float]:
        return device.ceilings.f32, _SHARE_OF_FLOATS


def _is_within(size: Size, most: int) -> bool:
    return isinstance(size, int) and 0 < size <= most


def _lifted(problem: AttentionProblem, copy: TensorView) -> TensorView:
    """A copy [a, b, ...] of keys or values, stretched to the result's batch axes as these are."""
    shared = problem.shared_batch
    return copy.broadcast((*(1,) * (2 - len(shared)), *shared, *copy.sizes[2:]))


def _bytes(view: TensorView) -> int:
    return view.element_type.byte_size(prod(static(view.sizes)))
