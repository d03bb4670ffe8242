"""Convolution of f16 on NVIDIA's tensor cores, channels last in memory."""
from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil, prod

from clinfer.base.format import Format
from clinfer.kernels.contract import Formats, Kernel, Lowered, Operand, Stage, Work, planar_formats
from clinfer.ops.convolution.problem import ConvolutionProblem
from clinfer.ops.shared import tensor_cores
from clinfer.ops.shared.data_formats import channels_last
from clinfer.ops.shared.spatial import LETTERS, data_view, reach
from clinfer.ops.shared.tensor_cores import (
    BOX,
    BULK_TILES,
    CHUNK,
    GROUP_TILES,
    SHARED_TILE,
    TILES,
    TURNS_TILES,
    UNALIGNED_TILE,
    BulkTile,
    Tile,
)
from clinfer.runtime.capabilities import Capabilities

_MOST_STRIDE, _MOST_REACH = 8, 120
PLANAR_TILE = replace(UNALIGNED_TILE, speed=0.45, speed_of_several=0.65, overhead=780)
"""Of runs of a few elements, which are copied one by one (measured on an H200)."""


class MmaKernel(Kernel[ConvolutionProblem, Tile]):
    """One tile of pixels x channels per group, by warp-level matrix instructions."""

    name = "convolution_mma"
    has_epilogue = True
    source = "convolution_mma.cl"
    tiles: tuple[Tile, ...] = TILES
    takes_other_axes = True
    """Whether it is made for groups and for three spatial axes, too."""

    def targets(self, device: Capabilities) -> str | None:
        return tensor_cores.needs_tensor_cores(device)

    def formats(self, problem: ConvolutionProblem) -> Formats:
        """Channels last; what stands behind data and weights as it comes."""
        if _has_other_axes(problem) and not self.takes_other_axes:
            return planar_formats(problem)
        data = channels_last(problem.inputs[0].rank)
        return Formats((data, _filters_together(problem), *(x.format for x in problem.inputs[2:])), (data,))

    def configs(self, problem: ConvolutionProblem) -> tuple[Tile, ...]:
        return self.tiles

    def supports(self, problem: ConvolutionProblem, tile: Tile) -> str | None:
        if _has_other_axes(problem) and not self.takes_other_axes:
            return "groups, or three spatial axes"
        if problem.primitive.factor_input is not None:
            return "a factor of the data"
        if not problem.inputs[1].is_static:
            return "the shape of the weights is dynamic"
        return self.misfit(problem) or tensor_cores.refusal(problem, (0, 1), tile.local_bytes)

    def misfit(self, problem: ConvolutionProblem) -> str | None:
        """What keeps the way in which steps are copied from a problem."""
        channels = problem.groups.inputs
        return f"input channels that are no multiple of {CHUNK}" if channels % CHUNK else None

    def accepts(self, problem: ConvolutionProblem, tile: Tile) -> str | None:
        return tensor_cores.misplaced(tile, ((data_view(problem.inputs[0]), 1),))

    def depth(self, problem: ConvolutionProblem) -> int:
        """The products of which a result is the sum, those with zeros that are filled up included."""
        return problem.depth

    def sizes(self, problem: ConvolutionProblem) -> tuple[Capabilities, int, int, int]:
        """The device, and rows, columns and depth of the product that each group comes to."""
        return (problem.capabilities, problem.batch * problem.pixels, problem.groups.outputs, self.depth(problem))

    def cost(self, problem: ConvolutionProblem, tile: Tile) -> float:
        return tile.time(*self.sizes(problem), problem.groups.number, problem.moved_bytes)

    def lower(self, problem: ConvolutionProblem, tile: Tile) -> Lowered:
        return Lowered((self.stage(problem, tile),))

    def stage(self, problem: ConvolutionProblem, tile: Tile, *scratch: Operand) -> Stage:
        """What computes a convolution, with scratch buffers behind its operands."""
        z, y, x = problem.filter_sizes
        constants = {**problem.constants, **tile.constants(), "FILTER_Z": z, "FILTER_Y": y, "FILTER_X": x,
                     "VOLUMES": problem.inputs[0].rank > 4, "GROUPED": problem.primitive.is_grouped,
                     "ALL_HALVES": tensor_cores.stores_halves(problem)}
        sizes = self.sizes(problem)
        arguments = {**problem.steps, **tile.arguments(*sizes)}
        return Stage(self.source, (*problem.operands(), *scratch), tile.work(*sizes, problem.groups.number), constants,
                     arguments, problem.epilogue_views(), recipe=tile.recipe)


