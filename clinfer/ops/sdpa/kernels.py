"""Kernels of the sdpa room."""
from __future__ import annotations

import math

from clinfer.base.element_type import ElementType
from clinfer.base.shape import Shape, Size
from clinfer.base.tensor_view import TensorView
from clinfer.kernels.jitter import literal
from clinfer.kernels.spec import (
    BufferRef,
    Constant,
    Dispatch,
    Formats,
    KernelParams,
    KernelSpec,
    Operand,
    Stage,
    input_operand,
    output_operand,
    planar_formats,
    present_formats,
    scratch_operand,
)
from clinfer.ops.shared.copying import local_items
from clinfer.ops.shared.parts import seen_input, seen_result
from clinfer.ops.shared.reduction import cpu_only
from clinfer.ops.shared.views import index_view, static

_CHUNK = 16
_KEYS = 32
_RESULT_REGISTERS = 24
_MOST_ROWS = 8
_MOST_HELD = 4
MOST_WIDTH = 128
"""The last size of values up to which kernels other than the reference are made for it."""
_QUERY, _KEY, _VALUE, _MASK, _SCALE, _SINK = range(6)


def _has(params: KernelParams, index: int) -> bool:
    if index == _MASK and params.primitive.causal:
        return False
    return index < len(params.inputs)


def _scale(params: KernelParams) -> str:
    """The scale where no input holds it, as OpenCL C."""
    scale = params.primitive.scale
    return "rsqrt((float)INPUT0_SIZE_LAST)" if scale is None else literal(scale)


def _constants(params: KernelParams) -> dict[str, Constant]:
    return {"IS_CAUSAL": bool(params.primitive.causal), "WITH_MASK": _has(params, _MASK),
            "MASK_IS_BOOLEAN": _has(params, _MASK) and params.inputs[_MASK].element_type.name == "boolean",
            "WITH_SCALE": _has(params, _SCALE), "SCALE": _scale(params), "WITH_SINK": _has(params, _SINK),
            "GROUPS": params.primitive.groups}


def _formats(params: KernelParams) -> Formats:
    return planar_formats(params) if params.primitive.parts or params.primitive.result_axes else present_formats(params)


def _stretched(params: KernelParams, index: int, batch: Shape, last: Shape = ()) -> TensorView:
    """What is seen of an input, with the result's batch axes and its own (or the given) last two.

    Of keys and values the last batch axis counts the heads that they have."""
    view = seen_input(params, index)
    if index in (_KEY, _VALUE):
        batch = _shared(params, batch)
    return view.broadcast((*batch, *(last or view.sizes[-2:])))


