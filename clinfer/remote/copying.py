"""Copies between remote tensors, and between them and tensors of the host."""
from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from clinfer.base.element_type import ElementType
from clinfer.base.errors import ClinferError
from clinfer.base.shape import StaticShape, show
from clinfer.frontend.host_tensors import host_tensor_over, storage_of
from clinfer.remote import images
from clinfer.remote.lent import taken_over
from clinfer.remote.region import Region
from clinfer.runtime.memory import Memory
from clinfer.runtime.stream import Stream

if TYPE_CHECKING:
    from clinfer.remote.tensors import RemoteTensor

WHERE = "copy of a remote tensor"


def copy(source: Any, target: Any) -> None:
    """Copy all elements; at least one of both is a remote tensor. Blocks until it is done."""
    if not hasattr(source, "region"):
        _from_host(source, target)
    elif not hasattr(target, "region"):
        _to_host(source, target)
    else:
        _between(source, target)


def _from_host(source: Any, target: RemoteTensor) -> None:
    kind, shape, units = storage_of(source, WHERE)
    _check_alike(kind, shape, target.kind, target.static_shape)
    if not target.size:
        return
    units = np.ascontiguousarray(units).reshape(-1).view(np.uint8)
    stream = target.context.transfers
    with target.context.transfer_lock, taken_over(stream, [target]):
        if target.is_image:
            images.write(stream, target.whole, units)
        elif target.region.is_dense:
            stream.write(target.whole, units, blocking=True, offset_bytes=target.region.offset)
        else:
            staging = target.context.engine.allocate_bytes(units.nbytes, what="a region to be copied")
            stream.write(staging, units, blocking=True)
            _copy_rows(stream, staging, Region.dense(kind, shape), target.whole, target.region)
        stream.finish()


def _to_host(source: RemoteTensor, target: Any) -> None:
    kind, shape, units = storage_of(target, WHERE)
    if math.prod(shape) == 0 and not isinstance(target, np.ndarray) and source.size:
        target.shape = list(source.static_shape)
        kind, shape, units = storage_of(target, WHERE)
    _check_alike(source.kind, source.static_shape, kind, shape)
    if not units.flags.writeable:
        raise ClinferError("the array that is copied to cannot be written to", where=WHERE)
    if not source.size:
        return
    in_place = units.flags.c_contiguous
    raw = units.reshape(-1).view(np.uint8) if in_place else np.empty(source.byte_size, np.uint8)
    stream = source.context.transfers
    with source.context.transfer_lock, taken_over(stream, [source]):
        if source.is_image:
            images.read(stream, source.whole, raw)
        elif source.region.is_dense:
            stream.read(source.whole, raw, offset_bytes=source.region.offset)
        else:
            staging = source.context.engine.allocate_bytes(raw.nbytes, what="a region to be copied")
            _copy_rows(stream, source.whole, source.region, staging, Region.dense(kind, shape))
            stream.read(staging, raw)
        stream.finish()
    if not in_place:
        units[...] = raw.view(units.dtype).reshape(units.shape)


def _between(source: RemoteTensor, target: RemoteTensor) -> None:
    if not target.size and source.size:
        target.reshape(source.static_shape)
    _check_alike(source.kind, source.static_shape, target.kind, target.static_shape)
    if not source.size:
        return
    own, other = source.context.engine.cl_context, target.context.engine.cl_context
    if own.int_ptr != other.int_ptr or source.is_image or target.is_image:
        # Contexts that know nothing of each other, or texels.
        host = host_tensor_over(np.empty(source.byte_size, np.uint8), source.kind, source.static_shape)
        _to_host(source, host)
        _from_host(host, target)
        return
    if source.context is not target.context:
        stream = source.context.transfers
        with source.context.transfer_lock:
            stream.finish()
    stream = target.context.transfers
    with target.context.transfer_lock, taken_over(stream, [source, target]):
        _copy_rows(stream, source.whole, source.region, target.whole, target.region)
        stream.finish()


def _copy_rows(stream: Stream, source: Memory, from_: Region, target: Memory, to: Region) -> None:
    for rows in from_.rows_to(to):
        stream.copy_rows(source, target, rows.count, rows.nbytes, source_pitch=rows.source_pitch,
                         target_pitch=rows.target_pitch, source_offset=rows.source_offset,
                         target_offset=rows.target_offset)


def _check_alike(kind: ElementType, shape: StaticShape, other_kind: ElementType, other_shape: StaticShape) -> None:
    if (kind, shape) != (other_kind, other_shape):
        raise ClinferError("tensors of another type or shape cannot be copied to each other", where=WHERE, values={
            "from": f"{kind}{show(shape)}", "to": f"{other_kind}{show(other_shape)}"})
