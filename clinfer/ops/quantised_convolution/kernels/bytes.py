"""Kernels of quantised convolutions for CPUs, whose tiles read bytes where they lie or from copies."""
from __future__ import annotations

from math import ceil, prod

from clinfer.base.element_type import ElementType
from clinfer.base.format import Format
from clinfer.base.tensor_view import TensorView
from clinfer.kernels.contract import (
    BufferRef,
    Formats,
    Kernel,
    Lowered,
    Operand,
    Stage,
    Work,
    input_operand,
    output_operand,
    scratch_operand,
)
from clinfer.kernels.cost import time_of
from clinfer.ops.convolution import ConvolutionProblem
from clinfer.ops.shared.byte_products import byte_tiles, flops_of, most_panels, tile_refusal
from clinfer.ops.shared.channel_tiles import BLOCK, BLOCKED_DATA
from clinfer.ops.shared.float_products import IN_REGISTERS
from clinfer.ops.shared.spatial import data_view
from clinfer.ops.shared.targets import cpu_only
from clinfer.ops.shared.tile_runs import shared_panels, tiles_of_run
from clinfer.ops.shared.views import static
from clinfer.runtime.capabilities import Capabilities
from clinfer.symbolic.symbols import computed

_FLOATS = ("f32", "f16", "bf16")
WHOLE, SCALE, START, GRID = 1, 2, 3, 4
_MOST_TAPS, _PATCH = 64, 1024
"""The limits in convolution_bytes.cl."""
MAKING, STORING = 2.0, 16.0
_GATHERING, _COPYING = 10.0, 0.2
"""Operations of f32 in the time of which a number becomes a byte, and a sum is scaled and stored; and in that of which
a byte is gathered, or is part of a patch that is copied."""


class BytesKernel(Kernel[ConvolutionProblem, int]):
    """From blocks of 16 channels to blocks, by way of bytes; the configuration is the pixels of a tile."""

    name = "convolution_bytes"
    has_epilogue = True
    pixel_bytes = BLOCK
    """Channels of a pixel of data."""
    making = "convolution_to_bytes.cl"

    def targets(self, device: Capabilities) -> str | None:
        return cpu_only(device)

    def formats(self, problem: ConvolutionProblem) -> Formats:
        rank, inputs = problem.inputs[0].rank, problem.inputs
        blocks = byte_tiles(problem.capabilities).blocks("os", "is", self.pixel_bytes)
        weights = f"os_is_yx_{blocks}" if rank < 5 else Format.planar(rank).name
        blocked = (Format.of("o_osv16") if index != GRID else Format.planar(2) for index in range(2, len(inputs)))
        return Formats((self.data_format(rank), Format.of(weights), *blocked), (Format.of(BLOCKED_DATA[rank]),))

    def data_format(self, rank: int) -> Format:
        """The format of the data."""
        return Format.of(BLOCKED_DATA[rank])

    def reads_as_is(self, problem: ConvolutionProblem) -> bool:
        """Whether the data are stored as whole numbers, and in the order in which tiles read them."""
        return problem.inputs[0].element_type.grid is not None

    def configs(self, problem: ConvolutionProblem) -> tuple[int, ...]:
        return tuple(tile for tile in byte_tiles(problem.capabilities).rows if tile > 1)

    def supports(self, problem: ConvolutionProblem, tile: int) -> str | None:
        if problem.inputs[0].rank > 4:
            return "three spatial axes"
        if any(x.padding for x in (problem.inputs[0], problem.outputs[0])):
            return "padded tensors"
        if any(x.element_type.computed.name not in _FLOATS for x in (problem.inputs[0], problem.outputs[0])):
            return "element types other than f32, f16, bf16"
        if not self._steps(problem):
            return "nothing to multiply"
        *_, filter_x = problem.filter_sizes
        if filter_x > _MOST_TAPS or (tile - 1) * problem.strides[2] + (filter_x - 1) * problem.dilations[2] >= _PATCH:
            return "the filter is too wide"
        return tile_refusal(problem.capabilities, tile)

    def cost(self, problem: ConvolutionProblem, tile: int) -> float:
        (rows, width), panels = _rows(problem, tile), panels_of(problem)
        columns = panels * byte_tiles(problem.capabilities).columns
        pixels = rows * ceil(width / tile) * tile * problem.batch
        bytes_read = pixels * self._steps(problem) * self.pixel_bytes
        copying = _GATHERING if tile in IN_REGISTERS else 0 if problem.is_pointwise else _COPYING
        made, is_made = problem.inputs[0].count, not self.reads_as_is(problem)
        flops = (flops_of(bytes_read * columns, tile, problem.capabilities)
                 + bytes_read * ceil(panels / _shared_panels(problem, tile)) * copying
                 + pixels * columns * STORING + is_made * made * MAKING)
        return time_of(problem.capabilities.ceilings, flops=flops, launches=1 + is_made,
                       nbytes=problem.moved_bytes + 2 * is_made * made)

    def lower(self, problem: ConvolutionProblem, tile: int) -> Lowered:
        data, output = _views(problem, tile)
        rows, width = _rows(problem, tile)
        batch, channels, _, *spatial = static(data.sizes)
        sizes = (batch, ceil(channels / self.pixel_bytes), *spatial, self.pixel_bytes)
        held, is_made = TensorView.dense(ElementType.of("u8"), sizes), not self.reads_as_is(problem)
        read = BufferRef("scratch", 0) if is_made else BufferRef("input", 0)
        shared, tiles = _shared_panels(problem, tile), ceil(width / tile)
        kind = byte_tiles(problem.capabilities)
        constants = {**problem.has_bias, **kind.constants(tile), "PIXEL_BYTES": self.pixel_bytes}
        _, filter_y, filter_x = problem.filter_sizes
        items = ceil(panels_of(problem) / shared)
        run = tiles_of_run(problem, rows * tiles * items * problem.batch, self._flops_of_tile(problem, tile, shared))
        arguments = {**problem.steps, "filter_y": filter_y, "filter_x": filter_x, "channels": channels,
                     "panels": shared, "row_pixels": width, "row_tiles": tiles, "tiles": rows * tiles, "run": run}
        work = Work((ceil(rows * tiles / run), items, problem.batch), (1, 1, 1))
        operands = product_operands(problem, Operand("INPUT0", read, held), output)
        views = problem.epilogue_views() if tile in IN_REGISTERS else problem.flat_epilogue_views()
        adding = Stage("convolution_bytes.cl", operands, work, constants, arguments, views, recipe=kind.recipe)
        if not is_made:
            return Lowered((adding,))
        return Lowered((self.making_stage(problem, data, held), adding), (prod(sizes),))

    def making_stage(self, problem: ConvolutionProblem, data: TensorView, held: TensorView,
                     pads: tuple[int, int] = (0, 0)) -> Stage:
        """The stage that makes bytes of the data, which begin so far (y, x) behind the border."""
        operands = (input_operand(problem, 0, data), named_operand("INPUT1", problem, GRID), scratch_operand(0, held))
        batch, blocks, rows, *row = static(held.sizes)
        run = tiles_of_run(problem, rows * blocks * batch, prod(row) * MAKING)
        return Stage(self.making, operands, Work((ceil(rows / run), blocks, batch), (1, 1, 1)),
                     arguments={**problem.steps, "pad_y": pads[0], "pad_x": pads[1], "run": run})

    def _flops_of_tile(self, problem: ConvolutionProblem, tile: int, panels: int) -> float:
        """Operations of f32 that take as long as a tile of so many panels."""
        sums = tile * panels * byte_tiles(problem.capabilities).columns
        products = sums * self._steps(problem) * self.pixel_bytes
        return flops_of(products, tile, problem.capabilities) + sums * STORING

    def _steps(self, problem: ConvolutionProblem) -> int:
        """Pixels of blocks of channels that the filter meets."""
        return ceil(problem.groups.inputs / self.pixel_bytes) * prod(problem.filter_sizes)


