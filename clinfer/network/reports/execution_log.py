"""Notes of what an execution did besides repeating the one before, and the record that is told from them.

A note is taken where a plan is made, another plan is prepared, or memory grows: never where a plan is repeated.
It only refers to plans; all else is worked out when somebody asks.
"""
from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from clinfer.base.knobs import debug_level
from clinfer.base.shape import StaticShape, is_static
from clinfer.base.tracing import log
from clinfer.kernels.implementation import Implementation
from clinfer.network.plans.plan import Launch, Plan, PlanKey
from clinfer.network.plans.plan_cache import SegmentKey
from clinfer.network.reports.profiling import profiled_name
from clinfer.network.reports.record import (
    NOTHING,
    ExecutionRecord,
    Growth,
    MemoryUse,
    NodeRecord,
    PlanReason,
    SegmentRecord,
    ShapeUpdate,
)
from clinfer.program.program import Program, ProgramNode

MOST_NOTES = 1000
"""Of one execution; only loops whose runs all differ need more."""


@dataclass(frozen=True, eq=False)
class Site:
    """A network in which notes are taken: `within` is the path of its body, empty for the outermost. `nodes`,
    `implementations`: of its kernels, by number."""

    program: Program
    nodes: Sequence[int]
    implementations: Sequence[Implementation]
    within: str = ""

    def below(self, path: str) -> str:
        """The path of a body of this network."""
        return f"{self.within}/{path}" if self.within else path


class Note(NamedTuple):
    """One run of a segment. `made`: whether its plan was made for it, `evicted`: once more. `before`: what the
    segment ran before. `read`: the tensors that the host read first. `external`: outputs in the caller's memory."""

    site: Site
    key: SegmentKey
    plan: Plan
    made: bool
    evicted: bool
    before: tuple[PlanKey, Plan] | None
    grown: tuple[Growth, ...]
    read: tuple[int, ...]
    external: frozenset[int]


class ExecutionLog:
    """The notes of one execution, bodies included."""

    def __init__(self) -> None:
        self.notes: list[Note] = []
        self._left_out = 0
        self._is_worth_telling = False

    def clear(self) -> None:
        """Forget the execution before."""
        self.notes, self._left_out, self._is_worth_telling = [], 0, False

    def add(self, note: Note) -> None:
        """Keep a note, unless there are too many."""
        if note.made or note.grown:
            self._is_worth_telling = True
        if len(self.notes) < MOST_NOTES:
            self.notes.append(note)
        else:
            self._left_out += 1

    def page(self) -> Page:
        """What there is at present."""
        return Page(tuple(self.notes), self._left_out) if self._is_worth_telling else EMPTY_PAGE


@dataclass(frozen=True, eq=False)
class Within:
    """Where a body's network notes what it does: in the execution log of the outermost network, under the body's
    path."""

    execution_log: ExecutionLog
    path: str


@dataclass(frozen=True, eq=False)
class Page:
    """The notes of an execution, from which its record can be told at any time."""

    notes: tuple[Note, ...] = ()
    left_out: int = 0

    def tell(self) -> ExecutionRecord:
        """The record."""
        if not self.notes:
            return NOTHING
        return ExecutionRecord(tuple(_Teller(note).segment() for note in self.notes), self.left_out)


EMPTY_PAGE = Page()


def log_record(page: Page) -> None:
    """Print what an execution did: a line per segment on rung 1 of the ladder, one per primitive on rung 3."""
    if debug_level() < 1:
        return
    for segment in page.tell().segments:
        log(1, str(segment))
        for node in segment.nodes:
            log(3, str(node))


class _Side:
    """The shapes and host values of one run of a segment."""

    def __init__(self, program: Program, segment: int, key: PlanKey, plan: Plan) -> None:
        incoming = program.segments[segment]
        self._program = program
        self._shapes = {**dict(zip(incoming.incoming, key[0], strict=True)), **plan.shapes}
        self._values: dict[int, bytes | np.ndarray] = {
            **dict(zip(incoming.values, key[1], strict=True)), **plan.values}

    def shape(self, tensor: int) -> StaticShape:
        found = self._shapes.get(tensor)
        return self._program.tensors[tensor].layout.static_shape if found is None else found

    def has_value_of(self, other: _Side, tensor: int) -> bool:
        one, two = self._values[tensor], other._values[tensor]
        if isinstance(one, np.ndarray) and isinstance(two, np.ndarray):
            return np.array_equal(one, two)
        return bool(one == two)


