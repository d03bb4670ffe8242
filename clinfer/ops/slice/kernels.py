"""Kernels of the slice room: copies of a part of the input's view."""
from __future__ import annotations

from clinfer.base.format import Format
from clinfer.base.tensor_view import TensorView
from clinfer.kernels.spec import BufferRef, Formats, KernelParams
from clinfer.ops.shared.copying import copy_kernels
from clinfer.ops.shared.view_copy import ViewCopy
from clinfer.ops.shared.views import can_cut_blocks, index_view, open_view


def _formats(params: KernelParams) -> Formats:
    """The data in its present format where that can be cut, in and out; everything else planar."""
    data, *others = params.inputs
    index = params.primitive.index_of(params.values, data.rank)
    plain = index is not None and all(isinstance(entry, slice) for entry in index)
    present = plain and can_cut_blocks(data, index)
    result = params.outputs[0].rank
    return Formats((data.format if present else Format.planar(data.rank), *(Format.planar(x.rank) for x in others)),
                   (data.format if present else Format.planar(result),))


def _copy(params: KernelParams, number: int) -> ViewCopy:
    data, result = params.inputs[0], params.outputs[0]
    index = params.primitive.index_of(params.values, data.rank)
    source = (open_view(data.element_type, result.rank) if index is None
              else index_view(TensorView.of(data), index))
    return ViewCopy(BufferRef("input", 0), BufferRef("output", 0), source, TensorView.of(result))


KERNELS = copy_kernels("slice", _copy, lambda params: 1, _formats, also="blocks")
