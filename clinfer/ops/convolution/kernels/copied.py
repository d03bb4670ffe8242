"""Convolution of bf16 in AMX's tile registers, on a copy of the data by which tiles are full."""
from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from math import ceil, prod

from clinfer.base.format import Format
from clinfer.base.tensor_view import TensorView
from clinfer.kernels.contract import Formats, Kernel, Lowered, Operand, Stage, Work, scratch_operand
from clinfer.kernels.cost import time_of
from clinfer.ops.convolution.problem import ConvolutionProblem
from clinfer.ops.shared.channel_tiles import BLOCK, BLOCKED_DATA, group_refusal, refusal
from clinfer.ops.shared.float_products import BF16, PAIR_TILES, rows_refusal, time_of_tiles
from clinfer.ops.shared.targets import cpu_only
from clinfer.ops.shared.tile_runs import tiles_of_run, work_of_runs
from clinfer.runtime.capabilities import Capabilities

_ROWS, _STEP = 32, 2 * BLOCK
"""Pixels of a tile, and values of a step."""
_RANK = 4
_WEIGHTS = {False: "os_is_yx_isv16_osv16_isv2", True: "g_os_is_yx_isv16_osv16_isv2"}
"""Of convolutions without and with groups."""
_COPYING, _FASTER = 16, 4
"""Operations of f32 in the time of which 32 values are copied, and how many times faster than f32 tiles are, for the
length of runs."""
_COPIED = (4, 8, 16)
"""Values of a row that are copied at once, a filter's width at least."""
_MOST_CHANNELS, _MOST_VALUES = 8, 96
"""Of data whose windows are copied: channels, and values of a row of a window."""


@dataclass(frozen=True)
class Planes:
    """The copy: for each of `steps` steps of values `phases` planes along y and x, of so many rows and pixels of a row.
    `pixels`: what a plane has, with what the last tile reads behind the last row; `count`: planes in all."""

    steps: int
    phases: tuple[int, int]
    rows: int
    width: int
    pixels: int
    count: int

    @classmethod
    def of(cls, problem: ConvolutionProblem, values: int, entries: int, reach_x: int) -> Planes:
        """Of so many values of a pixel, in so many entries, which the filter meets up to `reach_x` pixels behind it."""
        (_, height, width), (_, down, across) = problem.output_sizes, problem.strides
        reach_y = (problem.filter_sizes[1] - 1) * problem.dilations[1]
        phases = min(down, reach_y + 1), min(across, reach_x + 1)
        below, behind = reach_y // down, reach_x // across
        pixels = ceil(height * (width + behind) / _ROWS) * _ROWS + below * (width + behind) + behind
        steps = ceil(values / _STEP)
        return cls(steps, phases, height + below, width + behind, pixels, entries * steps * prod(phases))

    @property
    def operand(self) -> Operand:
        return scratch_operand(0, TensorView.dense(BF16, (self.count, self.pixels, _STEP)))

    @property
    def nbytes(self) -> int:
        return self.count * self.pixels * BF16.byte_size(_STEP)


