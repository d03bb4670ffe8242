"""The values of states as the request stores them, and as the model declares them."""
from __future__ import annotations

import numpy as np

from clinfer.base.byte_rows import decode_rows, encode_rows
from clinfer.base.element_type import ElementType
from clinfer.topology import State

_F32 = ElementType.of("f32")


def as_stored(declared: State, units: np.ndarray, kind: ElementType) -> np.ndarray:
    """What the request stores of a value: of its storage units of type `kind`, in the shape that the model declares."""
    ordered = units.transpose(declared.order) if declared.order else units
    if declared.is_in_byte_rows:
        return encode_rows(kind.decode(ordered.reshape(-1), ordered.size).reshape(ordered.shape))
    return np.ascontiguousarray(_converted(ordered, kind, declared.stored_type))


def as_declared(declared: State, units: np.ndarray) -> np.ndarray:
    """The reverse, in the type that the model declares."""
    if declared.is_in_byte_rows:
        units = _converted(decode_rows(units), _F32, declared.element_type)
    else:
        units = _converted(units, declared.stored_type, declared.element_type)
    return np.ascontiguousarray(units.transpose(np.argsort(declared.order)) if declared.order else units)


def _converted(units: np.ndarray, given: ElementType, wanted: ElementType) -> np.ndarray:
    """Storage units of one type as those of another one that are not packed, in the same shape."""
    if given == wanted:
        return units
    return wanted.encode(given.decode(units.reshape(-1), units.size)).reshape(units.shape)