class WarpGroupKernel(MmaKernel):
    """The same by groups of four warps, as the architecture 9.0 has them."""

    name = "convolution_wgmma"
    tiles = GROUP_TILES

    def targets(self, device: Capabilities) -> str | None:
        return tensor_cores.needs_warp_groups(device)


class BulkKernel(MmaKernel):
    """The same of steps that the tensor memory accelerator copies."""

    name = "convolution_tma"
    source = "convolution_tma.cl"
    takes_other_axes = False
    tiles = (BULK_TILES[64], BULK_TILES[128], TURNS_TILES[128], SHARED_TILE)

    def targets(self, device: Capabilities) -> str | None:
        return tensor_cores.needs_bulk_copies(device)

    def misfit(self, problem: ConvolutionProblem) -> str | None:
        """The accelerator's limits: strides of 3 bits, and borders of 8 bits with a sign."""
        primitive = problem.primitive
        reaches = map(reach, problem.filter_sizes, problem.dilations)
        pads = map(abs, (0, *primitive.pads_begin, *primitive.pads_end))
        if max(problem.strides) > _MOST_STRIDE or max(*reaches, *pads) > _MOST_REACH:
            return f"strides above {_MOST_STRIDE}, or filters or borders over more than {_MOST_REACH} pixels"
        return super().misfit(problem)

    def depth(self, problem: ConvolutionProblem) -> int:
        _, y, x = problem.filter_sizes
        return y * x * ceil(problem.groups.inputs / BOX) * BOX

    def lower(self, problem: ConvolutionProblem, tile: Tile) -> Lowered:
        assert isinstance(tile, BulkTile)
        operands, nbytes = tile.scratch(*self.sizes(problem))
        return Lowered((self.stage(problem, tile, *operands),), nbytes)


class PlanarMmaKernel(MmaKernel):
    """Pictures of few channels, plane by plane, to channels last."""

    name = "convolution_mma_planar"
    source = "convolution_mma_planar.cl"
    takes_other_axes = False
    tiles: tuple[Tile, ...] = (PLANAR_TILE,)
    patches = False
    """Whether runs start at multiples of `CHUNK` elements, and are as long."""

    def formats(self, problem: ConvolutionProblem) -> Formats:
        return _to_channels_last(problem)

    def misfit(self, problem: ConvolutionProblem) -> str | None:
        if problem.inputs[1].padding:
            return "padded weights"
        return "a dilation along x" if problem.primitive.dilations[-1] != 1 else None

    def stage(self, problem: ConvolutionProblem, tile: Tile, *scratch: Operand) -> Stage:
        stage = super().stage(problem, tile, *scratch)
        return replace(stage, constants={**stage.constants, "PATCHES": self.patches})

    def depth(self, problem: ConvolutionProblem) -> int:
        _, y, x = problem.filter_sizes
        return problem.groups.inputs * y * ceil(x / CHUNK) * CHUNK


class PatchesKernel(PlanarMmaKernel):
    """Pictures that are cut into patches, by groups of four warps."""

    name = "convolution_wgmma_patches"
    tiles = GROUP_TILES
    patches = True

    def targets(self, device: Capabilities) -> str | None:
        return tensor_cores.needs_warp_groups(device)

    def misfit(self, problem: ConvolutionProblem) -> str | None:
        primitive, width = problem.primitive, problem.filter_sizes[-1]
        steps = (width, primitive.strides[-1], *primitive.pads_begin[-1:])
        if any(step % CHUNK for step in steps) or primitive.auto_pad not in ("explicit", "valid"):
            return f"a filter, stride or border along x that is no multiple of {CHUNK}"
        return super().misfit(problem)

    def accepts(self, problem: ConvolutionProblem, tile: Tile) -> str | None:
        return tensor_cores.misplaced(tile, ((data_view(problem.inputs[0]), -1),))


@dataclass(frozen=True)
class Rows:
    """The rows of pixels that a group computes."""

    count: int

    def __str__(self) -> str:
        return str(self.count)


