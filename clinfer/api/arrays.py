"""What users give as inputs, turned into checked arrays: the casts are those of OpenVINO's Python API."""
from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np

from clinfer.api.ports import PortKey, Ports, describe, describe_all, port_name
from clinfer.base.element_type import ElementType
from clinfer.base.errors import ClinferError, WrongTypeError
from clinfer.base.shape import Shape, StaticShape, admits, show
from clinfer.frontend.conversions import element_type_of, shape_of, static_shape_of
from clinfer.frontend.host_tensors import string_values
from clinfer.frontend.openvino_import import openvino as ov
from clinfer.remote.tensors import RemoteTensor


@dataclass(frozen=True)
class Declared:
    """What a model declares of an input or output, and how errors name it."""

    port: ov.Output
    kind: str
    element_type: ElementType
    shape: Shape | None
    is_surface: bool = False
    """Whether its memory is images."""

    @staticmethod
    def of(port: ov.Output, kind: str, is_surface: bool = False) -> Declared:
        """The declaration of a port of that kind ("input" or "output")."""
        element_type = element_type_of(port.element_type, f"{kind} {port_name(port)!r}")
        return Declared(port, kind, element_type, shape_of(port.partial_shape), is_surface)

    @cached_property
    def label(self) -> str:
        return f"{self.kind} {port_name(self.port)!r}"

    @cached_property
    def has_plain_units(self) -> bool:
        """Whether the shape of a tensor's storage units is the tensor's."""
        return not (self.element_type.is_packed or self.element_type.is_string)

    @cached_property
    def has_plain_values(self) -> bool:
        """Whether storage units are the values."""
        return _is_plain(self.element_type)

    def check_shape(self, shape: StaticShape) -> None:
        """Raise if a tensor of this shape is outside what the model declares."""
        if admits(self.shape, shape):
            return
        expected = {"expected": describe(self.port), "given": f"{self.element_type}{show(shape)}"}
        assert self.shape is not None
        if len(shape) != len(self.shape):
            raise ClinferError(f"{self.label} has the wrong rank", where="infer request", values=expected,
                               hint=f"give an array with {len(self.shape)} dimensions")
        axis = next(i for i, (d, n) in enumerate(zip(self.shape, shape, strict=True))
                    if not admits((d,), (n,)))
        raise ClinferError(f"{self.label} has a shape outside the model's bounds", where="infer request",
                           values=expected | {"first wrong axis": f"{axis} (expected {self.shape[axis]})"},
                           hint="change the array, or reshape the model before compiling it")


class HostData(NamedTuple):
    """The contents of a tensor on the host: contiguous storage units and the logical shape they hold.

    `is_private`: nobody else holds the units.
    """

    units: np.ndarray
    shape: StaticShape
    is_private: bool

    def logical(self, element_type: ElementType) -> np.ndarray:
        """The values in the logical shape (the units themselves where they are the values)."""
        if _is_plain(element_type):
            return self.units.reshape(self.shape)
        units = np.ascontiguousarray(self.units).reshape(-1).view(element_type.storage)
        return element_type.decode(units, math.prod(self.shape)).reshape(self.shape)


class GivenInput(Protocol):
    """What tells of an input that has contents."""

    declared: Declared

    @property
    def given_shape(self) -> StaticShape | None:
        """The shape of the present contents; None without any."""

    @property
    def shape(self) -> StaticShape:
        """The shape of contents that were checked."""


