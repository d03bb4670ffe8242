"""Frozen data as a list of records, and back; nothing in a record can name code to run.

A record is an atom (a JSON scalar) or `[tag, i, j, ...]` with the indices of earlier records; equal records
are written once, and the last one is the whole. Tags: tuple, list, dict (keys and values in turn), frozenset,
array, number, bytes and memoryview (these four in the data section), dtype, enum, the name of a `Special`, or
`module:class` for a frozen dataclass of clinfer with its fields in order. Classes are looked up among the modules
that are loaded already.
"""
from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from functools import lru_cache
from typing import Any

import numpy as np

from clinfer.base.errors import ClinferError
from clinfer.program.blobs.container import Chunk, making_sense, padding

_ATOMS = (bool, int, float, str)
_PACKAGE = "clinfer."


@dataclass(frozen=True)
class Special:
    """How objects of one class are written that are no plain data: taken apart, and made of the same parts."""

    kind: type
    take: Callable[[Any], Sequence[object]]
    make: Callable[..., object]

    @property
    def name(self) -> str:
        return self.kind.__name__


class Writer:
    """Collects the records of one object and the chunks of its data section."""

    def __init__(self, specials: Iterable[Special]) -> None:
        self.data: list[Chunk] = []
        self._specials = {special.kind: special for special in specials}
        self._records: list[object] = []
        self._written: dict[object, int] = {}
        # The objects are kept, because the identity of one that is gone may be given to another.
        self._seen: dict[int, tuple[object, int]] = {}
        self._end = 0

    def write(self, value: object) -> bytes:
        """The records of an object as JSON. Errors: ClinferError for something that is no data."""
        self._add(value)
        return json.dumps(self._records, separators=(",", ":")).encode()

    def _add(self, value: object) -> int:
        seen = self._seen.get(id(value))
        if seen is None:
            seen = self._seen[id(value)] = (value, self._write(value))
        return seen[1]

    def _write(self, value: object) -> int:
        if value is None or type(value) in _ATOMS:
            return self._record((type(value), repr(value)), value)
        tag, parts = self._parts(value)
        record = [tag, *map(self._add, parts)]
        return self._record(tuple(record), record)

    def _record(self, key: object, record: object) -> int:
        # The whole must be the last record, which no other is equal to: it holds all others.
        if key not in self._written:
            self._written[key] = len(self._records)
            self._records.append(record)
        return self._written[key]

    def _parts(self, value: object) -> tuple[str, Sequence[object]]:
        special = self._specials.get(type(value))
        if special is not None:
            return special.name, special.take(value)
        if isinstance(value, np.ndarray):
            return "array", (value.dtype.str, value.shape, *self._store(np.ascontiguousarray(value)))
        if isinstance(value, np.generic):
            return "number", (value.dtype.str, *self._store(np.array(value)))
        if isinstance(value, bytes | memoryview):
            return type(value).__name__, self._store(np.frombuffer(value, np.uint8))
        if isinstance(value, np.dtype):
            return "dtype", (value.str,)
        if isinstance(value, Enum):
            return "enum", (_name_of(type(value)), value.name)
        if type(value) in _CONTAINERS:
            return type(value).__name__, list(value)  # type: ignore[call-overload]
        if isinstance(value, Mapping):
            return "dict", [part for item in value.items() for part in item]
        return self._parts_of_dataclass(value)

    def _parts_of_dataclass(self, value: object) -> tuple[str, Sequence[object]]:
        name = _name_of(type(value))
        try:
            kind = _class_of(name)
        except LookupError:
            raise ClinferError("this cannot be part of a compiled blob", where="export",
                               values={"type": name, "value": f"{value!r:.100}"},
                               hint="primitives and programs are made of frozen dataclasses and plain values") from None
        return name, [getattr(value, field) for field in _field_names(kind)]

    def _store(self, array: np.ndarray) -> tuple[int, int]:
        """Put an array into the data section; its offset and size."""
        if array.dtype.hasobject:
            raise ClinferError("an array of Python objects cannot be part of a compiled blob", where="export",
                               values={"shape": array.shape})
        chunk = array.reshape(-1).view(np.uint8).data if array.size else memoryview(b"")
        offset = self._end
        self.data += [chunk, padding(len(chunk))]
        self._end += len(chunk) + len(padding(len(chunk)))
        return offset, len(chunk)


class Reader:
    """Makes the object of records again. A memoryview is one of the data section, all else is copied from it."""

    def __init__(self, specials: Iterable[Special], data: memoryview) -> None:
        self._data = data
        self._makers: dict[str, Callable[..., object]] = {
            "tuple": lambda *parts: parts,
            "list": lambda *parts: list(parts),
            "frozenset": lambda *parts: frozenset(parts),
            "dict": lambda *parts: dict(zip(parts[::2], parts[1::2], strict=True)),
            "array": self._array,
            "number": lambda dtype, *place: self._array(dtype, (), *place)[()],
            "bytes": lambda *place: bytes(self._view(*place)),
            "memoryview": self._view,
            "dtype": np.dtype,
            "enum": lambda name, member: _class_of(name)[member],
            **{special.name: special.make for special in specials},
        }

    def read(self, records: bytes | memoryview) -> Any:
        """The object. Errors: ClinferError for records that make no sense, and those of specials."""
        made: list[Any] = []
        with making_sense():
            for record in json.loads(bytes(records)):
                if isinstance(record, list):
                    made.append(self._maker(record[0])(*[made[index] for index in record[1:]]))
                else:
                    made.append(record)
            return made[-1]

    def _maker(self, tag: str) -> Callable[..., object]:
        maker = self._makers.get(tag)
        if maker is None:
            maker = self._makers[tag] = _constructor(tag)
        return maker

    def _view(self, offset: int, size: int) -> memoryview:
        if not 0 <= offset <= offset + size <= len(self._data):
            raise ValueError(f"bytes {offset} to {offset + size} of {len(self._data)}")
        return self._data[offset:offset + size]

    def _array(self, dtype: str, shape: tuple[int, ...], offset: int, size: int) -> np.ndarray:
        return np.frombuffer(self._view(offset, size), np.dtype(dtype)).reshape(shape).copy()


_CONTAINERS = (tuple, list, frozenset)


def _name_of(kind: type) -> str:
    return f"{kind.__module__}:{kind.__qualname__}"


@lru_cache(maxsize=1024)
def _class_of(name: str) -> Any:
    """The frozen dataclass or enumeration of a name; LookupError if there is none of ours."""
    module_name, _, qualname = name.partition(":")
    found: Any = sys.modules.get(module_name) if module_name.startswith(_PACKAGE) else None
    for part in qualname.split("."):
        found = vars(found).get(part) if found is not None else None
    if not isinstance(found, type) or _name_of(found) != name or not _is_data(found):
        raise LookupError(f"{name} is no frozen data of clinfer")
    return found


def _is_data(kind: type) -> bool:
    frozen = is_dataclass(kind) and kind.__dataclass_params__.frozen  # type: ignore[attr-defined]
    return bool(frozen) or issubclass(kind, Enum)


@lru_cache(maxsize=1024)
def _field_names(kind: type) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind) if field.init)


def _constructor(name: str) -> Callable[..., object]:
    kind = _class_of(name)
    names = _field_names(kind)
    return lambda *parts: kind(**dict(zip(names, parts, strict=True)))