class PlanesKernel(Kernel[ConvolutionProblem, None]):
    """Tiles of 32 pixels x 32 channels, from planes to blocks."""

    has_epilogue = True

    @abstractmethod
    def planes(self, problem: ConvolutionProblem) -> Planes:
        """What the data is copied to."""

    def targets(self, device: Capabilities) -> str | None:
        return cpu_only(device) or PAIR_TILES.recipe.refusal(device) or rows_refusal(device, _ROWS)

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
        return reason or (None if problem.groups.inputs else "no channels")

    def cost(self, problem: ConvolutionProblem, config: None) -> float:
        planes = self.planes(problem)
        copying = time_of(problem.capabilities.ceilings, flops=_COPYING * planes.count * planes.rows * planes.width,
                          nbytes=0, launches=1)
        return copying + time_of_tiles(problem, _tiles(problem, planes) * _others(problem),
                                       planes.steps * self.taps(problem), _ROWS)

    def taps(self, problem: ConvolutionProblem) -> int:
        """Elements of the filter that a step is multiplied by."""
        return prod(problem.filter_sizes)

    def copying(self, problem: ConvolutionProblem, planes: Planes, source: str, others: int,
                constants: dict[str, int]) -> Stage:
        """The stage that makes the planes, `others` of them at a time."""
        run = tiles_of_run(problem, planes.rows * others, planes.width * _COPYING * planes.count // others)
        data, *_ = problem.operands()
        return Stage(source, (data, planes.operand), work_of_runs(planes.rows, others, run), constants,
                     {**problem.steps, "width": planes.width, "rows": planes.rows, "plane": planes.pixels, "run": run})

    def multiplying(self, problem: ConvolutionProblem, planes: Planes, weights: Operand) -> Stage:
        """The stage that multiplies the planes by packed weights."""
        tiles, others = _tiles(problem, planes), _others(problem)
        run = tiles_of_run(problem, tiles * others, _ROWS * PAIR_TILES.columns * problem.depth / _FASTER)
        _, _, *bias, output = problem.operands()
        constants = {**problem.has_bias, "PHASES_Y": planes.phases[0], "PHASES_X": planes.phases[1],
                     "TILE_ROWS": _ROWS, "FILTER_TAPS": self.taps(problem)}
        arguments = {**problem.steps, "width": planes.width, "plane": planes.pixels, "tiles": _across(problem),
                     "run": run}
        return Stage("convolution_copied.cl", (planes.operand, weights, *bias, output),
                     work_of_runs(tiles, others, run), constants, arguments, problem.epilogue_views(),
                     recipe=PAIR_TILES.recipe)


class CopiedKernel(PlanesKernel):
    """From blocks of channels."""

    name = "convolution_bf16_copied"

    def formats(self, problem: ConvolutionProblem) -> Formats:
        primitive, blocked = problem.primitive, Format.of(BLOCKED_DATA[_RANK])
        if problem.inputs[0].rank != _RANK:
            return super().formats(problem)
        bias = (Format.of("o_osv16"),) if primitive.bias_input is not None else ()
        factor = (blocked,) if primitive.factor_input is not None else ()
        return Formats((blocked, Format.of(_WEIGHTS[primitive.is_grouped]), *bias, *factor), (blocked,))

    def supports(self, problem: ConvolutionProblem, config: None) -> str | None:
        reason = super().supports(problem, config)
        return reason or ("nothing that is to be copied" if problem.is_pointwise else None)

    def planes(self, problem: ConvolutionProblem) -> Planes:
        reach = (problem.filter_sizes[2] - 1) * problem.dilations[2]
        return Planes.of(problem, problem.groups.inputs, problem.batch * problem.groups.number, reach)

    def lower(self, problem: ConvolutionProblem, config: None) -> Lowered:
        planes, groups = self.planes(problem), problem.groups
        copy = self.copying(problem, planes, "convolution_phases.cl", planes.count, {
            "PHASES_Y": planes.phases[0], "PHASES_X": planes.phases[1], "CHANNELS": groups.inputs,
            "GROUPS": groups.number})
        _, weights, *_ = problem.operands()
        return Lowered((copy, self.multiplying(problem, planes, weights)), (planes.nbytes,))


class WindowsKernel(PlanesKernel):
    """From planar data of few channels: what the filter meets in a row is one pixel of the copy."""

    name = "convolution_bf16_windows"

    def formats(self, problem: ConvolutionProblem) -> Formats:
        planar = super().formats(problem)
        if problem.inputs[0].rank != _RANK:
            return planar
        bias = (Format.of("o_osv16"),) if problem.primitive.bias_input is not None else ()
        return Formats((*planar.inputs[:2], *bias, *planar.inputs[2 + len(bias):]), (Format.of(BLOCKED_DATA[_RANK]),))

    def supports(self, problem: ConvolutionProblem, config: None) -> str | None:
        reason = super().supports(problem, config)
        if reason or problem.primitive.is_grouped:
            return reason or "groups"
        channels, width = problem.groups.inputs, problem.filter_sizes[2]
        if channels > _MOST_CHANNELS or width > _COPIED[-1] or channels * width > _MOST_VALUES:
            return "rows of windows that are long"
        return None

    def taps(self, problem: ConvolutionProblem) -> int:
        return problem.filter_sizes[1]

    def planes(self, problem: ConvolutionProblem) -> Planes:
        return Planes.of(problem, problem.groups.inputs * problem.filter_sizes[2], problem.batch, 0)

    def lower(self, problem: ConvolutionProblem, config: None) -> Lowered:
        planes, (_, outputs, channels), (_, height, width) = (
            self.planes(problem), problem.groups, problem.filter_sizes)
        copy = self.copying(problem, planes, "convolution_windows.cl", problem.batch * planes.phases[0], {
            "PHASES_Y": planes.phases[0], "CHANNELS": channels, "FILTER_X": width,
            "COPIED": next(count for count in _COPIED if count >= width)})
        blocks, pitch = ceil(outputs / BLOCK), planes.steps * height * _STEP
        packed = TensorView(BF16, (1, outputs, channels * width, 1, height, 1), (0, pitch, 0, 0, 0, 0), 0, (None,) * 6)
        _, weights, *_ = problem.operands()
        pack = Stage("convolution_pack_windows.cl", (weights, scratch_operand(1, packed)),
                     Work((blocks * planes.steps * height,), (1,)))
        multiply = self.multiplying(problem, planes, Operand("INPUT1", scratch_operand(1, packed).buffer, packed))
        return Lowered((pack, copy, multiply), (planes.nbytes, BF16.byte_size(blocks * BLOCK * pitch)))


def _across(problem: ConvolutionProblem) -> int:
    """Tiles of channels of a group."""
    return ceil(problem.groups.outputs / PAIR_TILES.columns)


def _others(problem: ConvolutionProblem) -> int:
    """Tiles of channels for each place."""
    return problem.batch * problem.groups.number * _across(problem)


def _tiles(problem: ConvolutionProblem, planes: Planes) -> int:
    """Of the pixels of a picture."""
    return ceil(problem.output_sizes[1] * planes.width / _ROWS)
