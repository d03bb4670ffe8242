"""Kernels of the sdpa room."""
from __future__ import annotations

import math

from clinfer.base.element_type import ElementType
from clinfer.base.shape import Shape
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
    present_formats,
    scratch_operand,
)
from clinfer.ops.shared.copying import local_items
from clinfer.ops.shared.reduction import cpu_only
from clinfer.ops.shared.views import index_view

_CHUNK = 16
_KEYS = 32
_RESULT_REGISTERS = 24
_MOST_ROWS = 8
_QUERY, _KEY, _VALUE, _MASK, _SCALE, _SINK = range(6)


def _has(params: KernelParams, index: int) -> bool:
    if index == _MASK and params.primitive.causal:
        return False
    return index < len(params.inputs)


def _constants(params: KernelParams) -> dict[str, Constant]:
    return {"IS_CAUSAL": bool(params.primitive.causal), "WITH_MASK": _has(params, _MASK),
            "MASK_IS_BOOLEAN": _has(params, _MASK) and params.inputs[_MASK].element_type.name == "boolean",
            "WITH_SCALE": _has(params, _SCALE), "WITH_SINK": _has(params, _SINK)}


def _stretched(params: KernelParams, index: int, batch: Shape, last: Shape) -> TensorView:
    """An input with the output's batch axes and its own (or the given) last two."""
    return TensorView.of(params.inputs[index]).broadcast((*batch, *last))


def _attention_operands(params: KernelParams, batch: Shape) -> list[Operand]:
    """Mask, scale and sink, as far as they are there."""
    queries, keys = params.inputs[_QUERY].shape[-2], params.inputs[_KEY].shape[-2]
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
    batch = params.outputs[0].shape[:-2]
    data = [input_operand(params, i, _stretched(params, i, batch, params.inputs[i].shape[-2:]))
            for i in (_QUERY, _KEY, _VALUE)]
    return (*data, *_attention_operands(params, batch), output_operand(params))


def _reference_constants(params: KernelParams) -> dict[str, Constant]:
    return {**_constants(params), "CHUNK": _CHUNK, "KEY_COUNT": f"INPUT1_SIZE_{params.outputs[0].rank - 2}"}


def _reference_dispatch(params: KernelParams) -> Dispatch:
    shape = params.outputs[0].static_shape
    return local_items(math.prod(shape[:-1]) * -(-shape[-1] // _CHUNK))


# -- tiles ------------------------------------------------------------------------------------------


def _four(view: TensorView) -> TensorView:
    """A view with axes of size 1 in front, so that there are four."""
    return index_view(view, (None,) * (4 - view.rank) + (slice(None),) * view.rank)


def _batch(params: KernelParams) -> Shape:
    return params.outputs[0].shape[:-2]


def _packed_view(params: KernelParams) -> TensorView:
    """[a, b, blocks, E * KEYS] with the keys' own batch."""
    shape = (1,) * (4 - params.inputs[_KEY].rank) + params.inputs[_KEY].shape
    a, b, keys, head = shape
    blocks = -(-keys // _KEYS) if isinstance(keys, int) else keys
    return TensorView.dense(ElementType.of("f32"), (a, b, blocks, head * _KEYS if isinstance(head, int) else head))


def _pack_operands(params: KernelParams) -> tuple[Operand, ...]:
    return (input_operand(params, _KEY, _four(TensorView.of(params.inputs[_KEY]))),
            scratch_operand(0, _packed_view(params)))


def _pack_dispatch(params: KernelParams) -> Dispatch:
    a, b, blocks, _ = _packed_view(params).sizes
    return Dispatch((blocks, a * b), (1, 1))  # type: ignore[operator, arg-type]


def _filled_view(params: KernelParams) -> TensorView:
    """[a, b, S, 16 * VECTORS] with the values' own batch."""
    shape = (1,) * (4 - params.inputs[_VALUE].rank) + params.inputs[_VALUE].shape
    return TensorView.dense(ElementType.of("f32"), (*shape[:3], 16 * _vectors(params)))


def _fill_operands(params: KernelParams) -> tuple[Operand, ...]:
    return (input_operand(params, _VALUE, _four(TensorView.of(params.inputs[_VALUE]))),
            scratch_operand(1, _filled_view(params)))


def _fill_dispatch(params: KernelParams) -> Dispatch:
    a, b, rows, _ = _filled_view(params).sizes
    return Dispatch((rows, a * b), (1, 1))  # type: ignore[operator, arg-type]


def _value_operand(params: KernelParams, batch: Shape) -> Operand:
    """VALUE: input 2, or its filled-up copy where its last size is no multiple of 16."""
    last = params.inputs[_VALUE].shape[-2:]
    if not _tail(params):
        return Operand("VALUE", BufferRef("input", _VALUE), _four(_stretched(params, _VALUE, batch, last)))
    filled = _filled_view(params)
    lifted = (1,) * (2 - len(batch)) + batch
    return Operand("VALUE", BufferRef("scratch", 1), filled.broadcast((*lifted, *filled.sizes[2:])))


def _tile_operands(params: KernelParams) -> tuple[Operand, ...]:
    batch = _batch(params)
    packed = _packed_view(params)
    lifted = (1,) * (2 - len(batch)) + batch
    query = _four(_stretched(params, _QUERY, batch, params.inputs[_QUERY].shape[-2:]))
    extras = [Operand(o.macro, o.buffer, o.view if o.macro == "INPUT4" else _four(o.view))
              for o in _attention_operands(params, batch)]
    return (input_operand(params, _QUERY, query), scratch_operand(0, packed.broadcast((*lifted, *packed.sizes[2:]))),
            _value_operand(params, batch), *extras,
            output_operand(params, 0, _four(TensorView.of(params.outputs[0]))))


def _vectors(params: KernelParams) -> int:
    return -(-params.outputs[0].shape[-1] // 16)  # type: ignore[operator]


def _tail(params: KernelParams) -> int:
    return params.outputs[0].shape[-1] % 16  # type: ignore[operator]


def _rows(params: KernelParams) -> int:
    return min(_MOST_ROWS, _RESULT_REGISTERS // _vectors(params))


def _tile_constants(params: KernelParams) -> dict[str, Constant]:
    return {**_constants(params), "ROWS": _rows(params), "VECTORS": _vectors(params), "TAIL": _tail(params),
            "KEYS": _KEYS}


def _tile_dispatch(params: KernelParams) -> Dispatch:
    *batch, queries, _ = params.outputs[0].static_shape
    return Dispatch((-(-queries // _rows(params)), math.prod(batch)), (1, 1))


def _tiles_support(params: KernelParams) -> str | None:
    size = params.outputs[0].shape[-1]
    if params.outputs[0].rank > 4:
        return "more than two batch axes"
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


KERNELS = (
    KernelSpec("sdpa_tiles", _tile_stages, _tiles_support, lambda params: 20.0, present_formats, scratch=_scratch),
    KernelSpec("sdpa_ref", (Stage("sdpa_ref.cl", "sdpa_ref", _reference_dispatch, _reference_operands,
                                  _reference_constants, bake=False),), formats=present_formats),
)
