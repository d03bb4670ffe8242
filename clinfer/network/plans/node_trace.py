"""A node's trace as plain data, and the function that is made of it.

Compiling code takes longer than all else about a trace. So the integers of a trace are parameters of its code, which
layers of other widths then share; what differs are the defaults of the parameters behind the arguments.
"""
from __future__ import annotations

import math
import re
import struct
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from operator import mod
from types import CodeType, FunctionType
from typing import Any

from clinfer.base.schema import Natural
from clinfer.kernels.implementation import StageLaunch
from clinfer.kernels.jitter import block_format
from clinfer.network.plans.plan import Launch
from clinfer.network.plans.tracer import NodeCall
from clinfer.runtime.launches import PACK_SIZES, WorkSize
from clinfer.symbolic.symbols import PURE, is_symbol
from clinfer.symbolic.trace import Trace, spell, symbols_in
from clinfer.tuning.database import MeasuredRatio

ALWAYS = {"failures": (ArithmeticError, ValueError, struct.error), "new": tuple.__new__, "Launch": Launch,
          "new_bytes": bytes.__new__, "WorkSize": WorkSize,
          **{f"sizes{dims}": pack for dims, pack in PACK_SIZES.items()}, "ceil": math.ceil, "floor": math.floor}
"""What the text of every trace may name."""
_INTEGER = re.compile(r"(?<![\w.])(?<!\de[+-])\d+(?![\w.])")
"""Integers as expressions spell them, but for what belongs to a float or to a name."""
_STRUCTURE = {"0", "1"}
"""Integers that code keeps: they mean the same for whatever is traced."""


@dataclass(frozen=True)
class KernelOffset:
    """A kernel by its place among those of its node."""

    place: Natural


@dataclass(frozen=True)
class Packing:
    """Packs numbers as this layout of `struct` says."""

    layout: str


@dataclass(frozen=True)
class FixedWork:
    """A work size that never changes."""

    global_size: tuple[Natural, ...]
    local_size: tuple[Natural, ...] | None


@dataclass(frozen=True)
class PureFunction:
    """A function of `symbols.PURE`."""

    name: str


Helper = KernelOffset | Packing | FixedWork | PureFunction | MeasuredRatio | NodeCall | bytes
"""What the text names besides numbers."""


@dataclass(frozen=True, eq=False)
class NodeTrace:
    """The function of a node as text: arguments a0, a1, ..., `steps` (name, expression) with guards in between that
    have no name, and the expression of its `results`, the last of which are the launches. What they name besides are
    `helpers`."""

    arguments: Natural
    steps: tuple[tuple[str, str], ...]
    results: str
    helpers: Mapping[str, Helper]

    @cached_property
    def code(self) -> tuple[str, tuple[int, ...]]:
        """The text of a function with the arguments, what to call where a guard fails or the arithmetic does, and all
        that is named as parameters; and the integers that take the place of its last ones, n0, n1, ..."""
        names = ", ".join(f"a{number}" for number in range(self.arguments))
        numbers: list[str] = []

        def parameter(found: re.Match[str]) -> str:
            if found[0] in _STRUCTURE:
                return found[0]
            numbers.append(found[0])
            return f"n{len(numbers) - 1}"

        lines = [f"{name} = {text}" if name else f"if not ({text}): break" for name, text in self.steps]
        body = _INTEGER.sub(parameter, "\n".join(f"            {line}" for line in (*lines, f"return {self.results}")))
        parameters = [*([names] if names else []), "otherwise", *ALWAYS, *self.helpers,
                      *(f"n{number}" for number in range(len(numbers)))]
        return "\n".join([f"def planned({', '.join(parameters)}):", "    try:", "        while True:", body,
                          "    except failures: pass", f"    return otherwise({names})"]), tuple(map(int, numbers))

    def function(self, first_kernel: int, call: Callable[[NodeCall], Any],
                 otherwise: Callable[..., Any]) -> Callable[..., Any]:
        """The function for a node, of which `call` makes calls; where a guard fails or the arithmetic does, it gives
        what `otherwise` does."""
        text, numbers = self.code
        values = [_meant(helper, first_kernel, call) for helper in self.helpers.values()]
        return FunctionType(code_of(text), {}, argdefs=(otherwise, *ALWAYS.values(), *values, *numbers))


