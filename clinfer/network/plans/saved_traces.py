"""Traces as part of a blob: taken from a program, and given to it again when it is imported.

Sound digests do not prove who wrote a blob. So the text of each trace is looked at before it is used: it is straight
arithmetic on what it names, calls nothing but what clinfer marks as pure, and fits its node.
"""
from __future__ import annotations

import ast
import re
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain
from keyword import iskeyword

from clinfer.base.errors import ClinferError
from clinfer.network.plans.node_trace import ALWAYS, FixedWork, KernelOffset, NodeTrace, Packing, PureFunction, code_of
from clinfer.network.plans.open_nodes import open_nodes
from clinfer.network.plans.segment_nodes import NodeStep
from clinfer.program.program import Program
from clinfer.symbolic.shape_inference import ShapeInference
from clinfer.symbolic.symbols import PURE

_NAME = re.compile(r"[A-Za-z_]\w*")
_TOKEN = re.compile(r"[A-Za-z_]\w*|\d+(?:\.\d+)?(?:e[+-]?\d+)?|//|>>|[<>=!]=|[-+*/%&|^~<>(),\[\] ]")
"""Names, numbers and signs: nothing else makes up a trace."""
_NUMBER = re.compile(r"\b\d[\w.]*")
_LINE_NAME = re.compile(r"[rv]\d+")
_MOST_ARGUMENT_BYTES = 1 << 16
_WORDS = {"not", "and", "len", "abs", "ceil", "floor", "work_size", "new", "Launch"}


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
    return _refused_text(trace) or _refused_results(trace, len(step.results))


def _refused_helper(name: str, helper: object, stages: int) -> str:
    if not _NAME.fullmatch(name) or _LINE_NAME.fullmatch(name) or name in ALWAYS or name in _WORDS or iskeyword(name):
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


def _refused_text(trace: NodeTrace) -> str:
    """Why the lines of a trace are not straight arithmetic on what it names; empty: they are."""
    known = {*_WORDS, *trace.helpers, "None", *(f"a{number}" for number in range(trace.arguments))}
    for name, text in (*trace.steps, ("", trace.results)):
        if "".join(_TOKEN.findall(text)) != text or "**" in text:
            return f"{text!r:.60} is no arithmetic"
        unknown = {*_NAME.findall(_NUMBER.sub("", text))} - known
        if unknown:
            return f"{min(unknown)!r:.40} is not known"
        if name:
            if not _LINE_NAME.fullmatch(name):
                return f"{name!r:.40} is no name of a line"
            known.add(name)
    return ""


def _refused_results(trace: NodeTrace, count: int) -> str:
    """Why a trace is no function that gives so many numbers and the launches; empty: it is."""
    try:
        results = ast.parse(trace.results, mode="eval").body
        code_of(trace.code[0])
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return f"its text makes no sense: {error}"
    if not isinstance(results, ast.Tuple) or len(results.elts) != count + 1:
        return f"it does not give {count} numbers and the launches"
    launches = results.elts[-1]
    if not isinstance(launches, ast.Tuple) or not all(_is_launch(each, trace) for each in launches.elts):
        return "its last result is no row of launches"
    return ""


def _is_launch(item: ast.expr, trace: NodeTrace) -> bool:
    """Whether an expression is `new(Launch, (kernel, block, work))`."""
    if not (_called(item) == "new" and isinstance(item, ast.Call) and len(item.args) == 2):
        return False
    kind, parts = item.args
    if not (isinstance(kind, ast.Name) and kind.id == "Launch" and isinstance(parts, ast.Tuple)
            and len(parts.elts) == 3):
        return False
    kernel, block, work = parts.elts
    return (isinstance(_helper(kernel, trace), KernelOffset)
            and (isinstance(_helper(block, trace), bytes) or isinstance(trace.helpers.get(_called(block)), Packing))
            and (isinstance(_helper(work, trace), FixedWork) or _called(work) == "work_size"))


def _called(item: ast.expr) -> str:
    return item.func.id if isinstance(item, ast.Call) and isinstance(item.func, ast.Name) else ""


def _helper(item: ast.expr, trace: NodeTrace) -> object:
    return trace.helpers.get(item.id) if isinstance(item, ast.Name) else None
