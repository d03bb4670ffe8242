"""Traces of a program's nodes, made before its first inference: for sizes that may well come (`samples.py`).

Traces hold for all sizes that decide as the sample does, above all whether a size is 1 and which kernel takes the least
time. Every node is planned for a few samples of the sizes that inputs leave open, in order, and what is traced is kept
with the program, for all its networks. Where the sizes of a sample contradict each other inside the model, or data
decides, what follows is planned for sizes estimated in the same way. At which sizes another kernel takes the least time
depends on the device; so segments are then planned, as for inferences, for many samples that lie evenly, and what no
trace holds for is traced: few nodes, since a plan by traces is made within a fraction of a millisecond. A program whose
nodes an earlier process traced takes what that kept (`kept_traces.py`).
"""
from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

from clinfer.base.shape import StaticShape
from clinfer.network.plans.kept_traces import kept_traces
from clinfer.network.plans.node_form import NodeForm
from clinfer.network.plans.node_function import UNTRACEABLE, NodeFunction
from clinfer.network.plans.node_planner import NodePlanner
from clinfer.network.plans.open_nodes import open_nodes, planner_of
from clinfer.network.plans.planner import Planner
from clinfer.network.plans.samples import (
    NONE_APART,
    SAMPLES,
    Sizes,
    estimated_shape,
    incoming_shapes,
    input_of_words,
    likely_plans,
    spread_samples,
)
from clinfer.network.plans.segment_nodes import NodeStep, size_name
from clinfer.program.program import Program, Segment, programs_within
from clinfer.symbolic.shape_inference import ShapeInference


def trace_ahead(program: Program, shape_inference: ShapeInference) -> None:
    """Make the traces of a program and of the bodies in it, or take those that an earlier process made."""
    described = {each: open_nodes(each) for each in programs_within(program)}
    kept = kept_traces(program, sum(map(len, chain.from_iterable(steps.values() for steps in described.values()))))
    if kept is not None and kept.give(program):
        return
    for each, steps in described.items():
        if steps:
            planner = planner_of(each, shape_inference)
            functions = _Functions(planner.nodes)
            for sizes in SAMPLES:
                _Walk(each, functions, sizes).through(steps)
            _trace_spread(each, planner)
    if kept is not None:
        kept.keep(program)


def _trace_spread(program: Program, planner: Planner) -> None:
    """Make the traces that plans for many samples lack; samples that the program does not tell apart are one."""
    words = input_of_words(program)
    seen: set[tuple[StaticShape, ...]] = set()
    for sizes, other in spread_samples():
        for apart in (NONE_APART,) if words is None else (NONE_APART, {words: other}):
            estimated = incoming_shapes(program, sizes, apart)
            key = tuple(estimated.values())
            if key not in seen:
                seen.add(key)
                for _ in likely_plans(program, planner, estimated):
                    planner.record_traces()


class _Functions:
    """What plans the nodes of a program, which traces what it gives. `_found`: what nodes that share their traces gave
    for the same numbers."""

    def __init__(self, planner: NodePlanner) -> None:
        self._planner = planner
        self._functions: dict[int, NodeFunction] = {}
        self._found: dict[tuple[int, tuple[Any, ...]], tuple[Any, ...]] = {}

    def given_by(self, form: NodeForm, given: tuple[Any, ...]) -> tuple[Any, ...]:
        """What a node gives for these numbers."""
        if not form.is_traced:
            return self._of(form).trace(given)
        key = id(form.traces), given
        if key not in self._found:
            self._found[key] = self._of(form).trace(given)
        return self._found[key]

    def _of(self, form: NodeForm) -> NodeFunction:
        found = self._functions.get(form.index)
        if found is None:
            found = self._functions[form.index] = NodeFunction(form, self._planner, deque(maxlen=0))
        return found


class _Walk:
    """One sample's way through a program. `_known`: sizes and elements by name, see `SegmentNodes`."""

    def __init__(self, program: Program, functions: _Functions, sizes: Sizes) -> None:
        self._program = program
        self._functions = functions
        self._sizes = sizes
        self._known: dict[str, Any] = {}

    def through(self, steps: Mapping[int, Sequence[NodeStep]]) -> None:
        """Trace the nodes of segments."""
        for number, nodes in steps.items():
            self._enter(self._program.segments[number])
            for step in nodes:
                self._trace(step)

    def _enter(self, segment: Segment) -> None:
        for tensor in segment.incoming:
            self._estimate(tensor)

    def _trace(self, step: NodeStep) -> None:
        known = self._known
        given = tuple([known[name] for name in step.given if name in known])
        if step.form is not None and len(given) == len(step.given):
            try:
                known.update(zip(step.results, self._functions.given_by(step.form, given), strict=True))
                return
            except UNTRACEABLE:
                # Estimated sizes need not fit together: an inference with such sizes would be refused before.
                pass
        for tensor in self._program.nodes[step.index].outputs:
            self._estimate(tensor)

    def _estimate(self, tensor: int) -> None:
        """Give sizes of a tensor that are not known yet those of the sample."""
        shape = self._program.tensors[tensor].layout.shape
        sizes = estimated_shape(self._program, tensor, self._sizes)
        for axis, (declared, size) in enumerate(zip(shape, sizes, strict=True)):
            if not isinstance(declared, int):
                self._known.setdefault(size_name(tensor, axis), size)
