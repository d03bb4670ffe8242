"""Kernels of the concat room: each input is copied into its part of the output."""
from __future__ import annotations

from clinfer.base.format import Format
from clinfer.base.tensor_view import TensorView
from clinfer.kernels.spec import BufferRef, Formats, KernelParams
from clinfer.ops.shared.copying import copy_kernels
from clinfer.ops.shared.view_copy import ViewCopy
from clinfer.ops.shared.views import Index, along_axis, index_view, open_view


def _axis(params: KernelParams) -> int:
    return params.primitive.axis % params.outputs[0].rank


def _index(params: KernelParams, number: int) -> Index | None:
    """The place of input `number` in the output; None while the length of one before it is unknown."""
    axis = _axis(params)
    lengths = [layout.shape[axis] for layout in params.inputs[:number + 1]]
    if not all(isinstance(length, int) for length in lengths):
        return None
    return along_axis(params.outputs[0].rank, axis, sum(lengths[:-1]), sum(lengths))  # type: ignore[arg-type]


def _formats(params: KernelParams) -> Formats:
    """The first input's format for all, unless blocks lie along an axis whose lengths are unknown."""
    first = params.inputs[0]
    known = _index(params, len(params.inputs) - 1) is not None
    present = first.format.block_of(_axis(params)) == 1 or known
    kept = first.format if present else Format.planar(first.rank)
    return Formats((kept,) * len(params.inputs), (kept,))


def _copy(params: KernelParams, number: int) -> ViewCopy:
    data, result = params.inputs[number], params.outputs[0]
    index = _index(params, number)
    if index is None and not any(result.format.block_of(a) > 1 for a in range(result.rank)):
        target = open_view(result.element_type, result.rank)
    else:
        target = index_view(TensorView.of(result), index or (slice(None),) * result.rank)
    return ViewCopy(BufferRef("input", number), BufferRef("output", 0), TensorView.of(data), target,
                    owns_tails=_axis(params) != 1 or number == len(params.inputs) - 1)


KERNELS = copy_kernels("concat", _copy, lambda params: len(params.inputs), _formats, also="blocks")