def _meant(helper: Helper, first_kernel: int, call: Callable[[NodeCall], Any]) -> Any:
    if isinstance(helper, KernelOffset):
        return first_kernel + helper.place
    if isinstance(helper, Packing):
        return _packer(helper.layout)
    if isinstance(helper, FixedWork):
        return WorkSize(helper.global_size, helper.local_size)
    if isinstance(helper, PureFunction):
        return PURE[helper.name]
    return call(helper) if isinstance(helper, NodeCall) else helper


def make_trace(trace: Trace, used: Iterable[str], results: str, helpers: Mapping[str, Helper]) -> NodeTrace:
    """Of the lines of a trace the function that gives `results`, an expression of the symbols `used`."""
    named = {name: PureFunction(_name_of(helper)) if callable(helper) and not isinstance(helper, MeasuredRatio)
             else helper for name, helper in trace.helpers.items()}
    return NodeTrace(len(trace.names), trace.steps(used), results, {**named, **helpers})


def _name_of(function: Callable[..., Any]) -> str:
    """The name of a pure function. Errors: ValueError for any other."""
    name = next((name for name, known in PURE.items() if known is function), None)
    if name is None:
        raise ValueError(f"{function} is not marked as pure")
    return name


@lru_cache(maxsize=4096)
def code_of(text: str) -> CodeType:
    """The code of the one function in a text."""
    module = compile(text, "<traced plan>", "exec")
    return next(constant for constant in module.co_consts if isinstance(constant, CodeType))


@lru_cache(maxsize=1024)
def _packer(layout: str) -> Callable[..., bytes]:
    return struct.Struct(layout).pack


def joined(items: Iterable[str]) -> str:
    """Expressions as the inside of a tuple."""
    return "".join(f"{item}, " for item in items)


def spell_launch(helpers: dict[str, Helper], place: int, launch: StageLaunch) -> str:
    """An expression for the step of a launch; what does not depend on symbols is put among `helpers`. What a work size
    has to be is guarded in the trace, where that is not known."""
    work = launch.work.global_size, launch.work.local_size
    block = (_spell_block(helpers, launch.arguments, block_format(launch.is_large)) if symbols_in(launch.arguments)
             else _helper(helpers, "block", launch.block))
    sizes = _spell_work(*work) if symbols_in(work) else _helper(helpers, "work", FixedWork(*work))
    return f"new(Launch, ({_helper(helpers, 'kernel', KernelOffset(place))}, {block}, {sizes}))"


def _spell_work(global_size: tuple[int, ...], local_size: tuple[int, ...] | None) -> str:
    """What makes a work size without looking at it; sizes that cannot be packed fail there."""
    if local_size is not None and any(map(mod, global_size, local_size)):
        raise ValueError("a local size does not divide the global one")
    sizes = (*global_size, *(local_size or (0,) * len(global_size)))
    return f"new_bytes(WorkSize, sizes{len(global_size)}({joined(map(spell, sizes))}))"


def _spell_block(helpers: dict[str, Helper], numbers: tuple[int, ...], width: str) -> str:
    """A call that packs the symbols among the numbers, each as `width` of `struct`; runs of plain ones are packed
    already."""
    layout, given, run = "=", [], b""
    for number in (*numbers, None):
        if number is not None and not is_symbol(number):
            run += struct.pack(f"={width}", number)
            continue
        if run:
            layout += f"{len(run)}s"
            given.append(_helper(helpers, "run", run))
            run = b""
        if number is not None:
            layout += width
            given.append(spell(number))
    return f"{_helper(helpers, 'pack', Packing(layout))}({', '.join(given)})"


def _helper(helpers: dict[str, Helper], kind: str, value: Helper) -> str:
    name = f"{kind}{len(helpers)}"
    helpers[name] = value
    return name
