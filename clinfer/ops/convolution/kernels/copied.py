"""Convolution of bf16 in AMX's tile registers, on a copy of the data by which tiles are full."""
from __future__ import annotations

from dataclasses import dataclass
from math import ceil, prod

from clinfer.base.format import Format
from clinfer.base.tensor_view import TensorView
from clinfer.kernels.contract import Formats, Kernel, Lowered, Operand, Stage, scratch_operand
from clinfer.kernels.cost import time_of
from clinfer.ops.convolution.problem import ConvolutionProblem
from clinfer.ops.shared.channel_tiles import BLOCK, BLOCKED_DATA, group_refusal, refusal
from clinfer.ops.shared.float_products import BF16, PAIR_TILES, rows_refusal, time_of_tiles
from clinfer.ops.shared.targets import cpu_only
from clinfer.ops.shared.tile_runs import tiles_of_run, work_of_runs
from clinfer.runtime.capabilities import Capabilities

_ROWS, _STEP = 32, 2 * BLOCK
"""Pixels of a tile, and channels of a step."""
_RANK = 4
_WEIGHTS = {False: "os_is_yx_isv16_osv16_isv2", True: "g_os_is_yx_isv16_osv16_isv2"}
"""Of convolutions without and with groups."""
_COPYING, _FASTER = 16, 4
"""Operations of f32 in the time of which a pixel of 32 channels is copied, and how many times faster than f32 tiles
are, for the length of runs."""


@dataclass(frozen=True)
class Planes:
    """The copy: `phases` planes along y and x for each block of 32 channels, each of so many rows and pixels of a row;
    `pixels`: what a plane has, with what the last tile reads behind the last row."""

    phases: tuple[int, int]
    rows: int
    width: int
    pixels: int
    count: int

    @classmethod
    def of(cls, problem: ConvolutionProblem) -> Planes:
        (_, height, width), (_, down, across), groups = problem.output_sizes, problem.strides, problem.groups
        _, reach_y, reach_x = ((size - 1) * dilation for size, dilation in zip(
            problem.filter_sizes, problem.dilations, strict=True))
        phases = min(down, reach_y + 1), min(across, reach_x + 1)
        below, behind = reach_y // down, reach_x // across
        wide = width + behind
        pixels = ceil(height * wide / _ROWS) * _ROWS + below * wide + behind
        blocks = problem.batch * groups.number * ceil(groups.inputs / _STEP)
        return cls(phases, height + below, wide, pixels, blocks * prod(phases))

    @property
    def view(self) -> TensorView:
        return TensorView.dense(BF16, (self.count, self.pixels, _STEP))

    @property
    def nbytes(self) -> int:
        return self.count * self.pixels * BF16.byte_size(_STEP)


class CopiedKernel(Kernel[ConvolutionProblem, None]):
    """Tiles of 32 pixels x 32 channels, from blocks to blocks."""

    name = "convolution_bf16_copied"
    has_epilogue = True

    def targets(self, device: Capabilities) -> str | None:
        return cpu_only(device) or PAIR_TILES.recipe.refusal(device) or rows_refusal(device, _ROWS)

    def formats(self, problem: ConvolutionProblem) -> Formats:
        primitive, blocked = problem.primitive, Format.of(BLOCKED_DATA[_RANK])
        if problem.inputs[0].rank != _RANK:
            return super().formats(problem)
        bias = (Format.of("o_osv16"),) if primitive.bias_input is not None else ()
        factor = (blocked,) if primitive.factor_input is not None else ()
        return Formats((blocked, Format.of(_WEIGHTS[primitive.is_grouped]), *bias, *factor), (blocked,))

    def supports(self, problem: ConvolutionProblem, config: None) -> str | None:
        if problem.inputs[0].rank != _RANK:
            return "made for pictures"
        if any(x.element_type != BF16 for x in problem.inputs[:2]):
            return f"data or weights other than {BF16}"
        if problem.primitive.factor_input is not None:
            return "a factor of the data"
        if problem.inputs[0].padding.both(1) or problem.outputs[0].padding.both(1):
            return "padded channels"
        reason = refusal(problem) or group_refusal(problem.groups)
        if reason:
            return reason
        if not problem.groups.inputs:
            return "no channels"
        return "nothing that is to be copied" if problem.is_pointwise else None

    def cost(self, problem: ConvolutionProblem, config: None) -> float:
        planes = Planes.of(problem)
        tiles = ceil(problem.output_sizes[1] * planes.width / _ROWS) * self._others(problem)
        steps = ceil(problem.groups.inputs / _STEP) * prod(problem.filter_sizes)
        copying = time_of(problem.capabilities.ceilings, flops=_COPYING * planes.count * planes.rows * planes.width,
                          nbytes=0, launches=1)
        return copying + time_of_tiles(problem, tiles, steps, _ROWS)

    def lower(self, problem: ConvolutionProblem, config: None) -> Lowered:
        planes, groups = Planes.of(problem), problem.groups
        constants = {"PHASES_Y": planes.phases[0], "PHASES_X": planes.phases[1]}
        sizes = {**problem.steps, "width": planes.width}
        data, weights, *bias, output = problem.operands()
        copy_run = tiles_of_run(problem, planes.rows * planes.count, planes.width * _COPYING)
        copy = Stage("convolution_phases.cl", (data, scratch_operand(0, planes.view)),
                     work_of_runs(planes.rows, planes.count, copy_run),
                     {**constants, "CHANNELS": groups.inputs, "GROUPS": groups.number},
                     {**sizes, "rows": planes.rows, "run": copy_run})
        places, others = ceil(problem.output_sizes[1] * planes.width / _ROWS), self._others(problem)
        run = tiles_of_run(problem, places * others, _ROWS * PAIR_TILES.columns * problem.depth / _FASTER)
        operands: tuple[Operand, ...] = (scratch_operand(0, planes.view), weights, *bias, output)
        constants |= {**problem.has_bias, "TILE_ROWS": _ROWS, "FILTER_TAPS": prod(problem.filter_sizes)}
        multiply = Stage("convolution_copied.cl", operands, work_of_runs(places, others, run), constants,
                         {**sizes, "plane": planes.pixels, "tiles": self._across(problem), "run": run},
                         problem.epilogue_views(), recipe=PAIR_TILES.recipe)
        return Lowered((copy, multiply), (planes.nbytes,))

    def _across(self, problem: ConvolutionProblem) -> int:
        """Tiles of channels of a group."""
        return ceil(problem.groups.outputs / PAIR_TILES.columns)

    def _others(self, problem: ConvolutionProblem) -> int:
        """Tiles of channels for each place."""
        return problem.batch * problem.groups.number * self._across(problem)
