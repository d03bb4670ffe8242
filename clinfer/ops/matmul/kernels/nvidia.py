"""Matrix products of f16 on NVIDIA's tensor cores."""
from __future__ import annotations

from dataclasses import replace
from math import ceil

from clinfer.base.layout import Layout
from clinfer.base.shape import Dim
from clinfer.base.tensor_view import TensorView
from clinfer.kernels.contract import BufferRef, Constant, Kernel, Lowered, Operand, Stage, Work, scratch_operand
from clinfer.kernels.cost import time_of
from clinfer.kernels.jitter import literal
from clinfer.ops.matmul.problem import MatMulProblem
from clinfer.ops.shared import tensor_cores
from clinfer.ops.shared.tensor_cores import (
    BULK_TILES,
    CHUNK,
    GROUP_TILES,
    SHARED_TILE,
    THREE_GROUPS_TILE,
    TILES,
    TURNS_TILES,
    BulkTile,
    Tile,
)
from clinfer.runtime.capabilities import Capabilities
from clinfer.symbolic.symbols import computed, larger, pure

FEW_ROWS = (8, 16, 32)
_WARPS, _COLUMNS = 8, 16
_COMPRESSED = ("u8", "i8", "u4", "i4")
_PIECES = {"f16": 8, "u8": 16, "i8": 16, "u4": 32, "i4": 32}
_LONGEST_PIECE = 32
_UNPACKED_AT_ONCE = 16
_HALVES, _MOST_BLOCKS = 32, 4
"""Halves of the left side, and blocks of weights, that a work-item has of half a step, at most."""
_APART, _HALF_BYTES, _SUM_BYTES = 32, 2, 4
"""Halves between rows in local memory; bytes of a half and of a sum."""
_FEW_NS, _FEW_ROW_NS, _FEW_BANDWIDTH, _ROW_BYTES = 500.0, 60.0, 0.85, 11.0
"""What a product takes at least, and for each row that it has registers for, the share of the memory's bandwidth that
is reached, and the bytes of rows that a compute unit reads in a nanosecond (measured on an H100)."""
_MOST_UNPACKED = 1 << 28
"""Bytes of unpacked weights for which memory is taken."""


class MmaKernel(Kernel[MatMulProblem, Tile]):
    """One tile of the result per group, by warp-level matrix instructions."""

    name = "matmul_mma"
    has_epilogue = True
    source = "matmul_mma.cl"
    tiles: tuple[Tile, ...] = TILES

    def targets(self, device: Capabilities) -> str | None:
        return tensor_cores.needs_tensor_cores(device)

    def configs(self, problem: MatMulProblem) -> tuple[Tile, ...]:
        return self.tiles

    def supports(self, problem: MatMulProblem, tile: Tile) -> str | None:
        if not problem.left_along_k:
            return "a left side along its rows"
        return tensor_cores.refusal(problem, (0, 1), tile.local_bytes)

    def accepts(self, problem: MatMulProblem, tile: Tile) -> str | None:
        product = problem.collapsed
        return tensor_cores.misplaced(tile, ((product.left, -1), (product.right, -2 if problem.right_along_k else -1)))

    def cost(self, problem: MatMulProblem, tile: Tile) -> float:
        return tile.time(problem.capabilities, problem.rows, problem.columns, problem.depth, problem.batch,
                         problem.moved_bytes)

    def lower(self, problem: MatMulProblem, tile: Tile) -> Lowered:
        return Lowered((self.stage(problem, tile),))

    def stage(self, problem: MatMulProblem, tile: Tile, *scratch: Operand) -> Stage:
        """What computes a product, with scratch buffers behind its operands."""
        constants = {**problem.constants, **tile.constants(), "RIGHT_ALONG_K": problem.right_along_k,
                     "ALL_HALVES": tensor_cores.stores_halves(problem)}
        sizes = problem.capabilities, problem.rows, problem.columns, problem.depth, problem.batch
        return Stage(self.source, (*problem.in_place_operands(), *scratch), tile.work(*sizes), constants,
                     tile.arguments(*sizes), problem.epilogue_views(), recipe=tile.recipe)


class WarpGroupKernel(MmaKernel):
    """The same by groups of four warps, as the architecture 9.0 has them."""

    name = "matmul_wgmma"
    tiles = GROUP_TILES

    def targets(self, device: Capabilities) -> str | None:
        return tensor_cores.needs_warp_groups(device)


