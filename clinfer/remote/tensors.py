"""Tensors in the device's memory that users hold: made by the device, or over the user's own objects."""
from __future__ import annotations

import math
import weakref
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, TypeVar

import pyopencl as cl

from clinfer.base.element_type import ElementType
from clinfer.base.errors import ClinferError, WrongTypeError
from clinfer.base.one_of_a_kind import OneOfAKind
from clinfer.base.shape import StaticShape, show
from clinfer.frontend.conversions import ov_type
from clinfer.frontend.host_tensors import box_sizes, read_shape, shape_for_users
from clinfer.remote import copying
from clinfer.remote.array_protocols import ArrayProtocols
from clinfer.remote.region import Region
from clinfer.runtime.memory import Memory, NativeImage, NativePointer

if TYPE_CHECKING:
    from clinfer.remote.context import RemoteContext

Tensor = TypeVar("Tensor", bound="RemoteTensor")
Span: TypeAlias = tuple[int, int, int]
"""Of memory: (handle, first byte, byte behind the last)."""

WHERE = "remote tensor"


class RemoteTensor(ArrayProtocols, OneOfAKind):
    """A tensor in memory of a remote context; made by its `create_tensor`, or as a region of another tensor:
    `RemoteTensor(tensor, begin, end)`.

    It keeps what the user gave for it; what it was given none for is freed with it. A region keeps its tensor.
    """

    def __init__(self, remote_tensor: RemoteTensor, begin: Sequence[int], end: Sequence[int]) -> None:
        if not isinstance(remote_tensor, RemoteTensor):
            raise WrongTypeError("a region is cut out of a remote tensor", where=WHERE,
                                 values={"given": type(remote_tensor).__name__},
                                 hint="remote tensors are made by the create_tensor of a context")
        self._become_part(remote_tensor, remote_tensor.region.cut(box_sizes(begin), box_sizes(end)))

    @classmethod
    def over(cls: type[Tensor], context: RemoteContext, memory: Memory, element_type: ElementType,
             shape: StaticShape, given: object = None) -> Tensor:
        """A tensor in a memory that is its own from now on; `given`: the user's object in which it lies."""
        made = object.__new__(cls)
        made._set_up(context, memory, Region.dense(element_type, shape), given)
        made._check_fits(shape)
        made._check_alignment()
        weakref.finalize(made, memory.release).atexit = False
        return made

    def _set_up(self, context: RemoteContext, whole: Memory, region: Region, given: object) -> None:
        self.context = context
        self.whole = whole
        """The memory of which `region` tells."""
        self.region = region
        self.given = given
        self._native: type[RemoteTensor] = type(self)
        self._part_of: RemoteTensor | None = None
        self._memory: Memory | None = None
        self._found_span: tuple[Region, Span] | None = None

    def _become_part(self, tensor: RemoteTensor, region: Region) -> None:
        self._set_up(tensor.context, tensor.whole, region, tensor.given)
        self._native, self._part_of = tensor._native, tensor

    # -- what inference needs -------------------------------------------------------------------

    @property
    def kind(self) -> ElementType:
        """The element type, in clinfer's class."""
        return self.region.element_type

    @property
    def static_shape(self) -> StaticShape:
        """The shape as plain numbers."""
        return self.region.shape

    @property
    def memory(self) -> Memory:
        """The memory that begins with the tensor; the same object as long as the tensor lives.

        Errors: a region that kernels cannot be given, because it has gaps, begins between two units of alignment or
        is part of an image.
        """
        if self._memory is None:
            self._memory = self._found_memory()
        return self._memory

    def _found_memory(self) -> Memory:
        if self.is_image and self.region.nbytes != self.whole.capacity:
            raise self._unusable("it is a part of an image")
        if self._part_of is None or self.is_image:
            return self.whole
        if not self.region.is_dense:
            raise self._unusable("its elements are no single run of bytes")
        is_pointer = isinstance(self.whole.native, NativePointer)
        unit = 1 if is_pointer else self.context.engine.capabilities.buffer_alignment
        if self.region.offset % unit:
            raise self._unusable(f"it begins at byte {self.region.offset}, which is no multiple of {unit}")
        return self.whole.part(self.region.offset, max(self.region.nbytes, 1))

    def _unusable(self, why: str) -> ClinferError:
        return ClinferError("the device cannot be given this region where it lies", where=WHERE,
                            values={"region": str(self), "because": why},
                            hint="copy it with copy_to into a tensor of its own, and use that")

    @property
    def is_image(self) -> bool:
        """Whether it is an image, which only inputs for surfaces take."""
        return isinstance(self.whole.native, NativeImage)

    @property
    def is_writable(self) -> bool:
        """Whether kernels may write to it."""
        native = self.whole.native
        if isinstance(native, NativePointer):
            return True
        memory = native.cl_image if isinstance(native, NativeImage) else native.cl_buffer
        return not memory.flags & cl.mem_flags.READ_ONLY

    @property
    def span(self) -> Span:
        """The memory that it may touch."""
        found = self._found_span
        if found is None or found[0] is not self.region or self.whole.is_released:
            found = self._found_span = self.region, self._span()
        return found[1]

    def _span(self) -> Span:
        origin, begin = self.whole.origin
        native = origin.native
        if native is None or isinstance(native, NativeImage):
            return (0 if native is None else native.cl_image.int_ptr, 0, 1)
        begin += self.region.offset
        end = begin + (self.memory.capacity if self.region.is_dense else self.whole.capacity - self.region.offset)
        if isinstance(native, NativePointer):
            return 0, native.address + begin, native.address + end
        return native.cl_buffer.int_ptr, begin, end

    # -- what OpenVINO's tensors tell -----------------------------------------------------------

    @property
    def element_type(self) -> Any:
        """The openvino.Type."""
        return ov_type(self.kind)

    def get_element_type(self) -> Any:
        """The openvino.Type."""
        return self.element_type

    @property
    def shape(self) -> Any:
        """The openvino.Shape; it can be set to any that fits in the memory."""
        return shape_for_users(self.region.shape)

    @shape.setter
    def shape(self, shape: Any) -> None:
        self.set_shape(shape)

    def get_shape(self) -> Any:
        """The openvino.Shape."""
        return self.shape

    def set_shape(self, shape: Any) -> None:
        """Let it have another shape, which must fit in its memory. Errors: regions keep their shape."""
        self.reshape(read_shape(shape, WHERE))

    def reshape(self, shape: StaticShape) -> None:
        """`set_shape` for a shape of plain numbers."""
        if shape == self.region.shape:
            return
        if self._part_of is not None or self.is_image:
            raise ClinferError("regions and images keep their shape", where=WHERE,
                               values={"tensor": str(self), "wanted": show(shape)})
        self._check_fits(shape)
        self.region = Region.dense(self.kind, shape)

    def _check_fits(self, shape: StaticShape) -> None:
        needed = self.kind.byte_size(math.prod(shape))
        if needed > self.whole.capacity:
            raise ClinferError("the memory is too small for this tensor", where=WHERE, values={
                "tensor": f"{self.kind}{show(shape)}", "bytes needed": needed, "bytes given": self.whole.capacity})

    def _check_alignment(self) -> None:
        native, unit = self.whole.native, self.kind.storage.itemsize
        if isinstance(native, NativePointer) and native.address % unit:
            raise ClinferError("the memory begins between two elements", where=WHERE, values={
                "tensor": str(self), "address": f"{native.address:#x}", "bytes of an element": unit})

    @property
    def size(self) -> int:
        """How many elements there are."""
        return math.prod(self.region.shape)

    def get_size(self) -> int:
        """How many elements there are."""
        return self.size

    @property
    def byte_size(self) -> int:
        """Bytes of the elements."""
        return self.region.nbytes

    def get_byte_size(self) -> int:
        """Bytes of the elements."""
        return self.byte_size

    @property
    def strides(self) -> tuple[int, ...]:
        """Bytes from one element to the next, along each axis."""
        return self.region.pitches

    def get_strides(self) -> tuple[int, ...]:
        """Bytes from one element to the next, along each axis."""
        return self.strides

    def is_continuous(self) -> bool:
        """Whether its elements are one run of bytes."""
        return self.region.is_dense

    @property
    def data(self) -> Any:
        """Always an error: a copy is never made silently."""
        raise ClinferError("a remote tensor has no data on the host", where=WHERE, values={"tensor": str(self)},
                           hint="copy it with copy_to(openvino.Tensor(...)) or copy_to(array)")

    bytes_data = str_data = data

    def get_device_name(self) -> str:
        """The device of its context."""
        return self.context.get_device_name()

    @property
    def device_name(self) -> str:
        """The device of its context."""
        return self.get_device_name()

    def get(self) -> Any:
        """The native object: what the user gave, or what was made for it (an object of its own each time). That of a
        region in a buffer is the whole buffer, in which it begins at byte `region.offset`."""
        raise NotImplementedError

    def get_params(self) -> dict[str, Any]:
        """What it is to OpenCL, by OpenVINO's names and in their alphabetical order; handles as integers."""
        params = {"OCL_CONTEXT": self.context.engine.cl_context.int_ptr, **self._native.params_of(self)}
        return dict(sorted(params.items()))

    @classmethod
    def params_of(cls, tensor: RemoteTensor) -> dict[str, Any]:
        """What only tensors of this class have."""
        return {}

    # -- other views, and copies ----------------------------------------------------------------

    def roi(self: Tensor, begin: Sequence[int], end: Sequence[int]) -> Tensor:
        """The region from `begin` to `end` (not included), in the same memory."""
        made = object.__new__(type(self))
        RemoteTensor.__init__(made, self, begin, end)
        return made

    def as_(self, kind: type[Tensor]) -> Tensor:
        """This tensor as one of its classes; an error that names its own for another."""
        if isinstance(self, kind):
            return self
        if not (isinstance(kind, type) and issubclass(self._native, kind)):
            raise ClinferError(f"this tensor is no {getattr(kind, '__name__', kind)}", where=WHERE,
                               values={"it is": self._native.__name__, "tensor": str(self)})
        made = object.__new__(self._native)
        made._become_part(self, self.region)
        return made

    def copy_to(self, target_tensor: Any) -> None:
        """Copy the elements to a remote tensor, an openvino.Tensor or an array of the same type and shape; blocks.

        A target without elements takes the shape, where its class allows that.
        """
        copying.copy(self, target_tensor)

    def copy_from(self, source_tensor: Any) -> None:
        """Copy the elements of a remote tensor, an openvino.Tensor or an array of the same type and shape here;
        blocks."""
        copying.copy(source_tensor, self)

    def __repr__(self) -> str:
        return (f"<{type(self).__name__}: {self.kind}{show(self.region.shape)} in {self.whole.native_type} memory "
                f"of {self.get_device_name()}>")


