"""Attention for CPUs: some rows of the result per work-item, from keys that are packed, or for few queries read where
they lie."""
from __future__ import annotations

from math import ceil, prod

from clinfer.base.element_type import ElementType
from clinfer.base.shape import Size
from clinfer.base.tensor_view import TensorView
from clinfer.kernels.contract import (
    BufferRef,
    Constant,
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
from clinfer.ops.sdpa.problem import KEY, QUERY, VALUE, AttentionProblem, four_axes
from clinfer.ops.shared.targets import cpu_only
from clinfer.ops.shared.views import static
from clinfer.runtime.capabilities import Capabilities

_KEYS = 32
_RESULT_REGISTERS = 24
_MOST_ROWS = 8
_MOST_HELD = 4
_SHARE_OF_PEAK = 0.4
_FEW_ROWS = (1, 4)
_SHARE_OF_ROWS = 0.2
"""Of the peak, where each score is summed up by itself."""
_F32 = ElementType.of("f32")


def _refusal(problem: AttentionProblem) -> str | None:
    """What both kernels refuse."""
    if not problem.rows_are_contiguous((KEY, VALUE)) or not problem.result_is_contiguous():
        return "the last axis of a part does not lie last in memory"
    if not _is_held(problem.width):
        return "the value's last size is unknown or large"
    if any(x.element_type.name == "f64" for x in problem.inputs[:3]):
        return "computes in f32"
    return problem.layout_refusal()


def _is_held(size: Size) -> bool:
    """Whether registers hold a row of that size."""
    return isinstance(size, int) and 0 < size <= 16 * _RESULT_REGISTERS


class RowsKernel(Kernel[AttentionProblem, int]):
    """Keys and values are read where they lie, once for each `config` rows of the heads that share them."""

    name = "sdpa_rows"

    def targets(self, device: Capabilities) -> str | None:
        return cpu_only(device)

    def configs(self, problem: AttentionProblem) -> tuple[int, ...]:
        return _FEW_ROWS

    def formats(self, problem: AttentionProblem) -> Formats:
        return problem.formats_wanted()

    def supports(self, problem: AttentionProblem, config: int) -> str | None:
        return _refusal(problem) or (None if _is_held(problem.depth) else "the key's last size is unknown or large")

    def cost(self, problem: AttentionProblem, config: int) -> float:
        rows = problem.primitive.groups * problem.queries
        tiles = ceil(rows / config)
        batch, _, keys, depth, width = problem.sizes.values()
        flops = 2 * batch // problem.primitive.groups * tiles * config * keys * (depth + width)
        again = (problem.inputs[KEY].byte_size + problem.inputs[VALUE].byte_size) * (tiles - 1)
        return time_of(problem.capabilities.ceilings, flops=flops, efficiency=_SHARE_OF_ROWS,
                       nbytes=problem.moved_bytes + again)

    def lower(self, problem: AttentionProblem, config: int) -> Lowered:
        groups = problem.primitive.groups
        (depth, depth_tail), (width, width_tail) = map(_vectors, static((problem.depth, problem.width)))
        constants = {**problem.constants, "ROWS": config, "KEYS": _KEYS, "DEPTH": depth, "DEPTH_TAIL": depth_tail,
                     "WIDTH": width, "WIDTH_TAIL": width_tail}
        work = Work((ceil(groups * problem.queries / config), prod(static(problem.batch)) // groups), (1, 1))
        return Lowered((Stage("sdpa_rows.cl", problem.in_place_operands(), work, constants),))


def _vectors(size: int) -> tuple[int, int]:
    """Vectors of 16 that hold a row, and how many elements are in the last."""
    return ceil(size / 16), (size - 1) % 16 + 1


class TilesKernel(Kernel[AttentionProblem, None]):
    """Keys are packed in blocks of `_KEYS`; values too, in whole vectors, where they are bytes or their last size is
    not of such."""

    name = "sdpa_tiles"

    def targets(self, device: Capabilities) -> str | None:
        return cpu_only(device)

    def formats(self, problem: AttentionProblem) -> Formats:
        return problem.formats_wanted()

    def supports(self, problem: AttentionProblem, config: None) -> str | None:
        return _refusal(problem)

    def accepts(self, problem: AttentionProblem, config: None) -> str | None:
        return problem.table_refusal()

    def cost(self, problem: AttentionProblem, config: None) -> float:
        batch, queries, keys, depth, width = problem.sizes.values()
        rows = _rows(ceil(width / 16))
        flops = 2 * batch * ceil(queries / rows) * rows * keys * (depth + width)
        packs_values = width % 16 != 0 or problem.primitive.in_byte_rows
        return time_of(problem.capabilities.ceilings, flops=flops, efficiency=_SHARE_OF_PEAK,
                       nbytes=problem.moved_bytes + 2 * problem.inputs[KEY].byte_size, launches=2 + packs_values)

    def lower(self, problem: AttentionProblem, config: None) -> Lowered:
        width, = static((problem.width,))
        vectors, tail = ceil(width / 16), width % 16
        in_byte_rows = problem.primitive.in_byte_rows
        is_packed = bool(tail) or in_byte_rows
        keys, values = _packed_keys(problem), _filled_values(problem, vectors)
        value = Operand("VALUE", BufferRef("scratch", 1), _lifted(problem, values)) if is_packed else Operand(
            "VALUE", BufferRef("input", VALUE), four_axes(problem.stretched(VALUE)))
        operands = (input_operand(problem, QUERY, four_axes(problem.stretched(QUERY))),
                    scratch_operand(0, _lifted(problem, keys)), value, *problem.four_extras(),
                    output_operand(problem, 0, four_axes(problem.result)))
        rows = _rows(vectors)
        constants = {**problem.constants, "ROWS": rows, "VECTORS": vectors, "HELD": _held(vectors), "TAIL": tail,
                     "KEYS": _KEYS}
        tiles = Stage("sdpa_tiles.cl", operands, Work((ceil(problem.queries / rows), prod(static(problem.batch))),
                                                      (1, 1)), constants)
        pack = _packing(problem, KEY, 0, keys, "sdpa_pack_keys.cl",
                        {"KEYS": _KEYS, "IN_BYTE_ROWS": in_byte_rows})
        if not is_packed:
            return Lowered((pack, tiles), (_bytes(keys),))
        fill = _packing(problem, VALUE, 1, values, "sdpa_pack_values.cl",
                        {"WIDTH": 16 * vectors, "IN_BYTE_ROWS": in_byte_rows})
        return Lowered((pack, fill, tiles), (_bytes(keys), _bytes(values)))


def _packing(problem: AttentionProblem, index: int, scratch: int, packed: TensorView, source: str,
             constants: dict[str, Constant]) -> Stage:
    """Brings keys or values into a scratch buffer."""
    a, b, parts, _ = static(packed.sizes)
    operands = (input_operand(problem, index, four_axes(problem.data[index])), scratch_operand(scratch, packed))
    return Stage(source, operands, Work((parts, a * b), (1, 1)), constants)


def _packed_keys(problem: AttentionProblem) -> TensorView:
    """[a, b, blocks, E * KEYS] with the keys' own batch."""
    a, b, keys, depth = static(four_axes(problem.data[KEY]).sizes)
    return TensorView.dense(_F32, (a, b, -(-keys // _KEYS), depth * _KEYS))


def _filled_values(problem: AttentionProblem, vectors: int) -> TensorView:
    """[a, b, S, 16 * VECTORS] with the values' own batch."""
    a, b, rows, _ = four_axes(problem.data[VALUE]).sizes
    return TensorView.dense(_F32, (a, b, rows, 16 * vectors))


def _lifted(problem: AttentionProblem, copy: TensorView) -> TensorView:
    """A copy [a, b, ...] of keys or values, stretched to the result's batch axes as these are."""
    shared = problem.shared_batch
    return copy.broadcast((*(1,) * (2 - len(shared)), *shared, *copy.sizes[2:]))


def _held(vectors: int) -> int:
    """Vectors of a row that are held in registers at a time: a divisor of all, few enough for several rows."""
    return max(part for part in range(1, _MOST_HELD + 1) if vectors % part == 0)


def _rows(vectors: int) -> int:
    """Rows of a tile."""
    return min(_MOST_ROWS, _RESULT_REGISTERS // _held(vectors))


def _bytes(view: TensorView) -> int:
    return _F32.byte_size(prod(static(view.sizes)))
