"""Remote contexts: where tensors lie and models run, made over the user's own OpenCL context or queue."""
from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from functools import cached_property, partial
from typing import Any, Protocol

import numpy as np
import pyopencl as cl

from clinfer.base.element_type import ElementType
from clinfer.base.errors import ClinferError
from clinfer.base.layout import Layout
from clinfer.base.one_of_a_kind import OneOfAKind
from clinfer.base.shape import StaticShape
from clinfer.frontend.host_tensors import HostTensor, host_tensor_over, read_element_type, read_shape
from clinfer.remote.descriptors import make_tensor
from clinfer.remote.engines import engine_over
from clinfer.remote.host_memories import units_in
from clinfer.remote.images import check_image
from clinfer.remote.memories import SVM, wrap_buffer, wrap_image, wrap_svm, wrap_usm
from clinfer.remote.objects import (
    check_same_context,
    choose_device,
    context_of_handle,
    context_of_queue,
    find_known_device,
    memory_of_handle,
    queue_of_handle,
    retained,
)
from clinfer.remote.surfaces import plane_tensors
from clinfer.remote.tensors import ClBufferTensor, ClImage2DTensor, RemoteTensor, USMTensor
from clinfer.runtime.device import DeviceInfo
from clinfer.runtime.engine import Engine
from clinfer.runtime.memory_types import AllocationType
from clinfer.runtime.stream import Stream

WHERE = "remote context"


class Settings(Protocol):
    """What a context asks of a Core."""

    def build_threads(self, device: DeviceInfo) -> int:
        """In how many processes kernels are built for a device (0: one per core)."""


