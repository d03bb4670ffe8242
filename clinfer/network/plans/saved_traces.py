"""Traces as part of a blob: taken from a program, and given to it again when it is imported.

Sound digests do not prove who wrote a blob. So each trace is looked at before it is used: it is straight arithmetic
(`symbolic/tape.py`), asks nothing but what clinfer marks as pure or a rule of its node, and fits that.
"""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain

from clinfer.base.errors import ClinferError
from clinfer.network.plans.node_trace import PureFunction
from clinfer.network.plans.open_nodes import open_nodes
from clinfer.network.plans.segment_nodes import NodeStep
from clinfer.network.plans.tracer import NodeCall
from clinfer.program.program import Program
from clinfer.symbolic.symbols import PURE
from clinfer.symbolic.tape import Asked, Tape
from clinfer.symbolic.tape_refusal import refusal_of
from clinfer.tuning.database import MeasuredRatio

_MOST_ARGUMENT_BYTES = 1 << 16


@dataclass(frozen=True)
class SavedTraces:
    """Of a program: the traces of its nodes by index (of nodes that are alike once), those of bodies (by node), and
    those of what gives states their first values."""

    nodes: Mapping[int, tuple[Tape, ...]]
    bodies: Mapping[int, tuple[SavedTraces, ...]]
    initial: SavedTraces | None = None


def take_traces(program: Program) -> SavedTraces:
    """All traces of a program."""
    return _take(program, set())


def _take(program: Program, seen: set[int]) -> SavedTraces:
    nodes = {}
    for step in chain.from_iterable(open_nodes(program).values()):
        traces = step.form.traces if step.form is not None else []
        if traces and id(traces) not in seen:
            seen.add(id(traces))
            nodes[step.index] = tuple(trace for trace in traces if not _refusal(trace, step))
    bodies = {index: tuple(_take(body, seen) for body in node.bodies)
              for index, node in enumerate(program.nodes) if node.bodies}
    initial = None if program.initial is None else _take(program.initial, seen)
    return SavedTraces(nodes, bodies, initial)


def give_traces(program: Program, saved: SavedTraces) -> None:
    """Give a program that has none the traces that were taken from it. Errors: ClinferError for traces that are no
    arithmetic or do not fit."""
    steps = {step.index: step for step in chain.from_iterable(open_nodes(program).values())}
    for index, traces in saved.nodes.items():
        step = steps.get(index)
        if step is None or step.form is None or not step.form.is_traced:
            raise _unfit("it has no node that is traced", index)
        for trace in traces:
            why = _refusal(trace, step)
            if why:
                raise _unfit(why, index)
        if not step.form.traces:
            step.form.traces.extend(traces)
    for index, bodies in saved.bodies.items():
        own = program.nodes[index].bodies if 0 <= index < len(program.nodes) else ()
        if not own or len(own) != len(bodies):
            raise _unfit("a node has other bodies", index)
        for body, inner in zip(own, bodies, strict=True):
            give_traces(body, inner)
    if saved.initial is not None:
        if program.initial is None:
            raise _unfit("it has no states", -1)
        give_traces(program.initial, saved.initial)


def _unfit(why: str, node: int) -> ClinferError:
    return ClinferError("a trace of the compiled blob does not fit its program", where="compiled blob",
                        values={"node": node, "because": why},
                        hint="export the model again with this clinfer, or compile it from the model")


# -- one trace ----------------------------------------------------------------------------------------


def _refusal(trace: Tape, step: NodeStep) -> str:
    """Why a trace is not used for a node; empty: it may be."""
    stages = step.form.kernel_count if step.form is not None else 0
    if trace.arguments != len(step.given):
        return f"it takes {trace.arguments} numbers, and the node is given {len(step.given)}"
    why = next(filter(None, map(_refused_function, trace.asked)), "")
    return why or refusal_of(trace, len(step.results), stages, _MOST_ARGUMENT_BYTES)


def _refused_function(asked: Asked) -> str:
    function = asked.function
    if isinstance(function, NodeCall):
        return "" if asked.counts else "a rule gives no shapes"
    if asked.counts or not isinstance(function, PureFunction | MeasuredRatio):
        return "it asks something else than a function"
    if isinstance(function, MeasuredRatio) or function.name in PURE:
        return ""
    return f"{function.name!r:.40} is no function that may be called"