class RowsKernel(Kernel[ConvolutionProblem, Rows]):
    """Pictures of few channels, plane by plane, to channels last, of which a group holds what rows of pixels need."""

    name = "convolution_mma_rows"
    has_epilogue = True
    pixels, channels, threads = 128, 64, 128

    def targets(self, device: Capabilities) -> str | None:
        return tensor_cores.needs_tensor_cores(device)

    def formats(self, problem: ConvolutionProblem) -> Formats:
        return _to_channels_last(problem)

    def configs(self, problem: ConvolutionProblem) -> tuple[Rows, ...]:
        return Rows(4), Rows(1)

    def supports(self, problem: ConvolutionProblem, rows: Rows) -> str | None:
        if _has_other_axes(problem):
            return "groups, or three spatial axes"
        if problem.primitive.factor_input is not None:
            return "a factor of the data"
        if not problem.inputs[1].is_static or problem.inputs[1].padding:
            return "weights of dynamic shape, or padded"
        if problem.strides[-1] % 2 or problem.filter_sizes[-1] > CHUNK or problem.dilations[-1] != 1:
            return f"odd strides along x, filters of more than {CHUNK} columns, or a dilation along x"
        if problem.inputs[0].element_type != problem.inputs[1].element_type:
            return "data and weights of two types"
        return tensor_cores.refusal(problem, (0, 1), self._local_bytes(problem, rows))

    def cost(self, problem: ConvolutionProblem, rows: Rows) -> float:
        device = problem.capabilities
        share = ceil(prod(self._groups(problem, rows)) / device.compute_units)
        side_by_side = max(device.usable_local_mem // self._local_bytes(problem, rows), 1)
        runs = problem.groups.inputs * problem.filter_sizes[-2]
        group = 620.0 + rows.count * (330.0 + 80.0 * runs)  # measured on an H200
        return (share + side_by_side / 2) * group + device.ceilings.launch

    def lower(self, problem: ConvolutionProblem, rows: Rows) -> Lowered:
        (_, y, x), (_, stride_y, stride_x) = problem.filter_sizes, problem.strides
        constants = {**problem.constants, "OUTPUT_ROWS": rows.count, "CHANNELS": problem.groups.inputs, "FILTER_Y": y,
                     "FILTER_X": x, "STRIDE_Y": stride_y, "STRIDE_X": stride_x, "DILATION_Y": problem.dilations[-2],
                     "ALL_HALVES": tensor_cores.stores_halves(problem)}
        groups, tiles = self._groups(problem, rows)
        work = Work((groups * self.threads, tiles), (self.threads, 1))
        return Lowered((Stage("convolution_mma_rows.cl", problem.operands(), work, constants, problem.steps,
                              problem.epilogue_views()),))

    def _groups(self, problem: ConvolutionProblem, rows: Rows) -> tuple[int, int]:
        """Those of pixels, and the tiles of channels."""
        *_, y, x = problem.output_sizes
        return problem.batch * ceil(y / rows.count) * ceil(x / self.pixels), ceil(
            problem.groups.outputs / self.channels)

    def _local_bytes(self, problem: ConvolutionProblem, rows: Rows) -> int:
        """Data, filters and strips of 16 x 64 floats for each warp."""
        channels, (_, y, _), (_, stride_y, stride_x) = problem.groups.inputs, problem.filter_sizes, problem.strides
        data_rows = (rows.count - 1) * stride_y + (y - 1) * problem.dilations[-2] + 1
        data = channels * data_rows * ((self.pixels - 1) * stride_x // 2 + 4) * 4
        return data + self.channels * ceil(channels * y / 2) * 32 + self.threads // 32 * 16 * 64 * 4 + 256


def _to_channels_last(problem: ConvolutionProblem) -> Formats:
    """Data and weights planar, the result channels last."""
    planar = planar_formats(problem)
    return planar if _has_other_axes(problem) else Formats(planar.inputs, (Format.of("byxf"),))


def _filters_together(problem: ConvolutionProblem) -> Format:
    """The format of weights in which those of a filter lie together, those of a tap first."""
    axes = LETTERS[3 - max(problem.inputs[0].rank - 2, 1 if problem.primitive.is_grouped else 2):]
    return Format.of(f"{'g' if problem.primitive.is_grouped else ''}o{axes}i")


def _has_other_axes(problem: ConvolutionProblem) -> bool:
    return problem.primitive.is_grouped or problem.inputs[0].rank > 4
