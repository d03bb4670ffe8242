"""Kernels of convolutions by transformed filters: tiles on CPUs, and a reference."""
from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import ceil, prod
from typing import NamedTuple

import numpy as np

from clinfer.base.format import Format
from clinfer.base.tensor_view import TensorView
from clinfer.kernels.contract import Constant, Formats, Kernel, KernelTable, Lowered, Stage, Work, scratch_operand
from clinfer.kernels.cost import time_of
from clinfer.kernels.jitter import literal
from clinfer.kernels.recipe import USUAL, Recipe
from clinfer.ops.convolution import ConvolutionProblem
from clinfer.ops.shared.channel_tiles import BLOCK, BLOCKED_DATA, SHARE_OF_PEAK, refusal
from clinfer.ops.shared.convolving import Groups, reference_time
from clinfer.ops.shared.float_products import F32, float_tiles
from clinfer.ops.shared.spatial import per_axis
from clinfer.ops.shared.targets import cpu_only, has_wide_vectors
from clinfer.ops.winograd_convolution.op import POINTS, WinogradConvolution, data_matrix, result_matrix
from clinfer.runtime.capabilities import Capabilities
from clinfer.symbolic.symbols import computed, larger, one_if_positive, pure, smaller

_WEIGHTS = {3: "g_os_is_x_isv16_osv16", 4: "g_os_is_yx_isv16_osv16"}
"""The format of transformed filters, by the rank of the data."""
_ITEMS_PER_UNIT = 4
"""Work-items that keep a core busy to the end; each has scratch memory of its own."""
_IMBALANCE = 20
"""Larger blocks of tiles may take longer by one part in so many, because cores have not as much to do."""
_TRANSFORMING = {4: 30.0, 6: 30.0, 8: 30.0, 16: 15.0, 36: 50.0}
"""By the elements of a tile: operations of f32 in the time of which one is transformed, and stored or loaded."""
_OF_PEAK = 0.9 * SHARE_OF_PEAK
"""What products reach of the peak of f32."""


@dataclass(frozen=True)
class WinogradProblem(ConvolutionProblem):
    """Data [B, C, 1, Y, X] with transformed filters [taps, O, C, 1, 1, 1]."""

    primitive: WinogradConvolution

    @cached_property
    def groups(self) -> Groups:
        return Groups(1, *self.inputs[1].static_shape[1:3])

    @cached_property
    def filter_sizes(self) -> tuple[int, int, int]:
        return per_axis(self.primitive.window, 1)

    @cached_property
    def pads(self) -> tuple[int, ...]:
        sizes, window = self.inputs[0].static_shape[2:], self.primitive.window
        return tuple(self.primitive.pads(axis, size, window[axis])[0] for axis, size in enumerate(sizes))

    @property
    def weights_view(self) -> TensorView:
        view = TensorView.of(self.inputs[1])
        return view.insert_axes(tuple(range(3, 9 - view.rank)), pitch=1)

    @property
    def flops(self) -> float:
        return 2.0 * self.taps * self.tiles * self.groups.outputs * self.groups.inputs

    @property
    def taps(self) -> int:
        """Elements of a transformed tile."""
        return prod(self.primitive.sides)

    @property
    def tiles(self) -> int:
        """Of all pictures."""
        sizes = zip(self.output_sizes, per_axis(self.primitive.outputs, 1), strict=True)
        return self.batch * prod(ceil(size / outputs) for size, outputs in sizes)

    @property
    def transforms(self) -> dict[str, Constant]:
        """The tiles, as kernels are told (winograd.h)."""
        given = self.primitive
        _, y, x = per_axis(given.sides, 1)
        points = {f"POINT_{letter}": point for letter, point in zip("ABC", POINTS[given.side][1::2], strict=False)}
        return {**self.has_bias, "TILE_SIDE": given.side, "TILE_OUTPUTS": max(given.outputs), "ALONG_Y": y > 1,
                "ALONG_X": x > 1, **points}


class _Shares(NamedTuple):
    """How the work is shared out: tiles of a block, panels of channels of a work-item, and blocks that a work-item
    computes one behind another."""

    tiles: int
    across: int
    run: int


