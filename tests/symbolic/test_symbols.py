"""Traces of arithmetic give what the arithmetic gives, wherever their guards hold."""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from clinfer.base.memo import TRACING, memo
from clinfer.symbolic.symbols import array_of, computed, is_symbol, plain, pure
from clinfer.symbolic.trace import Trace
from tests.traced import function_of

MISSED = "missed"


def _guards(trace: Trace) -> list[tuple[Any, str, Any]]:
    return [(line.operands[0], line.sign, line.operands[1]) for line in trace.lines(()) if not line.names]


def traced(function: Callable[..., Any], *given: int) -> tuple[Callable[..., Any], Trace]:
    """The trace of a function at these arguments, which gives MISSED where it does not hold; and its trace."""
    trace = Trace()
    result = function(*[trace.free(number) for number in given])
    return function_of(trace, result, MISSED), trace


def random_program(rng: np.random.Generator, inputs: int, length: int = 14) -> Callable[..., tuple[Any, ...]]:
    """Integer arithmetic of the kinds that planning does, with decisions, on that many arguments."""
    steps = [(str(rng.choice(["+", "-", "*", "//", "%", "ceil", "max", "min", "if", "eq", "abs", "span"])),
              int(rng.integers(0, 99)), int(rng.integers(0, 99)), int(rng.integers(1, 9))) for _ in range(length)]

    def program(*given: Any) -> tuple[Any, ...]:
        numbers = list(given)
        for kind, i, j, constant in steps:
            a, b = numbers[i % len(numbers)], numbers[j % len(numbers)]
            numbers.append(_step(kind, a, b, constant))
        return tuple(numbers[inputs:])
    return program


