"""Traces of a program's nodes, made before its first inference: for sizes that may well come.

Every node is planned for samples of the sizes that inputs leave open, in order, and what is traced is kept with the
program, for all its networks. Traces hold for all sizes that decide as the sample does, above all whether a size is 1
and which kernel takes the least time; so there are samples with a first axis (a batch) of several and then of 1, where
most of these traces hold, and with small and large other axes. The last few were chosen so that of a hundred random
sizes of each model in `bench/first_shapes.py` every node has a trace. Where the sizes of a sample contradict each other
inside the model, or data decides, what follows is planned for sizes estimated in the same way. They are not the samples
of `program/format_choice.py`: those are the ends at which other kernels win, these lie between, where one trace holds.
"""
from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from clinfer.base.shape import Shape, StaticShape
from clinfer.network.plans.node_form import NodeForm
from clinfer.network.plans.node_function import UNTRACEABLE, NodeFunction
from clinfer.network.plans.node_planner import NodePlanner
from clinfer.network.plans.open_nodes import open_nodes, planner_of
from clinfer.network.plans.segment_nodes import NodeStep, size_name
from clinfer.program.program import Program, Segment
from clinfer.symbolic.shape_inference import ShapeInference


@dataclass(frozen=True)
class Sizes:
    """A sample: the size of a first axis, of further ones of small ranks (words), and of those of large ranks
    (pictures)."""

    first: int
    words: int
    pictures: tuple[int, ...]

    def is_of_words(self, shape: Shape) -> bool:
        """Whether a shape is one of small rank."""
        return len(shape) <= len(self.pictures)

    def of(self, shape: Shape) -> tuple[int, ...]:
        """The sizes of a shape: those that are open, within their bounds, from the sample."""
        others = (self.words,) if self.is_of_words(shape) else self.pictures
        wanted = (self.first, *others, *(others[-1],) * len(shape))
        return tuple(size if isinstance(size, int) else max(size.low, min(size.high, want))
                     for size, want in zip(shape, wanted, strict=False))


SMALL, MIDDLE, LARGE = (5, (32, 48, 96)), (40, (96, 160, 224)), (250, (320, 480, 640))
SAMPLES = tuple(Sizes(first, *others) for first, others in (
    (3, LARGE), (1, LARGE), (2, SMALL), (1, SMALL), (2, MIDDLE), (1, MIDDLE),
    (4, (1, (128, 128, 64))), (1, (2, (48, 288, 128))), (3, (7, (48, 32, 56))), (1, (1, (64, 128, 128)))))
STEPS = tuple(Sizes(first, words, MIDDLE[1]) for first, words in ((2, 1), (2, 2), (1, 3), (1, 12)))
"""Further ones of words. One or two are what decoders have at a time, beside the keys and values of many."""
FIRST_WORDS = tuple((Sizes(first, *MIDDLE), Sizes(first, 1, MIDDLE[1])) for first in (4, 2, 1))
"""Of many words beside one in the last input of words, as a decoder begins with it beside what an encoder reads."""


def estimated_shape(program: Program, tensor: int, sizes: Sizes) -> StaticShape:
    """The shape of a tensor for a sample, as far as the model leaves it open; tables of states are empty."""
    if any(state.table and program.input_tensors[state.table] == tensor for state in program.states):
        return 0, sizes.first
    state = next((state for state in program.states if program.input_tensors[state.input] == tensor), None)
    return sizes.of(program.tensors[tensor].layout.shape) if state is None else state.stored(sizes.of(state.shape))


def trace_ahead(program: Program, shape_inference: ShapeInference) -> None:
    """Make the traces of a program and of the bodies in it."""
    for node in program.nodes:
        for body in node.bodies:
            trace_ahead(body, shape_inference)
    if program.initial is not None:
        trace_ahead(program.initial, shape_inference)
    steps = open_nodes(program)
    if steps:
        functions = _Functions(planner_of(program, shape_inference))
        for walk in _walks(program, functions):
            walk.through(steps)


def _walks(program: Program, functions: _Functions) -> Iterator[_Walk]:
    """Walks with the samples that may well come: few words only where inputs are of words."""
    layouts = {tensor: program.tensors[tensor].layout for tensor in program.input_tensors.values()}
    words = [tensor for tensor, layout in layouts.items()
             if not layout.is_static and SAMPLES[0].is_of_words(layout.shape)]
    for sizes in (*SAMPLES, *STEPS) if words else SAMPLES:
        yield _Walk(program, functions, sizes, {})
    if len(words) > 1:
        for many, one in FIRST_WORDS:
            yield _Walk(program, functions, many, {words[-1]: one})


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

    def __init__(self, program: Program, functions: _Functions, sizes: Sizes, apart: Mapping[int, Sizes]) -> None:
        """`apart`: tensors that have the sizes of another sample."""
        self._program = program
        self._functions = functions
        self._sizes = sizes
        self._apart = apart
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
        sizes = estimated_shape(self._program, tensor, self._apart.get(tensor, self._sizes))
        for axis, (declared, size) in enumerate(zip(shape, sizes, strict=True)):
            if not isinstance(declared, int):
                self._known.setdefault(size_name(tensor, axis), size)
