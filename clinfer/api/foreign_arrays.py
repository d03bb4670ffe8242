"""Arrays of other libraries: seen in place by DLPack or NumPy's protocols."""
from __future__ import annotations

from typing import Any

import numpy as np

from clinfer.base.element_type import ElementType
from clinfer.base.errors import ClinferError
from clinfer.frontend.host_tensors import HostTensor, host_tensor_over
from clinfer.frontend.openvino_import import openvino as ov
from clinfer.remote.array_protocols import DLPACK_HOST
from clinfer.remote.tensors import RemoteTensor

WHERE = "from_dlpack"


def from_dlpack(array: Any) -> HostTensor | RemoteTensor:
    """A tensor in the memory of an array that offers DLPack (NumPy's, PyTorch's on the CPU, ...); nothing is copied.

    It keeps that memory. Tensors of clinfer and OpenVINO come back as they are. Errors: what is on another device, has
    gaps between its elements, may only be read, or is of a type that NumPy does not have.
    """
    if isinstance(array, RemoteTensor | ov.Tensor):
        return array
    if not hasattr(array, "__dlpack__"):
        raise _error("this is no array that offers DLPack", array, "give an array of NumPy, PyTorch or another library")
    found = array_by_dlpack(array)
    if not found.flags.writeable:
        found = _by_numpy(array, found)
    if not found.flags.c_contiguous:
        raise _error("the elements of the array have gaps between them, or another order", array,
                     "make it contiguous, which is a copy: numpy.ascontiguousarray(x), x.contiguous()")
    return host_tensor_over(found.reshape(-1), ElementType.of_numpy(found.dtype), found.shape)


def array_by_dlpack(array: Any) -> np.ndarray:
    """NumPy's view of an array that offers DLPack; an error where it has none."""
    try:
        device = tuple(int(number) for number in array.__dlpack_device__())
        if device[0] in DLPACK_HOST:
            return np.from_dlpack(array)
    except (BufferError, RuntimeError, TypeError, ValueError) as error:
        raise _error("NumPy cannot see this array", array, "detach it from its gradient; give 16-bit floats of a type "
                     "that NumPy lacks as uint16, which inputs of type bf16 take as raw bits",
                     **{"the reason": error}) from None
    raise _error("the array is not in memory of the host", array, "move it there first, which is a copy",
                 **{"DLPack device": device})


def _by_numpy(array: Any, found: np.ndarray) -> np.ndarray:
    """The array as NumPy's own protocols give it: DLPack before version 1 does not tell what may be written to."""
    other = np.asarray(array)
    if other.flags.writeable and other.ctypes.data == found.ctypes.data and other.strides == found.strides:
        return other
    raise _error("the array may only be read, and a tensor can be written to", array, "give it to infer() instead, or "
                 "a copy of it here")


def _error(what: str, array: Any, hint: str, **values: object) -> ClinferError:
    shape, dtype = getattr(array, "shape", None), getattr(array, "dtype", None)
    told = {} if shape is None else {"shape": tuple(shape), "type": dtype}
    return ClinferError(what, where=WHERE, values={"given": type(array).__name__, **told, **values}, hint=hint)
