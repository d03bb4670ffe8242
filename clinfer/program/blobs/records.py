"""Frozen data as a list of records, and back; nothing in a record can name code to run.

A record is an atom (a JSON scalar) or `[tag, i, j, ...]` with the indices of earlier records; equal records
are written once, and the last one is the whole. Tags: tuple, list, dict (keys and values in turn), frozenset,
array, number, bytes and memoryview (these four in the data section), dtype, enum, the name of a `Special`, or
`module:class` for a frozen dataclass of clinfer with its fields in order. Classes are looked up among the modules
that are loaded already, the folder of an operation being loaded first. Sound digests do not prove who wrote the
records, so the reader checks all of them: that references lead to earlier records, that each byte of the data section
is used once, how deep and large the whole is, and that every field of a dataclass holds what its annotation says.
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
from clinfer.base.schema import check_fields
from clinfer.ops import operation_within
from clinfer.program.blobs.container import Chunk, making_sense, padding

_ATOMS = (bool, int, float, str)
_PACKAGE = "clinfer."
_ARRAY_KINDS = "biuf"
_DEEPEST = 200
_LARGEST = 1 << 25


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
        self._taken = 0
        self._makers: dict[str, Callable[..., object]] = {
            "tuple": lambda *parts: parts,
            "list": lambda *parts: list(parts),
            "frozenset": lambda *parts: frozenset(parts),
            "dict": lambda *parts: dict(zip(parts[::2], parts[1::2], strict=True)),
            "array": self._array,
            "number": lambda dtype, *place: self._array(dtype, (), *place)[()],
            "bytes": lambda *place: bytes(self._view(*place)),
            "memoryview": self._view,
            "dtype": _dtype,
            "enum": lambda name, member: _class_of(name)[member],
            **{special.name: special.make for special in specials},
        }

    def read(self, records: bytes | memoryview) -> Any:
        """The object. Errors: ClinferError for records that make no sense, and those of specials."""
        made: list[Any] = []
        sizes = _Sizes()
        with making_sense():
            for record in json.loads(bytes(records)):
                if isinstance(record, list):
                    tag, *parts = record
                    sizes.add(parts)
                    made.append(self._maker(tag)(*[made[index] for index in parts]))
                elif record is None or type(record) in _ATOMS:
                    sizes.add(())
                    made.append(record)
                else:
                    raise TypeError(f"a record is {type(record).__name__}")
            return made[-1]

    def _maker(self, tag: str) -> Callable[..., object]:
        maker = self._makers.get(tag)
        if maker is None:
            maker = self._makers[tag] = _constructor(tag)
        return maker

    def _view(self, offset: int, size: int) -> memoryview:
        if type(offset) is not int or type(size) is not int or not 0 <= offset <= offset + size <= len(self._data):
            raise ValueError(f"bytes {offset!r:.20} and {size!r:.20} more of {len(self._data)}")
        self._taken += size
        if self._taken > len(self._data):
            raise ValueError(f"the data section is used more than once: {self._taken} bytes of {len(self._data)}")
        return self._data[offset:offset + size]

    def _array(self, dtype: str, shape: tuple[int, ...], offset: int, size: int) -> np.ndarray:
        kind = _dtype(dtype)
        if kind.kind not in _ARRAY_KINDS:
            raise TypeError(f"an array of {kind}")
        return np.frombuffer(self._view(offset, size), kind).reshape(shape).copy()


def _dtype(name: object) -> np.dtype:
    if not isinstance(name, str):
        raise TypeError(f"a type of numbers is named by {type(name).__name__}")
    return np.dtype(name)


class _Sizes:
    """How deep records are nested, and how much they would be if each were written out in full: a few references make
    something that nobody can go through. References are checked to be earlier records."""

    def __init__(self) -> None:
        self._depths: list[int] = []
        self._totals: list[int] = []
        self._all = 0

    def add(self, references: Sequence[object]) -> None:
        """Account for the next record. Errors: TypeError, IndexError, ValueError."""
        depth, total = 0, 1
        for index in references:
            if type(index) is not int:
                raise TypeError(f"a reference is {index!r:.20}")
            if not 0 <= index < len(self._totals):
                raise IndexError(f"record {len(self._totals)} refers to {index}")
            depth = max(depth, self._depths[index])
            total += self._totals[index]
        self._all += total
        if depth >= _DEEPEST or self._all > _LARGEST:
            raise ValueError(f"record {len(self._totals)} is nested {depth} deep and holds {total} others")
        self._depths.append(depth + 1)
        self._totals.append(total)


_CONTAINERS = (tuple, list, frozenset)


def _name_of(kind: type) -> str:
    return f"{kind.__module__}:{kind.__qualname__}"


@lru_cache(maxsize=1024)
def _class_of(name: str) -> Any:
    """The frozen dataclass or enumeration of a name; LookupError if there is none of ours."""
    module_name, _, qualname = name.partition(":")
    operation_within(module_name)
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
    return maker_of(_class_of(name))


def maker_of(kind: Any) -> Callable[..., object]:
    """Makes a dataclass of its fields, in order. Errors: TypeError for a field that is not what its annotation says."""
    names = _field_names(kind)

    def make(*parts: object) -> object:
        values = dict(zip(names, parts, strict=True))
        check_fields(kind, values)
        return kind(**values)

    return make