class BulkKernel(MmaKernel):
    """The same of steps that the tensor memory accelerator copies; one right side for all rows."""

    name = "matmul_tma"
    source = "matmul_tma.cl"
    tiles = (*(BULK_TILES[columns] for columns in (64, 192, 256)), TURNS_TILES[192], THREE_GROUPS_TILE, SHARED_TILE)

    def targets(self, device: Capabilities) -> str | None:
        return tensor_cores.needs_bulk_copies(device)

    def accepts(self, problem: MatMulProblem, tile: Tile) -> str | None:
        if any(size != 1 for size in problem.collapsed.output.sizes[:-2]):
            return "a batch of products"
        return super().accepts(problem, tile)

    def lower(self, problem: MatMulProblem, tile: Tile) -> Lowered:
        assert isinstance(tile, BulkTile)
        operands, nbytes = tile.scratch(problem.capabilities, problem.rows, problem.columns, problem.depth)
        return Lowered((self.stage(problem, tile, *operands),), nbytes)


class UnpackedKernel(BulkKernel):
    """Of many rows and compressed weights, which are unpacked to halves first."""

    name = "matmul_unpacked"

    def supports(self, problem: MatMulProblem, tile: Tile) -> str | None:
        if problem.primitive.quantisation is None or problem.right_has_batch or not problem.right_along_k:
            return "made for compressed weights that lie along the inner axis"
        if 2 * problem.inputs[1].count > _MOST_UNPACKED:
            return f"unpacked, the weights would take more than {_MOST_UNPACKED} bytes"
        return problem.types_refusal() or super().supports(_unpacked(problem), tile)

    def accepts(self, problem: MatMulProblem, tile: Tile) -> str | None:
        return super().accepts(_unpacked(problem), tile)

    def cost(self, problem: MatMulProblem, tile: Tile) -> float:
        packed = problem.inputs[1]
        return super().cost(_unpacked(problem), tile) + time_of(
            problem.capabilities.ceilings, nbytes=packed.byte_size + 2 * packed.count, bandwidth=_FEW_BANDWIDTH)

    def lower(self, problem: MatMulProblem, tile: Tile) -> Lowered:
        plain, packed = _unpacked(problem), problem.primitive
        lowered = super().lower(plain, tile)
        product, = lowered.stages
        halves = scratch_operand(len(lowered.scratch), TensorView.of(plain.inputs[1]))
        buffers = {"INPUT1": halves.buffer, "BIAS": BufferRef("input", packed.bias_input or 0)}
        operands = tuple(replace(each, buffer=buffers.get(each.macro, each.buffer)) for each in product.operands)
        read = [each for each in problem.in_place_operands() if each.macro in ("INPUT1", "SCALE", "ZERO_POINT")]
        columns, depth = plain.inputs[1].static_shape
        piece = 0 if _pieces_refusal(problem) or depth % _piece(problem) else _piece(problem)
        constants = {**problem.constants, "PIECE": piece, "IS_SIGNED": _is_signed(problem)}
        unpack = Stage("matmul_unpack.cl", (*read, halves), Work((ceil(depth / (piece or _UNPACKED_AT_ONCE)), columns)),
                       constants)
        return Lowered((unpack, replace(product, operands=operands)), (*lowered.scratch, 2 * columns * depth))


def _unpacked(problem: MatMulProblem) -> MatMulProblem:
    """The product of the same weights as halves."""
    packed, halves = problem.primitive, Layout.planar(problem.inputs[1].shape, problem.inputs[0].element_type)
    assert packed.quantisation is not None
    kept = [i for i in range(len(problem.inputs)) if i not in packed.quantisation.inputs]
    own = len(problem.inputs)
    primitive = replace(packed, quantisation=None, inputs=tuple(
        port for i, port in enumerate(packed.inputs) if i in kept or i >= own))
    return replace(problem, primitive=primitive, inputs=tuple(halves if i == 1 else problem.inputs[i] for i in kept))


