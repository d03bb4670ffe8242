"""The network: a program on a stream, with its kernel objects, its memory and its plans."""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace

import numpy as np

from clinfer.base.errors import ClinferError, OutOfMemoryError
from clinfer.base.shape import StaticShape
from clinfer.network.bindings import Bindings, Wanted
from clinfer.network.bodies import Bodies
from clinfer.network.foresight import LookAhead, has_next
from clinfer.network.inputs import Inputs
from clinfer.network.known import Known
from clinfer.network.large_kernels import LargeKernels
from clinfer.network.memory.buffers import GrowingBuffer
from clinfer.network.memory.memory_pool import MemoryPool
from clinfer.network.memory.preallocation import AHEAD, Preallocation
from clinfer.network.memory.states import RequestStates
from clinfer.network.output import NetworkOutput
from clinfer.network.plans.likely_needs import likely_needs, set_likely_arguments
from clinfer.network.plans.plan import Plan
from clinfer.network.plans.plan_cache import PlanCache, SeenPlan, SegmentKey, fingerprint
from clinfer.network.plans.planner import Planner
from clinfer.network.plans.special_plans import SpecialPlans
from clinfer.network.plans.waits import WaitFinder
from clinfer.network.ready_plans import ReadyPlans
from clinfer.network.repetition import Changes, MadeRounds, Repetition, is_repeatable, moved, repetition_of, rounds_of
from clinfer.network.reports.execution_log import ExecutionLog, Note, Page, Site, Within, log_record
from clinfer.network.reports.memory_picture import MemoryPicture, picture_memory
from clinfer.network.reports.profiling import NodeProfile, Profiler
from clinfer.network.reports.record import PlanCounts
from clinfer.network.runner import Runner
from clinfer.network.state_ports import StatePorts
from clinfer.program.program import Program
from clinfer.runtime.event import Event
from clinfer.runtime.event_log import EventLog, noted
from clinfer.runtime.memory import Memory
from clinfer.runtime.stream import Stream
from clinfer.symbolic.shape_inference import ShapeInference


