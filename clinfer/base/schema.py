"""What the annotations of frozen dataclasses say of values, checked where values come from outside.

The annotations are the schema: types, containers, unions and literals of them, and with `Annotated` the two below.
"""
from __future__ import annotations

import collections.abc
import reprlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, is_dataclass
from functools import lru_cache
from types import UnionType
from typing import Annotated, Any, ClassVar, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np


@dataclass(frozen=True)
class AtLeast:
    """A number that is not smaller."""

    low: int


@dataclass(frozen=True)
class IndexOf:
    """An index into a table of the whole to which the data belongs, or `none`."""

    table: str
    none: int | None = None


Natural = Annotated[int, AtLeast(0)]
Positive = Annotated[int, AtLeast(1)]

Check = Callable[[Any], bool]
_NUMBERS: Mapping[object, tuple[type, ...]] = {
    int: (int, np.integer), float: (int, float, np.integer, np.floating), bool: (bool, np.bool_)}
_SERIES = (list, frozenset, set, collections.abc.Sequence, collections.abc.Collection, collections.abc.Iterable)
_MAPPINGS = (dict, collections.abc.Mapping)


def check_fields(kind: Any, values: Mapping[str, object]) -> None:
    """Raise TypeError naming the first of these fields whose value is not what the dataclass `kind` says of it."""
    for name, check in _field_checks(kind).items():
        if name in values and not check(values[name]):
            raise TypeError(f"{kind.__qualname__}.{name} cannot be {reprlib.repr(values[name])}")


def indices_in(value: Any) -> Iterator[tuple[str, IndexOf, int]]:
    """(field, what it is, the number) of every index in a dataclass and in those that its fields hold. Of the ones
    that are wholes like itself, no field is looked at."""
    whole: Any = type(value)
    for name, hint in _hints(whole).items():
        for index, number in _indices(getattr(value, name), hint, whole):
            yield name, index, number


@lru_cache(maxsize=1024)
def _field_checks(kind: Any) -> dict[str, Check]:
    return {name: _check_of(hint) for name, hint in _hints(kind).items()}


@lru_cache(maxsize=1024)
def _hints(kind: Any) -> dict[str, Any]:
    return {name: hint for name, hint in get_type_hints(kind, include_extras=True).items()
            if get_origin(hint) is not ClassVar}


@lru_cache(maxsize=1024)
def _check_of(hint: Any) -> Check:
    """The check of whether a value is what an annotation says."""
    origin, arguments = get_origin(hint), get_args(hint)
    if hint in (Any, object) or isinstance(hint, TypeVar):
        return lambda value: True
    if hint in (None, type(None)):
        return lambda value: value is None
    if hint in _NUMBERS:
        return _check_of_number(_NUMBERS[hint], is_bool=hint is bool)
    if origin is Annotated:
        return _check_of_annotated(_check_of(arguments[0]), hint.__metadata__)
    if origin is Literal:
        return lambda value: isinstance(value, str | int | None) and value in arguments
    if origin in (Union, UnionType):
        return _check_of_union([_check_of(argument) for argument in arguments])
    if origin is tuple:
        return _check_of_tuple(arguments)
    if origin in _SERIES:
        return _check_of_series(origin, _check_of(arguments[0]))
    if origin in _MAPPINGS:
        return _check_of_mapping(origin, *map(_check_of, arguments))
    kind = origin or hint
    return lambda value: isinstance(value, kind)


def _check_of_number(kinds: tuple[type, ...], is_bool: bool) -> Check:
    usual, bools = kinds[0], _NUMBERS[bool]
    return lambda value: type(value) is usual or (isinstance(value, kinds) and isinstance(value, bools) == is_bool)


def _check_of_annotated(check: Check, metadata: Iterable[object]) -> Check:
    lows = [bound.low for bound in metadata if isinstance(bound, AtLeast)]
    return lambda value: check(value) and all(value >= low for low in lows)


def _check_of_union(checks: list[Check]) -> Check:
    return lambda value: any(check(value) for check in checks)


def _check_of_tuple(arguments: tuple[Any, ...]) -> Check:
    if arguments[-1:] == (...,):
        return _check_of_series(tuple, _check_of(arguments[0]))
    checks = [_check_of(argument) for argument in arguments]
    return lambda value: isinstance(value, tuple) and len(value) == len(checks) and all(
        check(part) for check, part in zip(checks, value, strict=True))


def _check_of_series(kind: Any, check: Check) -> Check:
    return lambda value: isinstance(value, kind) and not isinstance(value, str | bytes) and all(map(check, value))


def _check_of_mapping(kind: Any, key: Check, item: Check) -> Check:
    return lambda value: isinstance(value, kind) and all(map(key, value)) and all(map(item, value.values()))


def _indices(value: Any, hint: Any, whole: type) -> Iterator[tuple[IndexOf, int]]:
    if hint is whole or not _has_indices(hint, whole):
        return
    origin, arguments = get_origin(hint), get_args(hint)
    pairs: Iterable[tuple[Any, Any]] = ()
    if origin is Annotated:
        yield from ((index, value) for index in hint.__metadata__ if isinstance(index, IndexOf))
        pairs = [(value, arguments[0])]
    elif origin in (Union, UnionType):
        pairs = [(value, argument) for argument in arguments if _check_of(argument)(value)]
    elif origin is tuple and arguments[-1:] != (...,):
        pairs = zip(value, arguments, strict=True)
    elif origin in _MAPPINGS:
        pairs = [*((key, arguments[0]) for key in value), *((item, arguments[1]) for item in value.values())]
    elif origin is not None:
        pairs = ((part, arguments[0]) for part in value)
    else:
        kind: Any = type(value)
        pairs = [(getattr(value, name), below) for name, below in _hints(kind).items()]
    for part, below in pairs:
        yield from _indices(part, below, whole)


@lru_cache(maxsize=1024)
def _has_indices(hint: Any, whole: type) -> bool:
    """Whether there are indices in values of that annotation."""
    seen: set[Any] = {whole}
    waiting = [hint]
    while waiting:
        hint = waiting.pop()
        # What a Callable takes stands in a list, and is no part of the value.
        if isinstance(hint, list) or hint in seen:
            continue
        seen.add(hint)
        if any(isinstance(index, IndexOf) for index in getattr(hint, "__metadata__", ())):
            return True
        if get_origin(hint) not in (None, Literal):
            waiting += get_args(hint)
        elif isinstance(hint, type) and is_dataclass(hint):
            waiting += _hints(hint).values()
    return False