def by_key(inputs: Any, ports: Ports) -> Mapping[PortKey | None, Any]:
    """The inputs of an inference, in any form that users give them, by key; None stands for the only input.

    A list of plain numbers or texts (at most two lists deep) given to a model with one input is that input's value,
    any other list or tuple holds one value per input.
    """
    if inputs is None:
        return {}
    if isinstance(inputs, ov.utils.data_helpers.OVDict):
        return dict(enumerate(inputs.values()))
    if isinstance(inputs, Mapping):
        if None in inputs:
            raise WrongTypeError("None names no input", where="infer request",
                                 values={"inputs": describe_all(ports.inputs)})
        return inputs
    if isinstance(inputs, list) and len(ports.inputs) == 1 and _holds_elements(inputs):
        return {0: inputs}
    if isinstance(inputs, list | tuple):
        if len(inputs) > len(ports.inputs):
            raise ClinferError("more inputs were given than the model has", where="infer request",
                               values={"given": len(inputs), "inputs": describe_all(ports.inputs)})
        return dict(enumerate(inputs))
    if not isinstance(inputs, ov.Tensor | RemoteTensor | str | bytes) and not _is_array_like(inputs):
        raise WrongTypeError("inputs cannot be made from what was given", where="infer request",
                             values={"given": type(inputs).__name__, "inputs": describe_all(ports.inputs)},
                             hint="give an array, a tensor, a list of these, or a dictionary by index, name or port")
    return {None: inputs}


def _holds_elements(values: list[Any]) -> bool:
    flat = [v for value in values for v in (value if isinstance(value, list) else [value])]
    return all(isinstance(v, int | float) for v in flat) or all(isinstance(v, str | bytes) for v in flat)


def from_tensor(tensor: ov.Tensor, declared: Declared) -> HostData:
    """The contents of a host tensor, which must have the declared type and an admitted shape."""
    check_tensor_type(tensor, declared)
    data = contents(tensor, declared)
    declared.check_shape(data.shape)
    return data


def contents(tensor: ov.Tensor, declared: Declared) -> HostData:
    """The contents of a host tensor of the declared type."""
    if declared.has_plain_units:
        units = tensor.data
        return HostData(units, units.shape, False)
    units = string_values(tensor) if declared.element_type.is_string else tensor.data
    return HostData(units, static_shape_of(tensor.shape), is_private=False)


def tensor_shape(tensor: ov.Tensor, declared: Declared) -> StaticShape:
    """The shape of a host tensor of the declared type, by the quickest way."""
    return tensor.data.shape if declared.has_plain_units else static_shape_of(tensor.shape)


def check_unchanged(tensor: ov.Tensor, used: np.ndarray, declared: Declared) -> None:
    """Raise if a tensor has another shape or lies elsewhere than when its data were taken as `used`."""
    data = tensor.data
    if data.shape != used.shape or data.ctypes.data != used.ctypes.data:
        raise ClinferError(f"the tensor of {declared.label} was changed while the request ran", where="infer request",
                           values={"shape before": show(used.shape), "shape now": show(data.shape)},
                           hint="wait for the request before you change the shape of its tensors")


def logical_values(tensor: ov.Tensor, declared: Declared) -> np.ndarray:
    """The values of a host tensor of the declared type, unpacked; strings as an array of NumPy's kind S."""
    units = string_values(tensor) if declared.element_type.is_string else tensor.data
    return HostData(units, tensor_shape(tensor, declared), False).logical(declared.element_type)


def check_tensor_type(tensor: ov.Tensor, declared: Declared) -> None:
    """Raise unless the tensor is a host tensor of the declared element type."""
    if not isinstance(tensor, ov.Tensor) or isinstance(tensor, ov.RemoteTensor):
        raise WrongTypeError(f"{declared.label} needs an openvino.Tensor in host memory", where="infer request",
                             values={"given": type(tensor).__name__})
    if tensor.element_type != declared.port.element_type:
        raise ClinferError(f"{declared.label} has the wrong element type", where="infer request",
                           values={"expected": describe(declared.port),
                                   "given": f"{tensor.element_type.type_name}{tuple(tensor.shape)}"},
                           hint="tensors are taken as they are; arrays are converted")