class FewRowsKernel(Kernel[MatMulProblem, int]):
    """So many rows as the configuration says at a time, by weights that go from memory straight to registers; also
    compressed ones of 8 or 4 bits. Made for what is bound by reading them."""

    name = "matmul_few"
    has_epilogue = True

    def targets(self, device: Capabilities) -> str | None:
        return tensor_cores.needs_tensor_cores(device)

    def configs(self, problem: MatMulProblem) -> tuple[int, ...]:
        return FEW_ROWS if problem.primitive.quantisation is not None else FEW_ROWS[:1]

    def supports(self, problem: MatMulProblem, rows: int) -> str | None:
        if not (problem.left_along_k and problem.right_along_k):
            return "sides that do not lie along the inner axis"
        if problem.right_has_batch:
            return "a batch of right sides"
        left, right = (x.element_type for x in problem.inputs[:2])
        found = problem.primitive.quantisation
        if left.name != "f16" or right.name not in (("f16",) if found is None else _COMPRESSED):
            return "made for f16, and for weights of 8 or 4 bits"
        return self._norm_refusal(problem, rows) or (None if found is None else _pieces_refusal(problem))

    def _norm_refusal(self, problem: MatMulProblem, rows: int) -> str | None:
        if problem.primitive.left_norm is None or not self.has_prologue(rows):
            return None
        if any(problem.inputs[i].element_type.name != "f16" for i in problem.primitive.norm_inputs):
            return "a norm of other data than f16"
        depth = problem.inputs[0].shape[-1]
        if not isinstance(depth, int):
            return "rows of open length"
        step = 2 * _blocks(problem, rows) * _WARPS * 4 * _piece(problem)
        held = _HALF_BYTES * rows * (ceil(depth / step) * step + _APART)
        is_held = held + 2 * _SUM_BYTES * rows * _COLUMNS * _WARPS <= problem.capabilities.usable_local_mem
        return None if is_held else "rows that local memory does not hold"

    def has_prologue(self, rows: int) -> bool:
        return rows == FEW_ROWS[0]

    def accepts(self, problem: MatMulProblem, rows: int) -> str | None:
        product, piece = problem.collapsed, _piece(problem)
        if any(size != 1 for size in product.output.sizes[:-2]):
            return "a batch of products"
        depth = product.left.sizes[-1]
        if isinstance(depth, int) and depth % piece == 0 and product.left.is_aligned(
                -1, CHUNK) and product.right.is_aligned(-2, piece):
            return None
        return f"rows that do not start at multiples of {piece} elements"

    def cost(self, problem: MatMulProblem, rows: int) -> float:
        tiles, device = ceil(problem.rows / rows), problem.capabilities
        nbytes = problem.moved_bytes + problem.inputs[1].byte_size * (tiles - 1)
        rows_read = 2 * problem.rows * problem.depth * ceil(problem.columns / _COLUMNS)
        return _FEW_NS + _FEW_ROW_NS * rows + time_of(
            device.ceilings, flops=rows_read, peak=_ROW_BYTES * device.compute_units, nbytes=nbytes,
            bandwidth=_FEW_BANDWIDTH)

    def lower(self, problem: MatMulProblem, rows: int) -> Lowered:
        tiles, piece = ceil(problem.columns / _COLUMNS) * ceil(problem.rows / rows), _piece(problem)
        groups = 1 if isinstance(tiles, Dim) else computed(_even_groups, tiles, problem.capabilities.compute_units)
        norm = problem.primitive.left_norm if self.has_prologue(rows) else None
        constants: dict[str, Constant] = {
            **problem.constants, "ROWS": rows, "PIECE": piece, "WARPS": _WARPS, "BLOCKS": _blocks(problem, rows),
            "IS_SIGNED": _is_signed(problem), "NORMALISED": norm is not None}
        if norm is not None:
            constants |= {"NORM_EPSILON": literal(norm.eps), "DEPTH": problem.depth}
        operands = problem.in_place_operands() if norm is None else problem.normalising_operands()
        work = Work((groups * _WARPS * 32,), (_WARPS * 32,))
        return Lowered((Stage("matmul_few.cl", operands, work, constants, {"groups": groups},
                              epilogue_views=problem.epilogue_views()),))


@pure
def _even_groups(tiles: int, units: int) -> int:
    """As many as are needed for all tiles to be done when a group for each unit would have done them."""
    return ceil(tiles / larger(ceil(tiles / units), 1))


def _pieces_refusal(problem: MatMulProblem) -> str | None:
    """What keeps compressed weights from being unpacked a piece at a time."""
    found, group = problem.primitive.quantisation, problem.constants["GROUP_SIZE"]
    assert found is not None and isinstance(group, int)
    if found.codebook or problem.inputs[1].element_type.name not in _COMPRESSED:
        return "weights that are no whole numbers of 8 or 4 bits"
    if problem.inputs[found.scale].element_type.name != "f16":
        return "scales that are not f16"
    if found.zero_point is not None and problem.inputs[found.zero_point].element_type.name not in _COMPRESSED:
        return "zero points that are not whole"
    return f"groups of weights that are no multiples of {_LONGEST_PIECE}" if group % _LONGEST_PIECE else None


def _is_signed(problem: MatMulProblem) -> bool:
    return problem.inputs[1].element_type.name.startswith("i")


def _blocks(problem: MatMulProblem, rows: int) -> int:
    """The blocks of weights that a warp has of half a step."""
    return max(min(_HALVES // (rows * _piece(problem) // 8), _MOST_BLOCKS), 1)


def _piece(problem: MatMulProblem) -> int:
    """The weights of 16 bytes."""
    return _PIECES[problem.inputs[1].element_type.name]
