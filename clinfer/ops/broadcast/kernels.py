"""Kernels of the broadcast room: copies of a view that stands still along the stretched axes."""
from __future__ import annotations

from clinfer.base.format import Format
from clinfer.base.tensor_view import TensorView
from clinfer.kernels.spec import BufferRef, Formats, KernelParams
from clinfer.ops.shared.copying import copy_kernels
from clinfer.ops.shared.view_copy import ViewCopy
from clinfer.ops.shared.views import open_view


def _formats(params: KernelParams) -> Formats:
    """The data as it comes unless it is blocked; everything else planar."""
    data, *others = params.inputs
    kept = Format.planar(data.rank) if data.format.blocks else data.format
    return Formats((kept, *(Format.planar(x.rank) for x in others)), (Format.planar(params.outputs[0].rank),))


def _copy(params: KernelParams, number: int) -> ViewCopy:
    data, result = params.inputs[0], params.outputs[0]
    inserted = params.primitive.inserted_axes(data.rank, result.rank, params.values)
    source = (open_view(data.element_type, result.rank) if inserted is None
              else TensorView.of(data).insert_axes(inserted, pitch=1).broadcast(result.shape))
    return ViewCopy(BufferRef("input", 0), BufferRef("output", 0), source, TensorView.of(result))


KERNELS = copy_kernels("broadcast", _copy, lambda params: 1, _formats, takes_tails=True)