class Network:
    """Executes a program. One thread at a time; any number of networks share a program. `is_whole`: whether no
    execution left anything half done. `given`: what somebody who lends it says that it was given last.

    With `profiling` (on a profiling stream) every execution measures what each node costs. Without `parametric`
    every new shape is planned node by node. A shape that came again `specialise_after` times is specialised in the
    background (`special_plans.py`); 0: never.
    """

    def __init__(self, program: Program, stream: Stream, shape_inference: ShapeInference,
                 profiling: bool = False, parametric: bool = True, specialise_after: int = 0,
                 within: Within | None = None, preallocation: Preallocation = AHEAD) -> None:
        self.program = program
        self.stream = stream
        self._shape_inference = shape_inference
        self._profiling = profiling
        self._parametric = parametric
        self._specialise_after = specialise_after
        self._preallocation = preallocation
        self._within = within
        self._execution_log = ExecutionLog() if within is None else within.execution_log
        self._inputs = Inputs(program)
        self.roots = {name: program.tensors[output.tensor].root for name, output in program.outputs.items()}
        self._wanted: dict[str, Memory | GrowingBuffer] = {}
        self.given: object = None
        self.plans_made = self.plans_continued = self.plans_reused = self._planned_by_themselves = 0
        self._begin_anew()

    def _begin_anew(self) -> None:
        """Make everything that executions change: kernel objects, memory, plans and the networks of bodies."""
        self.is_whole, self._is_counted = False, True
        program, stream, preallocation = self.program, self.stream, self._preallocation
        self._pool = MemoryPool(program, preallocation)
        self._bindings = Bindings(program, self._pool)
        waiting = program.execution_order == "out_of_order" and not stream.in_order
        self._waits = WaitFinder(program, self._bindings.kernel_nodes) if waiting else None
        self._profiler = Profiler(program, self._bindings.kernel_nodes,
                                  self._bindings.implementations) if self._profiling else None
        self._planner = Planner(program, stream, self._shape_inference, self._bindings.kernel_index,
                                LargeKernels(program, self._bindings).find,
                                self._profiler.add_host_time if self._profiler else None, self._parametric)
        self._plans = PlanCache()
        self._looks_after = 0 if waiting else self._specialise_after
        self._special = SpecialPlans(program, self._bindings, self._planner.nodes) if self._looks_after else None
        self._ready = ReadyPlans(program, stream, self._bindings, self._pool)
        self._site = Site(program, self._bindings.kernel_nodes, self._bindings.implementations,
                          "" if self._within is None else self._within.path)
        self._bodies = Bodies(program, preallocation, self._make_body())
        self._runner = Runner(program, stream, self._bindings, self._bodies, self._profiler)
        self._state_ports = StatePorts(program, self._make_body())
        self._ahead = LookAhead(program, stream, self._bindings, self._ready, self._state_ports, self._plans) if (
            has_next(program) and not self._profiling) else None
        self._known: Known | None = None
        self._may_repeat = self._profiler is None and not self._runner.inspects and is_repeatable(program)
        self._repetition: Repetition | None = None
        self.is_whole = True

    def _make_body(self) -> Callable[[Program, str], Network]:
        """Makes a body's network; it refers to this one by nothing, since a cycle would keep device memory for a
        while."""
        stream, inference, execution_log, site = self.stream, self._shape_inference, self._execution_log, self._site
        profiling, parametric, after, ahead = (self._profiling, self._parametric, self._specialise_after,
                                               self._preallocation)
        return lambda body, below: Network(body, stream, inference, profiling, parametric, after,
                                           Within(execution_log, site.below(below)), ahead)

    # -- inputs and outputs ---------------------------------------------------------------------

    def set_input(self, name: str, memory: Memory, shape: StaticShape,
                  host_value: np.ndarray | None = None) -> None:
        """Give an input: planar memory of that shape (of a surface: an image per picture); `host_value`, the same data
        on the host, spares a read where the host needs it. The memory must stay unchanged until the execution is
        complete."""
        before = self._inputs.given.get(name)
        if self._inputs.give(name, memory, shape, host_value):
            self._lies_elsewhere(before is not None and before.shape == shape)

    def set_host_input(self, name: str, value: np.ndarray) -> None:
        """Give an input of a type that no device has; its values stay unchanged until the execution is over."""
        self._inputs.give_on_host(name, value)

    def host_output(self, name: str) -> np.ndarray:
        """The values of an output of the last execution, of a type that no device has."""
        assert self._known is not None
        return self._known.values[self.program.outputs[name].tensor]

    def set_output(self, name: str, memory: Memory | GrowingBuffer | None) -> None:
        """Let an output be written to this memory (None: to memory of the network); a buffer grows as needed."""
        if name not in self.program.outputs:
            raise ClinferError(f"there is no output {name!r}", where="network",
                               values={"outputs": ", ".join(self.program.outputs)})
        before = self._wanted.get(name)
        if memory is before:
            return
        if self._ahead is not None:
            self._ahead.forget()
        self._lies_elsewhere(before is not None and memory is not None)
        if memory is None:
            del self._wanted[name]
        else:
            self._wanted[name] = memory

    def _lies_elsewhere(self, is_alone: bool) -> None:
        """An input or output has another memory; `is_alone`: and is else what it was."""
        if self._repetition is not None and is_alone:
            self._repetition.is_elsewhere = True
        else:
            self._repetition = None

    def set_outputs(self, wanted: Mapping[str, Memory | GrowingBuffer]) -> None:
        """`set_output` for each of the outputs in `wanted`, and None for all others."""
        if wanted != self._wanted:
            for name in self._wanted.keys() - wanted.keys():
                self.set_output(name, None)
            for name, memory in wanted.items():
                self.set_output(name, memory)

    def release_memory(self) -> None:
        """Give back the memory of slots and own outputs, the networks of bodies, and all plans, until the next
        execution, for which inputs are given anew. The stream must be finished."""
        was_whole, self.is_whole = self.is_whole, False
        self._inputs.clear()
        self._known = self.given = self._repetition = None
        if self._ahead is not None:
            self._ahead.forget()
        self._ready.forget()
        self._plans.clear()
        self._planner.forget_plans()
        self._runner.release_memory()
        self._state_ports.release_memory()
        self._bindings.release()
        self._pool.release()
        self.program.weights.release()
        self.is_whole = was_whole

    # -- execution ------------------------------------------------------------------------------

    def execute(self, dependencies: Sequence[Event] = (), proceed: Callable[[], None] | None = None,
                states: RequestStates | None = None, is_counted: bool = True) -> dict[str, NetworkOutput]:
        """Enqueue one inference behind `dependencies`; returns without waiting unless data decides. Of a program with
        `states` the caller has them, and commits them when all went well. `host_output` has outputs of types that no
        device has.

        `proceed` is called before each segment, those of bodies included; what it raises ends the execution. What an
        execution that was interrupted, or failed while it changed what kernels work on, left behind is made anew.
        `is_counted`: whether it is one of the times that make a shape one that comes often.
        """
        if not (self.is_whole and self._bindings.is_whole):
            self._begin_anew()
        self.is_whole, self._is_counted = False, is_counted
        repetition = self._repetition
        try:
            if dependencies:
                self.stream.barrier(dependencies)
            if repetition is not None and repetition.is_elsewhere:
                repetition = self._repetition = moved(repetition, self.program, self._bindings, self._inputs.given,
                                                      self._wanted)
            if repetition is not None and repetition.holds(is_counted):
                repetition.enqueue(self.stream, proceed, is_counted)
                outputs = dict(repetition.outputs)
                self.plans_reused += 1
                self._planner.record_some_traces(has_planned=False)
            else:
                outputs = self._execute(proceed, states)
        except ClinferError:
            self.is_whole = self._bindings.is_whole
            raise
        self.is_whole = self._bindings.is_whole
        return outputs

    def rounds(self, find: Callable[[], Changes | None]) -> AbstractContextManager[MadeRounds | None]:
        """The last execution again and again, see `rounds_of`."""
        return rounds_of(self._repetition, self._bindings, self.stream, find)

    def prepare(self) -> None:
        """Make what the first execution would make, as far as that is certain or likely: what plans segments whose
        shapes change, the networks of bodies, room for likely sizes, and arguments."""
        self._planner.prepare()
        self._bodies.prepare()
        if self._preallocation.room:
            try:
                self._bindings.make_room(likely_needs(self.program, self._planner), self._preallocation.room)
                set_likely_arguments(self.program, self._planner, self._ready.replays, self._bindings)
            except OutOfMemoryError:
                # Room ahead of need is no reason to fail.
                self._begin_anew()
            self._planner.forget_plans()

    def record_traces(self) -> None:
        """Make all traces that executions lacked; they themselves make a few each."""
        self._planner.record_traces()

    @property
    def plan_counts(self) -> PlanCounts:
        """What all executions planned (bodies left out)."""
        return PlanCounts(self.plans_made, self.plans_continued, self.plans_reused, self._planned_by_themselves)

    def _execute(self, proceed: Callable[[], None] | None, states: RequestStates | None) -> dict[str, NetworkOutput]:
        self._repetition = None
        if self._execution_log.notes and self._within is None:
            self._execution_log.clear()
        states = states if self.program.states else None
        foreseen = None if states is None or self._ahead is None else self._ahead.take(states, self._inputs.given)
        given = None if foreseen is None else foreseen.given
        if states is not None and given is None:
            given = self._state_ports.enter(states, self.stream, self._inputs.given, proceed)
        ports = self.program if given is None else self._state_ports.besides
        known, self._known = self._inputs.take(self._bindings.bind, ports.input_tensors), None
        wanted = Wanted({self.roots[name]: memory for name, memory in self._wanted.items()})
        if given is not None:
            known.shapes.maps.append(given.shapes)
            if foreseen is None:
                self._bindings.bind_each(given.memories)
                wanted = wanted.with_states(given.targets)
        planned = self.plans_made + self.plans_continued
        self._runner.begin(proceed)
        try:
            for number in range(len(self.program.segments)):
                if proceed is not None:
                    proceed()
                if foreseen is None:
                    seen = self._run_segment(number, known, wanted)
                else:
                    seen = foreseen.seen
                    self._run_ready(foreseen.key, seen, known, foreseen.note, is_counted=False)
        finally:
            self._runner.end()
        if self._ahead is not None:
            # The device begins, before what comes next is thought about.
            self.stream.flush()
        self._known = known
        self._planner.record_some_traces(has_planned=planned != self.plans_made + self.plans_continued)
        if self._profiler is not None:
            self._profiler.add_execution(known.shapes)
        if self._execution_log.notes and self._within is None:
            log_record(self._execution_log.page())
        outputs = {name: self._runner.output(info.tensor, known) for name, info in ports.outputs.items()
                   if not info.layout.element_type.is_on_host_only}
        if states is not None:
            self._state_ports.leave(states, self.stream, known, self._bindings.lying)
        delivered = {name: output.delivered(name, self._wanted.get(name)) for name, output in outputs.items()}
        # What is told of an execution, and memory that may still come to lie closer, is not for the runs of a loop.
        if self._may_repeat and not (
                self._pool.is_split if self._within else self._execution_log.notes or self._pool.is_loose):
            self._repetition = repetition_of(seen, self._ready.replays[0].steps, self._inputs.given, outputs, delivered)
        if states is not None and self._ahead is not None:
            self._ahead.look(states, lambda key, shapes: self._plan(key, shapes, Known()),
                             lambda key, plan, wanted: self._prepare(key, plan, True, (), wanted), wanted)
        return delivered

    def _run_segment(self, number: int, known: Known, wanted: Wanted) -> SeenPlan:
        """Plan a segment and enqueue its steps; its plan."""
        segment, values = self.program.segments[number], known.values
        read: tuple[int, ...] = ()
        for tensor in segment.values:
            if tensor not in values:
                values[tensor] = self._runner.value(tensor, known)
                read += (tensor,)
        incoming = known.shapes_of(segment.incoming)
        key = (number, (tuple([incoming[t] for t in segment.incoming]),
                        tuple([fingerprint(values[t]) for t in segment.values])))
        seen = self._plans.get(key)
        is_new = seen is None or (self._ahead is not None and self._ahead.was_waiting(seen))
        if seen is None:
            seen = noted(self.stream.event_log, "plan", f"segment {number}", lambda: self._plan(key, incoming, known))
        elif not is_new:
            self.plans_reused += 1
            if seen.countdown and self._is_counted and self._special is not None:
                self._special.count(seen, known.shapes, known.values)
        note = self._prepare(key, seen.plan, is_new, read, wanted)
        self._run_ready(key, seen, known, note, self._is_counted and not is_new)
        return seen

    def _run_ready(self, key: SegmentKey, seen: SeenPlan, known: Known, note: Note | None, is_counted: bool) -> None:
        """Enqueue the steps of a plan that was prepared; `note`: on what that took."""
        known.take(seen.plan)
        if note is not None:
            self._execution_log.add(note)
        self.stream.pace = seen.pace
        self._runner.run(seen.plan, self._ready.run(key, seen.plan), known, is_counted)

    def _plan(self, key: SegmentKey, incoming: Mapping[int, StaticShape], known: Known) -> SeenPlan:
        segment = self.program.segments[key[0]]
        # Copied, because a plan keeps values and views of them, and the caller may write to what was given.
        plan = self._planner.plan(key[0], incoming, {t: known.values[t].copy() for t in segment.values})
        if self._waits is not None:
            plan = replace(plan, waits=self._waits.waits(plan.steps), is_kept=True)
        self._planned_by_themselves += len(plan.planned)
        self.plans_made += plan.is_kept
        self.plans_continued += not plan.is_kept
        seen = SeenPlan(plan, self._looks_after)
        self._plans.put(key, seen)
        return seen

    def _prepare(self, key: SegmentKey, plan: Plan, is_new: bool, read: tuple[int, ...], wanted: Wanted) -> Note | None:
        """Have a plan ready to be launched; a note on what that took, None if nothing was to be done."""
        # Bodies run again for other reasons than that shapes come again.
        tightens = key[0] == 0 and self._within is None and self._pool.settles(is_new)
        prepared = self._ready.prepare(key, plan, wanted, tightens)
        return None if prepared is None else Note(
            self._site, key, plan, is_new, is_new and self._plans.was_evicted(key), prepared.before, prepared.grown,
            read, wanted.roots)

    # -- profiling ------------------------------------------------------------------------------

    def start_profile(self) -> None:
        """Forget what was measured so far, in bodies too."""
        if self._profiler is not None:
            self._profiler.start()
            self._bodies.start_profile()
            if self._within is None:
                self.stream.event_log = EventLog()

    def profile(self) -> tuple[NodeProfile, ...]:
        """What the executions since `start_profile` cost, by nodes; the stream must be finished."""
        if self._profiler is None:
            raise ClinferError("the network does not measure", where="network",
                               hint="make it with profiling=True, on a profiling stream")
        return self._profiler.profile(self._bodies.profiles())

    def take_event_log(self) -> EventLog:
        """What was done since `start_profile`, and when; from now on nothing is noted."""
        event_log, self.stream.event_log = self.stream.event_log, None
        return EventLog() if event_log is None else event_log

    # -- what it tells --------------------------------------------------------------------------

    @property
    def page(self) -> Page:
        """The notes of the last execution: what it did besides repeating what it knew."""
        return self._execution_log.page()

    def memory_picture(self) -> MemoryPicture | None:
        """What lay where in the last execution, while its memory is still there; None if there was none."""
        if self._known is None:
            return None
        shapes, values = self._known.shapes, self._known.values
        return picture_memory(self.program, shapes, self._bindings.memory, self._pool.memory,
                              lambda index: self._planner.scratch_bytes(index, shapes, values),
                              self._bodies.memory_pictures())
