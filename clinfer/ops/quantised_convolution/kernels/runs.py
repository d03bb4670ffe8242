"""Kernels of quantised convolutions for CPUs whose tile registers read the data where they lie."""
from __future__ import annotations

from dataclasses import dataclass
from math import ceil, prod

from clinfer.base.element_type import ElementType
from clinfer.base.tensor_view import TensorView
from clinfer.kernels.contract import BufferRef, Lowered, Operand, Stage, Work
from clinfer.kernels.cost import time_of
from clinfer.ops.convolution import ConvolutionProblem
from clinfer.ops.quantised_convolution.kernels.bytes import (
    MAKING,
    STORING,
    BytesKernel,
    FewChannelsKernel,
    panels_of,
    product_operands,
)
from clinfer.ops.shared.byte_products import byte_tiles, flops_of
from clinfer.ops.shared.float_products import IN_REGISTERS
from clinfer.ops.shared.spatial import reach
from clinfer.ops.shared.tile_runs import tiles_of_run
from clinfer.ops.shared.views import static

_MOST_RUNS = 512
"""The limit in convolution_bytes_runs.cl."""
_RUN_BYTES = 64
"""Of a row of a tile register: shorter runs take as long."""
_FASTER = 1.25
"""Than where rows are gathered: their loads hide behind the products."""


@dataclass(frozen=True)
class _Rows:
    """The rows that the output is taken for: how many, the pixels of one, of which the output may have fewer, and
    those from one row of the output to the next in it."""

    count: int
    pixels: int
    width: int


class RunsKernel(BytesKernel):
    """From blocks of 16 channels to blocks: what a pixel meets in a row of the filter is a run of bytes, and those of
    neighbours lie a stride apart. Where filters reach over the border, the data are copied into one before."""

    name = "convolution_bytes_runs"

    def configs(self, problem: ConvolutionProblem) -> tuple[int, ...]:
        return tuple(tile for tile in byte_tiles(problem.capabilities).rows if tile in IN_REGISTERS)

    def supports(self, problem: ConvolutionProblem, tile: int) -> str | None:
        if self._runs(problem) > _MOST_RUNS:
            return "too many runs of bytes"
        return super().supports(problem, tile)

    def cost(self, problem: ConvolutionProblem, tile: int) -> float:
        held, rows = self._held(problem), self._rows(problem)
        columns = panels_of(problem) * byte_tiles(problem.capabilities).columns
        pixels = rows.count * ceil(rows.pixels / tile) * tile * problem.batch
        made, is_made = prod(static(held.sizes)), self._is_made(problem)
        products = pixels * columns * self._runs(problem) * _RUN_BYTES
        flops = (flops_of(products, tile, problem.capabilities) / _FASTER
                 + problem.pixels * problem.batch * columns * STORING + is_made * made * MAKING)
        return time_of(problem.capabilities.ceilings, flops=flops, launches=1 + is_made,
                       nbytes=problem.moved_bytes + 2 * is_made * made)

    def lower(self, problem: ConvolutionProblem, tile: int) -> Lowered:
        data, output = problem.flat_views
        held, rows, is_made = self._held(problem), self._rows(problem), self._is_made(problem)
        kind, panels = byte_tiles(problem.capabilities), panels_of(problem)
        tiles, steps = rows.count * ceil(rows.pixels / tile), self._run_values(problem) // kind.step_values
        run = tiles_of_run(problem, tiles * panels * problem.batch, self._flops_of_tile(problem, tile, 1))
        constants = {**problem.has_bias, **kind.constants(tile), "MOST_PANELS": 1, "PIXEL_BYTES": self.pixel_bytes}
        arguments = {**problem.steps, "filter_y": problem.filter_sizes[1], "row_runs": self._row_runs(problem),
                     "steps": steps, "rows": rows.count, "row_pixels": rows.pixels, "row_width": rows.width,
                     "tiles": tiles, "run": run}
        source = Operand("INPUT0", BufferRef("scratch" if is_made else "input", 0), held)
        adding = Stage("convolution_bytes_runs.cl", product_operands(problem, source, output),
                       Work((ceil(tiles / run), panels, problem.batch), (1, 1, 1)), constants, arguments,
                       problem.flat_epilogue_views(), recipe=kind.recipe)
        if not is_made:
            return Lowered((adding,))
        pads = (problem.steps["pad_y"], problem.steps["pad_x"])
        return Lowered((self.making_stage(problem, data, held, pads), adding), (prod(static(held.sizes)),))

    def _held(self, problem: ConvolutionProblem) -> TensorView:
        """The bytes [B, blocks, Y, X, PIXEL_BYTES] that are read: the data, or a copy of what filters meet."""
        data, output = problem.flat_views
        batch, channels, _, *spatial = static(data.sizes)
        if self._is_made(problem):
            spatial = [(size - 1) * stride + reach(taps, dilation) for size, stride, taps, dilation in zip(
                static(output.sizes)[3:], problem.strides[1:], problem.filter_sizes[1:], problem.dilations[1:],
                strict=True)]
        sizes = (batch, ceil(channels / self.pixel_bytes), *spatial, self.pixel_bytes)
        return TensorView.dense(ElementType.of("u8"), sizes)

    def _rows(self, problem: ConvolutionProblem) -> _Rows:
        """Those of the output, or, where neighbours lie as far apart from one row to the next, one of all pixels."""
        *_, height, width = static(problem.flat_views[1].sizes)
        if problem.strides[1:] != (1, 1):
            return _Rows(height, width, width)
        row = static(self._held(problem).sizes)[3]
        return _Rows(1, (height - 1) * row + width, row)

    def _is_made(self, problem: ConvolutionProblem) -> bool:
        primitive = problem.primitive
        has_border = (primitive.auto_pad.startswith("same")
                      or (primitive.auto_pad == "explicit" and any(primitive.pads_begin + primitive.pads_end)))
        return has_border or not self.reads_as_is(problem)

    def _row_runs(self, problem: ConvolutionProblem) -> int:
        """Runs of a row of the filter: one, or one for each element."""
        *_, filter_x = problem.filter_sizes
        is_one = problem.dilations[2] == 1 and filter_x * self.pixel_bytes <= _RUN_BYTES
        return 1 if is_one else filter_x

    def _run_values(self, problem: ConvolutionProblem) -> int:
        return problem.filter_sizes[2] // max(self._row_runs(problem), 1) * self.pixel_bytes

    def _runs(self, problem: ConvolutionProblem) -> int:
        blocks = ceil(problem.groups.inputs / self.pixel_bytes)
        return blocks * problem.filter_sizes[1] * self._row_runs(problem)


class FewChannelsRunsKernel(RunsKernel, FewChannelsKernel):
    """From planar data of few channels, of which each pixel becomes four bytes."""

    name = "convolution_bytes_few_runs"
