"""Matrix products of data that are whole numbers of 8 bits times a step with weights of 8 bits, for CPUs."""
from __future__ import annotations

from math import ceil

from clinfer.base.format import Format
from clinfer.base.tensor_view import TensorView
from clinfer.kernels.contract import BufferRef, Formats, Kernel, Lowered, Operand, Stage, Work, planar_formats
from clinfer.kernels.cost import time_of
from clinfer.ops.matmul.problem import MatMulProblem
from clinfer.ops.shared.byte_products import byte_tiles, flops_of, most_panels, tile_refusal
from clinfer.ops.shared.float_products import IN_REGISTERS
from clinfer.ops.shared.targets import cpu_only
from clinfer.ops.shared.tile_runs import shared_panels
from clinfer.runtime.capabilities import Capabilities
from clinfer.symbolic.symbols import computed, pure, smaller

_FILLING, _STORING = 6.0, 12.0
"""Operations of f32 in the time of which a number of the left side becomes a byte, and a sum is scaled and stored."""
_MOST_TILES = 8
"""Of rows, which one work-item multiplies by each panel."""


class BytesKernel(Kernel[MatMulProblem, int]):
    """A tile of rows x a few panels of columns per work-item; the configuration is the rows of a tile."""

    name = "matmul_bytes"
    has_epilogue = True

    def targets(self, device: Capabilities) -> str | None:
        return cpu_only(device)

    def formats(self, problem: MatMulProblem) -> Formats:
        planar, primitive = planar_formats(problem), problem.primitive
        if primitive.data_grid is None:
            return planar
        tiles = byte_tiles(problem.capabilities)
        right = f"os_is_{tiles.blocks('os', 'is')}" if primitive.transpose_b else f"ns_ks_{tiles.blocks('ns', 'ks')}"
        others = ("o_osv16" if index == primitive.bias_input else "ks_n_nsv32"
                  for index in range(2, len(problem.inputs)))
        return Formats((planar.inputs[0], *map(Format.of, (right, *others))), planar.outputs)

    def configs(self, problem: MatMulProblem) -> tuple[int, ...]:
        return tuple(byte_tiles(problem.capabilities).rows)

    def supports(self, problem: MatMulProblem, tile: int) -> str | None:
        if problem.primitive.data_grid is None:
            return "made for data of whole numbers times a step"
        if not problem.depth:
            return "nothing to multiply"
        return problem.types_refusal(takes_grids=True) or tile_refusal(problem.capabilities, tile)

    def cost(self, problem: MatMulProblem, tile: int) -> float:
        rows, panels = ceil(problem.rows / tile) * tile * problem.batch, _panels(problem)
        columns = panels * byte_tiles(problem.capabilities).columns
        passes = 0 if _lies_in_place(problem, tile) else ceil(panels / _shared_panels(problem, tile, 1))
        filled = rows * problem.depth * passes
        flops = (flops_of(rows * columns * problem.depth, tile, problem.capabilities) + filled * _FILLING
                 + rows * columns * _STORING)
        return time_of(problem.capabilities.ceilings, flops=flops, nbytes=problem.moved_bytes)

    def lower(self, problem: MatMulProblem, tile: int) -> Lowered:
        tiles, in_place = byte_tiles(problem.capabilities), _lies_in_place(problem, tile)
        run = computed(_run_of, ceil(problem.rows / tile)) if in_place and problem.is_static else 1
        shared = _shared_panels(problem, tile, run)
        work = Work((ceil(problem.rows / (tile * run)), ceil(_panels(problem) / shared), problem.batch), (1, 1, 1))
        constants = {**problem.constants, **tiles.constants(tile), "IN_PLACE": in_place}
        return Lowered((Stage("matmul_bytes.cl", _operands(problem), work, constants, {"panels": shared, "tiles": run},
                              problem.epilogue_views(), recipe=tiles.recipe),))


@pure
def _run_of(tiles: int) -> int:
    """How many of so many tiles of rows one work-item takes."""
    return smaller(tiles, _MOST_TILES)


def _lies_in_place(problem: MatMulProblem, tile: int) -> bool:
    """Whether rows of bytes are all that is read of the left side, and the tiles may lack some."""
    left, step = problem.inputs[0], byte_tiles(problem.capabilities).step_values
    depth = left.shape[-1]
    return (tile in IN_REGISTERS and left.element_type.grid is not None and not problem.primitive.transpose_a
            and isinstance(depth, int) and depth % step == 0)


def _panels(problem: MatMulProblem) -> int:
    return ceil(problem.columns / byte_tiles(problem.capabilities).columns)


def _shared_panels(problem: MatMulProblem, tile: int, run: int) -> int:
    """The panels of one work-item, which computes `run` tiles of rows."""
    if not problem.is_static:
        return 1
    return computed(shared_panels, ceil(problem.rows / (tile * run)) * problem.batch, _panels(problem),
                    problem.capabilities.compute_units, most_panels(byte_tiles(problem.capabilities), tile))


def _operands(problem: MatMulProblem) -> tuple[Operand, ...]:
    """Those of other kernels, and, behind the right side, what the sums start with and the data's grid."""
    grid = problem.primitive.data_grid
    assert grid is not None
    product, columns = problem.collapsed, byte_tiles(problem.capabilities).columns
    left, right, *others = problem.operands(product.left, product.packed_in_batch(columns), product.output)
    return (left, right, Operand("INPUT2", BufferRef("input", grid + 1), TensorView.of(problem.inputs[grid + 1])),
            Operand("INPUT3", BufferRef("input", grid), TensorView.of(problem.inputs[grid])), *others)
