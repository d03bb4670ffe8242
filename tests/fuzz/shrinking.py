"""Cutting a case down to what is needed for its finding."""
from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

from tests.fuzz.case import Case

StillFails = Callable[[Case], bool]


def shrink(case: Case, still_fails: StillFails, seconds: float = 60) -> Case:
    """A smaller case that still fails: fewer outputs, steps, settings, and static shapes.

    A step that goes leaves what it computed as inputs, so every part of a graph is a case of its own.
    """
    deadline = time.monotonic() + seconds

    def fails(candidate: Case) -> bool:
        return time.monotonic() < deadline and still_fails(candidate)
    for cut in (_one_output, _fewer_steps, _one_output, _fewer_settings, _fewer_steps, _static, _known_ranks):
        case = cut(case, fails)
    return case


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
