"""The kernel of the reverse_sequence room."""
from __future__ import annotations

from clinfer.base.layout import Layout
from clinfer.base.tensor_view import TensorView
from clinfer.kernels.spec import (
    KernelParams,
    KernelSpec,
    Operand,
    Stage,
    input_operand,
    output_operand,
    present_formats,
)
from clinfer.ops.shared.copying import local_items
from clinfer.ops.shared.view_copy import raw_view


def _arranged(params: KernelParams, layout: Layout) -> TensorView:
    """The raw view with the batch first and the sequence last."""
    batch, sequence = params.primitive.batch_axis % layout.rank, params.primitive.seq_axis % layout.rank
    others = tuple(a for a in range(layout.rank) if a not in (batch, sequence))
    return raw_view(TensorView.of(layout).permute((batch, *others, sequence)))


def _operands(params: KernelParams) -> tuple[Operand, ...]:
    return (input_operand(params, 0, _arranged(params, params.inputs[0])), input_operand(params, 1),
            output_operand(params, 0, _arranged(params, params.outputs[0])))


KERNELS = (
    KernelSpec("reverse_sequence_ref", formats=present_formats, stages=(
        Stage("reverse_sequence_ref.cl", "reverse_sequence_ref", lambda params: local_items(params.outputs[0].count),
              _operands, bake=False),)),
)
