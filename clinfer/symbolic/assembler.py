"""Makes the tape of a trace (`symbolic/tape.py`)."""
from __future__ import annotations

import struct
from array import array
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any

from clinfer.symbolic.symbols import Symbol, bits_of_single, plain, to_single
from clinfer.symbolic.tape import MOST_REGISTERS, Asked, Op, Tape
from clinfer.symbolic.trace import APPLIED, ASKED, Line, Trace, names_in

_OF_INTEGERS = {"+": Op.ADD, "-": Op.SUBTRACT, "*": Op.MULTIPLY, "//": Op.FLOOR_DIVIDE, "%": Op.MODULO, "&": Op.AND,
                "|": Op.OR, "^": Op.XOR, ">>": Op.SHIFT, max: Op.LARGER, min: Op.SMALLER}
_OF_FLOATS = {"+": Op.ADD_F, "-": Op.SUBTRACT_F, "*": Op.MULTIPLY_F, "/": Op.DIVIDE_F, max: Op.LARGER_F,
              min: Op.SMALLER_F}
_ALONE = {("neg", int): Op.NEGATE, ("abs", int): Op.ABSOLUTE, ("invert", int): Op.INVERT, ("neg", float): Op.NEGATE_F,
          ("abs", float): Op.ABSOLUTE_F, ("ceil", float): Op.CEIL, ("floor", float): Op.FLOOR}
_FUNCTIONS = {to_single: Op.SINGLE, bits_of_single: Op.BITS}
_RESULTS: dict[int, type] = {Op.CEIL: int, Op.FLOOR: int, Op.BITS: int, Op.TO_FLOAT: float}
_COMPARED = {"==": (Op.EQUAL, False, True), "!=": (Op.EQUAL, False, False), "<": (Op.LESS, False, True),
             ">": (Op.LESS, True, True), "<=": (Op.NOT_MORE, False, True), ">=": (Op.NOT_MORE, True, True)}
"""The step for a comparison, whether its sides are exchanged, and what has to come out."""
_FLOAT_GUARDS = {Op.EQUAL: Op.EQUAL_F, Op.LESS: Op.LESS_F, Op.NOT_MORE: Op.NOT_MORE_F}


