"""The kernel of the recurrent room."""
from __future__ import annotations

import math

from clinfer.base.element_type import ElementType
from clinfer.base.shape import Size
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
    scratch_operand,
)
from clinfer.ops.recurrent.conversion import KNOWN
from clinfer.ops.recurrent.op import GATES, Recurrence

_F32 = ElementType.of("f32")
_STATES = 4


def _lanes(params: KernelParams) -> int:
    """Work-items of a group: enough for the hidden units, a power of two."""
    most = 16 if params.capabilities.device_type == "CPU" else 256
    return 1 << (min(most, params.capabilities.max_work_group_size, params.primitive.hidden_size).bit_length() - 1)


def _directions(params: KernelParams) -> Size:
    return 1 if params.primitive.is_step else params.inputs[0].shape[1]


def _operands(params: KernelParams) -> tuple[Operand, ...]:
    """INPUT0 to INPUT3 as the primitive has them, INPUT4 the cell state, INPUT5 the lengths; OUTPUT0 all states,
    OUTPUT1 the last one, OUTPUT2 the last cell state. Axes that are missing are put in, up to four."""
    cell: Recurrence = params.primitive
    is_lstm, step = cell.cell == "lstm", cell.is_step
    projected, weights, bias, state = ((1, 2), (0, 1), (0, 1, 2), (1, 2)) if step else ((), (0,), (0, 1), (2,))
    missing = (projected, weights, bias, *(state,) * (1 + is_lstm))
    operands = [input_operand(params, i, TensorView.of(params.inputs[i]).insert_axes(axes))
                for i, axes in enumerate(missing)]
    if not step:
        lengths = len(missing)
        view = TensorView.of(params.inputs[lengths]).insert_axes((1, 2, 3))
        operands.append(Operand("INPUT5", input_operand(params, lengths).buffer, view))
    for i, layout in enumerate(params.outputs):
        view = TensorView.of(layout).insert_axes(state if layout.rank < 4 else ())
        operands.append(Operand(f"OUTPUT{i + step}", output_operand(params, i).buffer, view))
    groups = params.inputs[0].shape[0]
    return (*operands, scratch_operand(0, TensorView.dense(
        _F32, (groups, _directions(params), _STATES, cell.hidden_size))))


def _constants(params: KernelParams) -> dict[str, Constant]:
    cell: Recurrence = params.primitive
    return {
        "CELL": list(GATES).index(cell.cell), "IS_STEP": cell.is_step, "HIDDEN": cell.hidden_size,
        "LINEAR_BEFORE_RESET": cell.linear_before_reset, "REVERSED": cell.direction.lower() == "reverse",
        "CLIP": float(cell.clip), "LANES": _lanes(params),
        **{f"ACTIVATION_{n}": KNOWN.index(name) for n, name in enumerate(cell.activations)}}


def _groups(params: KernelParams) -> int:
    batch, directions = params.inputs[0].static_shape[0], _directions(params)
    assert isinstance(directions, int)
    return batch * directions


def _dispatch(params: KernelParams) -> Dispatch:
    lanes = _lanes(params)
    return Dispatch((_groups(params) * lanes,), (lanes,))


def _scratch(params: KernelParams) -> tuple[int, ...]:
    return (math.prod((_groups(params), _STATES, params.primitive.hidden_size, 4)),)


KERNELS = (
    KernelSpec("recurrent_ref", (Stage("recurrent_ref.cl", "recurrent_ref", _dispatch, _operands, _constants,
                                       bake=False),), scratch=_scratch),
)
