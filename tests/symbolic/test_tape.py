"""Tapes give in Python what they give in C, number by number, and hold for the same arguments."""
from __future__ import annotations

import math
import struct
from array import array
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest

from clinfer.kernels.cost import _moving
from clinfer.network.plans import tape_runner
from clinfer.network.plans.in_c import function_in_c
from clinfer.network.plans.memory_needs import NeedsTable
from clinfer.network.plans.node_function import MOST_TRACES
from clinfer.network.plans.tape_runner import TapeNode, TapeRunner
from clinfer.ops.interpolate.op import _scaled_number
from clinfer.symbolic.assembler import arithmetic_of
from clinfer.symbolic.symbols import PURE, computed, larger, pure
from clinfer.symbolic.tape import ARITHMETIC, GUARDS, Asked, Op, Tape, run
from clinfer.symbolic.trace import Trace
from clinfer.tuning.database import MeasuredRatio
from tests.traced import function_of, numbers_in_c, tape_of

INTEGERS = (0, 1, -1, 2, -2, 3, 7, -7, 63, 64, 1 << 31, -1 << 31, 1 << 53, (1 << 53) + 1, -(1 << 53) - 1,
            (1 << 63) - 1, -1 << 63)
FLOATS = (0.0, 1.0, -1.0, 0.5, -0.5, 2.5, -2.5, 0.1, 16777217.0,
          1e18, 9.3e18, -9.3e18, -(2.0**63), 1e308, -1e308, 5e-324)
TAKES_FLOATS = {op for op in (*ARITHMETIC, *GUARDS)
                if Op(op).name.endswith("_F") or op in (Op.CEIL, Op.FLOOR, Op.SINGLE, Op.BITS)}
GIVES_FLOATS = {op for op in ARITHMETIC if Op(op).name.endswith("_F")} | {Op.TO_FLOAT, Op.SINGLE}


@pytest.fixture(scope="module", autouse=True)
def _compiled() -> None:
    if function_in_c("clinfer_plan") is None:
        pytest.skip("clinfer was installed without a compiler")


def _code(*steps: tuple[int, int, int, int]) -> bytes:
    return b"".join(struct.pack("=4H", *step) for step in steps)


def _bits(number: Any) -> int:
    return int(struct.unpack("=q", struct.pack("=d", number))[0]) if isinstance(number, float) else number


def _asks_nothing(_: object) -> Any:
    raise AssertionError


@pytest.mark.filterwarnings("ignore:overflow encountered in cast")
@pytest.mark.parametrize("op", [Op(op) for op in ARITHMETIC], ids=lambda op: op.name)
def test_arithmetic(op: Op) -> None:
    held = 0
    for one, other in product(FLOATS if op in TAKES_FLOATS else INTEGERS, repeat=2):
        result = 0.0 if op in GIVES_FLOATS else 0
        tape = Tape(0, (one, other, result), _code((op, 2, 0, 1), (Op.NUMBER, 0, 2, 0)), b"")
        told = run(tape, (), _asks_nothing)
        expected = None if told is None else [_bits(told.numbers[0] + 0.0 if result == 0.0 and type(result) is float
                                                    else told.numbers[0])]
        found = numbers_in_c(tape, ())
        if found is not None and type(result) is float:
            found = [_bits(struct.unpack("=d", struct.pack("=q", found[0]))[0] + 0.0)]
        assert found == expected, f"{op.name} of {one} and {other}"
        held += told is not None
    assert held > 20


@pytest.mark.parametrize("op", [Op(op) for op in GUARDS], ids=lambda op: op.name)
def test_guards(op: Op) -> None:
    for one, other in product(FLOATS if op in TAKES_FLOATS else INTEGERS, repeat=2):
        held = [numbers_in_c(tape, ()) is not None for tape in (
            Tape(0, (one, other), _code((op, wanted, 0, 1)), b"") for wanted in (0, 1))]
        outcome = GUARDS[op](one, other)
        assert held == [not outcome, outcome], f"{op.name} of {one} and {other}"


@pytest.mark.parametrize("number", INTEGERS)
def test_integers_of_32_bits(number: int) -> None:
    tape = Tape(0, (number, 1, 0), _code((Op.LAUNCH, 0, 0, 1), (Op.INT32, 0, 0, 0), (Op.SIZE, 0, 1, 2)), b"")
    told = run(tape, (), _asks_nothing)
    assert (told is None) == (numbers_in_c(tape, ()) is None) == (not -1 << 31 <= number < 1 << 31)


@pure
def _stepped(number: int) -> int:
    return 3 if number > 10 else number


def test_what_decides_nothing_is_part_of_the_tape() -> None:
    for function, kinds in ((_moving, (int, float, float)), (_scaled_number, (int, float))):
        assert arithmetic_of(function, kinds) is not None
    assert arithmetic_of(_stepped, (int,)) is None
    trace = Trace()
    size = trace.free(40)
    tape = tape_of(trace, (math.ceil(computed(_moving, size, 2.0, 4.0)), computed(_stepped, larger(size, 5))))
    assert len(tape.asked) == 1 and tape.asked[0].function is _stepped
    for number in (2, 7, 10, 11, 1 << 40):
        told = run(tape, (number,), lambda asked: asked.function)
        assert told is not None and told.numbers == numbers_in_c(tape, (number,))
        assert told.numbers == [math.ceil(_moving(number, 2.0, 4.0)), _stepped(max(number, 5))]


