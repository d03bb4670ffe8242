"""Remote tensors as arrays of other libraries, by NumPy's protocols and DLPack: in place, or not at all."""
from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pyopencl as cl

from clinfer.base.element_type import ElementType
from clinfer.base.errors import HiddenMemoryError
from clinfer.remote.host_memories import Span
from clinfer.remote.region import Region
from clinfer.runtime.memory import Memory, NativeBuffer, NativeImage
from clinfer.runtime.pointers import view_of

if TYPE_CHECKING:
    from clinfer.remote.context import RemoteContext

DLPACK_CPU, DLPACK_OPENCL = 1, 4
"""DLPack's numbers of device types (kDLCPU, kDLOpenCL)."""
DLPACK_HOST = frozenset({DLPACK_CPU, 3, 11})
"""Those whose memory the host sees: besides the CPU, host memory that is pinned for CUDA and for ROCm."""

_VERSIONED_NUMPY = (2, 1)
"""Since then NumPy's own arrays are asked for a version, a device and a copy."""


class ArrayProtocols:
    """What a tensor hands to NumPy, PyTorch and others is its memory itself, which keeps the tensor alive.

    The host sees pointers of the types usm_host, usm_shared and svm on every device, and on CPUs every pointer and
    buffer. All else raises: a copy is made by `copy_to`, never silently. Whoever holds a view may touch it while no
    inference and no kernel that uses the tensor is unfinished; what lies in a queue of the user's is waited for when a
    view is made.
    """

    context: RemoteContext
    whole: Memory
    region: Region
    _address: int | None = None

    @property
    def __array_interface__(self) -> dict[str, Any]:
        """NumPy's description of the memory; there is none where the host does not see it."""
        try:
            return dict(self._view().__array_interface__)
        except HiddenMemoryError as error:
            raise AttributeError(str(error)) from None

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        """The elements where they lie; a copy where one is asked for, by name or by another type."""
        view = self._view()
        if dtype is not None and np.dtype(dtype) != view.dtype:
            if copy is False:
                raise ValueError(f"{view.dtype} elements are no {np.dtype(dtype)} without a copy")
            return view.astype(dtype)
        return view.copy() if copy else view

    def __dlpack_device__(self) -> tuple[int, int]:
        """(kDLCPU, 0) where the host sees the memory, else (kDLOpenCL, the number of the device)."""
        if _why_hidden(self.whole) is None:
            return DLPACK_CPU, 0
        return DLPACK_OPENCL, int(self.context.get_device_name().rpartition(".")[2])

    def __dlpack__(self, *, stream: Any = None, max_version: tuple[int, int] | None = None,
                   dl_device: tuple[int, int] | None = None, copy: bool | None = None) -> Any:
        """A capsule of the elements where they lie (of a copy if `copy`), made by NumPy.

        Errors: a BufferError for memory that the host does not see, because no library takes OpenCL's over.
        """
        view = self._view()
        if stream is not None or (dl_device is not None and tuple(dl_device) != (DLPACK_CPU, 0)):
            raise HiddenMemoryError("this tensor can be handed to the CPU alone", where="remote tensor", values={
                "tensor": self, "wanted device": dl_device, "wanted stream": stream})
        if copy:
            view = view.copy()
        return view.__dlpack__(**_versioned(max_version))

    @property
    def host_span(self) -> Span | None:
        """Where the host sees it; None if it does not."""
        if _why_hidden(self.whole) is not None:
            return None
        begin = self._host_address() + self.region.offset
        return begin, begin + self._reach

    @property
    def _reach(self) -> int:
        """Bytes from its first element to behind its last."""
        region = self.region
        if 0 in region.shape:
            return 0
        return region.element_type.byte_size(math.prod(region.shape)) if region.element_type.is_packed else (
            region.element_type.byte_size(1) + sum(
                (size - 1) * pitch for size, pitch in zip(region.shape, region.pitches, strict=True)))

    def _view(self) -> np.ndarray:
        whole, region = self.whole, self.region
        why = _why_no_array(region.element_type) or _why_hidden(whole)
        if why is not None:
            raise HiddenMemoryError("the tensor cannot be seen as an array of the host's", where="remote tensor",
                                    values={"tensor": self, "because": why},
                                    hint="copy it with copy_to, or use create_host_tensor")
        if 0 in region.shape:
            return np.empty(region.shape, region.element_type.storage)
        self._wait_for_queue()
        contents = view_of(self._host_address() + region.offset, self._reach, self)
        return np.ndarray(region.shape, region.element_type.storage, contents, 0, region.pitches)

    def _host_address(self) -> int:
        """Where the whole memory begins; asked for once, because it stays there."""
        if self._address is None:
            self._address = self.whole.engine.host_address(self.whole)
        return self._address

    def _wait_for_queue(self) -> None:
        if self.context.queue is not None:
            stream = self.context.transfers
            with self.context.transfer_lock:
                stream.finish()


def _versioned(max_version: tuple[int, int] | None) -> dict[str, Any]:
    numpy_version = tuple(int(part) for part in np.__version__.split(".")[:2])
    return {} if max_version is None or numpy_version < _VERSIONED_NUMPY else {"max_version": max_version}


def _why_no_array(kind: ElementType) -> str | None:
    """Why NumPy cannot hold elements of a type; None if it can."""
    return f"NumPy has no type for {kind}" if kind.is_packed or kind.numpy != kind.storage else None


def _why_hidden(whole: Memory) -> str | None:
    """Why the host does not see a memory; None if it does."""
    native = whole.native
    if isinstance(native, NativeImage):
        return "texels of an image have no address"
    if whole.is_host_visible:
        return None
    if not whole.engine.capabilities.buffers_in_place:
        return f"it lies in {whole.native_type} memory of {whole.engine.device}, which the host does not see"
    if isinstance(native, NativeBuffer) and native.cl_buffer.flags & _CLOSED_TO_THE_HOST:
        return "the buffer was made with flags that keep the host from reading or writing it"
    return None


_FLAGS = cl.mem_flags
_CLOSED_TO_THE_HOST = _FLAGS.HOST_NO_ACCESS | _FLAGS.HOST_READ_ONLY | _FLAGS.HOST_WRITE_ONLY
