"""Symbols: numbers that remember how they were computed.

Code that runs on symbols in place of plain numbers leaves behind, on a trace (`symbolic/trace.py`), the straight line
of arithmetic that leads from its inputs to its results, and a guard for each comparison that decided its way.
Wherever all guards hold, the same lines give the same results without the code.

A symbol carries the number that it stands for at present. It says of itself that it is an `int` (or `float`) to
`isinstance`, and is none: what reads a plain number behind Python's back (an index, a range, an array of numbers,
a hash) gets the present number, and the trace a guard that it is that one: the trace is *specialised*.
"""
from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn, ParamSpec, TypeVar

import numpy as np

if TYPE_CHECKING:
    from clinfer.symbolic.forms import Form
    from clinfer.symbolic.trace import Trace

P = ParamSpec("P")
R = TypeVar("R")


class Symbol:
    """A number known by its name on a trace; `form` is what the trace knows of an integer's expression."""

    __slots__ = ("form", "name", "trace", "value")

    def __init__(self, trace: Trace, name: str, value: int | float, form: Form | None) -> None:
        self.trace = trace
        self.name = name
        self.value = value
        self.form = form

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        return type(self.value)

    def __index__(self) -> int:
        if self.form is None:
            raise TypeError("a float is no index")
        return int(self.trace.guard_value(self))

    def __int__(self) -> int:
        return int(self.trace.guard_value(self))

    def __float__(self) -> float:
        return float(self.trace.guard_value(self))

    def __hash__(self) -> int:
        return hash(self.trace.guard_value(self))

    def __bool__(self) -> bool:
        return self.trace.compare("!=", self, 0)

    # What divides twice is one line: a trace keeps equal expressions once.
    def __divmod__(self, other: Any) -> tuple[Any, Any]:
        return operator.floordiv(self, other), operator.mod(self, other)

    def __rdivmod__(self, other: Any) -> tuple[Any, Any]:
        return operator.floordiv(other, self), operator.mod(other, self)

    def __repr__(self) -> str:
        return repr(self.value)

    def __format__(self, spec: str) -> str:
        return format(self.value, spec)

    def __reduce__(self) -> NoReturn:
        raise TypeError("a symbol lives in the trace that made it")


def is_symbol(number: object) -> bool:
    """Whether a number is a symbol."""
    return type(number) is Symbol


def plain(number: Any) -> Any:
    """The number that a symbol stands for at present, without a guard; anything else as it is."""
    return number.value if type(number) is Symbol else number


def computed(function: Callable[..., R], *numbers: Any) -> R:
    """function(*numbers); of symbols it becomes one line of the trace.

    For what takes plain numbers only (NumPy's scalars, `struct`): one that is marked `pure`, or frozen data of clinfer
    that can be called, which gives a number.
    """
    symbol = next(filter(is_symbol, numbers), None)
    return function(*numbers) if symbol is None else symbol.trace.apply(function, numbers)


PURE: dict[str, Callable[..., Any]] = {"max": max, "min": min}
"""The functions of `computed` by name, as blobs name them."""


def pure(function: Callable[P, R]) -> Callable[P, R]:
    """Marks a function of a module that `computed` may call, and that gives the same number for the same numbers. One
    that is nothing but arithmetic, `larger` and `smaller` becomes part of the tapes of traces, any other is asked."""
    PURE[f"{function.__module__}.{function.__qualname__}"] = function
    return function


def larger(one: Any, other: Any) -> Any:
    """The larger number; of symbols it is one line of the trace, without a guard."""
    return max(one, other) if type(one) is not Symbol and type(other) is not Symbol else computed(max, one, other)


def smaller(one: Any, other: Any) -> Any:
    """The smaller number, in the same way."""
    return min(one, other) if type(one) is not Symbol and type(other) is not Symbol else computed(min, one, other)


def one_if_positive(number: Any) -> Any:
    """1 for an integer above 0, else 0; without a guard, too."""
    return smaller(larger(number, 0), 1)


def single(number: Any) -> Any:
    """A number as single precision has it."""
    return computed(to_single, number)


def single_bits(number: Any) -> Any:
    """The integer of 32 bits that has the bits of a number in single precision."""
    return computed(bits_of_single, number)


def array_of(numbers: tuple[Any, ...], shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray:
    """The array of these numbers; its dtype is object where there are others than plain ones among them."""
    flat = np.empty(len(numbers), dtype if all(map(_is_plain, numbers)) else object)
    flat[:] = numbers
    return flat.reshape(shape)


def _is_plain(number: object) -> bool:
    return not is_symbol(number) and isinstance(number, (int, float, np.generic))


@pure
def to_single(number: float) -> float:
    """A plain number, see `single`."""
    return float(np.float32(number))


@pure
def bits_of_single(number: float) -> int:
    """Of a plain number, see `single_bits`."""
    return int(np.float32(number).view(np.int32))


# -- operators ----------------------------------------------------------------------------------------


def _number(operand: Any) -> Any:
    """A plain number or symbol as it is, NumPy's scalars and truth values as Python's numbers, the rest as None."""
    if type(operand) is Symbol or type(operand) is int or type(operand) is float:
        return operand
    if isinstance(operand, np.generic):
        operand = operand.item()
    return (float if isinstance(operand, float) else int)(operand) if isinstance(operand, (int, float)) else None


def _binary(sign: str) -> tuple[Callable[[Symbol, Any], Any], Callable[[Symbol, Any], Any]]:
    def forward(self: Symbol, other: Any) -> Any:
        number = _number(other)
        return NotImplemented if number is None else self.trace.calculate(sign, self, number)

    def backward(self: Symbol, other: Any) -> Any:
        number = _number(other)
        return NotImplemented if number is None else self.trace.calculate(sign, number, self)
    return forward, backward


def _comparison(sign: str) -> Callable[[Symbol, object], Any]:
    def compare(self: Symbol, other: object) -> Any:
        number = _number(other)
        return NotImplemented if number is None else self.trace.compare(sign, self, number)
    return compare


def _single(name: str) -> Callable[[Symbol], Any]:
    return lambda self: self.trace.calculate_alone(name, self)


BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "//": operator.floordiv, "%": operator.mod,
    "/": operator.truediv, "**": operator.pow, "&": operator.and_, "|": operator.or_, "^": operator.xor,
    "<<": operator.lshift, ">>": operator.rshift}
COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
SINGLE: dict[str, Callable[[Any], Any]] = {
    "neg": operator.neg, "pos": operator.pos, "abs": operator.abs, "invert": operator.invert, "ceil": math.ceil,
    "floor": math.floor}


def _equip() -> None:
    """Give symbols Python's operators."""
    for sign, function in BINARY.items():
        name = function.__name__.strip("_")
        forward, backward = _binary(sign)
        setattr(Symbol, f"__{name}__", forward)
        setattr(Symbol, f"__r{name}__", backward)
    for sign, function in COMPARISONS.items():
        setattr(Symbol, f"__{function.__name__}__", _comparison(sign))
    for name in SINGLE:
        setattr(Symbol, f"__{name}__", _single(name))


_equip()
