"""Transposed convolution in tiles of local memory."""
from __future__ import annotations

from math import ceil, gcd, prod

from clinfer.base.format import Format
from clinfer.kernels.contract import Formats, Kernel, Lowered, Stage, planar_formats
from clinfer.ops.deconvolution.problem import DeconvolutionProblem
from clinfer.ops.shared import local_tiles
from clinfer.ops.shared.convolving import few_outputs
from clinfer.ops.shared.spatial import LETTERS

_WEIGHTS = {3: "yxio", 4: "yxio", 5: "zyxio"}
_GROUPED_WEIGHTS = {4: "gxio", 5: "gyxio", 6: "gzyxio"}


class LocalKernel(Kernel[DeconvolutionProblem, int]):
    """Tiles of as many channels and pixels of a phase as the configuration says; runs on CPUs, slowly."""

    name = "deconvolution_local"
    has_epilogue = True
    supports_large = True

    def formats(self, problem: DeconvolutionProblem) -> Formats:
        """Everything planar but the weights, of which neighbouring output channels stand side by side."""
        formats = planar_formats(problem)
        weights = (_GROUPED_WEIGHTS if problem.primitive.is_grouped else _WEIGHTS)[problem.inputs[1].rank]
        return Formats((formats.inputs[0], Format.of(weights), *formats.inputs[2:]), formats.outputs)

    def configs(self, problem: DeconvolutionProblem) -> tuple[int, ...]:
        return tuple(local_tiles.SPEEDS)

    def supports(self, problem: DeconvolutionProblem, tile: int) -> str | None:
        if not problem.inputs[1].is_static:
            return "the shape of the weights is dynamic"
        if min(problem.primitive.pads_begin) < 0:
            return "negative pads"
        return local_tiles.tile_refusal(tile, problem.inputs[0].element_type, problem.capabilities)

    def cost(self, problem: DeconvolutionProblem, tile: int) -> float:
        groups, depth = problem.groups, ceil(problem.products)
        return local_tiles.tile_time(
            tile, problem.capabilities, groups.outputs, _phase_pixels(problem), depth, _parts(problem),
            problem.moved_bytes, few_outputs(groups))

    def lower(self, problem: DeconvolutionProblem, tile: int) -> Lowered:
        steps = {f"STEP_{letter.upper()}": stride // gcd(stride, dilation)
                 for letter, stride, dilation in zip(LETTERS, problem.strides, problem.dilations, strict=True)}
        work = local_tiles.tile_work(tile, problem.groups.outputs, _phase_pixels(problem), _parts(problem))
        return Lowered((Stage("deconvolution_local.cl", problem.operands(), work,
                              {**problem.has_bias, "TILE": tile, **steps}, problem.steps, problem.epilogue_views()),))


def _phase_pixels(problem: DeconvolutionProblem) -> int:
    return prod(ceil(size / step) for size, step in zip(problem.output_sizes, problem.strides, strict=True))


def _parts(problem: DeconvolutionProblem) -> int:
    """How many products there are: one for each picture, group and phase."""
    return problem.batch * problem.groups.number * problem.phases
