"""Plans of shapes that come again and again: their launches exchanged for specialised ones once these are ready.

A shape that was seen often enough makes tuning tasks of its heavy primitives. The results come from the background
(`kernels/specialiser.py`); the plan is looked at again after 4, 8, 16, ... further inferences.
"""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from clinfer.base.errors import ClinferError
from clinfer.base.shape import StaticShape
from clinfer.base.tracing import log
from clinfer.kernels.contract import Problem
from clinfer.kernels.implementation import Implementation, bind, holds_for
from clinfer.kernels.implementation_cache import TuningResult
from clinfer.kernels.specialisation import TuningTask, key_of
from clinfer.kernels.specialiser import specialiser_of
from clinfer.network.bindings import Bindings
from clinfer.network.memory.node_weights import NodeWeights
from clinfer.network.memory.slot_bytes import SlotBytes
from clinfer.network.plans.node_planner import NodePlanner
from clinfer.network.plans.plan import Launch, Plan, Step, launch_of
from clinfer.network.plans.plan_cache import SeenPlan
from clinfer.ops import kernels_of
from clinfer.program.program import Program

LONGEST_INTERVAL = 64


class SpecialPlans:
    """Specialises the plans of one network."""

    def __init__(self, program: Program, bindings: Bindings, nodes: NodePlanner) -> None:
        self._program = program
        self._bindings = bindings
        self._nodes = nodes
        self._weights = NodeWeights(program)
        self._specialiser = specialiser_of(program.engine)
        # A megakernel is built for kernels that stay, and takes the driver seconds.
        self._is_at_once = program.engine.megakernels is not None

    def count(self, seen: SeenPlan, shapes: Mapping[int, StaticShape], values: Mapping[int, np.ndarray]) -> None:
        """Count one more run of a plan, and look at it when its time has come."""
        seen.countdown -= 1
        if not seen.countdown:
            self.look(seen, shapes, values)

    def look(self, seen: SeenPlan, shapes: Mapping[int, StaticShape], values: Mapping[int, np.ndarray]) -> None:
        """Give the tasks of a plan that were not given yet, and take over what was found since.

        `shapes`, `values`: of everything that comes into the segment. What fails leaves the plan as it is.
        """
        try:
            self._look(seen, shapes, values)
        except ClinferError as error:
            log(1, f"a plan is not specialised: {error}")
            seen.countdown = 0

    def _look(self, seen: SeenPlan, shapes: Mapping[int, StaticShape], values: Mapping[int, np.ndarray]) -> None:
        shapes, values = {**shapes, **seen.plan.shapes}, {**values, **seen.plan.values}
        wanted = self._heavy(seen.plan)
        results = seen.results = seen.results or {}
        for index in wanted - results.keys():
            result = self._result(index, self._problem(index, shapes, values))
            if result is not None:
                results[index] = result
        # Taken once, because results settle in another thread.
        settled = {index: result for index, result in results.items() if result.settled}
        ready = {index: result.faster for index, result in settled.items()
                 if result.faster is not None and index not in seen.used}
        is_settled = wanted == settled.keys()
        if ready and (is_settled or not self._is_at_once):
            seen.plan = self._exchanged(seen.plan, {index: (implementation, self._problem(index, shapes, values))
                                                    for index, implementation in ready.items()})
            seen.used |= ready.keys()
        if is_settled:
            seen.countdown = 0
        else:
            seen.countdown = seen.interval
            seen.interval = min(2 * seen.interval, LONGEST_INTERVAL)

    def _heavy(self, plan: Plan) -> set[int]:
        """The nodes of a plan that are worth specialising."""
        # Nothing of large tensors is timed: the trial would need them twice.
        nodes = {self._bindings.kernel_nodes[step.kernel] for step in plan.steps if isinstance(step, Launch)
                 and not self._bindings.implementations[step.kernel].problem.is_large}
        return {index for index in nodes
                if self._program.nodes[index].primitive.is_heavy and not self._program.nodes[index].is_forced}

    def _problem(self, index: int, shapes: Mapping[int, StaticShape],
                 values: Mapping[int, np.ndarray]) -> Problem:
        node, tensors = self._program.nodes[index], self._program.tensors

        def shape(tensor: int) -> StaticShape:
            return shapes[tensor] if tensor in shapes else tensors[tensor].layout.static_shape

        known = {i: values[node.inputs[i]] for i in node.read_on_host if node.inputs[i] in values}
        return self._nodes.problem(index, tuple(map(shape, node.inputs)), known, tuple(map(shape, node.outputs)))

    def _result(self, index: int, problem: Problem) -> TuningResult | None:
        """The result, had or to come, of the task which implementation a node should have; None: try again later."""
        node, cache = self._program.nodes[index], self._program.implementations
        present = node.implementations[self._nodes.choice(index, problem)]
        repack = self._weights.repack(index)
        key = _hashable((key_of(present, problem), repack is not None), index)
        result, is_new = cache.add(key)
        if is_new and not self._specialiser.give(
                TuningTask(present, problem, kernels_of(node.primitive), self._program.kernels,
                           len(node.scratch_slots), repack), result):
            cache.forget(key)
            return None
        return result

    def _exchanged(self, plan: Plan, faster: Mapping[int, tuple[Implementation, Problem]]) -> Plan:
        """The plan with other launches for some of its nodes."""
        launches: dict[int, list[Step]] = {}
        slots = dict(plan.slot_bytes)
        for index, (implementation, given) in faster.items():
            candidate = implementation.candidate
            problem = candidate.in_own_formats(given)
            if not holds_for(implementation, problem) or candidate.accepts(problem) is not None:
                continue
            lowered = candidate.lower(problem)
            memories = self._weights.memories(index, implementation, given)
            if memories is None:
                continue
            kernels = self._bindings.specialised(index, implementation, memories)
            launches[index] = [launch_of(kernel, launch)
                               for kernel, launch in zip(kernels, bind(implementation, problem, lowered), strict=True)
                               if 0 not in launch.work.global_size]
            for slot, nbytes in zip(self._program.nodes[index].scratch_slots, lowered.scratch, strict=False):
                slots[slot] = max(nbytes, slots.get(slot, 0))
        steps: list[Step] = []
        for step in plan.steps:
            index = self._bindings.kernel_nodes[step.kernel] if isinstance(step, Launch) else -1
            if index not in launches:
                steps.append(step)
            else:
                steps += launches[index]
                launches[index] = []
        return replace(plan, steps=tuple(steps), slot_bytes=SlotBytes.of(slots))


def _hashable(key: object, index: int) -> object:
    """The key, or a key of this node alone where its attributes cannot be hashed."""
    try:
        hash(key)
    except TypeError:
        return index, repr(key)
    return key
