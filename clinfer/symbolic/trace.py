"""The trace on which symbols (`symbolic/symbols.py`) are computed: lines of arithmetic and guards, in order.

Integers are kept in the form `factor * a * b * ... + constant`, so that equal expressions are found to be equal, and
with what guards and lines tell of their bounds, so that most comparisons need no guard of their own. A size of 0
or 1 is recorded as that number, any other as at least 1: a trace of many holds for one where nothing asks for it.
"""
from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from clinfer.symbolic.forms import Bounds, Form, bounds_of_result, calculate, product_of
from clinfer.symbolic.symbols import BINARY, COMPARISONS, SINGLE, Symbol

_UNKNOWN = Bounds()
Operand = str | int | float
"""Of a line: the name of a symbol, or a number."""


class Line(NamedTuple):
    """What the symbols `names` are: `sign` of the operands, an operator's or a function's name. Of a guard, which has
    no names, it is a comparison, and `outcome` what it has to be. `function` is what APPLIED calls with the operands,
    and ASKED with `operands[0]`, nested tuples; of that `names` are the parts."""

    names: tuple[str, ...]
    sign: str
    operands: tuple[Any, ...]
    function: Any = None
    outcome: bool = True


APPLIED, ASKED = "applied", "asked"


class Trace:
    """The lines of one trace; `names` are the free symbols, `numbers` what all symbols are at present.

    `value_guards` counts how often a symbol's present number was taken for what it is.
    """

    def __init__(self) -> None:
        self.names: list[str] = []
        self.numbers: dict[str, int | float] = {}
        self.value_guards = 0
        self._lines: list[Line] = []
        self._count = 0
        self._made: dict[object, Symbol] = {}
        self._guards: set[tuple[str, Operand, Operand, bool]] = set()
        self._bounds: dict[tuple[str, ...], Bounds] = {}
        self._alias: dict[str, str] = {}

    # -- what comes in --------------------------------------------------------------------------

    def free(self, value: int) -> int:
        """A new free symbol that stands for `value` at present; 0 and 1 become these numbers, with a guard."""
        name = f"a{len(self.names)}"
        self.names.append(name)
        if value in (0, 1):
            self.numbers[name] = value
            self._guard("==", name, value)
            return value
        symbol = self._atom(name, value)
        if value > 1:
            self._guard(">", name, 0)
            self._learn((name,), Bounds(low=1))
        return symbol  # type: ignore[return-value]

    def any(self, value: int | float) -> Any:
        """A new free symbol of which nothing is known but its type."""
        name = f"a{len(self.names)}"
        self.names.append(name)
        return self._atom(name, value) if isinstance(value, int) else self._symbol(name, value)

    def ask(self, function: Any, arguments: tuple[Any, ...],
            found: tuple[tuple[int, ...], ...]) -> tuple[tuple[int, ...], ...]:
        """Symbols for the integers that a call of `function` (or of what stands for it) gives, `found` at present.
        Arguments are nested tuples of symbols, plain numbers and None. Where it gives tuples of other lengths, the
        trace does not hold."""
        symbols = tuple([tuple([self._atom(self._new_name(), number) for number in numbers]) for numbers in found])
        names = tuple([symbol.name for part in symbols for symbol in part])
        self._lines.append(Line(names, ASKED, (_named(arguments), tuple(map(len, found))), function))
        return symbols  # type: ignore[return-value]

    # -- what operators do ----------------------------------------------------------------------

    def calculate(self, sign: str, left: Any, right: Any) -> Any:
        """left sign right, of which one is a symbol."""
        if sign in ("*", "/") and type(right) in (int, float) and right == 1:
            return left
        one, other = self._form(left), self._form(right)
        if one is not None and other is not None:
            found = self._calculate_forms(sign, one, other)
            if found is not None:
                return found
        value = BINARY[sign](_value(left), _value(right))
        result = self._expression(sign, value, (_name(left), _name(right)))
        if one is not None and other is not None and isinstance(result, Symbol) and result.form is not None:
            self._learn(result.form.atoms, bounds_of_result(sign, self._bounds_of(one), self._bounds_of(other)))
        return result

    def calculate_alone(self, name: str, operand: Symbol) -> Any:
        """An operation of one operand."""
        form = operand.form
        if form is not None and name in ("pos", "ceil", "floor"):
            return operand
        if form is not None and name == "abs":
            bounds = self._bounds_of(form)
            if bounds.low is not None and bounds.low >= 0:
                return operand
            if bounds.high is not None and bounds.high <= 0:
                return self._number(form.negated())
        if form is not None and name == "neg":
            return self._number(form.negated())
        if name == "pos":
            return operand
        return self._expression(name, SINGLE[name](operand.value), (operand.name,))

    def apply(self, function: Callable[..., Any], operands: tuple[Any, ...]) -> Any:
        """A call of a pure function, which gives a number."""
        return self._expression(APPLIED, function(*map(_value, operands)), tuple(map(_name, operands)), function)

    def compare(self, sign: str, left: Any, right: Any) -> bool:
        """The outcome of left sign right at present; guarded unless it is always the same."""
        one, other = self._form(left), self._form(right)
        if one is not None and other is not None:
            difference = calculate("-", one, other)
            if difference is not None:
                return self._decide(sign, difference) if difference.atoms else bool(
                    COMPARISONS[sign](difference.constant, 0))
        outcome = bool(COMPARISONS[sign](_value(left), _value(right)))
        self._guard(sign, _name(left), _name(right), outcome)
        if outcome == (sign == "==") and sign in ("==", "!="):
            self._unify(one, other)
        return outcome

    def guard_value(self, symbol: Symbol) -> int | float:
        """The present number of a symbol, which it must have from now on."""
        self.value_guards += 1
        if symbol.form is None:
            self._guard("==", symbol.name, _name(symbol.value))
        else:
            self.compare("==", symbol, symbol.value)
        return symbol.value

    # -- what comes out -------------------------------------------------------------------------

    def lines(self, results: Iterable[str]) -> list[Line]:
        """The guards, and the lines that they and the symbols of these names follow from, in order."""
        needed = set(results)
        kept: list[Line] = []
        for line in reversed(self._lines):
            if not line.names or not needed.isdisjoint(line.names):
                operands = line.operands
                needed.update(names_in(operands) if line.sign == ASKED else operands)
                kept.append(line)
        return kept[::-1]

    def close(self) -> None:
        """Let go of the symbols, which refer to the trace: else the garbage collector would have to find them."""
        self._made.clear()

    # -- forms ----------------------------------------------------------------------------------

    def _calculate_forms(self, sign: str, left: Form, right: Form) -> Any:
        """The result in a form, or None where it has none."""
        found = calculate(sign, left, right)
        if found is not None:
            return self._number(found) if found.atoms else found.constant
        if sign == "//" and left.factor < 0 and not right.atoms and right.constant > 0:
            # floor(-x / n) = -floor((x + n - 1) / n), which has bounds.
            return -self.calculate(sign, self._number(left.negated().plus(right.constant - 1)), right.constant)
        return None

    def _number(self, form: Form) -> Symbol:
        """The symbol of a form."""
        made = self._made.get(form)
        if made is not None:
            return made
        factor, atoms, constant = form
        if constant:
            sign, operands = "+", (self._number(Form(factor, atoms, 0)).name, constant)
        elif factor != 1:
            sign, operands = "*", (self._number(Form(1, atoms, 0)).name, factor)
        else:
            sign, operands = "*", (self._number(Form(1, atoms[:-1], 0)).name, atoms[-1])
        name = self._new_name()
        self._lines.append(Line((name,), sign, operands))
        symbol = self._made[form] = self._symbol(name, self._number_value(form), form)
        return symbol

    def _new_name(self) -> str:
        self._count += 1
        return f"v{self._count}"

    def _symbol(self, name: str, value: int | float, form: Form | None = None) -> Symbol:
        self.numbers[name] = value
        return Symbol(self, name, value, form)

    def _atom(self, name: str, value: int) -> Symbol:
        """A symbol that is nothing but its name."""
        form = Form.atom(name)
        symbol = self._made[form] = self._symbol(name, value, form)
        return symbol

    def _expression(self, sign: str, value: Any, operands: tuple[Operand, ...], function: Any = None) -> Any:
        """The symbol of an expression that has no form of its own."""
        # Equal numbers of other types make other expressions.
        key = sign, operands, *map(type, operands), id(function)
        if key not in self._made:
            value = value.item() if isinstance(value, np.generic) else value
            name = self._new_name()
            self._lines.append(Line((name,), sign, operands, function))
            self._made[key] = self._atom(name, value) if type(value) is int else self._symbol(name, value)
        return self._made[key]

    def _form(self, number: Any) -> Form | None:
        """The form of an integer in names that stand for others by now; that of a plain number has no atoms."""
        if type(number) is Symbol:
            form: Form | None = number.form
            return form if form is None or not self._alias else self._resolved(form)
        return Form.of(number) if isinstance(number, int) else None

    def _resolved(self, form: Form) -> Form:
        if self._alias.keys().isdisjoint(form.atoms):
            return form
        return Form(form.factor, product_of(self._alias.get(atom, atom) for atom in form.atoms), form.constant)

    def _unify(self, one: Form | None, other: Form | None) -> None:
        """Two names that a guard found to be equal are one from now on."""
        if one is None or other is None:
            return
        if len(one.atoms) == len(other.atoms) == 1 and one[::2] == other[::2] == (1, 0):
            kept, gone = one.atoms[0], other.atoms[0]
            self._alias = {name: kept if to == gone else to for name, to in self._alias.items()} | {gone: kept}
            self._learn((kept,), self._bounds.get((gone,), _UNKNOWN))

    # -- bounds and guards ----------------------------------------------------------------------

    def _learn(self, atoms: tuple[str, ...], bounds: Bounds) -> None:
        self._bounds[atoms] = self._bounds.get(atoms, _UNKNOWN).within(bounds)

    def _product_bounds(self, atoms: tuple[str, ...]) -> Bounds:
        known = self._bounds.get(atoms, _UNKNOWN)
        if len(atoms) == 1:
            return known
        each = [self._bounds.get((atom,), _UNKNOWN) for atom in atoms]
        if any(bounds.low is None or bounds.low < 0 for bounds in each):
            return known
        highs = [bounds.high for bounds in each]
        high = None if None in highs else math.prod(h for h in highs if h is not None)
        return known.within(Bounds(math.prod(bounds.low or 0 for bounds in each), high))

    def _bounds_of(self, form: Form) -> Bounds:
        if not form.atoms:
            return Bounds(form.constant, form.constant)
        known = self._product_bounds(form.atoms)
        low = None if known.low is None else known.low * form.factor + form.constant
        high = None if known.high is None else known.high * form.factor + form.constant
        return Bounds(low, high) if form.factor > 0 else Bounds(high, low)

    def _decide(self, sign: str, form: Form) -> bool:
        """Whether form sign 0, from bounds if they tell, else guarded."""
        if sign in ("==", "!="):
            return self._decide_equal(form) == (sign == "==")
        # As: form >= 0.
        form = {">=": form, ">": form.plus(-1), "<=": form.negated(), "<": form.negated().plus(-1)}[sign]
        bounds = self._bounds_of(form)
        if bounds.low is not None and bounds.low >= 0:
            return True
        if bounds.high is not None and bounds.high < 0:
            return False
        outcome = self._number_value(form) >= 0
        self._guard_not_negative(form if outcome else form.negated().plus(-1))
        return outcome

    def _decide_equal(self, form: Form) -> bool:
        place, rest = divmod(-form.constant, form.factor)
        bounds = self._product_bounds(form.atoms)
        if rest or (bounds.low is not None and bounds.low > place) or (bounds.high is not None and bounds.high < place):
            return False
        if bounds.low == bounds.high == place:
            return True
        outcome = self._number_value(form) == 0
        self._guard("==" if outcome else "!=", self._number(Form(1, form.atoms, 0)).name, place)
        if outcome:
            self._learn(form.atoms, Bounds(place, place))
        elif bounds.low == place:
            self._learn(form.atoms, Bounds(low=place + 1))
        elif bounds.high == place:
            self._learn(form.atoms, Bounds(high=place - 1))
        return outcome

    def _guard_not_negative(self, form: Form) -> None:
        """Guard and learn that form >= 0."""
        name = self._number(Form(1, form.atoms, 0)).name
        if form.factor > 0:
            low = -(form.constant // form.factor)
            self._guard(">=", name, low)
            self._learn(form.atoms, Bounds(low=low))
        else:
            high = form.constant // -form.factor
            self._guard("<=", name, high)
            self._learn(form.atoms, Bounds(high=high))

    def _number_value(self, form: Form) -> int:
        return form.factor * int(math.prod(self.numbers[atom] for atom in form.atoms)) + form.constant

    def _guard(self, sign: str, left: Operand, right: Operand, outcome: bool = True) -> None:
        guard = sign, left, right, outcome
        if guard not in self._guards:
            self._guards.add(guard)
            self._lines.append(Line((), sign, (left, right), None, outcome))


def names_in(item: Any) -> Iterable[str]:
    """The names in nested tuples."""
    if isinstance(item, tuple):
        return (name for part in item for name in names_in(part))
    return (item,) if isinstance(item, str) else ()


def symbols_in(item: Any) -> tuple[str, ...]:
    """The names of the symbols in nested tuples and lists."""
    found: list[str] = []
    _add_symbols(item, found)
    return tuple(found)


def _add_symbols(item: Any, found: list[str]) -> None:
    kind = type(item)
    if kind is Symbol:
        found.append(item.name)
    elif kind is not int and isinstance(item, (tuple, list)):
        for part in item:
            _add_symbols(part, found)


def _named(item: Any) -> Any:
    """Nested tuples with the names of symbols in their places."""
    if isinstance(item, tuple):
        return tuple(map(_named, item))
    return None if item is None else _name(item)


def _name(number: Any) -> Operand:
    """The name of a symbol, or the number; it has to be finite."""
    if type(number) is Symbol:
        return number.name
    number = number.item() if isinstance(number, np.generic) else number
    if isinstance(number, float) and not math.isfinite(number):
        raise ValueError("a number that no trace holds")
    return int(number) if isinstance(number, bool) else number


def _value(number: Any) -> Any:
    return number.value if type(number) is Symbol else number
