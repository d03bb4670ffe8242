"""OpenCL status codes turned into errors that a user can act on."""
from __future__ import annotations

from collections.abc import Mapping

import pyopencl as cl

from clinfer.base.errors import ClinferError, DeviceUnavailableError, OutOfMemoryError
from clinfer.runtime.driver import StatusError

_HINTS = {
    "OUT_OF_RESOURCES": "the kernel needs more registers or local memory than the device has, or an earlier "
                        "kernel wrote outside its buffers; try a smaller model or another device",
    "OUT_OF_HOST_MEMORY": "free host memory, or use a smaller batch",
    "MEM_OBJECT_ALLOCATION_FAILURE": "the device is out of memory: close other programs, use a smaller "
                                     "batch or another device",
    "INVALID_BUFFER_SIZE": "the buffer is empty or larger than one allocation may be on this device",
    "INVALID_WORK_GROUP_SIZE": "the local size does not fit the device or the kernel's required size",
    "INVALID_WORK_ITEM_SIZE": "one dimension of the local size is beyond the device's limit",
    "INVALID_KERNEL_ARGS": "an argument of the kernel was never set, or its memory was released",
    "INVALID_KERNEL_NAME": "the program holds no kernel of that name",
    "INVALID_BINARY": "the binary was made for another device or driver; build from source",
    "DEVICE_NOT_AVAILABLE": "the device is busy, in exclusive use by another process, or was lost; a new process may "
                            "find it again",
    "INVALID_COMMAND_QUEUE": "the device was lost, as after a kernel that failed; a new process may find it again",
    "PROFILING_INFO_NOT_AVAILABLE": "create the stream with profiling=True and wait for the event",
}

_OUT_OF_MEMORY = ("MEM_OBJECT_ALLOCATION_FAILURE", "OUT_OF_HOST_MEMORY")
_UNAVAILABLE = ("DEVICE_NOT_AVAILABLE", "INVALID_COMMAND_QUEUE", "INVALID_CONTEXT", "INVALID_DEVICE")


def status_name(status: int) -> str:
    """The name of an OpenCL status code, such as OUT_OF_RESOURCES."""
    return cl.status_code.to_string(status, "status %d")


def driver_error(error: cl.Error | StatusError | int, doing: str, *, where: str = "",
                 values: Mapping[str, object] | None = None) -> ClinferError:
    """The error for a status code (or an exception that holds one) met while `doing` something (a verb phrase)."""
    name = status_name(error if isinstance(error, int) else error.code)
    kind = (OutOfMemoryError if name in _OUT_OF_MEMORY else
            DeviceUnavailableError if name in _UNAVAILABLE else ClinferError)
    return kind(f"the OpenCL driver could not {doing}: {name}", where=where, values=values, hint=_HINTS.get(name, ""))