class _Teller:
    """Tells one note."""

    def __init__(self, note: Note) -> None:
        self._note = note
        self._program = program = note.site.program
        self._segment, self._key = note.key
        self._now = _Side(program, self._segment, self._key, note.plan)
        self._before = _Side(program, self._segment, *note.before) if note.before is not None else None
        self._grown = {(growth.kind, growth.number) for growth in note.grown}
        self._planned = frozenset(note.plan.planned)
        self._launched: dict[int, list[Implementation]] = {}
        for step in note.plan.steps:
            if isinstance(step, Launch):
                self._launched.setdefault(note.site.nodes[step.kernel], []).append(
                    note.site.implementations[step.kernel])

    def segment(self) -> SegmentRecord:
        note = self._note
        nodes = tuple(self._node(index, self._program.nodes[index])
                      for index in self._program.segments[self._segment].nodes)
        return SegmentRecord(note.site.within, self._segment, self._reason(), self._producers(note.read),
                             note.grown, nodes)

    def _reason(self) -> PlanReason | Literal[""]:
        note = self._note
        if not note.made:
            return ""
        if note.evicted:
            return "evicted"
        if not note.plan.is_kept:
            return "continued"
        same_shapes = note.before is not None and note.before[0][0] == self._key[0]
        return "other values" if same_shapes and self._key[1] else "first sight"

    def _node(self, index: int, node: ProgramNode) -> NodeRecord:
        shapes = tuple(i for i, t in enumerate(node.inputs) if self._is_new_shape(t))
        values = tuple(i for i in node.read_on_host if self._is_new_value(node.inputs[i]))
        launched = self._launched.get(index, [])
        chosen = launched[0] if launched else None
        name = profiled_name(node)
        return NodeRecord(
            f"{self._note.site.within}/{name}" if self._note.site.within else name, type(node.primitive).__name__,
            node.primitive.origin, shapes, values, self._shape_update(index, node, bool(shapes or values)),
            chosen.name if chosen else "", _form(node, chosen) if chosen else "", self._memory(node),
            self._producers(tuple(node.inputs[i] for i in node.read_on_host)), len(launched),
            len(self._note.plan.left_out(node)))

    def _is_new_shape(self, tensor: int) -> bool:
        if tensor in self._program.constants:
            return False
        return self._before is None or self._before.shape(tensor) != self._now.shape(tensor)

    def _is_new_value(self, tensor: int) -> bool:
        if tensor in self._program.constants:
            return False
        return self._before is None or not self._now.has_value_of(self._before, tensor)

    def _shape_update(self, index: int, node: ProgramNode, is_changed: bool) -> ShapeUpdate:
        if node.primitive.data_dependent_output:
            return "after the run"
        if node.kind != "host" and all(is_static(self._program.tensors[t].layout.shape) for t in node.outputs):
            return "static output"
        if not is_changed:
            if node.kind != "host":
                return "not changed"
            return "shape_of not changed" if node.primitive.reads_shapes_only else "shape_of subgraph not changed"
        if not self._note.made:
            return "known"
        return "inferred" if index in self._planned else "traced"

    def _memory(self, node: ProgramNode) -> MemoryUse:
        outputs = [self._program.tensors[t] for t in node.outputs]
        if node.kind == "view" or node.kind == "call":
            return node.kind
        if any(tensor.storage == "body" for tensor in outputs):
            return "body"
        if any(tensor.root in self._note.external for tensor in outputs):
            return "external"
        if {tensor.root for tensor in outputs} <= {place.moved for place in self._note.plan.aliases}:
            return "within another"
        places = {("slot", t.slot) for t in outputs}
        places |= {("slot", slot) for slot in node.scratch_slots}
        if places & self._grown:
            return "grown"
        return "host" if all(tensor.storage == "host" for tensor in outputs) else "reused"

    def _producers(self, tensors: Iterable[int]) -> tuple[str, ...]:
        """The primitives that made those of the tensors that the host read from the device."""
        read = {self._program.tensors[t].port.primitive: None for t in tensors if t in self._note.read}
        return tuple(read)


def _form(node: ProgramNode, implementation: Implementation) -> Literal["static", "agnostic", "specialised"]:
    if all(implementation is not own for own in node.implementations):
        return "specialised"
    problem = implementation.problem
    return "static" if all(is_static(x.shape) for x in (*problem.inputs, *problem.outputs)) else "agnostic"