class WinogradKernel(Kernel[WinogradProblem, None]):
    """From blocks of channels to blocks: tiles that are transformed, multiplied and transformed in a work-item."""

    name = "winograd"
    has_epilogue = True
    supports_large = True

    def targets(self, device: Capabilities) -> str | None:
        return cpu_only(device)

    def formats(self, problem: WinogradProblem) -> Formats:
        rank = problem.inputs[0].rank
        blocked = Format.of(BLOCKED_DATA[rank])
        bias = (Format.of("o_osv16"),) if problem.primitive.bias_input is not None else ()
        return Formats((blocked, Format.of(_WEIGHTS[rank]), *bias), (blocked,))

    def supports(self, problem: WinogradProblem, config: None) -> str | None:
        if any(x.element_type != F32 for x in problem.inputs[:2]):
            return f"data or weights other than {F32}"
        if problem.inputs[0].padding.both(1) or problem.outputs[0].padding.both(1):
            return "padded channels"
        return refusal(problem) or (None if problem.groups.inputs and problem.groups.outputs else "no channels")

    def cost(self, problem: WinogradProblem, config: None) -> float:
        (_, outputs, inputs), ceilings = problem.groups, problem.capabilities.ceilings
        count, across, _ = self._shares(problem)
        panels = self._panels(problem)
        multiplied = problem.taps * ceil(problem.tiles / count) * count
        products = multiplied * ceil(inputs / BLOCK) * BLOCK * panels * self._channels(problem.capabilities)
        moved = problem.taps * problem.tiles * (inputs * ceil(panels / across) + outputs)
        computing = time_of(ceilings, flops=2 * products / _OF_PEAK + _TRANSFORMING[problem.taps] * moved,
                            nbytes=problem.moved_bytes)
        # Weights are read once for a few tiles: nothing hides that they come from afar.
        return computing + problem.inputs[1].byte_size / ceilings.memory

    def lower(self, problem: WinogradProblem, config: None) -> Lowered:
        device, groups, panels = problem.capabilities, problem.groups, self._panels(problem)
        count, across, run = self._shares(problem)
        items, parts = ceil(ceil(problem.tiles / count) / run), ceil(panels / across)
        depth, width = ceil(groups.inputs / BLOCK) * BLOCK, across * self._channels(device)
        place = problem.taps * count * (depth + width)
        scratch = scratch_operand(0, TensorView.dense(F32, (items * parts, place)))
        recipe = _recipe(device)
        constants = {**problem.transforms, "TILE_ROWS": _rows(device), "TILE_BLOCKS": self._channels(device) // BLOCK,
                     "BY_ASSEMBLY": recipe is not USUAL}
        arguments = {**problem.steps, "count": count, "across": across, "panels": panels, "place": place,
                     "tiles": problem.tiles, "run": run}
        stage = Stage("winograd.cl", (*problem.operands(), scratch), Work((items, parts), (1, 1)), constants, arguments,
                      problem.epilogue_views(), recipe=recipe)
        return Lowered((stage,), (F32.byte_size(items * parts * place),))

    def _channels(self, device: Capabilities) -> int:
        """Of a panel."""
        return 2 * BLOCK if has_wide_vectors(device) else BLOCK

    def _panels(self, problem: WinogradProblem) -> int:
        return ceil(problem.groups.outputs / self._channels(problem.capabilities))

    def _shares(self, problem: WinogradProblem) -> _Shares:
        rows, panels = _rows(problem.capabilities), self._panels(problem)
        if not problem.is_static:
            return _Shares(rows, panels, 1)
        units = problem.capabilities.compute_units
        count = computed(_tiles_of_block, problem.tiles, rows, units)
        blocks = ceil(problem.tiles / count)
        across = computed(_panels_of_item, blocks, panels, units)
        return _Shares(count, across, computed(_blocks_of_item, blocks, units))


def _rows(device: Capabilities) -> int:
    """Tiles that are multiplied at once."""
    return 14 if has_wide_vectors(device) else 6


def _recipe(device: Capabilities) -> Recipe:
    """Narrow vectors are multiplied by assembly, if the device has it."""
    recipe = float_tiles(device).recipe
    return USUAL if has_wide_vectors(device) or recipe.refusal(device) else recipe


@pure
def _tiles_of_block(tiles: int, rows: int, units: int) -> int:
    # Two or four times `rows` share weights in a near cache.
    groups, most = ceil(tiles / rows), 28 // rows
    single = ceil(groups / units)
    many = ceil(ceil(groups / most) / units) * most
    is_even = one_if_positive(single * (_IMBALANCE + 1) - many * _IMBALANCE + 1)
    return rows * (1 + (most - 1) * is_even)


@pure
def _panels_of_item(blocks: int, panels: int, units: int) -> int:
    parts = smaller(larger(2 * units // larger(blocks, 1), 1), panels)
    return ceil(panels / larger(parts, 1))


@pure
def _blocks_of_item(blocks: int, units: int) -> int:
    return larger(ceil(blocks / (_ITEMS_PER_UNIT * units)), 1)


class WinogradReference(Kernel[WinogradProblem, None]):
    """Of all types, one element per work-item."""

    name = "winograd_ref"
    has_epilogue = True
    supports_large = True

    def formats(self, problem: WinogradProblem) -> Formats:
        return Formats(tuple(x.format for x in problem.inputs), (problem.inputs[0].format,))

    def cost(self, problem: WinogradProblem, config: None) -> float:
        return reference_time(problem, problem.groups.inputs * problem.taps * problem.taps)

    def lower(self, problem: WinogradProblem, config: None) -> Lowered:
        given = problem.primitive
        points = POINTS[given.side]
        constants = {**problem.transforms, "DATA_MATRIX": _text(data_matrix(points)),
                     "RESULT_MATRIX": _text(result_matrix(points, max(given.outputs)))}
        return Lowered((Stage("winograd_ref.cl", problem.operands(), Work((problem.outputs[0].count,)), constants,
                              problem.steps, problem.epilogue_views()),))


def _text(matrix: np.ndarray) -> str:
    rows = (", ".join(map(literal, row)) for row in matrix.tolist())
    return f"{{{', '.join(f'{{{row}}}' for row in rows)}}}"


KERNELS = KernelTable((WinogradKernel(), WinogradReference()), WinogradProblem)
