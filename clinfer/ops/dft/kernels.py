"""The kernel of the dft room."""
from __future__ import annotations

from clinfer.base.layout import Layout
from clinfer.base.tensor_view import TensorView
from clinfer.kernels.spec import (
    Constant,
    Dispatch,
    KernelParams,
    KernelSpec,
    Operand,
    Stage,
    input_operand,
    output_operand,
)
from clinfer.ops.shared.copying import local_items


def _real_rank(params: KernelParams) -> int:
    """The rank without the axis of real and imaginary parts."""
    return params.inputs[0].rank - (not params.primitive.reads_real)


def _axis_last(params: KernelParams, layout: Layout) -> TensorView:
    """The view with the transformed axis last, but for that of the parts."""
    rank, axis = _real_rank(params), params.primitive.axis
    return TensorView.of(layout).permute((*(a for a in range(rank) if a != axis), axis, *range(rank, layout.rank)))


def _operands(params: KernelParams) -> tuple[Operand, ...]:
    return (input_operand(params, 0, _axis_last(params, params.inputs[0])),
            output_operand(params, 0, _axis_last(params, params.outputs[0])))


def _constants(params: KernelParams) -> dict[str, Constant]:
    primitive, last = params.primitive, _real_rank(params) - 1
    number = "double" if params.capabilities.fp64 else "float"
    return {"NUMBER": number, "READS_REAL": primitive.reads_real, "WRITES_REAL": primitive.writes_real,
            "INVERSE": primitive.inverse, "REAL_RANK": last + 1, "INPUT_AXIS_SIZE": f"INPUT0_SIZE_{last}",
            "INPUT_AXIS_PITCH": f"INPUT0_PITCH_{last}"}


def _items(params: KernelParams) -> int:
    return params.outputs[0].count // (1 if params.primitive.writes_real else 2)


def _arguments(params: KernelParams) -> dict[str, int]:
    if not params.is_static:
        return {"length": 0, "items": 0}
    length = params.primitive.length(params.inputs[0].static_shape[params.primitive.axis], params.values)
    return {"length": length if isinstance(length, int) else 0, "items": _items(params)}


def _each_item(params: KernelParams) -> Dispatch:
    return local_items(_items(params))


KERNELS = (
    KernelSpec("fourier_ref", stages=(
        Stage("fourier_ref.cl", "fourier_ref", _each_item, _operands, _constants, _arguments, bake=False),)),
)
