"""Cutting a case down to what is needed for its finding."""
from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from tests.fuzz.case import Case, Record
from tests.fuzz.draft import evaluate
from tests.fuzz.graph import Ref, Step
from tests.oracle import ov

StillFails = Callable[[Case], bool]


def shrink(case: Case, still_fails: StillFails, seconds: float = 60) -> Case:
    """A smaller case that still fails: fewer outputs, steps, settings, and static shapes.

    A step that goes leaves what it computed as inputs, so every part of a graph is a case of its own.
    """
    deadline = time.monotonic() + seconds

    def fails(candidate: Case) -> bool:
        return time.monotonic() < deadline and still_fails(candidate)
    cuts = (_one_output, _fewer_steps, _one_output, _fewer_settings, _without_branches, _fewer_steps, _static,
            _known_ranks)
    for cut in cuts:
        case = cut(case, fails)
    return case


def _without_branches(case: Case, fails: StillFails) -> Case:
    """With the steps of the branch that is taken in the place of an If."""
    for step in case.graph.steps:
        if step.op == "If" and case.settings == 1:
            candidate = inlined(case, step)
            if fails(candidate):
                return _without_branches(candidate, fails)
    return case


def inlined(case: Case, chosen: Step) -> Case:
    """A case of one setting in which an If is replaced by the steps of the branch that is taken."""
    decision = chosen.operands[0]
    value = case.tensors[decision].values[0] if isinstance(decision, Ref) else decision
    body = chosen.bodies[0 if value.reshape(-1)[0] else 1]
    given = {Ref(i.name): o for i, o in zip(body.inputs, chosen.operands[1:], strict=True)}
    tensors = dict(case.tensors)
    steps: list[Step] = []
    for step in body.steps:
        made = replace(step, operands=tuple(given.get(o, o) if isinstance(o, Ref) else o for o in step.operands))
        read = {ref: tensors[ref] for ref in made.refs}
        values = evaluate(made, {ref: r.values[0] for ref, r in read.items()}, {ref: r.type for ref, r in read.items()})
        for port, value in enumerate(values):
            kind = "boolean" if value.dtype == np.bool_ else ov.Type(value.dtype).get_type_name()
            tensors[Ref(made.name, port)] = Record(kind, (-1,) * value.ndim, (value,))
        steps.append(made)
    renamed = {Ref(chosen.name, n): given.get(ref, ref) for n, ref in enumerate(body.outputs)}
    after = [replace(step, operands=tuple(renamed.get(o, o) if isinstance(o, Ref) else o for o in step.operands))
             for step in case.graph.steps]
    at = next(n for n, step in enumerate(after) if step.name == chosen.name)
    outputs = tuple(renamed.get(ref, ref) for ref in case.graph.outputs)
    return replace(case, tensors=tensors, graph=replace(
        case.graph, steps=(*after[:at], *steps, *after[at + 1:]), outputs=outputs))


def _one_output(case: Case, fails: StillFails) -> Case:
    if len(case.graph.outputs) > 1:
        for ref in case.graph.outputs:
            candidate = case.only_steps([step.name for step in case.graph.steps], [ref])
            if candidate and fails(candidate):
                return candidate
    return case


def _fewer_steps(case: Case, fails: StillFails) -> Case:
    """Without halves of the steps, then quarters, down to single ones, the last ones first."""
    size = (len(case.graph.steps) + 1) // 2
    while size:
        end = len(case.graph.steps)
        while end > 0:
            names = [step.name for step in case.graph.steps]
            kept = {*names[:max(end - size, 0)], *names[end:]}
            gone = set(names) - kept
            outputs = [ref for ref in case.graph.outputs if ref.name not in gone]
            for candidate in (case.only_steps(kept, outputs), case.only_steps(kept)):
                if candidate is not None and fails(candidate):
                    case = candidate
                    break
            end -= size
        size //= 2
    return case


def _fewer_settings(case: Case, fails: StillFails) -> Case:
    for setting in range(case.settings):
        candidate = case.only_settings([setting])
        if fails(candidate):
            return candidate
    setting = 0
    while case.settings > 1 and setting < case.settings:
        candidate = case.only_settings([s for s in range(case.settings) if s != setting])
        if fails(candidate):
            case = candidate
        else:
            setting += 1
    return case


def _static(case: Case, fails: StillFails) -> Case:
    if case.settings == 1 and fails(case.declared(0)):
        return case.declared(0)
    return case


def _known_ranks(case: Case, fails: StillFails) -> Case:
    """Sizes that are open rather than bounded or ranks that are unknown."""
    inputs = tuple(replace(i, dims=tuple(
        (d if isinstance(d, int) else -1) for d in (i.dims if i.dims is not None else (-1,) * rank)))
        for i, rank in zip(case.graph.inputs, [a.ndim for a in case.feed(0)], strict=True))
    candidate = replace(case, graph=replace(case.graph, inputs=inputs))
    return candidate if inputs != case.graph.inputs and fails(candidate) else case