class RemoteContext(OneOfAKind):
    """A device with memory, and perhaps a queue, that users share with clinfer.

    Made by `Core.get_default_context`, `CompiledModel.get_context`, or as a `ClContext`.
    """

    def __init__(self, engine: Engine, queue: cl.CommandQueue | None = None) -> None:
        self.engine = engine
        self.queue = queue
        """The user's queue, in which models of this context run; None: each has queues of its own."""
        self.transfer_lock = threading.RLock()

    # -- what it is -----------------------------------------------------------------------------

    def get_device_name(self) -> str:
        """The device, as in `Core.available_devices`."""
        return self.engine.device.name

    @property
    def device_name(self) -> str:
        """The device, as in `Core.available_devices`."""
        return self.get_device_name()

    def get_params(self) -> dict[str, Any]:
        """What it is to OpenCL, by OpenVINO's names; handles as integers."""
        params: dict[str, Any] = {"CONTEXT_TYPE": "OCL", "OCL_CONTEXT": self.engine.cl_context.int_ptr}
        return params if self.queue is None else {**params, "OCL_QUEUE": self.queue.int_ptr}

    def as_(self, kind: type[Any]) -> Any:
        """This context as one of its classes; an error that names its own for another."""
        if isinstance(kind, type) and isinstance(self, kind):
            return self
        raise ClinferError(f"this context is no {getattr(kind, '__name__', kind)}", where=WHERE,
                           values={"it is": type(self).__name__})

    def __repr__(self) -> str:
        shared = "" if self.queue is None else ", in the user's queue"
        handle = self.engine.cl_context.int_ptr
        return f"<{type(self).__name__}: {self.engine.device.name}, context {handle:#x}{shared}>"

    # -- tensors --------------------------------------------------------------------------------

    def create_tensor(self, type: Any, shape: Any, handle: Any = None, *, properties: Mapping[str, Any] | None = None,
                      cl_mem: Any = None, usm: Any = None) -> RemoteTensor:
        """A tensor in new device memory, or over an object of the user's.

        `handle`: a pyopencl Buffer, Image or shared virtual memory (SVM, SVMAllocation, SVMPointer). `cl_mem`, `usm`:
        a raw cl_mem, or the address of unified shared memory, as integers that the caller promises to be valid. Buffers
        and images are retained; memory at an address must stay until the tensor is gone and its work done. In place of
        all that, OpenVINO's `properties` (also as the third argument): {"SHARED_MEM_TYPE": ..., ...}.
        """
        kind, sizes = read_element_type(type, WHERE), read_shape(shape, WHERE)
        if isinstance(handle, Mapping):
            handle, properties = None, {**handle, **(properties or {})}
        given = [value for value in (handle, cl_mem, usm, properties or None) if value is not None]
        if len(given) > 1:
            raise ClinferError("a tensor is made over one object", where=WHERE, values={
                "given": ", ".join(value.__class__.__name__ for value in given)})
        if properties:
            return make_tensor(self, kind, sizes, properties)
        if cl_mem is not None:
            return self._over_memory(kind, sizes, memory_of_handle(cl_mem), None)
        if usm is not None:
            return USMTensor.over(self, wrap_usm(self.engine, usm), kind, sizes, usm)
        if handle is None:
            return self._allocated(ClBufferTensor, kind, sizes, "cl_mem")
        if isinstance(handle, SVM):
            nbytes = Layout.planar(sizes, kind).byte_size
            return USMTensor.over(self, wrap_svm(self.engine, handle, nbytes), kind, sizes, handle)
        if isinstance(handle, cl.MemoryObject):
            return self._over_memory(kind, sizes, handle, handle)
        raise ClinferError("a tensor cannot be made over this object", where=WHERE, values={
            "given": handle.__class__.__name__},
            hint="give a pyopencl Buffer, Image or SVM; raw handles as cl_mem= or usm=")

    def create_tensor_nv12(self, y: Any, uv: Any, *, height: int | None = None,
                           width: int | None = None) -> tuple[RemoteTensor, RemoteTensor]:
        """The two planes of one picture in NV12, as tensors [1, height, width, 1] and [1, height/2, width/2, 2] of u8.

        Both are pyopencl Images of 8 bits, of the channels R and RG, or both Buffers; these need the picture's
        `height` and `width`.
        """
        luma, chroma = plane_tensors(self.create_tensor, {"y": (y, 1), "uv": (uv, 2)}, height, width)
        return luma, chroma

    def create_tensor_i420(self, y: Any, u: Any, v: Any, *, height: int | None = None,
                           width: int | None = None) -> tuple[RemoteTensor, RemoteTensor, RemoteTensor]:
        """The three planes of one picture in I420, see `create_tensor_nv12`: U and V are [1, height/2, width/2, 1]."""
        luma, first, second = plane_tensors(self.create_tensor, {"y": (y, 1), "u": (u, 1), "v": (v, 1)}, height, width)
        return luma, first, second

    def create_usm_host_tensor(self, type: Any, shape: Any) -> USMTensor:
        """A tensor in new host memory with an address, which the device reaches."""
        return self._usm(type, shape, "usm_host")

    def create_usm_device_tensor(self, type: Any, shape: Any) -> USMTensor:
        """A tensor in new device memory with an address, which the host does not see."""
        return self._usm(type, shape, "usm_device")

    def create_host_tensor(self, type: Any, shape: Any) -> HostTensor:
        """An openvino.Tensor in memory of the host; where the device has pointers, in such that it reaches itself, so
        that inference copies nothing."""
        kind, sizes = read_element_type(type, WHERE), read_shape(shape, WHERE)
        layout = Layout.planar(sizes, kind)
        memory = self.engine.allocate_memory(layout, what="a host tensor", allocation_type="usm_host")
        if not memory.is_host_visible or not layout.byte_size:
            return host_tensor_over(np.empty(layout.byte_size, np.uint8), kind, sizes)
        return host_tensor_over(units_in(memory), kind, sizes)

    def _usm(self, element_type: Any, shape: Any, wanted: AllocationType) -> USMTensor:
        kind, sizes = read_element_type(element_type, WHERE), read_shape(shape, WHERE)
        native = self.engine.native_types[wanted]
        if native in ("cl_mem", "host_cl_mem"):
            raise ClinferError("the device has no pointers to memory of this type", where=WHERE, values={
                "device": self.engine.device, "wanted": wanted, "stands behind it": native},
                hint="use create_tensor, or create_host_tensor for memory of the host")
        return self._allocated(USMTensor, kind, sizes, wanted)

    def _allocated(self, tensor: type[Any], kind: ElementType, shape: StaticShape, wanted: AllocationType) -> Any:
        memory = self.engine.allocate_memory(Layout.planar(shape, kind), what="remote tensor", allocation_type=wanted)
        return tensor.over(self, memory, kind, shape)

    def _over_memory(self, kind: ElementType, shape: StaticShape, memory: cl.Buffer | cl.Image,
                     given: object) -> RemoteTensor:
        if isinstance(memory, cl.Image):
            wrapped = wrap_image(self.engine, memory)
            check_image(memory, kind, shape)
            return ClImage2DTensor.over(self, wrapped, kind, shape, given)
        return ClBufferTensor.over(self, wrap_buffer(self.engine, memory), kind, shape, given)

    def over_surface(self, kind: ElementType, shape: StaticShape, surface: Any, plane: int) -> RemoteTensor:
        """A tensor in a plane of a video surface, where the context shares memory with a video API."""
        raise self._shares_nothing("surfaces")

    def over_media_buffer(self, kind: ElementType, shape: StaticShape, buffer: Any) -> RemoteTensor:
        """A tensor in a buffer of Direct3D, where the context shares memory with it."""
        raise self._shares_nothing("Direct3D's buffers")

    def _shares_nothing(self, what: str) -> ClinferError:
        return ClinferError(f"this context has no {what}", where=WHERE, values={"context": self},
                            hint="make a VAContext or a D3DContext; images and buffers of OpenCL need neither")

    # -- for clinfer ----------------------------------------------------------------------------

    @property
    def queue_stream(self) -> Callable[[], Stream] | None:
        """Makes streams over the user's queue; None if there is none."""
        queue = self.queue
        return None if queue is None else partial(Stream, self.engine, queue)

    @property
    def queue_profiles(self) -> bool:
        """Whether there is a queue of the user's that measures times."""
        return self.queue is not None and bool(
            self.queue.properties & cl.command_queue_properties.PROFILING_ENABLE)

    @cached_property
    def transfers(self) -> Stream:
        """A stream for copies, for one thread at a time, that has `transfer_lock`: the user's queue, or one of the
        context's own."""
        make = self.queue_stream
        return make() if make else self.engine.create_stream()


