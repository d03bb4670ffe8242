"""Convolution on any GPU: in tiles of local memory, of channels with a filter each, and of single pixels."""
from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil, prod

from clinfer.base.format import Format
from clinfer.kernels.contract import Formats, Kernel, Lowered, Stage, Work, planar_formats
from clinfer.kernels.cost import longer, time_of
from clinfer.kernels.recipe import ALIGNED, USUAL, with_sub_groups
from clinfer.ops.convolution.problem import DEPTHWISE_WEIGHTS, ConvolutionProblem
from clinfer.ops.shared import local_tiles
from clinfer.ops.shared.convolving import few_outputs, reference_time
from clinfer.ops.shared.copying import local_items
from clinfer.ops.shared.data_formats import channels_last
from clinfer.ops.shared.spatial import LETTERS, data_view, reach
from clinfer.symbolic.symbols import computed, larger, pure


class LocalKernel(Kernel[ConvolutionProblem, int]):
    """Tiles of as many channels and pixels as the configuration says; runs on CPUs, slowly."""

    name = "convolution_local"
    has_epilogue = True
    supports_large = True

    def configs(self, problem: ConvolutionProblem) -> tuple[int, ...]:
        return tuple(local_tiles.SPEEDS)

    def supports(self, problem: ConvolutionProblem, tile: int) -> str | None:
        if not problem.inputs[1].is_static:
            return "the shape of the weights is dynamic"
        if problem.inputs[1].padding:
            return "padded weights"
        return local_tiles.tile_refusal(tile, problem.inputs[0].element_type, problem.capabilities)

    def cost(self, problem: ConvolutionProblem, tile: int) -> float:
        groups = problem.groups
        return local_tiles.tile_time(
            tile, problem.capabilities, groups.outputs, problem.pixels, problem.depth, problem.batch * groups.number,
            problem.moved_bytes, few_outputs(groups))

    def lower(self, problem: ConvolutionProblem, tile: int) -> Lowered:
        filters = {f"FILTER_{letter.upper()}": size
                   for letter, size in zip(LETTERS, problem.filter_sizes, strict=True)}
        groups = problem.groups
        work = local_tiles.tile_work(tile, groups.outputs, problem.pixels, problem.batch * groups.number)
        return Lowered((Stage("convolution_local.cl", problem.operands(), work,
                              {**problem.constants, "TILE": tile, **filters}, problem.steps,
                               problem.epilogue_views()),))


_WAITING = {4: 120.0, 2: 105.0, 1: 62.0}
"""Nanoseconds by which a work-item of a run of so many pixels takes longer for each vector that it reads."""


@dataclass(frozen=True)
class Run:
    """The pixels of a row that a work-item computes; `aligned`: whether all that is read and written four at a time
    must start at a multiple of that."""

    pixels: int
    aligned: bool = True

    def __str__(self) -> str:
        return f"{self.pixels}" if self.aligned else f"{self.pixels}_anywhere"


