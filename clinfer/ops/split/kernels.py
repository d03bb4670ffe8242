"""Kernels of the split room: one copy of a part of the input per output."""
from __future__ import annotations

from clinfer.base.format import Format
from clinfer.base.layout import Layout
from clinfer.base.tensor_view import TensorView
from clinfer.kernels.spec import BufferRef, Formats, KernelParams
from clinfer.ops.shared.copying import copy_kernels
from clinfer.ops.shared.view_copy import ViewCopy
from clinfer.ops.shared.views import Index, along_axis, can_cut_blocks, index_view, open_view


def _index(params: KernelParams, number: int) -> Index | None:
    """What output `number` is of the input; None while the axis or a length is unknown."""
    data = params.inputs[0]
    axis = params.primitive.axis_of(params.values, data.rank)
    if axis is None:
        return None
    lengths = [output.shape[axis] for output in params.outputs[:number + 1]]
    if not all(isinstance(length, int) for length in lengths):
        return None
    return along_axis(data.rank, axis, sum(lengths[:-1]), sum(lengths))


def _formats(params: KernelParams) -> Formats:
    """The data in its present format where that can be cut, in and out; everything else planar."""
    data, *others = params.inputs
    indices = [_index(params, n) for n in range(len(params.outputs))]
    present = all(i is not None and can_cut_blocks(data, i) for i in indices) or (
        not data.format.blocks and indices[0] is not None)
    kept = data.format if present else Format.planar(data.rank)
    return Formats((kept, *(Format.planar(x.rank) for x in others)), (kept,) * len(params.outputs))


def _copy(params: KernelParams, number: int) -> ViewCopy:
    index = _index(params, number)
    result = params.outputs[number]
    source = _open(params.inputs[0]) if index is None else index_view(TensorView.of(params.inputs[0]), index)
    return ViewCopy(BufferRef("input", 0), BufferRef("output", number), source, TensorView.of(result))


def _open(layout: Layout) -> TensorView:
    return open_view(layout.element_type, layout.rank)


KERNELS = copy_kernels("split", _copy, lambda params: len(params.outputs), _formats, also="blocks")
