"""The trace on which symbols (`symbolic/symbols.py`) are computed: lines of arithmetic and guards, in order.

Integers are kept in the form `factor * a * b * ... + constant`, so that equal expressions are found to be equal, and
with what guards and lines tell of their bounds, so that most comparisons need no guard of their own. A size of 0
or 1 is recorded as that number, any other as at least 1: a trace of many holds for one where nothing asks for it.
"""
from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from clinfer.symbolic.forms import Bounds, Form, bounds_of_result, calculate, product_of
from clinfer.symbolic.symbols import BINARY, COMPARISONS, SINGLE, Symbol

_UNKNOWN = Bounds()


class Trace:
    """The lines of one trace; `names` are the free symbols, `helpers` what lines call by name.

    `value_guards` counts how often a symbol's present number was taken for what it is.
    """

    def __init__(self) -> None:
        self.names: list[str] = []
        self.helpers: dict[str, Any] = {}
        self.value_guards = 0
        self._lines: list[tuple[str, str, tuple[str, ...]]] = []
        self._made: dict[object, Symbol] = {}
        self._guards: set[str] = set()
        self._present: dict[str, int] = {}
        self._bounds: dict[tuple[str, ...], Bounds] = {}
        self._alias: dict[str, str] = {}

    # -- what comes in --------------------------------------------------------------------------

    def free(self, value: int) -> int:
        """A new free symbol that stands for `value` at present; 0 and 1 become these numbers, with a guard."""
        name = f"a{len(self.names)}"
        self.names.append(name)
        if value in (0, 1):
            self._guard(f"{name} == {value}", (name,))
            return value
        symbol = self._atom(name, value)
        if value > 1:
            self._guard(f"{name} > 0", (name,))
            self._learn((name,), Bounds(low=1))
        return symbol  # type: ignore[return-value]

    def call(self, function: Any, *arguments: Any) -> str:
        """The name of what a call of `function` (or of what stands for it among the helpers) gives; arguments are
        nested tuples of symbols and plain numbers."""
        name = f"r{len(self._lines)}"
        self.helpers[f"call_{name}"] = function
        self._line(name, f"call_{name}({', '.join(map(spell, arguments))})", symbols_in(arguments))
        return name

    def part(self, name: str, text: str, value: int) -> int:
        """A symbol for a part, spelled `text`, of what the call `name` gave; it is `value` at present."""
        own = f"v{len(self._lines)}"
        self._line(own, text, (name,))
        return self._atom(own, value)  # type: ignore[return-value]

    # -- what operators do ----------------------------------------------------------------------

    def calculate(self, sign: str, left: Any, right: Any) -> Any:
        """left sign right, of which one is a symbol."""
        if sign in ("*", "/") and type(right) in (int, float) and right == 1:
            return left
        one, other = _form(left), _form(right)
        if one is not None and other is not None:
            found = self._calculate_forms(sign, self._resolved(one), self._resolved(other))
            if found is not None:
                return found
        value = BINARY[sign](_value(left), _value(right))
        result = self._expression(f"{_name(left)} {sign} {_name(right)}", value, (left, right))
        if one is not None and other is not None and isinstance(result, Symbol) and result.form is not None:
            self._learn(result.form.atoms, bounds_of_result(sign, self._bounds_of(self._resolved(one)),
                                                             self._bounds_of(self._resolved(other))))
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
        text = {"neg": f"-{operand.name}", "pos": operand.name, "invert": f"~{operand.name}"}.get(
            name, f"{name}({operand.name})")
        return self._expression(text, SINGLE[name](operand.value), (operand,))

    def apply(self, function: Callable[..., Any], operands: tuple[Any, ...]) -> Any:
        """A call of a pure function, which gives a number."""
        name = next((name for name, known in self.helpers.items() if known is function), None)
        if name is None:
            name = f"apply{len(self.helpers)}"
            self.helpers[name] = function
        text = f"{name}({', '.join(map(_name, operands))})"
        return self._expression(text, function(*map(_value, operands)), operands)

    def compare(self, sign: str, left: Any, right: Any) -> bool:
        """The outcome of left sign right at present; guarded unless it is always the same."""
        one, other = _form(left), _form(right)
        if one is not None and other is not None:
            difference = calculate("-", self._resolved(one), self._resolved(other))
            if difference is not None:
                return self._decide(sign, difference) if difference.atoms else bool(
                    COMPARISONS[sign](difference.constant, 0))
        outcome = bool(COMPARISONS[sign](_value(left), _value(right)))
        text = f"{_name(left)} {sign} {_name(right)}"
        self._guard(text if outcome else f"not {text}", symbols_in((left, right)))
        if outcome == (sign == "==") and sign in ("==", "!="):
            self._unify(one, other)
        return outcome

    def guard_value(self, symbol: Symbol) -> int | float:
        """The present number of a symbol, which it must have from now on."""
        self.value_guards += 1
        if symbol.form is None:
            self._guard(f"{symbol.name} == {spell(symbol.value)}", (symbol.name,))
        else:
            self.compare("==", symbol, symbol.value)
        return symbol.value

    # -- what comes out -------------------------------------------------------------------------

    def steps(self, results: Iterable[str]) -> tuple[tuple[str, str], ...]:
        """The lines, (name, expression), that the symbols of these names follow from, and in between the guards: their
        name is empty, and those that follow each other are one condition."""
        needed = set(results)
        kept: list[tuple[str, str]] = []
        for name, text, operands in reversed(self._lines):
            if name == "" or name in needed:
                needed.update(operands)
                kept.append((name, text))
        steps: list[tuple[str, str]] = []
        for name, text in reversed(kept):
            if not name and steps and not steps[-1][0]:
                steps[-1] = "", f"{steps[-1][1]} and {text}"
            else:
                steps.append((name, text))
        return tuple(steps)

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
        if form in self._made:
            return self._made[form]
        factor, atoms, constant = form
        if len(atoms) > 1 and (factor, constant) != (1, 0):
            base = self._number(Form(1, atoms, 0)).name
        else:
            base = " * ".join(atoms)
        text = base if factor == 1 else f"-{base}" if factor == -1 else f"{base} * {spell(factor)}"
        text += f" + {constant}" if constant > 0 else f" - {-constant}" if constant else ""
        value = factor * math.prod(self._present[atom] for atom in atoms) + constant
        name = f"v{len(self._lines)}"
        self._line(name, text, (base,) if base.isidentifier() else atoms)
        symbol = self._made[form] = Symbol(self, name, value, form)
        return symbol

    def _atom(self, name: str, value: int) -> Symbol:
        """A symbol that is nothing but its name."""
        form = Form.atom(name)
        self._present[name] = value
        symbol = self._made[form] = Symbol(self, name, value, form)
        return symbol

    def _expression(self, text: str, value: Any, operands: tuple[Any, ...]) -> Any:
        """The symbol of an expression that has no form of its own."""
        if text not in self._made:
            value = value.item() if isinstance(value, np.generic) else value
            name = f"v{len(self._lines)}"
            self._line(name, text, symbols_in(operands))
            self._made[text] = self._atom(name, value) if type(value) is int else Symbol(self, name, value, None)
        return self._made[text]

    def _line(self, name: str, text: str, operands: tuple[str, ...]) -> None:
        self._lines.append((name, text, operands))

    def _resolved(self, form: Form) -> Form:
        if not self._alias or not any(atom in self._alias for atom in form.atoms):
            return form
        return Form(form.factor, product_of(self._alias.get(atom, atom) for atom in form.atoms), form.constant)

    def _unify(self, one: Form | None, other: Form | None) -> None:
        """Two names that a guard found to be equal are one from now on."""
        if one is None or other is None:
            return
        one, other = self._resolved(one), self._resolved(other)
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
        name = self._number(Form(1, form.atoms, 0)).name
        self._guard(f"{name} {'==' if outcome else '!='} {spell(place)}", (name,))
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
            self._guard(f"{name} >= {spell(low)}", (name,))
            self._learn(form.atoms, Bounds(low=low))
        else:
            high = form.constant // -form.factor
            self._guard(f"{name} <= {spell(high)}", (name,))
            self._learn(form.atoms, Bounds(high=high))

    def _number_value(self, form: Form) -> int:
        return form.factor * math.prod(self._present[atom] for atom in form.atoms) + form.constant

    def _guard(self, text: str, operands: tuple[str, ...]) -> None:
        if text not in self._guards:
            self._guards.add(text)
            self._line("", text, operands)


def spell(item: Any) -> str:
    """An expression for nested tuples of symbols, finite numbers and None."""
    if isinstance(item, tuple):
        return f"({''.join(spell(part) + ', ' for part in item)})"
    if item is None:
        return "None"
    return _name(item)


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


def _name(number: Any) -> str:
    if type(number) is Symbol:
        return number.name
    number = number.item() if isinstance(number, np.generic) else number
    if isinstance(number, float) and not math.isfinite(number):
        raise ValueError("a number that has no spelling")
    return repr(number) if number >= 0 else f"({number!r})"


def _value(number: Any) -> Any:
    return number.value if type(number) is Symbol else number


def _form(number: Any) -> Form | None:
    """The form of an integer; that of a plain number has no atoms."""
    if type(number) is Symbol:
        return number.form
    return Form.of(number) if isinstance(number, int) else None
