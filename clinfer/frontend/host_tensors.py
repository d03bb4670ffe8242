"""OpenVINO's tensors in host memory, for those who must not know OpenVINO."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from clinfer.base.element_type import ElementType
from clinfer.base.errors import ClinferError, UnsupportedError, WrongTypeError
from clinfer.base.shape import StaticShape
from clinfer.frontend.conversions import element_type_of, ov_type, static_shape_of
from clinfer.frontend.openvino_import import openvino as ov

HostTensor: TypeAlias = ov.Tensor


def read_element_type(given: Any, where: str) -> ElementType:
    """The element type of an openvino.Type, a NumPy type, or a name such as "f32"."""
    try:
        found = ElementType.of(given) if isinstance(given, str) else element_type_of(
            given if isinstance(given, ov.Type) else ov.Type(np.dtype(given)), where)
    except (TypeError, RuntimeError) as error:
        if isinstance(error, ClinferError):
            raise
        raise WrongTypeError("this is no element type", where=where, values={"given": repr(given)},
                             hint="give an openvino.Type, or a NumPy type") from None
    if found.is_on_host_only:
        raise UnsupportedError(f"devices have no tensors of type {found}", where=where)
    return found


def read_shape(given: Any, where: str) -> StaticShape:
    """A static shape of an openvino.Shape, a static PartialShape, or a sequence of numbers."""
    if isinstance(given, ov.PartialShape):
        if given.is_dynamic:
            raise ClinferError("a tensor has a static shape", where=where, values={"given": given})
        given = given.get_shape()
    if isinstance(given, ov.Shape):
        return static_shape_of(given)
    try:
        shape = tuple(int(size) for size in given)
    except (TypeError, ValueError):
        shape = (-1,)
    if any(size < 0 for size in shape):
        raise ClinferError("a tensor has a static shape", where=where, values={"given": repr(given)})
    return shape


def shape_for_users(shape: StaticShape) -> ov.Shape:
    """OpenVINO's class of a static shape."""
    return ov.Shape(shape)


def host_tensor_over(units: np.ndarray, element_type: ElementType, shape: StaticShape) -> HostTensor:
    """A host tensor in the memory of storage units, which it keeps alive."""
    if element_type.is_encoded or element_type.is_on_host_only:
        return ov.Tensor(units, ov.Shape(shape), ov_type(element_type))
    return ov.Tensor(np.ndarray(shape, element_type.storage, units), shared_memory=True)


def string_tensor(values: np.ndarray) -> HostTensor:
    """A tensor of strings with a copy of the texts: an array of NumPy's kind S (UTF-8) or U."""
    tensor = ov.Tensor(ov.Type.string, ov.Shape(values.shape))
    set_strings(tensor, np.char.encode(values, "utf-8") if values.dtype.kind == "U" else values)
    return tensor


def set_strings(tensor: HostTensor, values: np.ndarray) -> None:
    """Copy texts, an array of NumPy's kind S, into a tensor of that shape."""
    if values.size:
        tensor.bytes_data = values


def string_values(tensor: HostTensor) -> np.ndarray:
    """A copy of the texts of a tensor of strings: an array of NumPy's kind S."""
    # OpenVINO cannot show those of an empty tensor.
    return tensor.bytes_data if tensor.get_size() else np.empty(static_shape_of(tensor.get_shape()), "S1")


def storage_of(given: Any, where: str) -> tuple[ElementType, StaticShape, np.ndarray]:
    """Element type, shape and storage units of a host tensor or array, without a copy."""
    if isinstance(given, ov.Tensor) and not isinstance(given, ov.RemoteTensor):
        return element_type_of(given.element_type, where), static_shape_of(given.shape), given.data
    if isinstance(given, np.ndarray):
        return ElementType.of_numpy(given.dtype), given.shape, given
    raise WrongTypeError("a tensor is copied to or from a remote tensor, an openvino.Tensor, or a NumPy array",
                         where=where, values={"given": type(given).__name__})


def box_sizes(given: Sequence[int]) -> tuple[int, ...]:
    """A coordinate as plain numbers."""
    return tuple(int(number) for number in given)
