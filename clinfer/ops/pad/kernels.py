"""Kernels of the pad room."""
from __future__ import annotations

from clinfer.base.tensor_view import TensorView
from clinfer.kernels.spec import (
    Constant,
    Dispatch,
    KernelParams,
    KernelSpec,
    Move,
    Operand,
    Stage,
    input_operand,
    output_operand,
    present_formats,
)
from clinfer.ops.pad.op import MODES
from clinfer.ops.shared.copying import span_constants, span_dispatch
from clinfer.ops.shared.views import at_least_one_axis


def _operands(params: KernelParams) -> tuple[Operand, ...]:
    data = input_operand(params, 0, at_least_one_axis(TensorView.of(params.inputs[0])))
    result = output_operand(params, 0, at_least_one_axis(TensorView.of(params.outputs[0])))
    return (data, input_operand(params, 3), result) if len(params.inputs) > 3 else (data, result)


def _axes(params: KernelParams) -> range:
    return range(max(params.inputs[0].rank, 1))


def _constants(params: KernelParams) -> dict[str, Constant]:
    return {"MODE": MODES.index(params.primitive.pad_mode), "WITH_VALUE": len(params.inputs) > 3,
            "SIZES": "{" + ", ".join(f"INPUT0_SIZE_{a}" for a in _axes(params)) + "}",
            "BEGINS": "{" + ", ".join(f"ARG_BEGIN_{a}" for a in _axes(params)) + "}", **span_constants(params)}


def _arguments(params: KernelParams) -> dict[str, int]:
    begins = params.values[1].reshape(-1).tolist() if 1 in params.values else []
    return {f"begin_{a}": begins[a] if a < len(begins) else 0 for a in _axes(params)}


def _moves(params: KernelParams) -> tuple[Move, ...]:
    """Nothing is put in front or behind: the shapes are equal, and so is where they begin."""
    data, result = params.inputs[0], params.outputs[0]
    known = params.is_static and 1 in params.values
    same = known and data == result and not any(params.values[1].reshape(-1).tolist())
    return (Move(0, 0, (0, 0, result.byte_size) if same else None),)


def _dispatch(params: KernelParams) -> Dispatch:
    return span_dispatch(params, params.outputs[0].static_shape or (1,))


KERNELS = (
    KernelSpec("pad_ref", (Stage("pad_ref.cl", "pad_ref", _dispatch, _operands, _constants, _arguments, bake=False),),
               formats=present_formats, moves=_moves),
)
