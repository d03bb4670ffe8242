"""Attention by assembly on CPUs: of bf16 where the processor multiplies pairs of it, or of floats in narrow vectors."""
from __future__ import annotations

from dataclasses import dataclass
from math import ceil, prod

from clinfer.base.element_type import ElementType
from clinfer.base.shape import Size
from clinfer.base.tensor_view import TensorView
from clinfer.kernels.contract import (
    Constant,
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

_SPAN = 256
"""Keys whose weights are held at a time."""
_WIDEST, _DEEPEST = 128, 256
_SHARES = {32: 0.05, 14: 0.4}
"""Rows of a tile of pairs, in tile registers and in vectors, with the share of the peak that they reach."""
_WIDE_ROWS, _SHARE_OF_WIDE = 14, 0.7
"""Rows of a tile of floats in wide vectors, with the share of the peak that they reach."""
_TILE_ROWS = 6
_TILES_TOGETHER = {4: 0.75, 1: 0.65}
"""Tiles of floats that a work-item computes, with the share of the peak that they reach."""
_PACKED = 16
"""Keys, and columns of values, that are packed together."""


class PairsKernel(Kernel[AttentionProblem, None]):
    """Pairs of bf16, a tile per work-item."""

    name = "sdpa_bf16"

    def targets(self, device: Capabilities) -> str | None:
        return cpu_only(device) or PAIR_TILES.recipe.refusal(device)

    def formats(self, problem: AttentionProblem) -> Formats:
        return problem.formats_wanted()

    def supports(self, problem: AttentionProblem, config: None) -> str | None:
        return _refusal(problem, BF16)

    def accepts(self, problem: AttentionProblem, config: None) -> str | None:
        return problem.table_refusal()

    def cost(self, problem: AttentionProblem, config: None) -> float:
        device = problem.capabilities
        rows = _rows_of_pairs(device)
        total = problem.sizes["batch"] * ceil(problem.queries / rows) * rows
        return _time(problem, total, device.ceilings.tiles or device.ceilings.bf16, _SHARES[rows])

    def lower(self, problem: AttentionProblem, config: None) -> Lowered:
        packed = Packed.of(problem, PAIR_TILES.columns)
        rows = _rows_of_pairs(problem.capabilities)
        constants: dict[str, Constant] = {
            "TILE_ROWS": rows, "SPAN": _SPAN, "DEPTH_STEPS": packed.depth_steps,
            "PANELS": packed.column_groups * _PACKED // PAIR_TILES.columns}
        return packed.lowered("sdpa_pairs.cl", rows, constants, PAIR_TILES)


class WideFloatsKernel(PairsKernel):
    """Floats in wide vectors, a tile per work-item."""

    name = "sdpa_f32_wide"

    def targets(self, device: Capabilities) -> str | None:
        return cpu_only(device) or float_tiles(device).recipe.refusal(device) or (
            None if narrow_only(device) else "made for wide vectors")

    def supports(self, problem: AttentionProblem, config: None) -> str | None:
        return _refusal(problem, F32)

    def cost(self, problem: AttentionProblem, config: None) -> float:
        total = problem.sizes["batch"] * ceil(problem.queries / _WIDE_ROWS) * _WIDE_ROWS
        return _time(problem, total, problem.capabilities.ceilings.f32, _SHARE_OF_WIDE)

    def lower(self, problem: AttentionProblem, config: None) -> Lowered:
        tiles = float_tiles(problem.capabilities)
        packed = Packed.of(problem, tiles.columns)
        constants: dict[str, Constant] = {
            "TILE_ROWS": _WIDE_ROWS, "SPAN": _SPAN, "DEPTH_STEPS": packed.depth_steps, "TILES_OF_FLOATS": 1,
            "PANELS_JOINED": 0, "PANELS": packed.column_groups * _PACKED // tiles.columns}
        return packed.lowered("sdpa_pairs.cl", _WIDE_ROWS, constants, tiles)


class FloatsKernel(Kernel[AttentionProblem, int]):
    """Floats in narrow vectors, `config` tiles per work-item."""

    name = "sdpa_f32"

    def targets(self, device: Capabilities) -> str | None:
        return cpu_only(device) or float_tiles(device).recipe.refusal(device) or narrow_only(device)

    def configs(self, problem: AttentionProblem) -> tuple[int, ...]:
        return tuple(_TILES_TOGETHER)

    def formats(self, problem: AttentionProblem) -> Formats:
        return problem.formats_wanted()

    def supports(self, problem: AttentionProblem, config: int) -> str | None:
        return _refusal(problem, F32)

    def accepts(self, problem: AttentionProblem, config: int) -> str | None:
        return problem.table_refusal()

    def cost(self, problem: AttentionProblem, config: int) -> float:
        device = problem.capabilities
        rows = config * _TILE_ROWS
        groups = problem.sizes["batch"] * ceil(problem.queries / rows)
        total = ceil(groups / device.compute_units) * device.compute_units * rows
        return _time(problem, total, device.ceilings.f32, _TILES_TOGETHER[config])

    def lower(self, problem: AttentionProblem, config: int) -> Lowered:
        packed = Packed.of(problem, _PACKED)
        constants: dict[str, Constant] = {
            "TILES": config, "SPAN": _SPAN, "DEPTH_STEPS": packed.depth_steps, "COLUMN_GROUPS": packed.column_groups}
        return packed.lowered("sdpa_floats.cl", config * _TILE_ROWS, constants, float_tiles(problem.capabilities))


@dataclass(frozen=True)
class Packed:
    """Keys and values as they are packed: groups of 16 keys with steps of depth, groups of 16 columns with steps of
    keys."""

    problem: AttentionProblem
    keys: TensorView
    values: TensorView

    @classmethod
    def of(cls, problem: AttentionProblem, columns: int) -> Packed:
        """For tiles of so many columns."""
        depth, width = static((problem.depth, problem.width))
        element_type = problem.inputs[KEY].element_type
        a, b, keys, _ = static(four_axes(problem.data[KEY]).sizes)
        own_a, own_b, rows, _ = static(four_axes(problem.data[VALUE]).sizes)
        key_groups, groups = (ceil(size / columns) * columns // _PACKED for size in (keys, width))
        step = STEP_DEPTH * _PACKED
        return cls(problem, TensorView.dense(element_type, (a, b, key_groups, ceil(depth / STEP_DEPTH) * step)),
                   TensorView.dense(element_type, (own_a, own_b, groups, ceil(rows / STEP_DEPTH) * step)))

    @property
    def depth_steps(self) -> int:
        return static(self.keys.sizes)[3] // (STEP_DEPTH * _PACKED)

    @property
    def column_groups(self) -> int:
        return static(self.values.sizes)[2]

    def lowered(self, source: str, rows: int, constants: dict[str, Constant], tiles: Tiles) -> Lowered:
        """Packing, and the kernel that computes so many rows per work-item."""
        problem = self.problem
        are_pairs = self.keys.element_type == BF16
        a, b, key_groups, _ = static(self.keys.sizes)
        pack_keys = Stage("sdpa_pack_keys_floats.cl", (input_operand(problem, KEY, four_axes(problem.data[KEY])),
                                                       scratch_operand(0, self.keys)),
                          Work((key_groups, a * b), (1, 1)), {"DEPTH_STEPS": self.depth_steps, "PAIRS": are_pairs})
        a, b, _, width = static(self.values.sizes)
        pack_values = Stage("sdpa_pack_values_floats.cl",
                            (input_operand(problem, VALUE, four_axes(problem.data[VALUE])),
                             scratch_operand(1, self.values)),
                            Work((width // (STEP_DEPTH * _PACKED), a * b), (1, 1)),
                            {"COLUMN_GROUPS": self.column_groups, "PAIRS": are_pairs})
        operands = (input_operand(problem, QUERY, four_axes(problem.stretched(QUERY))),
                    scratch_operand(0, _lifted(problem, self.keys)), scratch_operand(1, _lifted(problem, self.values)),
                    *problem.four_extras(), output_operand(problem, 0, four_axes(problem.result)))
        work = Work((ceil(problem.queries / rows), prod(static(problem.batch))), (1, 1))
        keys = static(four_axes(problem.data[VALUE]).sizes)[2]
        multiply = Stage(source, operands, work, {**problem.constants, **constants}, {"keys": keys},
                         recipe=tiles.recipe)
        return Lowered((pack_keys, pack_values, multiply), (_bytes(self.keys), _bytes(self.values)))


def _rows_of_pairs(device: Capabilities) -> int:
    """Of a tile."""
    return 32 if device.tile_registers else 14


def _refusal(problem: AttentionProblem, element_type: ElementType) -> str | None:
    """What both kernels refuse."""
    if any(x.element_type != element_type for x in problem.inputs[:3]):
        return f"queries, keys or values other than {element_type}"
    if not problem.rows_are_contiguous((KEY, VALUE)) or not problem.result_is_contiguous():
        return "the last axis of a part does not lie last in memory"
    if not _is_within(problem.width, _WIDEST) or not _is_within(problem.depth, _DEEPEST):
        return "a last size is unknown or large"
    return problem.layout_refusal()


def _time(problem: AttentionProblem, rows: int, peak: float, share: float) -> float:
    """Nanoseconds of so many rows of all batches, at a share of a peak."""
    _, _, keys, depth, width = problem.sizes.values()
    packing = 2 * (problem.inputs[KEY].byte_size + problem.inputs[VALUE].byte_size)
    return time_of(problem.capabilities.ceilings, flops=2 * rows * keys * (depth + width), peak=peak, efficiency=share,
                   nbytes=problem.moved_bytes + packing, launches=3)


def _is_within(size: Size, most: int) -> bool:
    return isinstance(size, int) and 0 < size <= most


def _lifted(problem: AttentionProblem, copy: TensorView) -> TensorView:
    """A copy [a, b, ...] of keys or values, stretched to the result's batch axes as these are."""
    shared = problem.shared_batch
    return copy.broadcast((*(1,) * (2 - len(shared)), *shared, *copy.sizes[2:]))


def _bytes(view: TensorView) -> int:
    return view.element_type.byte_size(prod(static(view.sizes)))