class DepthwiseKernel(Kernel[ConvolutionProblem, Run]):
    """Channels with a filter each, last in memory; runs on CPUs, slowly."""

    name = "convolution_depthwise"
    has_epilogue = True
    channels, most_window = 4, 64

    def formats(self, problem: ConvolutionProblem) -> Formats:
        if self._misfit(problem):
            return planar_formats(problem)
        data = channels_last(problem.inputs[0].rank)
        weights = Format.of(DEPTHWISE_WEIGHTS[problem.inputs[1].rank])
        return Formats((data, weights, *(x.format for x in problem.inputs[2:])), (data,))

    def configs(self, problem: ConvolutionProblem) -> tuple[Run, ...]:
        return Run(4), Run(2), Run(1), Run(2, aligned=False)

    def supports(self, problem: ConvolutionProblem, run: Run) -> str | None:
        misfit = self._misfit(problem)
        if misfit is None and self._window(problem, run) > self.most_window:
            return f"a run of pixels reads more than {self.most_window}"
        return misfit

    def accepts(self, problem: ConvolutionProblem, run: Run) -> str | None:
        views = (data_view(problem.inputs[0]), data_view(problem.outputs[0]),
                 *(view for view in problem.epilogue_views() if view.sizes[1] != 1))
        bias = problem.primitive.bias_input
        is_bias_aligned = bias is None or not problem.inputs[bias].padding
        if not run.aligned or (is_bias_aligned and all(view.is_aligned(1, self.channels) for view in views)):
            return None
        return f"channels that do not start at multiples of {self.channels}"

    def cost(self, problem: ConvolutionProblem, run: Run) -> float:
        if problem.runs_on_cpu:
            return reference_time(problem, problem.depth)
        # Measured on an H200: to wait for what is read, or to read it.
        device, items = problem.capabilities, self._items(problem, run)
        reads = prod(problem.filter_sizes[:2]) * (self._window(problem, run) + problem.filter_sizes[2])
        waiting, reading = 500.0 + _WAITING[run.pixels] * reads, 0.1 * reads * items / device.compute_units
        slowness = 1.0 if run.aligned else 3.0
        return slowness * computed(longer, waiting, reading) + time_of(device.ceilings, nbytes=problem.moved_bytes)

    def lower(self, problem: ConvolutionProblem, run: Run) -> Lowered:
        z, y, x = problem.filter_sizes
        constants = {**problem.constants, "RUN": run.pixels, "FILTER_Z": z, "FILTER_Y": y, "FILTER_X": x,
                     "STRIDE_X": problem.strides[2], "DILATION_X": problem.dilations[2]}
        return Lowered((Stage("convolution_depthwise.cl", problem.operands(), local_items(self._items(problem, run)),
                              constants, problem.steps, problem.epilogue_views(),
                              recipe=ALIGNED if run.aligned else USUAL),))

    def _misfit(self, problem: ConvolutionProblem) -> str | None:
        if not problem.inputs[1].is_static or not _are_floats(problem):
            return "made for floats, and weights of known shape"
        number, outputs, inputs = problem.groups
        is_depthwise = problem.primitive.is_grouped and outputs == inputs == 1 and number % self.channels == 0
        return None if is_depthwise else f"made for channels with a filter each, a multiple of {self.channels}"

    def _window(self, problem: ConvolutionProblem, run: Run) -> int:
        """The pixels of a row beneath those of a run."""
        return (run.pixels - 1) * problem.strides[2] + reach(problem.filter_sizes[2], problem.dilations[2])

    def _items(self, problem: ConvolutionProblem, run: Run) -> int:
        *others, x = problem.output_sizes
        return problem.batch * prod(others) * ceil(x / run.pixels) * (problem.groups.number // self.channels)


class OnePixelKernel(Kernel[ConvolutionProblem, None]):
    """Pictures and filters of one pixel, an element of the output per group; runs on CPUs, slowly."""

    name = "convolution_one_pixel"
    has_epilogue = True
    lanes, groups_per_unit = 32, 32

    def formats(self, problem: ConvolutionProblem) -> Formats:
        """Channels of one pixel lie together in any format without blocks whose pictures follow one another, which the
        output has as well."""
        data, planar = problem.inputs[0].format, planar_formats(problem)
        keeps = not data.blocks and data.order_of(problem.inputs[0].rank)[0] == 0
        return replace(planar, inputs=(data, *planar.inputs[1:]), outputs=(data,)) if keeps else planar

    def supports(self, problem: ConvolutionProblem, config: None) -> str | None:
        weights = problem.inputs[1]
        if problem.primitive.is_grouped or problem.primitive.factor_input is not None:
            return "groups, or a factor of the data"
        if not weights.is_static or weights.padding or not _are_floats(problem):
            return "made for floats, and weights of known shape in rows"
        if problem.capabilities.max_work_group_size < self.lanes:
            return f"needs groups of {self.lanes}"
        return "filters of several pixels" if prod(problem.filter_sizes) > 1 else None

    def accepts(self, problem: ConvolutionProblem, config: None) -> str | None:
        shapes = problem.inputs[0].shape[2:] + problem.outputs[0].shape[2:]
        if any(size != 1 for size in shapes) or problem.inputs[0].padding:
            return "pictures of several pixels, or in padded memory"
        pads = (problem.primitive.pads(axis, 1, 1) for axis in range(problem.inputs[0].rank - 2))
        return "borders" if any(map(any, pads)) else None

    def cost(self, problem: ConvolutionProblem, config: None) -> float:
        if problem.runs_on_cpu:
            return reference_time(problem, problem.depth)
        device, depth = problem.capabilities, problem.groups.inputs
        groups = problem.batch * problem.groups.outputs
        waves = computed(_waves, groups, self.groups_per_unit * device.compute_units)
        # Measured on an H200.
        return waves * (700.0 + depth) + time_of(device.ceilings, nbytes=problem.moved_bytes)

    def lower(self, problem: ConvolutionProblem, config: None) -> Lowered:
        work = Work((problem.batch * problem.groups.outputs * self.lanes,), (self.lanes,))
        return Lowered((Stage("convolution_one_pixel.cl", problem.operands(), work,
                              {**problem.constants, "LANES": self.lanes}, problem.steps, problem.epilogue_views(),
                              recipe=with_sub_groups(problem.capabilities)),))


def _are_floats(problem: ConvolutionProblem) -> bool:
    """Whether data and weights are: those of 8 or 4 bits may be whole numbers."""
    return all(layout.element_type.is_float for layout in problem.inputs[:2])


@pure
def _waves(groups: int, at_once: int) -> float:
    """How often a device is filled."""
    return larger(groups / at_once, 1.0)
