"""The protocol's words for element types."""
from __future__ import annotations

import numpy as np

from clinfer.base.element_type import ElementType

ELEMENT_TYPES = {
    "BOOL": "boolean", "UINT8": "u8", "UINT16": "u16", "UINT32": "u32", "UINT64": "u64", "INT8": "i8", "INT16": "i16",
    "INT32": "i32", "INT64": "i64", "FP16": "f16", "FP32": "f32", "FP64": "f64", "BF16": "bf16", "BYTES": "string",
}
"""Datatype -> the name of the element type."""
_DATATYPES = {element: datatype for datatype, element in ELEMENT_TYPES.items()}
_OTHERS = {"BOOL": np.bool_, "BYTES": np.object_}


def datatype_of(element_type: str) -> str | None:
    """The protocol's word for an element type of that name; None if it has none."""
    return _DATATYPES.get(element_type)


def numpy_type(datatype: str) -> np.dtype:
    """The NumPy type of a tensor's values: objects for BYTES, float32 for BF16."""
    return np.dtype(_OTHERS.get(datatype) or ElementType.of(ELEMENT_TYPES[datatype]).numpy)
