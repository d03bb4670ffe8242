"""Makes plans of segments: by the functions of nodes where shapes change, else node by node."""
from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from clinfer.base.errors import ClinferError
from clinfer.base.shape import StaticShape
from clinfer.network.memory.slot_bytes import SlotBytes
from clinfer.network.plans.node_function import WantedTrace
from clinfer.network.plans.node_planner import UNPLANNABLE, FindLarge, NodePlan, NodePlanner
from clinfer.network.plans.plan import CallHost, Plan, Step, TensorAlias, Upload, fetches, launch_of, run_body
from clinfer.network.plans.segment_planner import SegmentPlanner
from clinfer.program.program import Program, ProgramNode
from clinfer.runtime.stream import Stream
from clinfer.symbolic.shape_inference import ShapeInference, Values

RECORDING_S = 0.0005
"""Seconds of an execution behind which no further half of a trace is begun; one takes half a millisecond."""
MANY_WANTED = 8
_MOST_WANTED = 512
"""Traces that wait to be made; of more, the oldest are forgotten until they are wanted again."""


class Planner:
    """Plans segments of one program; belongs to one network, because shape rules are not shareable.

    A segment whose shapes change has a planner of its own (`segment_planner.py`); the only plan of any other is made
    node by node. Where a node has no trace that holds, it is planned by itself, and a trace is made when
    `record_traces` is called.
    """

    def __init__(self, program: Program, stream: Stream, shape_inference: ShapeInference,
                 kernel_index: Mapping[tuple[int, int, int], int], find_large: FindLarge,
                 observe: Callable[[int, int], None] | None = None, parametric: bool = True) -> None:
        """`observe` is told (node, nanoseconds) of the planning of each node, in equal shares where all are planned at
        once. Without `parametric` every plan is made node by node."""
        self._program = program
        self._stream = stream
        self.nodes = NodePlanner(program, shape_inference, kernel_index, find_large)
        self._observe = observe
        self._open = frozenset(open_segments(program) if parametric else ())
        """The segments that are planned by functions."""
        self._segments: dict[int, SegmentPlanner] = {}
        self._wanted: deque[WantedTrace] = deque(maxlen=_MOST_WANTED)

    def plan(self, segment: int, shapes: Mapping[int, StaticShape], values: Mapping[int, np.ndarray]) -> Plan:
        """The plan of a segment for the shapes and values of what comes in."""
        self.nodes.take_planned()
        if segment in self._open:
            plan = self._plan_by_functions(segment, shapes, values)
        else:
            plan = self.plan_by_nodes(segment, shapes, values)
        planned = self.nodes.take_planned()
        return replace(plan, planned=planned, is_kept=True) if planned else plan

    def segment(self, number: int) -> SegmentPlanner:
        """The planner of a segment; it is made when it is first asked for."""
        found = self._segments.get(number)
        if found is None:
            found = self._segments[number] = SegmentPlanner(self._program, number, self.nodes, self._constant,
                                                            self._wanted)
        return found

    def prepare(self) -> None:
        """Have the planners of all segments whose shapes change."""
        for number in sorted(self._open):
            self.segment(number)

    def forget_plans(self) -> None:
        """Forget what the plans made last were made of, whose kernels may be gone."""
        self._wanted.clear()
        for segment in self._segments.values():
            segment.forget()

    def record_some_traces(self, has_planned: bool) -> None:
        """Behind an execution, make some of the traces that plans lacked. One that `has_planned` took long enough; it
        does so only if many are wanted, as where no other executions come."""
        if not has_planned or len(self._wanted) >= MANY_WANTED:
            self.record_traces(RECORDING_S)

    def record_traces(self, seconds: float = math.inf) -> None:
        """Make the traces that plans lacked, by halves, until none is wanted or the time is over."""
        start = time.perf_counter()
        while self._wanted:
            rest = self._wanted.popleft().half_traced()
            if rest is not None:
                self._wanted.appendleft(rest)
            if time.perf_counter() - start >= seconds:
                break

    def _plan_by_functions(self, segment: int, shapes: Mapping[int, StaticShape],
                           values: Mapping[int, np.ndarray]) -> Plan:
        planner = self.segment(segment)
        start = time.perf_counter_ns()
        try:
            plan = planner.plan(shapes, values)
        except (*UNPLANNABLE, MemoryError, NameError) as error:
            raise ClinferError("a trace gives no plan", where=f"segment {segment}",
                               values={"because": f"{type(error).__name__}: {error}"},
                               hint="compile the model instead of importing it; without a blob, this is a defect of "
                                    "clinfer") from error
        if self._observe is not None:
            nodes = self._program.segments[segment].nodes
            share = (time.perf_counter_ns() - start) // max(len(nodes), 1)
            for index in nodes:
                self._observe(index, share)
        return plan

    def plan_by_nodes(self, segment: int, shapes: Mapping[int, StaticShape],
                      values: Mapping[int, np.ndarray]) -> Plan:
        """The same plan, made node by node."""
        draft = _Draft(self._program, shapes, values)
        for index in self._program.segments[segment].nodes:
            node = self._program.nodes[index]
            start = time.perf_counter_ns()
            known = self._values(draft, node)
            if node.kind == "body":
                draft.steps.append(run_body(index, node.primitive, known))
            elif node.kind == "call":
                draft.steps.append(CallHost(index))
            if not node.primitive.data_dependent_output:
                draft.add(node, self.nodes.plan(index, tuple(map(draft.shape, node.inputs)), known))
            draft.steps += fetches(self._program.segments[segment], node)
            if self._observe is not None:
                self._observe(index, time.perf_counter_ns() - start)
        return draft.finish()

    def scratch_bytes(self, index: int, shapes: Mapping[int, StaticShape],
                      values: Mapping[int, np.ndarray]) -> tuple[int, ...]:
        """The bytes of the scratch buffers of a node, for the shapes and host values of a finished execution."""
        draft = _Draft(self._program, shapes, values)
        node = self._program.nodes[index]
        return self.nodes.plan(index, tuple(map(draft.shape, node.inputs)), self._values(draft, node)).scratch_bytes

    def _values(self, draft: _Draft, node: ProgramNode) -> Values:
        return {i: self._value(draft, node.inputs[i]) for i in node.read_on_host}

    def _value(self, draft: _Draft, tensor: int) -> np.ndarray:
        constant = self._constant(tensor)
        return draft.values[tensor] if constant is None else constant

    def _constant(self, tensor: int) -> np.ndarray | None:
        return host_constant(self._program, self._stream, tensor)