def test_nodes_that_are_given_the_same_ask_once() -> None:
    """What a tape computed last is forgotten where it is given something else, and where it does not hold."""
    trace = Trace()
    asked: list[int] = []
    size = trace.free(40)
    assert larger(size, 5) < 1000
    tapes = [tape_of(trace, (computed(_stepped, size), size * 3))]

    def ask(function: Asked) -> Callable[[int], int]:
        def answer(number: int) -> int:
            asked.append(number)
            return _stepped(number)
        return answer
    given = (40, 40, 7, 40, 2000, 40, 40)
    numbers = array("q", [*given, *(0,) * 2 * len(given)])
    nodes = [TapeNode((place,), slice(len(given) + 2 * place, len(given) + 2 * place + 2), range(0), tapes, ask, False)
             for place in range(len(given))]
    runner = TapeRunner(numbers, nodes, NeedsTable((), ()))
    for expected in ([40, 7, 40, 40], [7, 40, 40]):  # the second plan begins with what the first one ended with
        asked.clear()
        runner.begin()
        assert runner.next_missing() == given.index(2000)
        runner.give(())
        assert runner.next_missing() == -1
        assert asked == expected
        told = [numbers[node.made].tolist() for number, node in zip(given, nodes, strict=True) if number < 1000]
        assert told == [[_stepped(number), 3 * number] for number in given if number < 1000]


@pytest.mark.parametrize("in_c", [True, False])
def test_tapes_that_come_later_are_taken_over(in_c: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also more than there was room for, while a plan is under way; nodes without any, and others' tapes, stay."""
    def tape_for(number: int) -> Tape:
        trace = Trace()
        size = trace.free(number)
        assert size == number
        return tape_of(trace, (size * 2, number + 1))

    if not in_c:
        monkeypatch.setattr(tape_runner, "function_in_c", lambda _: None)
    many: list[Tape] = []
    others = [tape_for(5)]
    numbers = array("q", [7, 5, 7, *(0,) * 6])
    nodes = [TapeNode((place,), slice(3 + 2 * place, 5 + 2 * place), range(0), tapes, lambda _: abs, False)
             for place, tapes in enumerate((many, others, many))]
    runner = TapeRunner(numbers, nodes, NeedsTable((), ()))
    for count in range(1, 3 * MOST_TRACES):
        number = 6 + count
        numbers[0] = numbers[2] = number
        runner.begin()
        assert runner.next_missing() == 0
        many.append(tape_for(number))
        assert runner.next_missing() == -1
        assert numbers.tolist() == [number, 5, number, 2 * number, number + 1, 10, 6, 2 * number, number + 1]
    numbers[0], numbers[2] = 7, 9  # the first ones hold as well
    runner.begin()
    assert runner.next_missing() == -1 and numbers[3:5].tolist() == [14, 8] and numbers[7:].tolist() == [18, 10]


def test_measured_times_are_the_same_on_tapes(monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator) -> None:
    """To the last bit, so that both choose the same kernels, and without asking Python."""
    monkeypatch.setattr("tests.traced._itself", _asks_nothing)
    for count in (1, 2, 3, 5):
        points = tuple((tuple(rng.integers(0, 5000, count).tolist()), float(rng.uniform(0.01, 100)))
                       for _ in range(int(rng.integers(1, 40))))
        ratio = MeasuredRatio((*points, ((7,) * (count + 1), 5.0), (points[0][0], 0.5)))
        near = [tuple((np.array(sizes) * rng.uniform(0.5, 2, count)).astype(int).tolist()) for sizes, _ in points]
        for sizes in (*(sizes for sizes, _ in points), *near, (0,) * count, (1,) * count, (1 << 40,) * count):
            # A size of 0 or 1 is no symbol.
            trace = Trace()
            symbols = [trace.any(size) for size in sizes]
            tape = tape_of(trace, math.floor(computed(ratio, *symbols) * float(1 << 45)))
            assert len(tape.asked) == 1 and numbers_in_c(tape, sizes) == [math.floor(ratio(*sizes) * (1 << 45))]
            trace.close()


def test_pure_functions_are_the_same_on_tapes() -> None:
    """Those that are arithmetic, of numbers as planning has them."""
    counts = {2: (5, 16), 3: (300, 7, 4), 4: (300, 40, 9000, 4)}
    inlined = 0
    for name, function in PURE.items():
        count = getattr(function, "__code__", None) and function.__code__.co_argcount
        if count not in counts or not name.startswith("clinfer."):
            continue
        for first in (1, 3, 40, 1000):
            given = (first, *counts[count][1:])
            try:
                expected = function(*given)
            except ArithmeticError:
                continue
            inner = arithmetic_of(function, (int,) * count)
            if inner is not None and isinstance(expected, int):
                inlined += 1
                assert run(inner, given, _asks_nothing).numbers == [expected], name  # type: ignore[union-attr]
                assert numbers_in_c(inner, given) == [expected], name
    assert inlined > 20


@pytest.mark.parametrize("answer", [lambda n: ((n,),), lambda n: ((n, n), ()), lambda n: ((1 << 63,), (n,))])
def test_an_answer_of_other_lengths_does_not_hold(answer: Callable[[int], Any]) -> None:
    trace = Trace()
    (first,), (other,) = trace.ask(answer, (trace.free(3),), ((3,), (4,)))
    made = function_of(trace, (first + other,), None)
    assert made(3) is None
