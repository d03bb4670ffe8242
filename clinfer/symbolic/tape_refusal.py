"""Whether a tape that comes from outside is one that can be carried out."""
from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from clinfer.symbolic.tape import MOST_REGISTERS, STEP_BYTES, Asked, Op, Tape

_LEAST, _MOST = -1 << 63, (1 << 63) - 1
_MOST_DIMENSIONS = 3


def _among(ops: Iterable[int]) -> tuple[bool, ...]:
    """By the number of an operation, whether it is one of these."""
    found = {*ops}
    return tuple(op in found for op in range(len(Op)))


# Plain numbers: many steps are looked at, and members of an enumeration take longer than all the rest.
_GUARDS, _ASK, _NUMBER, _LAUNCH, _BYTES, _SIZE = map(int, (Op.EQUAL, Op.ASK, Op.NUMBER, Op.LAUNCH, Op.BYTES, Op.SIZE))
_TAKES_FLOATS = _among((*range(Op.ADD_F, Op.TO_FLOAT), *range(Op.SINGLE, Op.EQUAL), *range(Op.EQUAL_F, Op.ASK)))
_GIVES_FLOAT = _among(range(Op.ADD_F, Op.CEIL))


def refusal_of(tape: Tape, numbers: int, kernels: int, most_bytes: int) -> str:
    """Why a tape is none that gives so many integers, and launches of so many kernels; empty: it is one."""
    if len(tape.code) % STEP_BYTES or len(tape.registers) > MOST_REGISTERS or tape.arguments > len(tape.registers):
        return "it is no row of steps"
    if not all(type(number) is float or _LEAST <= number <= _MOST for number in tape.registers):
        return "it holds a number that is too large"
    try:
        reader = _Reader(tape)
        reader.read_computed()
        reader.read_given(numbers, kernels)
    except (LookupError, ValueError) as error:
        return f"it makes no sense: {error}"
    return "" if tape.needs[1] <= most_bytes else f"it gives {tape.needs[1]} bytes to kernels"


class _Reader:
    """Reads the steps of a tape in their order, and raises LookupError or ValueError for what makes no sense."""

    def __init__(self, tape: Tape) -> None:
        self._tape = tape
        self._floats = [type(number) is float for number in tape.registers]
        if any(self._floats[:tape.arguments]):
            raise ValueError("a float is given")

    def read_computed(self) -> None:
        """Operands are of the types that they have to be, and each register gets one result at most, in order."""
        floats, registers, free = self._floats, self._tape.registers, self._tape.arguments
        for op, to, one, other in self._tape.steps[:self._tape.computing]:
            if op == _ASK:
                free = self._after_answers(self._tape.asked[one], to, free)
                continue
            takes_floats = _TAKES_FLOATS[op]
            if floats[one] is not takes_floats or floats[other] is not takes_floats:
                raise ValueError("a register is of the wrong type")
            if op < _GUARDS:
                if to < free or floats[to] is not _GIVES_FLOAT[op] or registers[to] != 0:
                    raise ValueError(f"register {to} is no result")
                free = to + 1

    def _after_answers(self, asked: Asked, to: int, free: int) -> int:
        """The first register that may get a result behind the answers, which go to those from `to` on."""
        end = to + (sum(asked.counts) if asked.counts else 1)
        if asked.first != to or end > len(self._floats):
            raise ValueError("answers are elsewhere")
        self._check_nested(asked.arguments)
        if end == to:
            return free
        if to < free or any(self._tape.registers[to:end]) or (asked.counts and any(self._floats[to:end])):
            raise ValueError(f"register {to} is no answer")
        return end

    def _check_nested(self, item: Any) -> None:
        if isinstance(item, tuple):
            for part in item:
                self._check_nested(part)
        elif type(item) is not int or not -1 <= item < len(self._floats):
            raise ValueError("no register")

    def read_given(self, numbers: int, kernels: int) -> None:
        """As many numbers are given as there have to be, and launches with all of their sizes; nothing is computed."""
        floats, data = self._floats, len(self._tape.data)
        count = axes = 0
        for op, _, one, other in self._tape.steps[self._tape.computing:]:
            if (axes == 0) != (op in (_NUMBER, _LAUNCH)):
                raise ValueError("a launch without its sizes, or something that is given to no kernel")
            if op == _LAUNCH:
                if one >= kernels or not 1 <= other <= _MOST_DIMENSIONS:
                    raise ValueError(f"kernel {one} of {kernels} in {other} dimensions")
                axes = other
            elif op == _BYTES:
                if one + other > data:
                    raise ValueError("bytes from nowhere")
            elif op < _NUMBER or op > _SIZE:
                raise ValueError("a step that gives nothing")
            elif floats[one] or (op == _SIZE and floats[other]):
                raise ValueError("a register is of the wrong type")
            else:
                count += op == _NUMBER
                axes -= op == _SIZE
        if count != numbers or axes:
            raise ValueError(f"it gives {count} numbers, not {numbers}")