def from_value(value: Any, declared: Declared) -> HostData:
    """The contents of an array, of anything that NumPy makes one of (lists, numbers, torch tensors).

    Values are cast to the declared type as `astype` does; 16-bit arrays given to a bf16 input are its raw bits.
    A single number fits a declared shape of all ones.
    """
    if isinstance(value, ov.Tensor):
        return from_tensor(value, declared)
    kind = declared.element_type
    if kind.is_string:
        return _from_strings(value, declared)
    array = _fitted(_as_array(value, declared), declared)
    if declared.has_plain_values and array.dtype == kind.storage:
        units = np.ascontiguousarray(array)
    elif kind.name == "bf16" and array.dtype in (np.float16, np.uint16):
        units = np.ascontiguousarray(array).view(np.uint16)
    else:
        units = kind.encode(array.astype(kind.numpy).reshape(-1))
    is_private = isinstance(value, _PLAIN) or (units is not array and not np.may_share_memory(units, array))
    return HostData(units, array.shape, is_private)


def _from_strings(value: Any, declared: Declared) -> HostData:
    """The contents of a text, bytes, or an array or list of either."""
    array = np.asarray(value)
    if array.dtype.kind == "U" or (array.size == 0 and array.dtype.kind == "f" and isinstance(value, list | tuple)):
        array = np.char.encode(array.astype("U"), "utf-8")
    elif array.dtype.kind != "S":
        raise WrongTypeError(f"{declared.label} cannot be made from what was given", where="infer request",
                             values={"given": f"{type(value).__name__} of {array.dtype}",
                                     "expected": describe(declared.port)},
                             hint="give a text, a list of texts, an array of NumPy's kinds U or S, or an "
                                  "openvino.Tensor of strings")
    array = _fitted(array, declared)
    return HostData(np.array(array), array.shape, is_private=True)


def _fitted(array: np.ndarray, declared: Declared) -> np.ndarray:
    """The array in an admitted shape, which a single number is given; raises where its shape is another one."""
    if array.ndim == 0 and declared.shape and admits(declared.shape, (1,) * len(declared.shape)):
        array = array.reshape((1,) * len(declared.shape))
    declared.check_shape(array.shape)
    return array


def _is_plain(element_type: ElementType) -> bool:
    """Whether storage units are the values."""
    return element_type.storage == element_type.numpy and not element_type.is_packed


_PLAIN = (int, float, list, tuple)
_NUMERIC = "biuf"
_PROTOCOLS = ("__array__", "__array_interface__", "__dlpack__")
"""By which other libraries show NumPy their arrays."""


def _is_array_like(value: Any) -> bool:
    return isinstance(value, _PLAIN) or any(hasattr(value, protocol) for protocol in _PROTOCOLS)


def _as_array(value: Any, declared: Declared) -> np.ndarray:
    if type(value) is np.ndarray and value.dtype.kind in _NUMERIC:
        return value
    if not _is_array_like(value):
        raise _not_numeric(value, declared)
    try:
        array = np.asarray(value) if hasattr(value, "__array__") or not hasattr(value, "__dlpack__") else (
            np.from_dlpack(value))
    except (ValueError, TypeError, RuntimeError, BufferError) as error:
        raise ClinferError(f"{declared.label} is no array", where="infer request",
                           values={"given": type(value).__name__, "NumPy says": error,
                                   "expected": describe(declared.port)}) from None
    if array.dtype.kind not in _NUMERIC:
        raise _not_numeric(value, declared, array.dtype)
    return array


def _not_numeric(value: Any, declared: Declared, dtype: np.dtype | None = None) -> WrongTypeError:
    given = type(value).__name__ + (f" of {dtype}" if dtype is not None else "")
    return WrongTypeError(f"{declared.label} cannot be made from what was given", where="infer request",
                          values={"given": given, "expected": describe(declared.port)},
                          hint="give an array of numbers, an openvino.Tensor, or something that NumPy converts")


def raw_bytes(array: np.ndarray) -> np.ndarray:
    """A contiguous array seen as flat bytes, without a copy."""
    return array.reshape(-1).view(np.uint8)
