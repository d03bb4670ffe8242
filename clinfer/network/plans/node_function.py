"""Plans one node: from the sizes and numbers that vary straight to launches and bytes.

The planner of nodes runs once on symbols (`symbolic/symbols.py`); the arithmetic that it leaves behind becomes a tape
(`symbolic/tape.py`). Comparisons that decided its way become guards, and where one fails, the next tape is asked, at
last the planner itself, which is traced later on. A trace is used only if it tells what the planner made
of the same plain numbers. Nodes that are alike share their traces, and so do the networks of a program.
"""
from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any
from weakref import ref

from clinfer.base.errors import ClinferError
from clinfer.base.memo import TRACING
from clinfer.base.tracing import log
from clinfer.network.plans.node_arguments import is_small
from clinfer.network.plans.node_form import NodeForm
from clinfer.network.plans.node_planner import UNPLANNABLE, NodePlan, NodePlanner
from clinfer.network.plans.node_trace import function_of, make_tape
from clinfer.network.plans.plan import Launch, launch_of
from clinfer.network.plans.tape_numbers import numbers_given
from clinfer.network.plans.tracer import Tracer, same_at_present
from clinfer.symbolic.tape import Asked, Tape
from clinfer.symbolic.trace import Trace
from clinfer.topology import Primitive

UNTRACEABLE = (ClinferError, *UNPLANNABLE)
"""What planning, and filling in its arguments, raises for symbols that cannot be planned."""
MOST_TRACES = 32
"""Of one node; a node that needs more decides in too many ways to be worth it. Attention on a CPU needs 16."""


@dataclass(frozen=True)
class Traced:
    """A trace, and the plan of its symbols."""

    trace: Trace
    plan: NodePlan


@dataclass(frozen=True)
class WantedTrace:
    """A plan of a node for some numbers, of which there is no trace yet; `traced`: half of what makes one."""

    function: ref[NodeFunction]
    given: tuple[Any, ...]
    plan: NodePlan
    traced: Traced | None = None

    def half_traced(self) -> WantedTrace | None:
        """Do half of what is left to be done; the rest of it, None if there is nothing."""
        function = self.function()
        if function is None:
            return None
        if self.traced is not None:
            function.take_trace(self.given, self.traced)
            return None
        traced = function.traced(self.given, self.plan)
        return None if traced is None else replace(self, traced=traced)


