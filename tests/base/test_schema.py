"""Annotations as a schema: what values they admit, and the indices that they tell of."""
from __future__ import annotations

import dataclasses
import sys
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, Optional

import numpy as np
import pytest

from clinfer.api import core
from clinfer.base.schema import AtLeast, IndexOf, Natural, check_fields, indices_in
from clinfer.base.shape import Dim, Shape
from clinfer.ops import all_operations


def admits(hint: Any, value: object) -> bool:
    kind = dataclasses.make_dataclass("Kind", [("field", hint)], frozen=True)
    try:
        check_fields(kind, {"field": value})
    except TypeError as error:
        assert "Kind.field cannot be" in str(error)
        return False
    return True


@pytest.mark.parametrize(("hint", "good", "bad"), [
    (int, [0, -1, 2**70, np.int64(3)], [True, 1.0, "1", None, (1,), np.float32(1)]),
    (float, [0.0, 1, float("nan"), np.float32(1)], [False, "1", None, 1j]),
    (bool, [True, np.bool_(False)], [0, 1, "", None]),
    (str, ["", "x"], [b"", 0, None]),
    (bytes, [b"x"], ["x", memoryview(b"x")]),
    (None, [None], [0, False, ""]),
    (Any, [None, [], print], []),
    (Literal["a", "b"], ["a"], ["c", 1, None, ["a"]]),
    (int | None, [None, 5], ["", True, 1.5]),
    (Optional[str], [None, ""], [0]),  # noqa: UP045
    (tuple[int, ...], [(), (1, 2)], [[1], (1, "2"), (True,), None, 1]),
    (tuple[int, str], [(1, "a")], [(1,), ("a", 1), (1, "a", 2), ()]),
    (tuple[tuple[int, ...], ...], [((1,), ())], [(1,), ((1,), 1)]),
    (list[str], [["a"]], [("a",), [1]]),
    (frozenset[int], [frozenset({1})], [{1}, frozenset({"1"})]),
    (Sequence[str], [("a",), ["a"]], ["a", 1, [1]]),
    (Collection[int], [(1,), frozenset({1})], [1, b"1"]),
    (Mapping[str, int], [{}, {"a": 1}], [{"a": "1"}, {1: 1}, (("a", 1),)]),
    (dict[int, Any], [{1: print}], [{"1": 1}]),
    (Hashable, [1, "a", (1,)], [[], {}]),
    (Natural, [0, 7], [-1, True, 1.0]),
    (Annotated[int, AtLeast(3)], [3], [2]),
    (Annotated[int, IndexOf("rows")], [5, -5], ["5"]),
    (Shape | None, [None, (), (1, Dim(0, 5))], [(-1,), (1.0,), [1], (None,)]),
    (np.ndarray, [np.zeros(2)], [[0.0], np.float32(0)]),
    (np.ndarray[Any, Any], [np.zeros(2)], [(0,)]),
    (np.dtype, [np.dtype("f4")], ["f4", np.float32]),
    (Dim, [Dim()], [1, Dim]),
], ids=lambda value: str(value)[:40] if not isinstance(value, list) else "")
def test_what_annotations_admit(hint: Any, good: Iterable[object], bad: Iterable[object]) -> None:
    assert all(admits(hint, value) for value in good)
    assert not any(admits(hint, value) for value in bad)


Row = Annotated[int, IndexOf("rows")]


@dataclass(frozen=True)
class Entry:
    kind: ClassVar[str] = ""
    row: Row = 0
    column: Annotated[int, IndexOf("columns", none=-1)] = -1
    next: Entry | None = None


@dataclass(frozen=True)
class Whole:
    entries: tuple[Entry, ...]
    pair: tuple[str, Row]
    by_row: Mapping[Row, frozenset[Row]]
    either: str | Row
    part: Whole | None = None


def test_indices_are_found_wherever_they_stand() -> None:
    part = Whole((Entry(100),), ("", 101), {}, 102)
    whole = Whole((Entry(1, 2, Entry(3)), Entry(4)), ("a", 5), {6: frozenset({7})}, 8, part)
    found = [(field, index.table, index.none, number) for field, index, number in indices_in(whole)]
    assert found == [
        ("entries", "rows", None, 1), ("entries", "columns", -1, 2), ("entries", "rows", None, 3),
        ("entries", "columns", -1, -1), ("entries", "rows", None, 4), ("entries", "columns", -1, -1),
        ("pair", "rows", None, 5), ("by_row", "rows", None, 6), ("by_row", "rows", None, 7),
        ("either", "rows", None, 8)]
    assert [number for *_, number in indices_in(Whole((), ("", 1), {}, "no row"))] == [1]


def test_every_annotation_of_frozen_data_is_understood() -> None:
    assert core and all_operations()
    kinds = {kind for name, module in list(sys.modules.items()) if name.startswith("clinfer.")
             for kind in vars(module).values()
             if isinstance(kind, type) and dataclasses.is_dataclass(kind) and kind.__module__ == name}
    assert len(kinds) > 200
    for kind in kinds:
        check_fields(kind, {})
