"""Kernels of the reverse room: a copy of the input's view with negative pitches."""
from __future__ import annotations

from clinfer.base.format import Format
from clinfer.base.tensor_view import TensorView
from clinfer.kernels.spec import BufferRef, Formats, KernelParams
from clinfer.ops.shared.copying import copy_kernels
from clinfer.ops.shared.view_copy import ViewCopy
from clinfer.ops.shared.views import can_cut_blocks, index_view, open_view


def _formats(params: KernelParams) -> Formats:
    """The data in its present format unless blocks lie along an axis that is turned."""
    data, axes = params.inputs
    index = params.primitive.index_of(params.values, data.rank)
    kept = data.format if index is not None and can_cut_blocks(data, index) else Format.planar(data.rank)
    return Formats((kept, Format.planar(axes.rank)), (kept,))


def _copy(params: KernelParams, number: int) -> ViewCopy:
    data, result = params.inputs[0], params.outputs[0]
    index = params.primitive.index_of(params.values, data.rank)
    source = (open_view(data.element_type, result.rank) if index is None
              else index_view(TensorView.of(data), index))
    return ViewCopy(BufferRef("input", 0), BufferRef("output", 0), source, TensorView.of(result))


KERNELS = copy_kernels("reverse", _copy, lambda params: 1, _formats)
