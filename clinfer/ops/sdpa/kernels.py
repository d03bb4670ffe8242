"""Kernels of the sdpa room."""
from __future__ import annotations

import math

from clinfer.base.element_type import ElementType
from clinfer.base.shape import Shape, Size
from clinfer.base.tensor_view import TensorView
from clinfer.kernels.spec import (
    BufferRef,
    Constant,
    Dispatch,
    KernelParams,
    KernelSpec,
    Operand,
    Stage,
    input_operand,
    output_operand,
    scratch_operand,
)
from clinfer.ops.sdpa.nvidia import MMA_KERNELS
from clinfer.ops.sdpa.operands import (
    KEY,
    QUERY,
    VALUE,
    attention_operands,
    batch_of,
    common_constants,
    formats_of,
    four_axes,
    four_extras,
    in_place_operands,
    result_is_contiguous,
    rows_are_contiguous,
    shared_batch,
    stretched,
    width_of,
)
from clinfer.ops.shared.copying import local_items
from clinfer.ops.shared.parts import seen_input, seen_result
from clinfer.ops.shared.reduction import cpu_only
from clinfer.ops.shared.views import static

_CHUNK = 16
_KEYS = 32
_RESULT_REGISTERS = 24
_MOST_ROWS = 8
_MOST_HELD = 4
MOST_WIDTH = 128
"""The last size of values up to which kernels other than the reference are made for it."""


# -- reference --------------------------------------------------------------------------------------


def _reference_operands(params: KernelParams) -> tuple[Operand, ...]:
    batch = batch_of(params)
    data = [input_operand(params, i, stretched(params, i, batch)) for i in (QUERY, KEY, VALUE)]
    return (*data, *attention_operands(params, batch), output_operand(params, 0, seen_result(params)))


def _reference_constants(params: KernelParams) -> dict[str, Constant]:
    return {**common_constants(params), "CHUNK": _CHUNK, "KEY_COUNT": f"INPUT1_SIZE_{params.outputs[0].rank - 2}"}


