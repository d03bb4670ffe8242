"""A trace as numbers: the steps of a small machine, which `tape.c` carries out, or else `run` here, to the same result.

There is a row of registers: first the arguments, then constants and what steps compute, each of them an integer of 64
bits or a float, as its number in `Tape.registers` is. A step is four numbers: what is done, where its result goes, and
two registers, unless `Op` says otherwise. A tape holds for some arguments if all of its guards do, every integer has 64
bits, nothing is divided by zero, and no integer of more than 53 bits becomes a float.
"""
from __future__ import annotations

import math
import operator
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from typing import Any, NamedTuple

from clinfer.base.schema import Natural
from clinfer.symbolic.symbols import bits_of_single, to_single

NO_ANSWER = (ArithmeticError, ValueError, struct.error)
"""What functions raise that are asked, for numbers of which a tape does not hold."""
LARGEST_EXACT = 1 << 53
_LEAST, _MOST = -1 << 63, (1 << 63) - 1
STEP_BYTES = 8
MOST_REGISTERS = 1 << 16
"""Registers, steps of data and lengths of it are numbers of 16 bits."""


class Op(IntEnum):
    """What a step does, by the numbers that `tape.c` has for it; the order counts."""

    ADD, SUBTRACT, MULTIPLY, FLOOR_DIVIDE, MODULO, AND, OR, XOR, SHIFT = range(9)
    LARGER, SMALLER, ABSOLUTE, NEGATE, INVERT = range(9, 14)
    ADD_F, SUBTRACT_F, MULTIPLY_F, DIVIDE_F, LARGER_F, SMALLER_F, ABSOLUTE_F, NEGATE_F = range(14, 22)
    TO_FLOAT, SINGLE, CEIL, FLOOR, BITS = range(22, 27)
    # Guards: the comparison of the registers has to come out as the second number says, 1 or 0.
    EQUAL, LESS, NOT_MORE, EQUAL_F, LESS_F, NOT_MORE_F = range(27, 33)
    # The function of `Tape.asked` with the third number is asked.
    ASK = 33
    # What is given: a NUMBER; a LAUNCH of the kernel of the third number, in as many dimensions as the fourth says; its
    # arguments, BYTES of the data from the third number on, as many as the fourth says, and INT32 or INT64; and of each
    # axis the global and the local SIZE (all 0: the driver chooses).
    NUMBER, LAUNCH, BYTES, INT32, INT64, SIZE = range(34, 40)


_INTEGER_BYTES: Mapping[int, int] = {Op.INT32: 4, Op.INT64: 8}


@dataclass(frozen=True)
class Asked:
    """A function that is asked on the way with nested tuples of registers (-1: None). It gives tuples of as many
    integers as `counts` says, or without these one number; they go to the registers from `first` on."""

    function: Any
    arguments: tuple[Any, ...]
    counts: tuple[Natural, ...]
    first: Natural


class Launched(NamedTuple):
    """A kernel by its place, the bytes that it is given, and the global and local size of each axis in turn."""

    place: int
    block: bytearray
    sizes: list[int]


class Told(NamedTuple):
    """What a tape gives."""

    numbers: list[Any]
    launches: list[Launched]


@dataclass(frozen=True, eq=False)
class Tape:
    """`registers`: the numbers in them at first, that of a result being 0 or 0.0; `code`: the steps, four numbers of 16
    bits each; `data`: bytes for launches."""

    arguments: Natural
    registers: tuple[int | float, ...]
    code: bytes
    data: bytes
    asked: tuple[Asked, ...] = ()

    @cached_property
    def steps(self) -> list[tuple[int, ...]]:
        """The steps."""
        return list(struct.iter_unpack("=4H", self.code))

    @cached_property
    def computing(self) -> int:
        """How many of the steps, the first ones, compute something, up to what is given."""
        for number, step in enumerate(self.steps):
            if step[0] > Op.ASK:
                return number
        return len(self.steps)

    @cached_property
    def actions(self) -> list[Action]:
        """The steps that compute something, as `run` does them."""
        return [_action(*step) for step in self.steps[:self.computing]]

    @cached_property
    def number_registers(self) -> list[int]:
        """Where the numbers are that it gives."""
        return [one for op, _, one, _ in self.steps if op == Op.NUMBER]

    @cached_property
    def image(self) -> bytes:
        """The registers as memory has them."""
        return struct.pack(self.kinds, *self.registers)

    @cached_property
    def kinds(self) -> str:
        """The types of the registers as `struct` has them."""
        return "=" + "".join(["d" if type(number) is float else "q" for number in self.registers])

    @cached_property
    def needs(self) -> tuple[int, int]:
        """Of how many launches, with how many bytes in all."""
        launches = nbytes = 0
        for op, _, _, count in self.steps[self.computing:]:
            launches += op == Op.LAUNCH
            nbytes += count if op == Op.BYTES else _INTEGER_BYTES.get(op, 0)
        return launches, nbytes


Action = tuple[Callable[[Any, Any], Any], int, int, int]
"""What computes something, and three registers: of the result (or -1 and -2 where it has to be true or false), and of
the operands."""


def _exact(number: int, _: object) -> float:
    if abs(number) > LARGEST_EXACT:
        raise OverflowError("more than a float holds")
    return float(number)


def _of_64_bits(function: Callable[[Any, Any], int]) -> Callable[[Any, Any], int]:
    def checked(one: Any, other: Any) -> int:
        number = function(one, other)
        if -1 << 63 <= number < 1 << 63:
            return number
        raise OverflowError("an integer of more than 64 bits")
    return checked