class Assembler:
    """The tape of one trace in the making; `name` spells functions that are asked as blobs do. All raise ValueError for
    what no tape holds."""

    def __init__(self, trace: Trace, used: Iterable[str], name: Callable[[Any], Any]) -> None:
        """With the lines that symbols of the names `used` follow from."""
        self._name = name
        self._registers: list[int | float] = [0 if isinstance(trace.numbers[name], int) else 0.0
                                              for name in trace.names]
        self._arguments = len(self._registers)
        self._places: dict[object, int] = {name: place for place, name in enumerate(trace.names)}
        self._steps: list[tuple[int, int, int, int]] = []
        self._data = bytearray()
        self._asked: list[Asked] = []
        for line in trace.lines(used):
            self._take(line, trace)

    def tape(self) -> Tape:
        """The tape."""
        if max(len(self._registers), len(self._data)) >= MOST_REGISTERS:
            raise ValueError("a trace that is too long")
        code = array("H", [number for step in self._steps for number in step]).tobytes()
        return Tape(self._arguments, tuple(self._registers), code, bytes(self._data), tuple(self._asked))

    # -- what it gives --------------------------------------------------------------------------

    def give(self, number: Any) -> None:
        """A number, which may be a symbol."""
        self._steps.append((Op.NUMBER, 0, self._register(number), 0))

    def launch(self, place: int, block: tuple[Any, ...], width: str, sizes: Iterable[tuple[Any, Any]],
               dimensions: int) -> None:
        """A launch of a kernel by its place, given integers as `width` of `struct` packs them, with the global and
        local size of each axis."""
        self._steps.append((Op.LAUNCH, 0, place, dimensions))
        run = b""
        for number in (*block, None):
            if number is not None and type(number) is not Symbol:
                run += struct.pack(f"={width}", number)
                continue
            if run:
                self._steps.append((Op.BYTES, 0, len(self._data), len(run)))
                self._data += run
                run = b""
            if number is not None:
                self._steps.append((Op.INT32 if width == "i" else Op.INT64, 0, self._register(number), 0))
        for size, local in sizes:
            self._steps.append((Op.SIZE, 0, self._register(size), self._register(local)))

    # -- lines ----------------------------------------------------------------------------------

    def _take(self, line: Line, trace: Trace) -> None:
        sign, operands = line.sign, line.operands
        if sign == ASKED:
            arguments, counts = operands
            first = self._new(0)
            for _ in line.names[1:]:
                self._new(0)
            self._ask(line.function, self._nested(arguments), counts, first)
            self._places.update(zip(line.names, range(first, first + len(line.names)), strict=True))
        elif not line.names:
            self._guard(sign, operands, line.outcome)
        elif sign == APPLIED:
            registers = [self._register(operand) for operand in operands]
            self._places[line.names[0]] = self._applied(line.function, registers, trace.numbers[line.names[0]])
        elif len(operands) == 1:
            register = self._register(operands[0])
            self._places[line.names[0]] = self._step(_op(_ALONE, (sign, self._type(register))), register)
        else:
            self._places[line.names[0]] = self._binary(sign, *map(self._register, operands))

    def _guard(self, sign: str, operands: tuple[Any, ...], outcome: bool) -> None:
        op, is_exchanged, wanted = _COMPARED[sign]
        one, other = self._alike(*map(self._register, operands))
        if is_exchanged:
            one, other = other, one
        if self._type(one) is float:
            op = _FLOAT_GUARDS[op]
        self._steps.append((op, int(wanted == outcome), one, other))

    def _binary(self, sign: object, one: int, other: int) -> int:
        if sign == "/":
            one, other = self._as_float(one), self._as_float(other)
        one, other = self._alike(one, other)
        return self._step(_op(_OF_FLOATS if self._type(one) is float else _OF_INTEGERS, sign), one, other)

    def _applied(self, function: Any, registers: list[int], found: int | float) -> int:
        if function in (max, min):
            register = registers[0]
            for other in registers[1:]:
                register = self._binary(function, register, other)
            return register
        if function in _FUNCTIONS:
            return self._step(_FUNCTIONS[function], self._as_float(registers[0]))
        inner = arithmetic_of(function, tuple([self._type(register) for register in registers]))
        if inner is not None:
            return self._inlined(inner, registers)
        register = self._new(type(found)())
        self._ask(function, tuple(registers), (), register)
        return register

    def _inlined(self, inner: Tape, registers: list[int]) -> int:
        """The register of what a tape gives that has no guards."""
        places = dict(enumerate(registers))
        for op, to, one, other in inner.steps:
            one = self._inner(inner, places, one)
            if op == Op.NUMBER:
                return one
            places[to] = self._step(op, one, self._inner(inner, places, other))
        raise AssertionError("a tape that gives nothing")

    def _inner(self, inner: Tape, places: dict[int, int], register: int) -> int:
        found = places.get(register)
        return self._register(inner.registers[register]) if found is None else found

    def _ask(self, function: Any, arguments: Any, counts: tuple[int, ...], first: int) -> None:
        self._steps.append((Op.ASK, first, len(self._asked), 0))
        self._asked.append(Asked(self._name(function), arguments, counts, first))

    # -- registers ------------------------------------------------------------------------------

    def _type(self, register: int) -> type:
        return type(self._registers[register])

    def _new(self, number: int | float) -> int:
        self._registers.append(number)
        return len(self._registers) - 1

    def _register(self, operand: Any) -> int:
        """The register of a symbol, its name, or a number."""
        kind = type(operand)
        if kind is str:
            return self._places[operand]
        if kind is Symbol:
            return self._places[operand.name]
        found = self._places.get((kind, operand))
        if found is None:
            if not isinstance(operand, float) and not -1 << 63 <= operand < 1 << 63:
                raise ValueError(f"{operand} has no register")
            found = self._new(float(operand) if isinstance(operand, float) else int(operand))
            self._places[kind, operand] = found
        return found

    def _nested(self, item: Any) -> Any:
        if isinstance(item, tuple):
            return tuple(map(self._nested, item))
        return -1 if item is None else self._register(item)

    def _alike(self, one: int, other: int) -> tuple[int, int]:
        """Both as floats, if one of them is."""
        if self._type(one) is self._type(other):
            return one, other
        return self._as_float(one), self._as_float(other)

    def _as_float(self, register: int) -> int:
        if self._type(register) is float:
            return register
        key = Op.TO_FLOAT, register
        if key not in self._places:
            self._places[key] = self._step(Op.TO_FLOAT, register)
        return self._places[key]

    def _step(self, op: int, one: int, other: int | None = None) -> int:
        kind = _RESULTS.get(op) or self._type(one)
        register = self._new(kind())
        self._steps.append((op, register, one, one if other is None else other))
        return register


def _op(table: Any, key: object) -> Op:
    found: Op | None = table.get(key)
    if found is None:
        raise ValueError(f"no step does {key}")
    return found


@lru_cache(maxsize=1024)
def arithmetic_of(function: Callable[..., Any], kinds: tuple[type, ...]) -> Tape | None:
    """The tape of a pure function of numbers of these types, if it is nothing but arithmetic: it compares by `larger`
    and `smaller` alone."""
    trace = Trace()
    symbols = [trace.any(kind(7 + number)) for number, kind in enumerate(kinds)]
    try:
        found = function(*symbols)
        made = Assembler(trace, names_in((found.name if type(found) is Symbol else None,)), lambda function: function)
        made.give(found)
        tape = made.tape()
    except (ArithmeticError, AttributeError, TypeError, ValueError):
        return None
    finally:
        trace.close()
    is_plain = all(op <= Op.BITS or op == Op.NUMBER for op, *_ in tape.steps)
    return tape if is_plain and type(plain(found)) in (int, float) else None
