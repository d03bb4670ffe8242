"""What a saved trace may say: numbers computed of numbers, guards that compare them, calls of rules, launches.

The tree of the whole function is looked at, so that it does not matter how anything is spelled. Whatever passes ends
soon: there are no loops, and no number has more than `_MOST_BITS` bits.
"""
from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NoReturn

from clinfer.network.plans.node_trace import FixedWork, KernelOffset, NodeTrace, Packing, PureFunction, code_of
from clinfer.network.plans.tracer import NodeCall
from clinfer.runtime.launches import PACK_SIZES
from clinfer.tuning.database import MeasuredRatio

_LONGEST = 1 << 18
_MOST_BITS = 1 << 16
_GIVEN_BITS = 64
_CONSTANT_BITS = 128
_FLOAT_BITS = 1024
"""Of an integer near the largest float."""
_SUMS = (ast.Add, ast.Sub, ast.FloorDiv, ast.Mod, ast.BitAnd, ast.BitOr, ast.BitXor, ast.RShift)
_SIGNS = (ast.USub, ast.UAdd, ast.Invert)
_COMPARISONS = (ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE)
_SIZES = {f"sizes{dims}": 2 * dims for dims in PACK_SIZES}
_ROUNDING = ("abs", "ceil", "floor")
_Kinds = tuple[tuple[str, type], ...]


class _RefusedError(Exception):
    """Why a trace is not used."""


def refusal_of(trace: NodeTrace, count: int) -> str:
    """Why a trace is no function that gives so many numbers and the launches; empty: it is."""
    try:
        text, numbers = trace.code
        if len(text) > _LONGEST:
            return f"it has {len(text)} characters"
        if any(number >> _CONSTANT_BITS for number in numbers):
            return "it holds a number that is too large"
        found = _refusal_of(text, tuple(name for name, _ in trace.steps), trace.arguments, len(numbers),
                            tuple((name, type(helper)) for name, helper in trace.helpers.items()), count)
        if not found:
            code_of(text)
        return found
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return f"its text makes no sense: {error}"


@lru_cache(maxsize=4096)
def _refusal_of(text: str, names: tuple[str, ...], arguments: int, constants: int, kinds: _Kinds, count: int) -> str:
    """The same of a text, which traces share, with the names of the lines and the kinds of what else it names."""
    reader = _Reader(arguments, constants, dict(kinds))
    try:
        match ast.parse(text).body:
            case [ast.FunctionDef(body=[ast.Try(body=[ast.While(
                    body=[*lines, ast.Return(value=ast.Tuple() as given)])]), ast.Return()])] if (
                        len(lines) == len(names)):
                for name, line in zip(names, lines, strict=True):
                    reader.take_line(name, line)
                reader.check_results(given, count)
                return ""
        return "it is not one line of arithmetic after another"
    except _RefusedError as error:
        return str(error)