ARITHMETIC: Mapping[int, Callable[[Any, Any], Any]] = {
    Op.ADD: _of_64_bits(operator.add), Op.SUBTRACT: _of_64_bits(operator.sub), Op.MULTIPLY: _of_64_bits(operator.mul),
    Op.FLOOR_DIVIDE: _of_64_bits(operator.floordiv), Op.MODULO: operator.mod, Op.AND: operator.and_,
    Op.OR: operator.or_, Op.XOR: operator.xor, Op.SHIFT: lambda a, b: a >> min(b, 63), Op.LARGER: max, Op.SMALLER: min,
    Op.ABSOLUTE: _of_64_bits(lambda a, _: abs(a)), Op.NEGATE: _of_64_bits(lambda a, _: -a), Op.INVERT: lambda a, _: ~a,
    Op.ADD_F: operator.add, Op.SUBTRACT_F: operator.sub, Op.MULTIPLY_F: operator.mul, Op.DIVIDE_F: operator.truediv,
    Op.LARGER_F: max, Op.SMALLER_F: min, Op.ABSOLUTE_F: lambda a, _: abs(a), Op.NEGATE_F: lambda a, _: -a,
    Op.TO_FLOAT: _exact, Op.SINGLE: lambda a, _: to_single(a), Op.CEIL: _of_64_bits(lambda a, _: math.ceil(a)),
    Op.FLOOR: _of_64_bits(lambda a, _: math.floor(a)), Op.BITS: lambda a, _: bits_of_single(a)}
GUARDS: Mapping[int, Callable[[Any, Any], bool]] = {
    Op.EQUAL: operator.eq, Op.LESS: operator.lt, Op.NOT_MORE: operator.le,
    Op.EQUAL_F: operator.eq, Op.LESS_F: operator.lt, Op.NOT_MORE_F: operator.le}
Ask = Callable[[Asked], Callable[..., Any]]
"""What stands for the function that is asked."""


def run(tape: Tape, given: Sequence[int], ask: Ask) -> Told | None:
    """What a tape gives for these arguments; None where it does not hold. What a function raises that is asked, and is
    no arithmetic, is raised."""
    registers = _computed(tape, given, ask)
    try:
        return None if registers is None else _told(tape, registers)
    except NO_ANSWER:
        return None


def numbers_of(tape: Tape, given: Sequence[int], ask: Ask) -> tuple[Any, ...] | None:
    """The numbers of what `run` gives, also where its launches cannot be."""
    registers = _computed(tape, given, ask)
    return None if registers is None else tuple([registers[place] for place in tape.number_registers])


def _computed(tape: Tape, given: Sequence[int], ask: Ask) -> list[Any] | None:
    """The registers behind all that is computed; None where the tape does not hold."""
    registers = [*given, *tape.registers[tape.arguments:]]
    try:
        for action, to, one, other in tape.actions:
            if to >= 0:
                registers[to] = action(registers[one], registers[other])
            elif to == _ANSWER:
                answer = answer_of(tape.asked[one], registers, ask)
                registers[other:other + len(answer)] = answer
            elif action(registers[one], registers[other]) is (to == _FALSE):
                return None
        return registers
    except NO_ANSWER:
        return None


_TRUE, _FALSE, _ANSWER = -1, -2, -3


def _action(op: int, to: int, one: int, other: int) -> Action:
    if op in ARITHMETIC:
        return ARITHMETIC[op], to, one, other
    if op == Op.ASK:
        return operator.is_, _ANSWER, one, to
    return GUARDS[op], _TRUE if to else _FALSE, one, other


def _told(tape: Tape, registers: Sequence[Any]) -> Told:
    told = Told([], [])
    for op, _, one, other in tape.steps[tape.computing:]:
        if op == Op.NUMBER:
            told.numbers.append(registers[one])
        elif op == Op.LAUNCH:
            told.launches.append(Launched(one, bytearray(), []))
        elif op == Op.SIZE:
            if min(registers[one], registers[other]) < 0:
                raise ValueError("a negative size")
            told.launches[-1].sizes.extend((registers[one], registers[other]))
        elif op == Op.BYTES:
            told.launches[-1].block.extend(tape.data[one:one + other])
        else:
            told.launches[-1].block.extend(struct.pack("=i" if op == Op.INT32 else "=q", registers[one]))
    return told


def answer_of(asked: Asked, registers: Sequence[Any], ask: Ask) -> list[int | float]:
    """What a function gives for what is in the registers. Errors: ValueError where its tuples have other lengths, or
    what is in them is too large."""
    answer = ask(asked)(*_filled(asked.arguments, registers))
    counts = asked.counts or (1,)
    if not asked.counts:
        answer = ((answer,),)
    found = [number for part in answer for number in part]
    if tuple(map(len, answer)) != counts:
        raise ValueError("another answer than was traced")
    if type(registers[asked.first]) is float:
        return [float(number) for number in found]
    if any(isinstance(number, float) or not _LEAST <= number <= _MOST for number in found):
        raise ValueError("an answer that is no integer of 64 bits")
    return [int(number) for number in found]


def _filled(item: Any, registers: Sequence[Any]) -> Any:
    if isinstance(item, tuple):
        return tuple([_filled(part, registers) for part in item])
    return None if item < 0 else registers[item]
