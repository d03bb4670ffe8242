"""The function that a trace is."""
from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from typing import Any

from clinfer.network.plans.memory_needs import NeedsTable
from clinfer.network.plans.tape_runner import TapeNode, TapeRunner
from clinfer.symbolic.assembler import Assembler
from clinfer.symbolic.tape import Asked, Op, Tape, run
from clinfer.symbolic.trace import Trace, symbols_in


def tape_of(trace: Trace, result: Any) -> Tape:
    """The tape that gives `result`, nested tuples of symbols and numbers."""
    assembler = Assembler(trace, symbols_in(result), lambda function: function)
    for number in _flat(result):
        assembler.give(number)
    return assembler.tape()


def function_of(trace: Trace, result: Any, missed: Any) -> Callable[..., Any]:
    """What gives `result`, nested tuples of symbols and numbers, for the trace's free numbers; `missed` where a guard
    does not hold. What C makes of integers is compared."""
    tape = tape_of(trace, result)
    is_of_integers = all(type(number) is int or isinstance(getattr(number, "value", None), int)
                         for number in _flat(result))

    def made(*given: int) -> Any:
        told = run(tape, given, _itself)
        if is_of_integers:
            assert numbers_in_c(tape, given) == (None if told is None else told.numbers)
        return missed if told is None else _nested(result, iter(told.numbers))
    return made


def numbers_in_c(tape: Tape, given: Sequence[int]) -> list[int] | None:
    """The integers that a tape gives by `tape.c`; None where it does not hold."""
    count = sum(step[0] == Op.NUMBER for step in tape.steps)
    numbers = array("q", [*given, *(0,) * count])
    places, made = tuple(range(len(given))), slice(len(given), len(numbers))
    runner = TapeRunner(numbers, [TapeNode(places, made, range(0), [tape], _itself, False)], NeedsTable((), ()))
    runner.begin()
    return None if runner.next_missing() == 0 else numbers[made].tolist()


def _itself(asked: Asked) -> Any:
    return asked.function


def _flat(item: Any) -> list[Any]:
    return [number for part in item for number in _flat(part)] if isinstance(item, (tuple, list)) else (
        [] if item is None else [item])


def _nested(item: Any, numbers: Any) -> Any:
    if isinstance(item, (tuple, list)):
        return tuple([_nested(part, numbers) for part in item])
    return None if item is None else next(numbers)