def _reference_dispatch(params: KernelParams) -> Dispatch:
    *rows, size = static(seen_result(params).sizes)
    return local_items(math.prod(rows) * -(-size // _CHUNK))


# -- tiles ------------------------------------------------------------------------------------------


def _packed_view(params: KernelParams) -> TensorView:
    """[a, b, blocks, E * KEYS] with the keys' own batch."""
    a, b, keys, head = four_axes(seen_input(params, KEY)).sizes
    blocks = -(-keys // _KEYS) if isinstance(keys, int) else keys
    return TensorView.dense(ElementType.of("f32"), (a, b, blocks, head * _KEYS if isinstance(head, int) else head))


def _pack_operands(params: KernelParams) -> tuple[Operand, ...]:
    return (input_operand(params, KEY, four_axes(seen_input(params, KEY))),
            scratch_operand(0, _packed_view(params)))


def _pack_dispatch(params: KernelParams) -> Dispatch:
    a, b, blocks, _ = _packed_view(params).sizes
    return Dispatch((blocks, a * b), (1, 1))  # type: ignore[operator, arg-type]


def _filled_view(params: KernelParams) -> TensorView:
    """[a, b, S, 16 * VECTORS] with the values' own batch."""
    a, b, rows, _ = four_axes(seen_input(params, VALUE)).sizes
    return TensorView.dense(ElementType.of("f32"), (a, b, rows, 16 * _vectors(params)))


def _fill_operands(params: KernelParams) -> tuple[Operand, ...]:
    return (input_operand(params, VALUE, four_axes(seen_input(params, VALUE))),
            scratch_operand(1, _filled_view(params)))


def _fill_dispatch(params: KernelParams) -> Dispatch:
    a, b, rows, _ = _filled_view(params).sizes
    return Dispatch((rows, a * b), (1, 1))  # type: ignore[operator, arg-type]


def _value_operand(params: KernelParams, batch: Shape) -> Operand:
    """VALUE: input 2, or its filled-up copy where its last size is no multiple of 16."""
    if not _tail(params):
        return Operand("VALUE", BufferRef("input", VALUE), four_axes(stretched(params, VALUE, batch)))
    return Operand("VALUE", BufferRef("scratch", 1), _lifted(params, _filled_view(params), batch))


def _lifted(params: KernelParams, copy: TensorView, batch: Shape) -> TensorView:
    """A copy [a, b, ...] of keys or values, stretched to the result's batch axes as these are."""
    shared = shared_batch(params, batch)
    return copy.broadcast((*(1,) * (2 - len(shared)), *shared, *copy.sizes[2:]))


def _tile_operands(params: KernelParams) -> tuple[Operand, ...]:
    batch = batch_of(params)
    query = four_axes(stretched(params, QUERY, batch))
    return (input_operand(params, QUERY, query), scratch_operand(0, _lifted(params, _packed_view(params), batch)),
            _value_operand(params, batch), *four_extras(params, batch),
            output_operand(params, 0, four_axes(seen_result(params))))


def _vectors(params: KernelParams) -> int:
    return -(-width_of(params) // 16)  # type: ignore[operator]


def _tail(params: KernelParams) -> int:
    return width_of(params) % 16  # type: ignore[operator]


def _held(params: KernelParams) -> int:
    """Vectors of a row that are held in registers at a time: a divisor of all, few enough for several rows."""
    count = _vectors(params)
    return max((part for part in range(1, _MOST_HELD + 1) if count % part == 0), default=1)


def _rows(params: KernelParams) -> int:
    return min(_MOST_ROWS, _RESULT_REGISTERS // _held(params))


def _tile_constants(params: KernelParams) -> dict[str, Constant]:
    return {**common_constants(params), "ROWS": _rows(params), "VECTORS": _vectors(params), "HELD": _held(params),
            "TAIL": _tail(params),
            "KEYS": _KEYS}


def _tile_dispatch(params: KernelParams) -> Dispatch:
    *batch, queries, _ = static(seen_result(params).sizes)
    return Dispatch((-(-queries // _rows(params)), math.prod(batch)), (1, 1))


def _tiles_support(params: KernelParams) -> str | None:
    size = width_of(params)
    if params.outputs[0].rank > 4:
        return "more than two batch axes"
    if not rows_are_contiguous(params, (KEY, VALUE)) or not result_is_contiguous(params):
        return "the last axis of a part does not lie last in memory"
    if not isinstance(size, int) or not 0 < size <= 16 * _RESULT_REGISTERS:
        return "the value's last size is unknown or large"
    if any(not params.inputs[i].format.is_planar for i in (QUERY, KEY, VALUE)):
        return "made for planar formats"
    if any(params.inputs[i].element_type.name == "f64" for i in (QUERY, KEY, VALUE)):
        return "computes in f32"
    return cpu_only(params)


def _scratch(params: KernelParams) -> tuple[int, ...]:
    views = (_packed_view(params), _filled_view(params)) if _tail(params) else (_packed_view(params),)
    return tuple(4 * math.prod(view.sizes) for view in views)  # type: ignore[arg-type]


def _tile_stages(built_for: KernelParams) -> tuple[Stage, ...]:
    pack = Stage("sdpa_pack_keys.cl", "sdpa_pack_keys", _pack_dispatch, _pack_operands, lambda params: {"KEYS": _KEYS},
                 bake=False)
    fill = Stage("sdpa_pack_values.cl", "sdpa_pack_values", _fill_dispatch, _fill_operands,
                 lambda params: {"WIDTH": 16 * _vectors(params)}, bake=False)
    tiles = Stage("sdpa_tiles.cl", "sdpa_tiles", _tile_dispatch, _tile_operands, _tile_constants, bake=False)
    return (pack, fill, tiles) if _tail(built_for) else (pack, tiles)


# -- local memory, for GPUs -------------------------------------------------------------------------

_LOCAL_GROUP = (16, 8, 1)
_LOCAL_ROWS = 32


def _local_widths(params: KernelParams) -> tuple[Size, Size]:
    """QUERY_WIDTH and VALUE_WIDTH; what is dynamic stays as it is."""
    depth, width = seen_input(params, QUERY).sizes[-1], width_of(params)
    return (-(-depth // 4) * 4 if isinstance(depth, int) else depth,
            -(-width // 16) * 16 if isinstance(width, int) else width)


def _local_keys(params: KernelParams) -> int:
    return 64 if max(static(_local_widths(params))) <= 64 else 32


def _local_bytes(params: KernelParams) -> int:
    """What a group holds in local memory."""
    depth, width = static(_local_widths(params))
    keys = _local_keys(params)
    return 4 * (_LOCAL_ROWS * (depth + 4) + keys * (max(depth, width) + 4) + _LOCAL_ROWS * (keys + 4))


def _local_supports(params: KernelParams) -> str | None:
    if params.outputs[0].rank > 4:
        return "more than two batch axes"
    depth, width = _local_widths(params)
    if not isinstance(depth, int) or not isinstance(width, int) or not depth or not width or width > MOST_WIDTH:
        return "the last sizes are unknown, zero or large"
    if any(not params.inputs[i].format.is_planar for i in (QUERY, KEY, VALUE)):
        return "made for planar formats"
    if any(x.element_type.name == "f64" for x in params.inputs):
        return "computes in f32"
    needed, items = _local_bytes(params), math.prod(_LOCAL_GROUP)
    if needed > params.capabilities.local_mem_size:
        return f"needs {needed} bytes of local memory"
    return f"needs groups of {items}" if params.capabilities.max_work_group_size < items else None


def _local_constants(params: KernelParams) -> dict[str, Constant]:
    depth, width = static(_local_widths(params))
    return {**common_constants(params), "KEYS": _local_keys(params), "QUERY_WIDTH": depth, "VALUE_WIDTH": width}


def _local_dispatch(params: KernelParams) -> Dispatch:
    *batch, queries, _ = static(seen_result(params).sizes)
    return Dispatch((_LOCAL_GROUP[0], -(-queries // _LOCAL_ROWS) * _LOCAL_GROUP[1], math.prod(batch)), _LOCAL_GROUP)


def _local_score(params: KernelParams) -> float:
    """Below the reference on CPUs."""
    return -1.0 if params.capabilities.device_type == "CPU" else 10.0


KERNELS = (
    *MMA_KERNELS,
    KernelSpec("sdpa_tiles", _tile_stages, _tiles_support, lambda params: 20.0, formats_of, scratch=_scratch),
    KernelSpec("sdpa_local", (Stage("sdpa_local.cl", "sdpa_local", _local_dispatch, in_place_operands,
                                    _local_constants, bake=False),), _local_supports, _local_score, formats_of),
    KernelSpec("sdpa_ref", (Stage("sdpa_ref.cl", "sdpa_ref", _reference_dispatch, _reference_operands,
                                  _reference_constants, bake=False),), formats=formats_of),
)
