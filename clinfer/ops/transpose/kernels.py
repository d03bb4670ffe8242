"""Kernels of the transpose room: copies of a permuted view."""
from __future__ import annotations

from clinfer.base.format import Format
from clinfer.base.tensor_view import TensorView
from clinfer.kernels.spec import BufferRef, Formats, KernelParams
from clinfer.ops.shared.copying import copy_kernels
from clinfer.ops.shared.view_copy import ViewCopy
from clinfer.ops.shared.views import open_view
from clinfer.ops.transpose.op import order_of


def _formats(params: KernelParams) -> Formats:
    """The input as it comes, if the order is known; the output planar."""
    data, *others = params.inputs
    known = order_of(params.values, data.rank) is not None
    return Formats((data.format if known else Format.planar(data.rank), *(Format.planar(x.rank) for x in others)),
                   (Format.planar(data.rank),))


def _copy(params: KernelParams, number: int) -> ViewCopy:
    data, result = params.inputs[0], params.outputs[0]
    order = order_of(params.values, data.rank)
    source = (open_view(data.element_type, data.rank) if order is None
              else TensorView.of(data).permute(order))
    return ViewCopy(BufferRef("input", 0), BufferRef("output", 0), source, TensorView.of(result))


KERNELS = copy_kernels("transpose", _copy, lambda params: 1, _formats, also="tiles", takes_tails=True)
