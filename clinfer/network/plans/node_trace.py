"""A node's trace as plain data: a tape (`symbolic/tape.py`) that gives its numbers and launches."""
from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from operator import mod
from typing import Any

from clinfer.kernels.implementation import StageLaunch
from clinfer.kernels.jitter import block_format
from clinfer.network.plans.tracer import NodeCall
from clinfer.symbolic.assembler import Assembler
from clinfer.symbolic.symbols import PURE
from clinfer.symbolic.tape import Asked, Tape
from clinfer.symbolic.trace import Trace, symbols_in
from clinfer.tuning.database import MeasuredRatio


@dataclass(frozen=True)
class PureFunction:
    """A function of `symbols.PURE`."""

    name: str


AskedFunction = PureFunction | MeasuredRatio | NodeCall
"""What the tape of a node asks."""


def make_tape(trace: Trace, numbers: tuple[Any, ...], launches: Iterable[tuple[int, StageLaunch]]) -> Tape:
    """The tape that gives these numbers and launches, of kernels by their places. Errors: ValueError for what no tape
    holds."""
    launches = tuple(launches)
    for _, launch in launches:
        _guard_work(launch)
    used = symbols_in((numbers, [(launch.arguments, launch.work.global_size, launch.work.local_size)
                                 for _, launch in launches]))
    assembler = Assembler(trace, used, _named)
    for number in numbers:
        assembler.give(number)
    for place, launch in launches:
        sizes = launch.work.global_size
        local = launch.work.local_size or (0,) * len(sizes)
        assembler.launch(place, launch.arguments, block_format(launch.is_large), zip(sizes, local, strict=True),
                         len(sizes))
    return assembler.tape()


def function_of(asked: Asked, bound: Callable[[NodeCall], Any]) -> Callable[..., Any]:
    """What is asked; `bound` makes calls of a node's rules."""
    function: AskedFunction = asked.function
    if isinstance(function, PureFunction):
        return PURE[function.name]
    return bound(function) if isinstance(function, NodeCall) else function


def _guard_work(launch: StageLaunch) -> None:
    """What a work size has to be is guarded in the trace, where that is not known."""
    sizes, local = launch.work.global_size, launch.work.local_size
    if local is not None and any(map(mod, sizes, local)):
        raise ValueError("a local size does not divide the global one")


def _named(function: Any) -> AskedFunction:
    if isinstance(function, NodeCall | MeasuredRatio):
        return function
    name = next((name for name, known in PURE.items() if known is function), None)
    if name is None:
        raise ValueError(f"{function} is not marked as pure")
    return PureFunction(name)
