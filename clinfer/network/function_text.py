"""The text of a node's function, made of a trace and the launches recorded with it.

Functions of equal text share their code; what differs are the defaults of the parameters behind the arguments.
"""
from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import CodeType, FunctionType
from typing import Any

from clinfer.base.symbols import is_symbol
from clinfer.base.trace import Trace, spell, symbols_in
from clinfer.kernels.implementation import StageLaunch
from clinfer.kernels.jitter import block_format
from clinfer.network.plan import Launch, work_size
from clinfer.network.tracer import NodeCall

_ALWAYS = {"failures": (ArithmeticError, ValueError, struct.error), "new": tuple.__new__, "Launch": Launch,
           "work_size": work_size}


@dataclass(frozen=True)
class KernelOffset:
    """A kernel by its place among those of its node."""

    place: int


@dataclass(frozen=True, eq=False)
class CompiledTrace:
    """The code of a node's function, and what it reads by name, in part by what stands for it in every node."""

    code: CodeType
    helpers: Mapping[str, Any]

    def function(self, first_kernel: int, call: Callable[[NodeCall], Any],
                 otherwise: Callable[..., Any]) -> Callable[..., Any]:
        """The function for a node, of which `call` makes calls; where a guard fails or the arithmetic does, it gives
        what `otherwise` does."""
        values = (first_kernel + value.place if isinstance(value, KernelOffset) else
                  call(value) if isinstance(value, NodeCall) else value for value in self.helpers.values())
        return FunctionType(self.code, {}, argdefs=(otherwise, *values))


def compile_trace(trace: Trace, used: Iterable[str], results: str, helpers: Mapping[str, Any]) -> CompiledTrace:
    """Of a trace's free symbols the function that gives `results`, an expression of the symbols `used`."""
    names = ", ".join(trace.names)
    known = {**_ALWAYS, **trace.helpers, **helpers}
    body = [*trace.lines(used, f"return otherwise({names})"), f"return {results}"]
    text = "\n".join([f"def planned({', '.join([*trace.names, 'otherwise', *known])}):", "    try:",
                      *(f"        {line}" for line in body),
                      "    except failures:", f"        return otherwise({names})"])
    return CompiledTrace(code_of(text), known)


@lru_cache(maxsize=4096)
def code_of(text: str) -> CodeType:
    """The code of the one function in a text."""
    module = compile(text, "<recorded plan>", "exec")
    return next(constant for constant in module.co_consts if isinstance(constant, CodeType))


@lru_cache(maxsize=1024)
def _packer(layout: str) -> Callable[..., bytes]:
    return struct.Struct(layout).pack


def joined(items: Iterable[str]) -> str:
    """Expressions as the inside of a tuple."""
    return "".join(f"{item}, " for item in items)


def spell_launch(helpers: dict[str, Any], place: int, launch: StageLaunch) -> str:
    """An expression for the step of a launch; what does not depend on symbols is made now and put among `helpers`."""
    work = launch.work.global_size, launch.work.local_size
    block = (_spell_block(helpers, launch.arguments, block_format(launch.is_large)) if symbols_in(launch.arguments)
             else _helper(helpers, "block", launch.block))
    sizes = f"work_size{spell(work)}" if symbols_in(work) else _helper(helpers, "work", work_size(*work))
    return f"new(Launch, ({_helper(helpers, 'kernel', KernelOffset(place))}, {block}, {sizes}))"


def _spell_block(helpers: dict[str, Any], numbers: tuple[int, ...], width: str) -> str:
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
    return f"{_helper(helpers, 'pack', _packer(layout))}({', '.join(given)})"


def _helper(helpers: dict[str, Any], kind: str, value: Any) -> str:
    name = f"{kind}{len(helpers)}"
    helpers[name] = value
    return name
