"""The user's buffers, images and pointers as memory of an engine, checked before anything is done with them."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyopencl as cl

from clinfer.base.errors import ClinferError
from clinfer.remote.objects import check_same_context, read_handle, retained
from clinfer.runtime.engine import Engine
from clinfer.runtime.memory import Allocation, Memory, NativeBuffer, NativeImage, NativePointer
from clinfer.runtime.memory_types import NativeType
from clinfer.runtime.pointers import PointerCalls, find_usm

WHERE = "remote tensor"
SVM = (cl.SVM, cl.SVMAllocation, cl.SVMPointer)


def wrap_buffer(engine: Engine, buffer: cl.Buffer) -> Memory:
    """A buffer or sub-buffer; it is retained."""
    check_same_context("the buffer", buffer.context, engine.cl_context)
    own = retained(buffer)
    parent = _parent(own)
    if parent is None:
        return Memory(engine, Allocation(NativeBuffer(own), own.size))
    whole = Allocation(NativeBuffer(parent), parent.size)
    return Memory(engine, Allocation(NativeBuffer(own), own.size, on_free=whole.free, whole=whole, offset=own.offset))


def _parent(buffer: cl.Buffer) -> cl.Buffer | None:
    """The buffer of which a sub-buffer is a part, retained; None for others, and if its owner has released it."""
    try:
        return buffer.get_info(cl.mem_info.ASSOCIATED_MEMOBJECT)
    except cl.Error:
        return None


def wrap_image(engine: Engine, image: cl.Image) -> Memory:
    """A two-dimensional image; it is retained. `capacity` is the bytes of its texels without gaps."""
    check_same_context("the image", image.context, engine.cl_context)
    if image.type != cl.mem_object_type.IMAGE2D:
        raise ClinferError("an image tensor needs a two-dimensional image", where=WHERE,
                           values={"type": cl.mem_object_type.to_string(image.type)})
    own = retained(image)
    width, height = image_size(own)
    return Memory(engine, Allocation(NativeImage(own), width * height * own.format.itemsize))


def image_size(image: cl.Image) -> tuple[int, int]:
    """Width and height in texels."""
    return image.get_image_info(cl.image_info.WIDTH), image.get_image_info(cl.image_info.HEIGHT)


def wrap_svm(engine: Engine, given: Any, nbytes: int) -> Memory:
    """Shared virtual memory of pyopencl's, which is kept; the host sees it through the user's object alone."""
    address = int(given.svm_ptr or 0)
    if not address:
        raise ClinferError("the shared virtual memory was released", where=WHERE,
                           values={"given": type(given).__name__, "bytes": given.size})
    calls = engine.svm_calls
    abilities = _svm_abilities(engine.device.cl_device)
    if calls is None or not abilities:
        raise ClinferError("the device has no shared virtual memory", where=WHERE,
                           values={"device": engine.device}, hint="use a pyopencl.Buffer")
    if not abilities & cl.device_svm_capabilities.FINE_GRAIN_SYSTEM and not _is_allocated(given):
        raise ClinferError("the device does not reach ordinary memory of the host", where=WHERE,
                           values={"device": engine.device},
                           hint="make the array with pyopencl.csvm_empty or fsvm_empty, or use a pyopencl.Buffer")
    size = nbytes if given.size is None else int(given.size)
    return _over_pointer(engine, address, size, "coarse_svm", calls, given)


def wrap_usm(engine: Engine, address: object) -> Memory:
    """Unified shared memory at an address, which the user keeps while it is used; it reaches to the end of its
    allocation."""
    place = read_handle("usm", address)
    pointers = engine.pointers
    if not engine.capabilities.usm or pointers is None:
        raise ClinferError("the device has no unified shared memory", where=WHERE, values={"device": engine.device},
                           hint="give pyopencl's shared virtual memory (pyopencl.SVM), or a buffer")
    found = find_usm(engine.cl_context, engine.device.cl_device, place)
    if found is None:
        raise ClinferError("the address lies in no unified shared memory of this context", where=WHERE,
                           values={"address": f"{place:#x}", "context": f"{engine.cl_context.int_ptr:#x}"},
                           hint="allocate it with cl*MemAllocINTEL in the context of this remote context")
    return _over_pointer(engine, place, found.base + found.nbytes - place, found.kind, pointers.calls, None)


def _over_pointer(engine: Engine, address: int, nbytes: int, kind: NativeType, calls: PointerCalls,
                  owner: object) -> Memory:
    return Memory(engine, Allocation(NativePointer(address, kind, calls), nbytes, on_free=_keeping(owner)))


def _keeping(owner: object) -> Callable[[], None] | None:
    """A function that does nothing but keep the owner until it is called."""
    return None if owner is None else _Keeper(owner).let_go


class _Keeper:
    def __init__(self, owner: object) -> None:
        self._owner: object | None = owner

    def let_go(self) -> None:
        self._owner = None


def _svm_abilities(device: cl.Device) -> int:
    try:
        return int(device.svm_capabilities)
    except cl.Error:
        return 0


def _is_allocated(given: Any) -> bool:
    """Whether shared virtual memory was allocated as such, instead of being an array of the host's."""
    if not isinstance(given, cl.SVM):
        return True
    held: Any = given.mem
    while isinstance(held, np.ndarray | memoryview):
        held = held.base if isinstance(held, np.ndarray) else held.obj
    return isinstance(held, cl.SVMAllocation)