class _Reader:
    """Reads the lines of a trace in their order; knows how many bits each number has at most."""

    def __init__(self, arguments: int, constants: int, kinds: Mapping[str, type]) -> None:
        self._bits = {**{f"a{number}": _GIVEN_BITS for number in range(arguments)},
                      **{f"n{number}": _CONSTANT_BITS for number in range(constants)}}
        self._answers: set[str] = set()
        """What calls of rules gave: tuples of tuples of integers."""
        self._kinds = kinds

    def take_line(self, name: str, line: ast.stmt) -> None:
        """A guard, which has no name, or what a name stands for from now on."""
        match line:
            case ast.If(test=ast.UnaryOp(op=ast.Not(), operand=condition), body=[ast.Break()], orelse=[]) if not name:
                self._check_condition(condition)
            case ast.Assign(targets=[ast.Name(id=told)], value=ast.Call(args=args, keywords=[]) as call) if (
                    told == name and self._kind_of_call(call) is NodeCall):
                for argument in args:
                    self._check_nested(argument)
                self._bits.pop(name, None)
                self._answers.add(name)
            case ast.Assign(targets=[ast.Name(id=told)], value=value) if told == name:
                self._bits[name] = self._number(value)
                self._answers.discard(name)
            case _:
                _refuse(line, "is neither a guard nor what its name stands for")

    def check_results(self, given: ast.Tuple, count: int) -> None:
        """So many numbers, and a row of launches."""
        *numbers, launches = given.elts or [given]
        if len(numbers) != count or not isinstance(launches, ast.Tuple):
            _refuse(given, f"is not {count} numbers and the launches")
        for number in numbers:
            self._number(number)
        for launch in launches.elts:
            self._check_launch(launch)

    def _check_launch(self, launch: ast.expr) -> None:
        match launch:
            case ast.Call(func=ast.Name(id="new"), keywords=[],
                          args=[ast.Name(id="Launch"), ast.Tuple(elts=[ast.Name(id=kernel), block, work])]) if (
                              self._kinds.get(kernel) is KernelOffset):
                self._check_block(block)
                self._check_work(work)
            case _:
                _refuse(launch, "is no launch")

    def _check_block(self, block: ast.expr) -> None:
        if isinstance(block, ast.Call) and self._kind_of_call(block) is Packing and not block.keywords:
            for item in block.args:
                if not self._is(item, bytes):
                    self._number(item)
        elif not self._is(block, bytes):
            _refuse(block, "is no argument block")

    def _check_work(self, work: ast.expr) -> None:
        match work:
            case ast.Call(func=ast.Name(id="new_bytes"), keywords=[], args=[ast.Name(id="WorkSize"), ast.Call(
                    func=ast.Name(id=pack), args=sizes, keywords=[])]) if len(sizes) == _SIZES.get(pack):
                for size in sizes:
                    self._number(size)
            case _ if not self._is(work, FixedWork):
                _refuse(work, "is no work size")

    def _check_condition(self, condition: ast.expr) -> None:
        match condition:
            case ast.BoolOp(op=ast.And(), values=values):
                for value in values:
                    self._check_condition(value)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                self._check_condition(operand)
            case ast.Compare(left=left, ops=[sign], comparators=[right]) if isinstance(sign, _COMPARISONS):
                self._number(left)
                self._number(right)
            case _:
                _refuse(condition, "compares no numbers")

    def _check_nested(self, item: ast.expr) -> None:
        """Nested tuples of numbers."""
        if isinstance(item, ast.Tuple):
            for part in item.elts:
                self._check_nested(part)
        elif not (isinstance(item, ast.Constant) and item.value is None):
            self._number(item)

    # -- numbers --------------------------------------------------------------------------------

    def _number(self, item: ast.expr) -> int:
        """How many bits a number has at most."""
        bits = self._bits_of(item)
        if bits > _MOST_BITS:
            _refuse(item, "may become too large")
        return bits

    def _bits_of(self, item: ast.expr) -> int:
        match item:
            case ast.Constant(value=int() | float() as value) if type(value) is not bool:
                return value.bit_length() if isinstance(value, int) else _FLOAT_BITS
            case ast.Name(id=name) if name in self._bits:
                return self._bits[name]
            case ast.UnaryOp(op=sign, operand=operand) if isinstance(sign, _SIGNS):
                return self._number(operand) + 1
            case ast.BinOp(left=left, op=ast.Mult(), right=right):
                return self._number(left) + self._number(right)
            case ast.BinOp(left=left, op=sign, right=right) if isinstance(sign, (*_SUMS, ast.Div)):
                bits = max(self._number(left), self._number(right)) + 1
                return max(bits, _FLOAT_BITS) if isinstance(sign, ast.Div) else bits
            case ast.Subscript(value=row, slice=place) if self._is_row(row):
                self._number(place)
                return _GIVEN_BITS
            case ast.Call(func=ast.Name(id=name), args=args, keywords=[]):
                return self._bits_of_call(name, args)
        _refuse(item, "is no number")

    def _bits_of_call(self, name: str, args: Sequence[ast.expr]) -> int:
        if name == "len" and len(args) == 1 and self._is_row(args[0]):
            return _GIVEN_BITS
        if name not in _ROUNDING and self._kinds.get(name) not in (PureFunction, MeasuredRatio):
            raise _RefusedError(f"{name!r:.40} is nothing that gives a number")
        if name in _ROUNDING and len(args) != 1:
            raise _RefusedError(f"{name} takes one number")
        return max(_FLOAT_BITS, sum(map(self._number, args)))

    def _is_row(self, item: ast.expr) -> bool:
        """Whether it is a tuple of integers that a rule gave."""
        match item:
            case ast.Subscript(value=ast.Name(id=name), slice=place) if name in self._answers:
                self._number(place)
                return True
        return False

    def _is(self, item: ast.expr, kind: type) -> bool:
        return isinstance(item, ast.Name) and self._kinds.get(item.id) is kind

    def _kind_of_call(self, call: ast.Call) -> type | None:
        return self._kinds.get(call.func.id) if isinstance(call.func, ast.Name) else None


def _refuse(item: ast.AST, why: str) -> NoReturn:
    raise _RefusedError(f"{ast.unparse(item)!r:.60} {why}")
