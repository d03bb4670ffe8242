"""The reorder of 4-bit types, two elements of which share a byte: bytes are written one after the other."""
from __future__ import annotations

from collections.abc import Mapping
from math import ceil

from clinfer.kernels.spec import Constant, Dispatch, KernelParams
from clinfer.ops.shared.copying import local_items

_BYTES = {"CPU": 256}
"""Bytes that a work-item writes; 1 elsewhere."""


def why_not(params: KernelParams) -> str | None:
    """Why the kernel cannot move between these layouts, whatever the shape, or None."""
    source, target = params.inputs[0], params.outputs[0]
    if source.element_type != target.element_type or not target.element_type.is_packed:
        return "for two tensors of one 4-bit type"
    return "padded outputs" if target.padding else None


def constants(params: KernelParams) -> Mapping[str, Constant]:
    """LOCATE, from the innermost axis or block outwards, and IS_INSIDE."""
    layout = params.outputs[0]
    steps = [f"(c)[{axis}] = 0;" for axis in range(layout.rank)]
    scale = dict.fromkeys(range(layout.rank), 1)
    for axis, size in reversed(layout.format.block_axes):
        steps.append(f"(c)[{axis}] += r_ % {size} * {scale[axis]}; r_ /= {size};")
        scale[axis] *= size
    for axis in reversed(layout.format.order_of(layout.rank)):
        steps.append(f"(c)[{axis}] += r_ % ARG_OUTER_{axis} * {scale[axis]}; r_ /= ARG_OUTER_{axis};")
    inside = [f"(c)[{axis}] < OUTPUT0_SIZE_{axis}" for axis in range(layout.rank)]
    return {"LOCATE(i, c)": "do { int r_ = (i); " + " ".join(steps) + " } while (0)",
            "IS_INSIDE(c)": " && ".join(inside) or "1", "BYTES": _bytes(params)}


def arguments(params: KernelParams) -> Mapping[str, int]:
    """The elements in memory, block tails included, and per axis the size or the number of blocks."""
    layout = params.outputs[0]
    if not layout.is_static:
        return {"count": 0, **{f"outer_{axis}": 0 for axis in range(layout.rank)}}
    outer = (size // layout.format.block_of(axis) for axis, size in enumerate(layout.padded_shape))
    return {"count": layout.physical_count, **{f"outer_{axis}": count for axis, count in enumerate(outer)}}


def dispatch(params: KernelParams) -> Dispatch:
    """One work-item per run of bytes."""
    items = ceil(params.outputs[0].byte_size / _bytes(params))
    return Dispatch((items,)) if params.capabilities.device_type == "CPU" else local_items(items)


def _bytes(params: KernelParams) -> int:
    return _BYTES.get(params.capabilities.device_type, 1)
