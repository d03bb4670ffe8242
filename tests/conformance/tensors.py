"""Between ONNX's arrays, whose types NumPy may lack, and OpenVINO's tensors."""
from __future__ import annotations

import math
from typing import Any

import numpy as np

from clinfer.frontend.openvino_import import openvino as ov


def to_tensor(array: np.ndarray, port: Any) -> Any:
    """An array as an input: as it is where NumPy has its type, else a tensor of the port's type with its bits."""
    if is_plain(array.dtype):
        return array
    tensor = ov.Tensor(port.element_type, ov.Shape(array.shape))
    raw = np.ascontiguousarray(array).reshape(-1).view(np.uint16 if array.itemsize == 2 else np.uint8)
    units = _pack_nibbles(raw) if port.element_type.bitwidth == 4 else raw
    tensor.data.reshape(-1).view(np.uint8)[:] = units.view(np.uint8)
    return tensor


def from_tensor(tensor: Any, dtype: np.dtype) -> np.ndarray:
    """The values of an output; its bits are read as `dtype` where NumPy lacks that type."""
    if is_plain(dtype):
        return np.array(tensor.data)
    shape = tuple(tensor.shape)
    units = np.ascontiguousarray(tensor.data).reshape(-1).view(np.uint8)
    if tensor.element_type.bitwidth == 4:
        units = np.stack([units & 0xF, units >> 4], axis=-1).reshape(-1)[:math.prod(shape)]
    return units.view(dtype).reshape(shape)


def is_plain(dtype: np.dtype) -> bool:
    """Whether NumPy itself has the type."""
    return dtype.kind != "V" and dtype.isbuiltin == 1


def _pack_nibbles(values: np.ndarray) -> np.ndarray:
    low, high = values[0::2] & 0xF, values[1::2] & 0xF
    return low | np.pad(high << 4, (0, low.size - high.size))