def is_open(program: Program, segment: int) -> bool:
    """Whether a segment may have more than one plan."""
    described = program.segments[segment]
    return bool(described.values) or any(not program.tensors[t].layout.is_static for t in described.incoming)


def open_segments(program: Program) -> list[int]:
    """The segments that may have more than one plan."""
    return [number for number in range(len(program.segments)) if is_open(program, number)]


def host_constant(program: Program, stream: Stream, tensor: int) -> np.ndarray | None:
    """The value of a tensor that is a constant."""
    constant = program.constants.get(tensor)
    return None if constant is None else constant.on_host(stream)


class _Draft:
    """A plan in the making."""

    def __init__(self, program: Program, shapes: Mapping[int, StaticShape],
                 values: Mapping[int, np.ndarray]) -> None:
        self._program = program
        self.shapes = dict(shapes)
        self.values = dict(values)
        self.steps: list[Step] = []
        self._given = (set(shapes), set(values))
        self._slots: dict[int, int] = {}
        self._outputs: dict[int, int] = {}
        self._aliases: dict[int, TensorAlias] = {}
        self._roots: dict[int, int] = {}

    def shape(self, tensor: int) -> StaticShape:
        """The shape of a tensor (constants have one from the start)."""
        shape = self.shapes.get(tensor)
        return self._program.tensors[tensor].layout.static_shape if shape is None else shape

    def add(self, node: ProgramNode, plan: NodePlan) -> None:
        """Take over the plan of one node."""
        for tensor, shape, nbytes in zip(node.outputs, plan.shapes, plan.nbytes, strict=True):
            root = self._program.tensors[tensor].root
            self.shapes[tensor] = shape
            self._roots[root] = max(nbytes, self._roots.get(root, 0))
        for aliased, offset in zip(node.aliases, plan.offsets, strict=False):
            if offset >= 0:
                self._aliases[aliased.moved] = TensorAlias(aliased.moved, aliased.within, offset)
        for slot, nbytes in zip(node.scratch_slots, plan.scratch_bytes, strict=False):
            self._need_slot(slot, nbytes)
        for tensor, value in zip(node.outputs, plan.values, strict=False):
            self.values[tensor] = value
            if self._program.tensors[tensor].storage != "host":
                layout = self._program.tensors[tensor].layout.with_shape(self.shapes[tensor])
                self.steps.append(Upload(tensor, layout.pack(value)))
        self.steps += [launch_of(kernel, launch) for kernel, launch in plan.launches]

    def _need_slot(self, slot: int, nbytes: int) -> None:
        self._slots[slot] = max(nbytes, self._slots.get(slot, 0))

    def finish(self) -> Plan:
        """The plan."""
        holders = {place.within for place in self._aliases.values()}
        for root, nbytes in self._roots.items():
            described = self._program.tensors[self._program.long_homes.get(root, root) if root in holders else root]
            if described.storage == "slot" and root not in self._aliases:
                self._need_slot(described.slot, nbytes)
            elif described.storage == "output":
                self._outputs[root] = nbytes
        known_shapes, known_values = self._given
        return Plan(tuple(self.steps), {t: s for t, s in self.shapes.items() if t not in known_shapes},
                    {t: v for t, v in self.values.items() if t not in known_values},
                    SlotBytes.of(self._slots), self._outputs,
                    aliases=tuple(self._aliases.values()))
