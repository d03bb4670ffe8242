"""Traces as part of a blob: taken from a program, and given to it again when it is imported.

Sound digests do not prove who wrote a blob. So each trace is looked at before it is used: it is straight arithmetic on
what it names (`trace_syntax.py`), calls nothing but what clinfer marks as pure, and fits its node.
"""
from __future__ import annotations

import re
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain
from keyword import iskeyword

from clinfer.base.errors import ClinferError
from clinfer.network.plans.node_trace import ALWAYS, FixedWork, KernelOffset, NodeTrace, Packing, PureFunction
from clinfer.network.plans.open_nodes import open_nodes
from clinfer.network.plans.segment_nodes import NodeStep
from clinfer.network.plans.trace_syntax import refusal_of
from clinfer.program.program import Program
from clinfer.symbolic.shape_inference import ShapeInference
from clinfer.symbolic.symbols import PURE

_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_TOKEN = re.compile(r"[A-Za-z_]\w*|\d+(?:\.\d+)?(?:e[+-]?\d+)?(?!\w)|[<>=!]=|[-+*/%&|^~<>(),\[\] ]", re.ASCII)
"""Names, numbers and signs: nothing else makes up a trace."""
_LINE_NAME = re.compile(r"[rv]\d+", re.ASCII)
_MOST_ARGUMENT_BYTES = 1 << 16
_WORDS = {"not", "and", "len", "abs", "ceil", "floor", *ALWAYS}


@dataclass(frozen=True)
class SavedTraces:
    """Of a program: the traces of its nodes by index (of nodes that are alike once), those of bodies (by node), and
    those of what gives states their first values."""

    nodes: Mapping[int, tuple[NodeTrace, ...]]
    bodies: Mapping[int, tuple[SavedTraces, ...]]
    initial: SavedTraces | None = None


def take_traces(program: Program, shape_inference: ShapeInference) -> SavedTraces:
    """All traces of a program."""
    return _take(program, shape_inference, set())


def _take(program: Program, shape_inference: ShapeInference, seen: set[int]) -> SavedTraces:
    nodes = {}
    for step in chain.from_iterable(open_nodes(program, shape_inference).values()):
        traces = step.function.traces if step.function is not None else []
        if traces and id(traces) not in seen:
            seen.add(id(traces))
            nodes[step.index] = tuple(trace for trace in traces if not _refusal(trace, step))
    bodies = {index: tuple(_take(body, shape_inference, seen) for body in node.bodies)
              for index, node in enumerate(program.nodes) if node.bodies}
    initial = None if program.initial is None else _take(program.initial, shape_inference, seen)
    return SavedTraces(nodes, bodies, initial)


def give_traces(program: Program, saved: SavedTraces, shape_inference: ShapeInference) -> None:
    """Give a program that has none the traces that were taken from it. Errors: ClinferError for traces that are no
    arithmetic or do not fit."""
    steps = {step.index: step for step in chain.from_iterable(open_nodes(program, shape_inference).values())}
    for index, traces in saved.nodes.items():
        step = steps.get(index)
        if step is None or step.function is None or not step.function.is_traced:
            raise _unfit("it has no node that is traced", index)
        for trace in traces:
            why = _refusal(trace, step)
            if why:
                raise _unfit(why, index)
        if not step.function.traces:
            step.function.traces.extend(traces)
    for index, bodies in saved.bodies.items():
        own = program.nodes[index].bodies if 0 <= index < len(program.nodes) else ()
        if not own or len(own) != len(bodies):
            raise _unfit("a node has other bodies", index)
        for body, inner in zip(own, bodies, strict=True):
            give_traces(body, inner, shape_inference)
    if saved.initial is not None:
        if program.initial is None:
            raise _unfit("it has no states", -1)
        give_traces(program.initial, saved.initial, shape_inference)


def _unfit(why: str, node: int) -> ClinferError:
    return ClinferError("a trace of the compiled blob does not fit its program", where="compiled blob",
                        values={"node": node, "because": why},
                        hint="export the model again with this clinfer, or compile it from the model")


# -- one trace ----------------------------------------------------------------------------------------


def _refusal(trace: NodeTrace, step: NodeStep) -> str:
    """Why a trace is not used for a node; empty: it may be."""
    stages = len(step.function.kernels) if step.function is not None else 0
    if trace.arguments != len(step.given):
        return f"it takes {trace.arguments} numbers, and the node is given {len(step.given)}"
    for name, helper in trace.helpers.items():
        why = _refused_helper(name, helper, stages)
        if why:
            return f"{name!r:.40} {why}"
    return _refused_spelling(trace) or refusal_of(trace, len(step.results))


def _refused_helper(name: str, helper: object, stages: int) -> str:
    if not _NAME.fullmatch(name) or _LINE_NAME.fullmatch(name) or name in _WORDS or iskeyword(name):
        return "is no name of its own"
    if isinstance(helper, KernelOffset) and helper.place >= stages:
        return f"is kernel {helper.place} of {stages}"
    if isinstance(helper, PureFunction) and helper.name not in PURE:
        return "is no function that may be called"
    if isinstance(helper, Packing):
        return _refused_layout(helper.layout)
    if isinstance(helper, FixedWork) and not 1 <= len(helper.global_size) <= 3:
        return "has no work size"
    return ""


def _refused_layout(layout: str) -> str:
    if not set(layout) <= set("=0123456789siq"):
        return "packs something else than integers and bytes"
    try:
        nbytes = struct.calcsize(layout)
    except (struct.error, OverflowError) as error:
        return f"packs nothing: {error}"
    return f"packs {nbytes} bytes, more than a kernel takes" if nbytes > _MOST_ARGUMENT_BYTES else ""


def _refused_spelling(trace: NodeTrace) -> str:
    """Why the lines of a trace are not made up of names, numbers and signs alone; empty: they are."""
    for name, text in (*trace.steps, ("", trace.results)):
        if "".join(_TOKEN.findall(text)) != text:
            return f"{text!r:.60} is no arithmetic"
        if name and not _LINE_NAME.fullmatch(name):
            return f"{name!r:.40} is no name of a line"
    return ""