def _shared(params: KernelParams, batch: Shape) -> Shape:
    """The batch axes of keys and values that stretch to the result's."""
    groups = params.primitive.groups
    if groups == 1:
        return batch
    *outer, heads = batch
    assert isinstance(heads, int)
    return (*outer, heads // groups)


def _batch(params: KernelParams) -> Shape:
    return seen_result(params).sizes[:-2]


def _attention_operands(params: KernelParams, batch: Shape) -> list[Operand]:
    """Mask, scale and sink, as far as they are there."""
    queries, keys = seen_input(params, _QUERY).sizes[-2], seen_input(params, _KEY).sizes[-2]
    operands = []
    if _has(params, _MASK):
        operands.append(input_operand(params, _MASK, _stretched(params, _MASK, batch, (queries, keys))))
    if _has(params, _SCALE):
        operands.append(input_operand(params, _SCALE))
    if _has(params, _SINK):
        operands.append(input_operand(params, _SINK, _stretched(params, _SINK, batch, (queries, 1))))
    return operands


# -- reference --------------------------------------------------------------------------------------


def _reference_operands(params: KernelParams) -> tuple[Operand, ...]:
    batch = _batch(params)
    data = [input_operand(params, i, _stretched(params, i, batch)) for i in (_QUERY, _KEY, _VALUE)]
    return (*data, *_attention_operands(params, batch), output_operand(params, 0, seen_result(params)))


def _reference_constants(params: KernelParams) -> dict[str, Constant]:
    return {**_constants(params), "CHUNK": _CHUNK, "KEY_COUNT": f"INPUT1_SIZE_{params.outputs[0].rank - 2}"}


def _reference_dispatch(params: KernelParams) -> Dispatch:
    *rows, size = static(seen_result(params).sizes)
    return local_items(math.prod(rows) * -(-size // _CHUNK))


# -- tiles ------------------------------------------------------------------------------------------


def _four(view: TensorView) -> TensorView:
    """A view with axes of size 1 in front, so that there are four."""
    return index_view(view, (None,) * (4 - view.rank) + (slice(None),) * view.rank)


def _packed_view(params: KernelParams) -> TensorView:
    """[a, b, blocks, E * KEYS] with the keys' own batch."""
    a, b, keys, head = _four(seen_input(params, _KEY)).sizes
    blocks = -(-keys // _KEYS) if isinstance(keys, int) else keys
    return TensorView.dense(ElementType.of("f32"), (a, b, blocks, head * _KEYS if isinstance(head, int) else head))


def _pack_operands(params: KernelParams) -> tuple[Operand, ...]:
    return (input_operand(params, _KEY, _four(seen_input(params, _KEY))),
            scratch_operand(0, _packed_view(params)))


def _pack_dispatch(params: KernelParams) -> Dispatch:
    a, b, blocks, _ = _packed_view(params).sizes
    return Dispatch((blocks, a * b), (1, 1))  # type: ignore[operator, arg-type]


def _filled_view(params: KernelParams) -> TensorView:
    """[a, b, S, 16 * VECTORS] with the values' own batch."""
    a, b, rows, _ = _four(seen_input(params, _VALUE)).sizes
    return TensorView.dense(ElementType.of("f32"), (a, b, rows, 16 * _vectors(params)))


def _fill_operands(params: KernelParams) -> tuple[Operand, ...]:
    return (input_operand(params, _VALUE, _four(seen_input(params, _VALUE))),
            scratch_operand(1, _filled_view(params)))


def _fill_dispatch(params: KernelParams) -> Dispatch:
    a, b, rows, _ = _filled_view(params).sizes
    return Dispatch((rows, a * b), (1, 1))  # type: ignore[operator, arg-type]


def _value_operand(params: KernelParams, batch: Shape) -> Operand:
    """VALUE: input 2, or its filled-up copy where its last size is no multiple of 16."""
    if not _tail(params):
        return Operand("VALUE", BufferRef("input", _VALUE), _four(_stretched(params, _VALUE, batch)))
    return Operand("VALUE", BufferRef("scratch", 1), _lifted(params, _filled_view(params), batch))


def _lifted(params: KernelParams, copy: TensorView, batch: Shape) -> TensorView:
    """A copy [a, b, ...] of keys or values, stretched to the result's batch axes as these are."""
    shared = _shared(params, batch)
    return copy.broadcast((*(1,) * (2 - len(shared)), *shared, *copy.sizes[2:]))


def _four_extras(params: KernelParams, batch: Shape) -> list[Operand]:
    """Mask, scale and sink, as far as they are there, with four axes."""
    return [Operand(o.macro, o.buffer, o.view if o.macro == "INPUT4" else _four(o.view))
            for o in _attention_operands(params, batch)]


def _tile_operands(params: KernelParams) -> tuple[Operand, ...]:
    batch = _batch(params)
    query = _four(_stretched(params, _QUERY, batch))
    return (input_operand(params, _QUERY, query), scratch_operand(0, _lifted(params, _packed_view(params), batch)),
            _value_operand(params, batch), *_four_extras(params, batch),
            output_operand(params, 0, _four(seen_result(params))))


def _width(params: KernelParams) -> Size:
    """The last size of the result."""
    return seen_result(params).sizes[-1]


def _vectors(params: KernelParams) -> int:
    return -(-_width(params) // 16)  # type: ignore[operator]


def _tail(params: KernelParams) -> int:
    return _width(params) % 16  # type: ignore[operator]


def _held(params: KernelParams) -> int:
    """Vectors of a row that are held in registers at a time: a divisor of all, few enough for several rows."""
    count = _vectors(params)
    return max((part for part in range(1, _MOST_HELD + 1) if count % part == 0), default=1)


def _rows(params: KernelParams) -> int:
    return min(_MOST_ROWS, _RESULT_REGISTERS // _held(params))


def _tile_constants(params: KernelParams) -> dict[str, Constant]:
    return {**_constants(params), "ROWS": _rows(params), "VECTORS": _vectors(params), "HELD": _held(params),
            "TAIL": _tail(params),
            "KEYS": _KEYS}


def _tile_dispatch(params: KernelParams) -> Dispatch:
    *batch, queries, _ = static(seen_result(params).sizes)
    return Dispatch((-(-queries // _rows(params)), math.prod(batch)), (1, 1))


def _rows_are_contiguous(params: KernelParams) -> bool:
    primitive = params.primitive
    parts = (primitive.part(i, params.inputs[i].rank) for i in (_KEY, _VALUE))
    return (all(part.axes[-1] == params.inputs[i].rank - 1 for i, part in zip((_KEY, _VALUE), parts, strict=True))
            and (not primitive.result_axes or primitive.result_axes[-1] == len(primitive.result_axes) - 1))


def _tiles_support(params: KernelParams) -> str | None:
    size = _width(params)
    if params.outputs[0].rank > 4:
        return "more than two batch axes"
    if not _rows_are_contiguous(params):
        return "the last axis of a part does not lie last in memory"
    if not isinstance(size, int) or not 0 < size <= 16 * _RESULT_REGISTERS:
        return "the value's last size is unknown or large"
    if any(not params.inputs[i].format.is_planar for i in (_QUERY, _KEY, _VALUE)):
        return "made for planar formats"
    if any(params.inputs[i].element_type.name == "f64" for i in (_QUERY, _KEY, _VALUE)):
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
    depth, width = seen_input(params, _QUERY).sizes[-1], _width(params)
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
    if any(not params.inputs[i].format.is_planar for i in (_QUERY, _KEY, _VALUE)):
        return "made for planar formats"
    if any(x.element_type.name == "f64" for x in params.inputs):
        return "computes in f32"
    needed, items = _local_bytes(params), math.prod(_LOCAL_GROUP)
    if needed > params.capabilities.local_mem_size:
        return f"needs {needed} bytes of local memory"
    return f"needs groups of {items}" if params.capabilities.max_work_group_size < items else None


def _local_operands(params: KernelParams) -> tuple[Operand, ...]:
    batch = _batch(params)
    data = [input_operand(params, i, _four(_stretched(params, i, batch))) for i in (_QUERY, _KEY, _VALUE)]
    return (*data, *_four_extras(params, batch), output_operand(params, 0, _four(seen_result(params))))


def _local_constants(params: KernelParams) -> dict[str, Constant]:
    depth, width = static(_local_widths(params))
    return {**_constants(params), "KEYS": _local_keys(params), "QUERY_WIDTH": depth, "VALUE_WIDTH": width}


def _local_dispatch(params: KernelParams) -> Dispatch:
    *batch, queries, _ = static(seen_result(params).sizes)
    return Dispatch((_LOCAL_GROUP[0], -(-queries // _LOCAL_ROWS) * _LOCAL_GROUP[1], math.prod(batch)), _LOCAL_GROUP)


def _local_score(params: KernelParams) -> float:
    """Below the reference on CPUs."""
    return -1.0 if params.capabilities.device_type == "CPU" else 10.0


KERNELS = (
    KernelSpec("sdpa_tiles", _tile_stages, _tiles_support, lambda params: 20.0, _formats, scratch=_scratch),
    KernelSpec("sdpa_local", (Stage("sdpa_local.cl", "sdpa_local", _local_dispatch, _local_operands,
                                    _local_constants, bake=False),), _local_supports, _local_score, _formats),
    KernelSpec("sdpa_ref", (Stage("sdpa_ref.cl", "sdpa_ref", _reference_dispatch, _reference_operands,
                                  _reference_constants, bake=False),), formats=_formats),
)
