"""Plans a segment whose shapes change, by the tapes of its nodes.

The numbers that come in and those that nodes give stand in one row. A plan is worked out from it at once
(`tape_runner.py`), but for nodes of which no tape holds: those are planned by themselves, if they are given something
else than last.
"""
from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Mapping
from itertools import chain, compress
from typing import Any

import numpy as np

from clinfer.base.shape import StaticShape
from clinfer.network.plans.memory_needs import needs_of
from clinfer.network.plans.node_function import NodeFunction, WantedTrace
from clinfer.network.plans.node_planner import NodePlanner
from clinfer.network.plans.numbers import Names, Places
from clinfer.network.plans.plan import Launch, Plan
from clinfer.network.plans.planned_node import Constant, PlannedNode
from clinfer.network.plans.present import Present
from clinfer.network.plans.segment_nodes import describe_nodes
from clinfer.network.plans.tape_runner import TapeRunner
from clinfer.program.program import Program
from clinfer.symbolic.shape_inference import Values

_new = tuple.__new__
SMALL_SHARE = 2
"""A plan in which fewer than one node of that many, or one with kernels, differ from the plan before is quickly made
again."""
Result = tuple[tuple[Any, ...], tuple[Launch, ...]]


class SegmentPlanner:
    """Plans one segment; belongs to one planner. Nothing that it holds refers back to it: a cycle would keep device
    memory until the garbage collector runs."""

    def __init__(self, program: Program, segment: int, planner: NodePlanner, constant: Constant,
                 wanted: deque[WantedTrace]) -> None:
        """`constant` gives the value of a tensor that is one, `wanted` takes what makes traces that are missing."""
        self.described = described = describe_nodes(program, segment, constant)
        places = Places()
        incoming = program.segments[segment]
        # They have the first places, one behind the other.
        names = [*chain.from_iterable(described.sizes[tensor] for tensor in incoming.incoming)]
        self._incoming, self._is_open = incoming.incoming, [isinstance(name, str) for name in names]
        places.row([name for name in names if isinstance(name, str)])
        self._values = [(tensor, _value_places(described.values[tensor], places)) for tensor in incoming.values]
        self._nodes = nodes = [PlannedNode(program, segment, step, described, places, constant, None if (
            step.form is None) else NodeFunction(step.form, planner, wanted)) for step in described.steps]
        self._with_kernels = sum(bool(node.tapes.kernels) for node in nodes)
        planned = [step.index for step in described.steps if step.form is not None]
        needs = needs_of(program, planned, places.place)
        aliases = [(aliased.moved, aliased.within, places.place(f"o{aliased.moved}"))
                   for step in described.steps for aliased in program.nodes[step.index].aliases]
        self._numbers = places.numbers()
        self._sizes = memoryview(self._numbers)[:sum(self._is_open)]
        self._arrays: dict[int, np.ndarray] = {}
        self._runner = TapeRunner(self._numbers, [node.tapes for node in nodes], needs)
        self._present = Present(self._numbers, needs, aliases, nodes)
        self.forget()

    def forget(self) -> None:
        """Forget what nodes gave last."""
        self._asked: dict[int, Result] = {}
        self._runner.forget()

    def plan(self, shapes: Mapping[int, StaticShape], values: Values) -> Plan:
        """The plan for the shapes and values of what comes in."""
        runner = self._runner
        self._take(shapes, values)
        try:
            runner.begin()
            alike: dict[object, tuple[PlannedNode, Result]] = {}
            while (number := runner.next_missing()) >= 0:
                runner.give(self._plan_by_itself(number, alike))
            self._present.take(runner.changed, self._arrays)
        except BaseException:
            self.forget()
            raise
        changed, with_kernels = runner.changed_count
        is_small = changed * SMALL_SHARE < len(self._nodes) or with_kernels * SMALL_SHARE < self._with_kernels
        return self._present.plan(runner, self._arrays.copy(), not is_small)

    def _take(self, shapes: Mapping[int, StaticShape], values: Values) -> None:
        """Put in what comes in."""
        numbers = self._numbers
        sizes = chain.from_iterable(map(shapes.__getitem__, self._incoming))
        self._sizes[:] = array("q", compress(sizes, self._is_open))
        for tensor, places in self._values:
            if isinstance(places, int):
                self._put(places, values[tensor])
                continue
            for place, item in zip(places, values[tensor].reshape(-1).tolist(), strict=True):
                numbers[place] = item

    def _put(self, place: int, array: np.ndarray) -> None:
        # While one array is here, no other has its identity.
        self._numbers[place], self._arrays[place] = id(array), array

    def _plan_by_itself(self, number: int, alike: dict[object, tuple[PlannedNode, Result]]) -> tuple[Launch, ...]:
        """Put in what a node gives of which no tape holds; what it launches. `alike`: what others gave in this plan."""
        node, arrays, numbers = self._nodes[number], self._arrays, self._numbers
        if number not in self._asked or self._runner.changed[number]:
            given = tuple([arrays[place] if place in arrays else numbers[place] for place in node.tapes.given])
            shared = node.shares_tapes
            found = alike.get((shared, given)) if shared is not None else None
            result = None if found is None else _as_of(found[1], found[0].tapes.kernels, node.tapes.kernels)
            if result is None:
                result = node.ask(given)
            if shared is not None:
                alike.setdefault((shared, given), (node, result))
            self._asked[number] = result
        found_numbers, launches = self._asked[number]
        for place, item in enumerate(found_numbers, node.tapes.made.start):
            if place in node.arrays_made:
                self._put(place, item)
            else:
                numbers[place] = item
        return launches


def _as_of(result: Result, kernels: range, others: range) -> Result | None:
    """What a node with kernels of other numbers gives that is alike; None where the kernels are no node's own."""
    numbers, launches = result
    further = others.start - kernels.start
    if any(launch.kernel not in kernels for launch in launches):
        return None
    return numbers, tuple([_new(Launch, (kernel + further, block, work)) for kernel, block, work in launches])


def _value_places(spelled: Names | str, places: Places) -> tuple[int, ...] | int:
    return places.place(spelled) if isinstance(spelled, str) else places.places(spelled)