class ClBufferTensor(RemoteTensor):
    """A tensor in an OpenCL buffer."""

    def get(self) -> cl.Buffer:
        """The buffer: the user's own object, or a reference to the buffer that was made for the tensor."""
        if self.given is not None:
            return self.given
        return cl.Buffer.from_int_ptr(self.whole.cl_buffer.int_ptr, True)

    @property
    def handle(self) -> int:
        """The cl_mem."""
        return int(self.whole.cl_buffer.int_ptr)

    @classmethod
    def params_of(cls, tensor: RemoteTensor) -> dict[str, Any]:
        return {"SHARED_MEM_TYPE": "OCL_BUFFER", "MEM_HANDLE": tensor.whole.cl_buffer.int_ptr}


class ClImage2DTensor(RemoteTensor):
    """A tensor in a two-dimensional OpenCL image: its texels in rows, their channels as the last axis."""

    @property
    def image(self) -> cl.Image:
        """The image, as long as the tensor lives."""
        native = self.whole.native
        assert isinstance(native, NativeImage)
        return native.cl_image

    def get(self) -> cl.Image:
        """The image: the user's own object, or another reference to it."""
        return cl.Image.from_int_ptr(self.image.int_ptr, True) if self.given is None else self.given

    @property
    def handle(self) -> int:
        """The cl_mem."""
        return int(self.image.int_ptr)

    @classmethod
    def params_of(cls, tensor: RemoteTensor) -> dict[str, Any]:
        return {"SHARED_MEM_TYPE": "OCL_IMAGE2D", "MEM_HANDLE": tensor.as_(ClImage2DTensor).handle}


class USMTensor(RemoteTensor):
    """A tensor in memory with an address: unified shared memory, or OpenCL's shared virtual memory."""

    _MEMORY_TYPES: ClassVar[dict[str, str]] = {"usm_host": "USM_HOST_BUFFER", "usm_device": "USM_DEVICE_BUFFER"}

    def get(self) -> int:
        """The address of the first element, which is valid as long as the tensor lives."""
        return self.whole.address + self.region.offset

    @property
    def allocation_type(self) -> str:
        """What kind of memory it is: usm_host, usm_device, usm_shared, svm or coarse_svm."""
        return self.whole.native_type

    @classmethod
    def params_of(cls, tensor: RemoteTensor) -> dict[str, Any]:
        whole = tensor.whole
        address = whole.address + tensor.region.offset
        kind = "USM_USER_BUFFER" if tensor.given is not None else cls._MEMORY_TYPES.get(
            whole.native_type, "USM_USER_BUFFER")
        return {"SHARED_MEM_TYPE": kind, "MEM_HANDLE": address}
