"""Plans a segment whose shapes change: what differs from the time before is worked out, all else is kept.

The numbers that come in and those that nodes give stand in one list. Where something else comes in, the nodes are gone
through in order, and the function of each is called if what it is given changed. A length that grows by one is thus
little more work than there are nodes that depend on it.
"""
from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from operator import attrgetter

from clinfer.base.shape import StaticShape
from clinfer.network.plans.course import Course
from clinfer.network.plans.memory_needs import needs_of
from clinfer.network.plans.node_function import WantedTrace
from clinfer.network.plans.node_planner import NodePlanner
from clinfer.network.plans.numbers import Names, Numbers
from clinfer.network.plans.plan import Plan
from clinfer.network.plans.planned_node import Alike, Constant, PlannedNode
from clinfer.network.plans.present import Present
from clinfer.network.plans.segment_nodes import describe_nodes
from clinfer.program.program import Program
from clinfer.symbolic.shape_inference import Values

_has_kernels, _has_aliases = attrgetter("has_kernels"), attrgetter("has_aliases")
SMALL_SHARE = 2
"""A plan in which fewer than one node of that many, or one with kernels, differ from the plan before is quickly made
again."""


class SegmentPlanner:
    """Plans one segment; belongs to one planner. Nothing that it holds refers back to it: a cycle would keep device
    memory until the garbage collector runs."""

    def __init__(self, program: Program, segment: int, planner: NodePlanner, constant: Constant,
                 wanted: deque[WantedTrace]) -> None:
        """`constant` gives the value of a tensor that is one, `wanted` takes what makes traces that are missing."""
        self.described = described = describe_nodes(program, segment, planner, constant, wanted)
        self._numbers = numbers = Numbers()
        incoming = program.segments[segment]
        self._sizes = [(tensor, tuple((axis, numbers.place(name)) for axis, name in enumerate(described.sizes[tensor])
                                      if isinstance(name, str))) for tensor in incoming.incoming]
        self._values = [(tensor, _value_places(described.values[tensor], numbers)) for tensor in incoming.values]
        alike: dict[int, Alike] = {}
        self._nodes = [PlannedNode(program, segment, step, described, numbers, constant, alike)
                       for step in described.steps]
        for node in self._nodes:
            if node.alike is not None and node.alike.count == 1:
                node.alike = None
        self._with_kernels = sum(map(_has_kernels, self._nodes))
        planned = [step.index for step in described.steps if step.function is not None]
        self._needs = needs_of(program, planned, numbers.place)
        self._aliases = [(aliased.moved, aliased.within, numbers.place(f"o{aliased.moved}"))
                         for step in described.steps for aliased in program.nodes[step.index].aliases]
        self.forget()

    def forget(self) -> None:
        """Forget what nodes gave last."""
        self._is_whole = False
        self._present = Present(self._numbers, self._needs, self._aliases, self._nodes)
        self._course: Course | None = None
        self._changed: list[int] = []
        for node in self._nodes:
            node.given = None

    def plan(self, shapes: Mapping[int, StaticShape], values: Values) -> Plan:
        """The plan for the shapes and values of what comes in."""
        was_whole, self._is_whole = self._is_whole, False
        if not was_whole:
            self.forget()
        plan = self._on_course(shapes) or self._planned(shapes, values)
        self._is_whole = True
        return plan

    def _on_course(self, shapes: Mapping[int, StaticShape]) -> Plan | None:
        """The plan if it continues the one before as that did."""
        if self._course is None:
            return None
        numbers, before = self._numbers, self._numbers.copy()
        if self._course.follow(shapes):
            return self._present.plan(self._course.has_moved, is_kept=False)
        numbers[:] = before
        self._course = None
        return None

    def _planned(self, shapes: Mapping[int, StaticShape], values: Values) -> Plan:
        before, changed = self._numbers.copy(), self._changed
        self._changed = [*self._take(shapes, values)]
        touched = self._work_out()
        is_small = len(touched) * SMALL_SHARE < len(self._nodes) or sum(
            map(_has_kernels, touched.values())) * SMALL_SHARE < self._with_kernels
        plan = self._present.plan(any(map(_has_aliases, touched.values())), not is_small)
        if is_small and self._changed == changed and not self._values and all(
                node.is_arithmetic for node in touched.values()):
            self._course = Course(self._present, before, touched, self._sizes, shapes)
        return plan

    def _take(self, shapes: Mapping[int, StaticShape], values: Values) -> Iterator[int]:
        """Put in what comes in; the places where that is something else."""
        numbers = self._numbers
        for tensor, sizes in self._sizes:
            shape = shapes[tensor]
            for axis, place in sizes:
                if numbers[place] != shape[axis]:
                    numbers[place] = shape[axis]
                    yield place
        for tensor, places in self._values:
            if isinstance(places, int):
                numbers[places] = values[tensor]
                yield places
                continue
            for place, item in zip(places, values[tensor].reshape(-1).tolist(), strict=True):
                if numbers[place] != item:
                    numbers[place] = item
                    yield place

    def _work_out(self) -> dict[int, PlannedNode]:
        """Let the nodes that are given something else say what they give now, and take that over; by their numbers."""
        touched: dict[int, PlannedNode] = {}
        numbers, present, steps = self._numbers, self._present, self._present.steps
        for number, node in enumerate(self._nodes):
            given = node.get(numbers)
            if given != node.given:
                steps[number] = node.work_out(given, numbers)
                if node.gives_more:
                    present.take(number, node)
                touched[number] = node
        return touched


def _value_places(spelled: Names | str, numbers: Numbers) -> tuple[int, ...] | int:
    return numbers.place(spelled) if isinstance(spelled, str) else numbers.places(spelled)