class ClContext(RemoteContext):
    """`ClContext(core, context)` over a pyopencl.Context, `ClContext(core, queue)` over a pyopencl.CommandQueue.

    Raw handles are given as `cl_context=` and `queue=`; their validity is the caller's promise. Both are retained.
    Of a context with several devices `ctx_device_id` chooses one by its place. Models of a context that was made from
    a queue run in that queue.
    """

    def __init__(self, core: Settings, context_or_queue: cl.Context | cl.CommandQueue | None = None,
                 ctx_device_id: int | None = None, *, cl_context: Any = None, queue: Any = None) -> None:
        if not hasattr(core, "build_threads"):
            raise ClinferError("a remote context belongs to a clinfer.Core", where=WHERE,
                               values={"given": f"{type(core).__module__}.{type(core).__name__}"})
        context, own_queue = _read(context_or_queue, cl_context, queue)
        if own_queue is not None:
            own_context = context_of_queue(own_queue)
            if context is not None:
                check_same_context("the queue", own_context, context)
            context, device = own_context, find_known_device(own_queue.device)
        else:
            assert context is not None
            device = choose_device(context, ctx_device_id)
        super().__init__(engine_over(context, device, core.build_threads(device)), own_queue)
        self._given = context_or_queue if isinstance(context_or_queue, cl.Context) else None

    @classmethod
    def over(cls, engine: Engine) -> ClContext:
        """A new context of an engine that is open already."""
        made = cls.__new__(cls)
        RemoteContext.__init__(made, engine)
        made._given = None
        return made

    def get(self) -> cl.Context:
        """The context: the user's own object, or a reference to it; its handle is `.int_ptr`."""
        return retained(self.engine.cl_context) if self._given is None else self._given

    @property
    def handle(self) -> int:
        """The cl_context."""
        return int(self.engine.cl_context.int_ptr)


def _read(given: object, cl_context: object, queue: object) -> tuple[cl.Context | None, cl.CommandQueue | None]:
    """Context and queue, one of which may be missing; both retained."""
    if isinstance(given, cl.Context | cl.CommandQueue):
        if isinstance(given, cl.Context):
            cl_context = given if cl_context is None else cl_context
        else:
            queue = given if queue is None else queue
    elif given is not None:
        raise ClinferError("a remote context is made from a pyopencl Context or CommandQueue", where=WHERE,
                           values={"given": type(given).__name__},
                           hint="raw handles are given as cl_context= or queue=")
    if cl_context is None and queue is None:
        raise ClinferError("a remote context needs a context or a queue", where=WHERE,
                           hint="such as ClContext(core, pyopencl.Context(...)); core.get_default_context(device) "
                                "gives clinfer's own")
    return (_retained_or(context_of_handle, cl.Context, cl_context),
            _retained_or(queue_of_handle, cl.CommandQueue, queue))


def _retained_or(of_handle: Callable[[object], Any], kind: type[Any], given: object) -> Any:
    if given is None:
        return None
    return retained(given) if isinstance(given, kind) else of_handle(given)