class FewChannelsKernel(BytesKernel):
    """From planar data of few channels, of which each pixel becomes four bytes."""

    name = "convolution_bytes_few"
    pixel_bytes = 4
    making = "convolution_to_fours.cl"

    def data_format(self, rank: int) -> Format:
        return Format.planar(rank)

    def reads_as_is(self, problem: ConvolutionProblem) -> bool:
        return False

    def configs(self, problem: ConvolutionProblem) -> tuple[int, ...]:
        return tuple(tile for tile in super().configs(problem) if tile not in IN_REGISTERS)

    def accepts(self, problem: ConvolutionProblem, tile: int) -> str | None:
        return None if problem.groups.inputs < BLOCK else "made for few channels"


def product_operands(problem: ConvolutionProblem, data: Operand, output: TensorView) -> tuple[Operand, ...]:
    """What stages read and write that multiply bytes."""
    return (data, named_operand("INPUT1", problem, WHOLE), named_operand("INPUT2", problem, SCALE),
            named_operand("START", problem, START), named_operand("INPUT3", problem, GRID), *bias_operands(problem),
            output_operand(problem, 0, output))


def named_operand(macro: str, problem: ConvolutionProblem, index: int) -> Operand:
    """An input under another name."""
    return Operand(macro, BufferRef("input", index), TensorView.of(problem.inputs[index]))


def bias_operands(problem: ConvolutionProblem) -> tuple[Operand, ...]:
    """The bias, if there is one."""
    index = problem.primitive.bias_input
    return () if index is None else (named_operand("BIAS", problem, index),)


def _rows(problem: ConvolutionProblem, tile: int) -> tuple[int, int]:
    """(rows, pixels of one) that tiles divide: all pixels stand in one row for those that gather."""
    return (1, problem.pixels) if tile in IN_REGISTERS else problem.flat_rows


def _views(problem: ConvolutionProblem, tile: int) -> tuple[TensorView, TensorView]:
    """Data and output."""
    if tile in IN_REGISTERS:
        return data_view(problem.inputs[0]), data_view(problem.outputs[0])
    return problem.flat_views


def panels_of(problem: ConvolutionProblem) -> int:
    """Panels of output channels."""
    return ceil(problem.groups.outputs / byte_tiles(problem.capabilities).columns)


def _shared_panels(problem: ConvolutionProblem, tile: int) -> int:
    if not problem.is_static:
        return 1
    rows, width = _rows(problem, tile)
    return computed(shared_panels, rows * ceil(width / tile) * problem.batch, panels_of(problem),
                    problem.capabilities.compute_units, most_panels(byte_tiles(problem.capabilities), tile))
