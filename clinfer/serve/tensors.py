"""Tensors as the protocol writes them, raw or in JSON, and as NumPy arrays."""
from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from typing import Any

import numpy as np
from tritonclient.utils import deserialize_bytes_tensor, serialize_byte_tensor

from clinfer.base.element_type import ElementType
from clinfer.serve.datatypes import ELEMENT_TYPES, numpy_type
from clinfer.serve.errors import BadRequestError, TooLargeError

_BF16 = ElementType.of("bf16")


def check_size(name: str, datatype: str, shape: Sequence[int], limit: int) -> int:
    """The number of elements of a tensor whose bytes do not exceed the limit (BYTES: 4 an element at least).

    Errors: BadRequestError, TooLargeError.
    """
    if datatype not in ELEMENT_TYPES:
        raise BadRequestError("unknown datatype", values={"tensor": name, "datatype": datatype,
                                                          "known": ", ".join(ELEMENT_TYPES)})
    if any(size < 0 for size in shape):
        raise BadRequestError("the shape of a tensor has no negative sizes",
                              values={"tensor": name, "shape": list(shape)})
    count = math.prod(shape)
    size = count * _width(datatype)
    if size > limit:
        raise TooLargeError("a tensor is larger than the server admits",
                            values={"tensor": name, "shape": list(shape), "bytes": size, "limit": limit})
    return count


def from_binary(name: str, datatype: str, shape: Sequence[int], data: bytes | memoryview, limit: int) -> np.ndarray:
    """The values of a tensor that the client sent raw, little-endian; BYTES have their lengths before them.

    The array may share the memory of `data`. Errors: BadRequestError, TooLargeError.
    """
    count = check_size(name, datatype, shape, limit)
    if datatype == "BYTES":
        return _texts(name, shape, bytes(data))
    if len(data) != count * _width(datatype):
        raise BadRequestError("the raw data of a tensor has another length than its shape says",
                              values={"tensor": name, "datatype": datatype, "shape": list(shape),
                                      "bytes": len(data), "expected": count * _width(datatype)})
    if datatype == "BF16":
        return _BF16.decode(np.frombuffer(data, "<u2"), count).reshape(shape)
    if datatype == "BOOL":
        return (np.frombuffer(data, np.uint8) != 0).reshape(shape)
    return np.frombuffer(data, numpy_type(datatype).newbyteorder("<")).reshape(shape)


def to_binary(datatype: str, values: np.ndarray) -> bytes:
    """The raw bytes of a tensor, as `from_binary` reads them."""
    if datatype == "BYTES":
        packed = serialize_byte_tensor(values.astype(np.object_))
        return packed.item() if packed.size else b""
    if datatype == "BF16":
        return _BF16.encode(values).astype("<u2").tobytes()
    return values.astype(numpy_type(datatype).newbyteorder("<"), copy=False).tobytes()


def from_json(name: str, datatype: str, shape: Sequence[int], data: Any, limit: int) -> np.ndarray:
    """The values of a tensor that stands in JSON, flat or nested, in row-major order.

    Nothing is converted silently: a fraction is no integer, a number too large for the datatype is an error. NaN and
    Infinity, as Python's and Triton's JSON write them, are values of floats. Errors: BadRequestError, TooLargeError.
    """
    check_size(name, datatype, shape, limit)
    values = _encoded(name, _flat(name, data)) if datatype == "BYTES" else _numbers(name, datatype, data)
    return shaped(name, values, shape)


def shaped(name: str, values: np.ndarray, shape: Sequence[int]) -> np.ndarray:
    """The values in the shape that was told. Errors: BadRequestError."""
    count = math.prod(shape)
    if values.size != count:
        raise BadRequestError("a tensor has another number of values than its shape says",
                              values={"tensor": name, "shape": list(shape), "values": values.size, "expected": count})
    return values.reshape(shape)


def to_json(datatype: str, values: np.ndarray) -> list[Any]:
    """The values of a tensor as a flat list. Bytes that are no UTF-8 are an error: JSON cannot hold them."""
    if datatype != "BYTES":
        return list(values.reshape(-1).tolist())
    try:
        return [item.decode("utf-8") for item in values.reshape(-1).tolist()]
    except UnicodeDecodeError:
        raise BadRequestError("an output has bytes that JSON cannot hold", hint="ask for binary outputs") from None


def _width(datatype: str) -> int:
    """Bytes that an element takes as raw data, at least."""
    return {"BYTES": 4, "BF16": 2}.get(datatype) or numpy_type(datatype).itemsize


def _texts(name: str, shape: Sequence[int], data: bytes) -> np.ndarray:
    try:
        values = deserialize_bytes_tensor(data)
    except struct.error:
        raise BadRequestError("the raw data of a tensor of BYTES is cut off or garbled",
                              values={"tensor": name, "bytes": len(data)}) from None
    return shaped(name, values, shape)


def _numbers(name: str, datatype: str, data: Any) -> np.ndarray:
    target = numpy_type(datatype)
    try:
        values = np.asarray(data)
        # Integers over 63 bits beside smaller ones are floats or objects to NumPy.
        if target.kind in "iu" and values.dtype != np.bool_ and all(type(item) is int for item in _flat(name, data)):
            return np.asarray(data, target)
        if not values.size:
            return values.astype(target)
        if values.dtype.kind in {"b": "b", "f": "fiu"}.get(target.kind, ""):
            with np.errstate(over="raise"):
                return values.astype(target)
    except (ValueError, OverflowError, FloatingPointError) as error:
        raise BadRequestError("the values of a tensor do not fit its datatype",
                              values={"tensor": name, "datatype": datatype, "reason": error}) from None
    raise BadRequestError("the values of a tensor do not fit its datatype",
                          values={"tensor": name, "datatype": datatype})


def _flat(name: str, data: Any) -> list[Any]:
    """The items of nested lists in order."""
    if not isinstance(data, list):
        raise BadRequestError("the data of a tensor is a list", values={"tensor": name, "type": type(data).__name__})
    items: list[Any] = []
    rest: list[Any] = [data]
    while rest:
        item = rest.pop()
        if isinstance(item, list):
            rest.extend(reversed(item))
        else:
            items.append(item)
    return items


def _encoded(name: str, items: list[Any]) -> np.ndarray:
    values = np.empty(len(items), np.object_)
    for index, item in enumerate(items):
        if not isinstance(item, str):
            raise BadRequestError("BYTES in JSON are texts", values={"tensor": name, "type": type(item).__name__})
        values[index] = item.encode("utf-8")
    return values