class NodeFunction:
    """What plans one node, by `traces` if one of them holds.

    It gives numbers: the sizes of the outputs that are not declared static; of a host node, the elements of
    small outputs and the other outputs as arrays; the bytes of each output and scratch buffer; the
    offsets of its aliases. And it gives launches. Where no trace holds, the planner gives them, and a trace is put
    among those that are `wanted`, to be traced when nobody waits for it. Nothing that it holds refers back to it: a
    cycle would keep device memory until the garbage collector runs.
    """

    __slots__ = ("__weakref__", "_failed", "_form", "_planner", "_wanted", "asked", "kernels")

    def __init__(self, form: NodeForm, planner: NodePlanner, wanted: deque[WantedTrace]) -> None:
        self._form = form
        self._planner = planner
        self._wanted = wanted
        self._failed = 0
        first = planner.first_kernel(form.index)
        self.kernels = range(first, first + form.kernel_count)
        self.asked = partial(_asked, planner, form.node.primitive, form.index)
        """What stands for a function that a tape asks."""

    @property
    def is_traced(self) -> bool:
        """Whether traces are made of it."""
        return self._form.is_traced

    @property
    def traces(self) -> list[Tape]:
        """Its traces and those of nodes that are alike."""
        return self._form.traces

    def trace(self, given: tuple[Any, ...]) -> tuple[Any, ...]:
        """The numbers that it gives for these; a trace is made unless there is one that holds."""
        found = self._by_trace(given)
        if found is not None:
            return found
        plan = self._planner.plan(self._form.index, *self._form.arguments.fill(given))
        traced = self._traced(given, plan) if plan.is_traceable and self._may_trace else None
        if traced is not None:
            self._take_trace(traced)
        return self._numbers(plan)

    def plan(self, given: tuple[Any, ...]) -> tuple[tuple[Any, ...], tuple[Launch, ...]]:
        """The numbers and launches where no trace holds."""
        plan = self._planner.plan(self._form.index, *self._form.arguments.fill(given))
        if self._may_trace and plan.is_traceable:
            self._wanted.append(WantedTrace(ref(self), given, plan))
        return self._numbers(plan), tuple(launch_of(kernel, launch) for kernel, launch in plan.launches)

    def _by_trace(self, given: tuple[Any, ...]) -> tuple[Any, ...] | None:
        """The numbers that the first trace gives that holds, if there is one."""
        for tape in self.traces:
            numbers = numbers_given(tape, given, self.asked)
            if numbers is not None:
                return numbers
        return None

    @property
    def _may_trace(self) -> bool:
        return self.is_traced and len(self.traces) + self._failed < MOST_TRACES

    def traced(self, given: tuple[int, ...], plan: NodePlan) -> Traced | None:
        """The trace of this plan, if one can be made and none holds."""
        return self._traced(given, plan) if self._may_trace and self._by_trace(given) is None else None

    def take_trace(self, given: tuple[int, ...], traced: Traced) -> None:
        """Keep a trace of the plan for these numbers, unless there is one that holds by now."""
        if self._by_trace(given) is None:
            self._take_trace(traced)

    def _traced(self, given: tuple[int, ...], plan: NodePlan) -> Traced | None:
        trace = Trace()
        traced = self._of_symbols(trace, given)
        if self._form.node.kind == "host" and (
                traced is None or trace.value_guards or not same_at_present(traced, plan)):
            trace.close()
            trace = Trace()
            traced = self._of_symbols(trace, given, by_call=True)
        if traced is None or not same_at_present(traced, plan):
            trace.close()
            self._refuse("")
            return None
        return Traced(trace, traced)

    def _take_trace(self, traced: Traced) -> None:
        try:
            self.traces.append(self._made(traced))
        except ValueError as error:
            self._refuse(f": {error}")
        finally:
            traced.trace.close()

    def _refuse(self, reason: str) -> None:
        self._failed += 1
        log(5, f"{self._form.node.primitive.where}: a plan is not traced{reason}")

    def _of_symbols(self, trace: Trace, given: tuple[int, ...], by_call: bool = False) -> NodePlan | None:
        """The plan of symbols, or None where something cannot be done with them."""
        form, outer = self._form, TRACING.is_on
        tracer = Tracer(trace, form.node, form.inputs, form.outputs)
        try:
            TRACING.is_on = True
            shapes, values = form.arguments.fill(tuple(trace.free(number) for number in given))
            return self._planner.plan(form.index, shapes, values, tracer.infer,
                                      tracer.evaluate if by_call else tracer.evaluate_symbols)
        except UNTRACEABLE as error:
            log(5, f"{self._form.node.primitive.where} cannot be planned with symbols: {error}")
            return None
        finally:
            TRACING.is_on = outer

    def _made(self, traced: Traced) -> Tape:
        plan, first = traced.plan, self._planner.first_kernel(self._form.index)
        return make_tape(traced.trace, self._numbers(plan), [(kernel - first, launch)
                                                             for kernel, launch in plan.launches])

    def _numbers(self, plan: NodePlan) -> tuple[Any, ...]:
        """What a plan gives besides the launches."""
        sizes = [size for shape, layout in zip(plan.shapes, self._form.outputs, strict=True)
                 for size, declared in zip(shape, layout.shape, strict=True) if not isinstance(declared, int)]
        elements = [item for value, layout in zip(plan.values, self._form.outputs, strict=False)
                    for item in (value.reshape(-1).tolist() if is_small(layout) else (value,))]
        missing = len(self._form.node.scratch_slots) - len(plan.scratch_bytes)
        offsets = plan.offsets or (-1,) * len(self._form.node.aliases)
        return (*sizes, *elements, *plan.nbytes, *plan.scratch_bytes, *(0,) * missing, *offsets)


def _asked(planner: NodePlanner, primitive: Primitive, index: int, asked: Asked) -> Callable[..., Any]:
    return function_of(asked, lambda call: call.of(primitive, planner.rule(index)))