def _step(kind: str, a: Any, b: Any, constant: int) -> Any:
    table: dict[str, Callable[[], Any]] = {
        "+": lambda: a + b, "-": lambda: a - constant * b, "*": lambda: a * (b if constant % 2 else constant),
        "//": lambda: a // (constant if constant % 2 else 2 * b + 1), "%": lambda: a % constant,
        "ceil": lambda: -(-a // constant), "max": lambda: max(a, b), "min": lambda: min(a, 5 * constant),
        "if": lambda: a - 1 if a > 10 * constant else b, "eq": lambda: 7 if a == b else a + b,
        "abs": lambda: abs(a - b), "span": lambda: math.prod((a, constant, 3)) - (0 if a * constant != 4 else b)}
    return table[kind]()


def test_recordings_of_random_programs(rng: np.random.Generator) -> None:
    held = 0
    for _ in range(300):
        inputs = int(rng.integers(1, 4))
        program = random_program(rng, inputs)
        try:
            made, _ = traced(program, *rng.integers(0, 40, inputs).tolist())
        except ZeroDivisionError:
            continue
        for _ in range(30):
            given = rng.integers(0, 40, inputs).tolist()
            try:
                found = made(*given)
            except ZeroDivisionError:
                continue
            if found != MISSED:
                held += 1
                assert found == program(*given), given
    assert held > 500, "traces must hold for some other arguments"


def test_a_recording_holds_where_it_was_made(rng: np.random.Generator) -> None:
    for _ in range(200):
        program, given = random_program(rng, 3), rng.integers(0, 40, 3).tolist()
        try:
            expected = program(*given)
        except ZeroDivisionError:
            continue
        assert traced(program, *given)[0](*given) == expected


def test_floats_and_the_largest_by_a_key() -> None:
    def best(rows: Any) -> tuple[Any, ...]:
        tile = max((14, 8, 4), key=lambda tile: (0.8 + tile / 100) * rows / (math.ceil(rows / tile) * tile))
        return tile, math.ceil(rows / tile), math.floor(rows * 0.5)
    made, _ = traced(best, 29)
    found = {rows: made(rows) for rows in range(2, 200)}
    assert all(result in (MISSED, best(rows)) for rows, result in found.items())
    assert sum(result != MISSED for result in found.values()) > 10


def test_equal_expressions_are_one_and_bounds_spare_guards() -> None:
    def sizes(a: Any, b: Any) -> tuple[Any, ...]:
        assert -(-a // 1) is a and (a * b * 384 * 32 + 7) // 8 == b * 1536 * a
        assert a * b != 0 and a >= 0 and a + b > 1 and (a * 3) % 3 == 0
        return (a * b,)
    made, trace = traced(sizes, 5, 6)
    assert _guards(trace) == [("a0", ">", 0), ("a1", ">", 0)] and trace.value_guards == 0
    assert made(2, 2) == (4,) and made(1, 2) == (2,) and made(2, 0) == MISSED


def test_a_size_may_be_one_unless_that_is_asked() -> None:
    made, trace = traced(lambda a: (a if a != 1 else 0, a > 1), 5)
    assert _guards(trace) == [("a0", ">", 0), ("a0", "!=", 1)]
    assert made(2) == (2, True) and made(1) == made(0) == MISSED


def test_names_that_were_found_equal_are_one() -> None:
    made, trace = traced(lambda a, b: (a * 3 if a == b else 0, b * 3 == a * 3, b * 3), 5, 5)
    assert sum(sign == "==" for _, sign, _ in _guards(trace)) == 1
    assert made(7, 7) == (21, True, 21) and made(7, 8) == MISSED


@pytest.mark.parametrize("read", [
    lambda n: list(range(n)), lambda n: [0] * n, lambda n: "abcdefgh"[n], lambda n: {n: 1}, int, float,
    lambda n: np.zeros(n).shape, lambda n: np.array([n], np.int64), lambda n: n in {3, 5}, lambda n: math.sqrt(n)])
def test_what_reads_a_plain_number_pins_it(read: Callable[[Any], Any]) -> None:
    def program(n: Any) -> tuple[Any, ...]:
        read(n)
        return (n + 1,)
    made, trace = traced(program, 5)
    assert trace.value_guards and made(5) == (6,) and made(6) == MISSED


def test_symbols_among_other_things() -> None:
    trace = Trace()
    n = trace.free(5)
    assert is_symbol(n) and isinstance(n, int) and not isinstance(n, float) and plain(n) == 5 and f"{n}" == "5"
    assert n != "5" and (n == None) is False and n not in ("a", None)  # noqa: E711
    numbers = array_of((n, 2), (2,), np.dtype(np.int64))
    assert numbers.dtype == object and is_symbol(numbers.prod()) and is_symbol(np.int64(3) * n)
    assert array_of((5, 2), (2, 1), np.dtype(np.int32)).dtype == np.int32
    assert trace.value_guards == 0


@pure
def _half(number: int) -> float:
    return float(np.float32(number) / np.float32(2))


def test_functions_of_plain_numbers() -> None:
    made, trace = traced(lambda a: (computed(_half, a), computed(_half, 7), computed(_half, a * 2) > 3.0), 5)
    assert made(5) == (2.5, 3.5, True) and made(8) == (4.0, 3.5, True) and made(3) == MISSED and trace.value_guards == 0


def test_a_factor_of_one_is_no_line() -> None:
    made, trace = traced(lambda a: (a / 2 * 1.0 / 1, a * 1.0, math.ceil(a / 1)), 5)
    lines = [(line.sign, line.operands) for line in trace.lines(f"v{number}" for number in range(9)) if line.names]
    assert made(7) == (3.5, 7, 7) and lines == [("/", ("a0", 2))]


def test_zero_and_one_are_recorded_as_such() -> None:
    made, _ = traced(lambda a, b: (is_symbol(a), is_symbol(b), a + b), 1, 0)
    assert made(1, 0) == (False, False, 1) and made(2, 0) == made(1, 1) == MISSED


def test_nothing_is_remembered_while_recording(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []

    @memo(maxsize=4)
    def twice(number: int) -> int:
        calls.append(number)
        return 2 * number

    assert twice(3) == twice(3) == 6 and len(calls) == 1
    with monkeypatch.context() as patch:
        patch.setattr(TRACING, "is_on", True)
        assert twice(3) == twice(3) == 6 and len(calls) == 3
        symbol = Trace().free(3)
        assert is_symbol(twice(symbol))
    assert twice(3) == 6 and len(calls) == 4
