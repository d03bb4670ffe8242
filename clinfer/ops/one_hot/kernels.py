"""The kernel of the one_hot room."""
from __future__ import annotations

from clinfer.base.format import Format
from clinfer.base.tensor_view import TensorView
from clinfer.kernels.spec import (
    Constant,
    Formats,
    KernelParams,
    KernelSpec,
    Operand,
    Stage,
    input_operand,
    output_operand,
)
from clinfer.ops.shared.copying import local_items
from clinfer.ops.shared.view_copy import raw_view, storage_type, whole_bytes


def _formats(params: KernelParams) -> Formats:
    """The indices as they come unless they are blocked; everything else planar."""
    indices, *others = params.inputs
    kept = Format.planar(indices.rank) if indices.format.blocks else indices.format
    return Formats((kept, *(Format.planar(x.rank) for x in others)), (Format.planar(params.outputs[0].rank),))


def _operands(params: KernelParams) -> tuple[Operand, ...]:
    rank = params.outputs[0].rank
    axis = params.primitive.axis % rank
    output = TensorView.of(params.outputs[0]).permute((*(a for a in range(rank) if a != axis), axis))
    scalars = (input_operand(params, i, TensorView.dense(storage_type(params.inputs[i].element_type), ()))
               for i in (2, 3))
    return input_operand(params, 0), *scalars, output_operand(params, 0, raw_view(output))


def _constants(params: KernelParams) -> dict[str, Constant]:
    coordinates = ", ".join(f"(c)[{axis}]" for axis in range(params.inputs[0].rank))
    return {"WRAPS_NEGATIVE": params.primitive.wraps_negative, "INDICES_AT(c)": f"INPUT0_GET_INDEX({coordinates})"}


KERNELS = (
    KernelSpec("one_hot_ref", (Stage("one_hot_ref.cl", "one_hot_ref",
                                     lambda params: local_items(params.outputs[0].count), _operands, _constants,
                                     bake=False),), whole_bytes, formats=_formats),
)
