"""Carries out the steps of plans."""
from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from itertools import zip_longest

import numpy as np

from clinfer.base.errors import ClinferError
from clinfer.base.shape import admits, show
from clinfer.network.bindings import Bindings
from clinfer.network.bodies import Bodies
from clinfer.network.host_calls import HostCalls
from clinfer.network.known import Known
from clinfer.network.memory.buffers import Given
from clinfer.network.output import NetworkOutput, shaped
from clinfer.network.plans.plan import CallHost, Fetch, Launch, Plan, RunBody, Upload
from clinfer.network.replay import Replay, WaitingLaunches
from clinfer.network.reports.inspection import inspect_launch, inspected
from clinfer.network.reports.profiling import Profiler, profiled_name
from clinfer.program.program import Program, ProgramNode
from clinfer.runtime.launches import Launches
from clinfer.runtime.stream import Stream


class Runner:
    """Launches, transfers, bodies and what the host computes, for one network."""

    def __init__(self, program: Program, stream: Stream, bindings: Bindings, bodies: Bodies,
                 profiler: Profiler | None) -> None:
        self._program = program
        self._stream = stream
        self._bindings = bindings
        self._bodies = bodies
        self._profiler = profiler
        self._host_calls = HostCalls(program, stream)
        self._fetched: dict[int, Callable[[], np.ndarray]] = {}
        self._proceed: Callable[[], None] | None = None
        self._is_counted = True
        self.inspects = inspected()
        """Whether what each launch writes is looked at."""

    def begin(self, proceed: Callable[[], None] | None) -> None:
        """Begin an execution; `proceed` is called before each segment of bodies."""
        self._proceed = proceed

    def end(self) -> None:
        """The execution is over, or has failed."""
        self._proceed = None
        self._fetched.clear()

    def release_memory(self) -> None:
        """Give back what bodies and the host's results have."""
        self._bodies.release_memory()
        self._host_calls.release()

    def output(self, tensor: int, known: Known) -> NetworkOutput:
        """A tensor as it lies at present."""
        layout = self._program.tensors[tensor].layout
        if tensor in known.shapes:
            layout = shaped(layout, known.shapes[tensor])
        return NetworkOutput(layout, self._bindings.memory(tensor), self._stream)

    def value(self, tensor: int, known: Known) -> np.ndarray:
        """The value of a tensor that the device has (blocking), which a segment before may have begun to read."""
        fetched = self._fetched.pop(tensor, None)
        return self.output(tensor, known).to_numpy() if fetched is None else fetched()

    def run(self, plan: Plan, replay: Replay, known: Known, is_counted: bool) -> None:
        """Carry out a plan, of which `replay` is the ready form; `is_counted`: see `Network.execute`, of bodies."""
        self._is_counted = is_counted
        if self.inspects or self._profiler is not None:
            self._run_one_by_one(plan, known)
            return
        for step in replay.steps:
            if isinstance(step, Launches):
                self._stream.enqueue_all(step)
            elif isinstance(step, WaitingLaunches):
                self._stream.enqueue_waiting(step.launches, step.waits)
            else:
                self._carry_out(step, known)

    def _carry_out(self, step: Upload | RunBody | Fetch | CallHost, known: Known) -> None:
        if isinstance(step, Upload):
            self._stream.write(self._bindings.memory(step.tensor), step.units)
        elif isinstance(step, Fetch):
            self._fetched[step.tensor] = self.output(step.tensor, known).begin_read()
        elif isinstance(step, CallHost):
            self._call_host(step, known)
        else:
            self._run_body(step, known)

    def _call_host(self, step: CallHost, known: Known) -> None:
        start, node = time.perf_counter_ns(), self._program.nodes[step.node]
        inputs = [self._host_value(tensor, known) for tensor in node.inputs]
        for tensor, result in zip(node.outputs, self._host_calls.run(step.node, inputs), strict=True):
            known.shapes[tensor], known.values[tensor] = result.value.shape, result.value
            if result.memory is not None:
                self._bindings.bind(tensor, result.memory)
        if self._profiler is not None:
            self._profiler.add_host_time(step.node, time.perf_counter_ns() - start)
        if self._stream.event_log is not None:
            self._stream.event_log.note("host operation", profiled_name(node), start)

    def _host_value(self, tensor: int, known: Known) -> np.ndarray:
        constant = self._program.constants.get(tensor)
        if constant is not None:
            return constant.on_host(self._stream)
        if tensor in known.values:
            return known.values[tensor]
        if tensor in self._fetched:
            return self.value(tensor, known)
        return self._host_calls.read(tensor, self.output(tensor, known))

    def _run_body(self, step: RunBody, known: Known) -> None:
        node, pace = self._program.nodes[step.node], self._stream.pace
        inputs = {index: self._given(node.inputs[index], known)
                  for index in node.primitive.bodies[step.body].inputs.values()}
        targets = None if node.primitive.data_dependent_output else [self._given(t, known) for t in node.outputs]
        results = self._bodies.run(step, inputs, targets, self._proceed, self._is_counted)
        if targets is None:
            self._take_over(node, results, known)
        self._stream.pace = pace

    def _take_over(self, node: ProgramNode, results: Sequence[Given], known: Known) -> None:
        """Let the results of a body lie where it put them."""
        for tensor, result in zip(node.outputs, results, strict=True):
            declared = self._program.tensors[tensor].layout.shape
            # OpenVINO joins results of [] and [1] to one of [1].
            shape = result.shape or (1,) * min(len(declared), 1)
            if not admits(declared, shape):
                raise ClinferError("a body gave a shape outside what the model declares", where=node.primitive.where,
                                   values={"declared": show(declared), "actual": show(shape)})
            known.shapes[tensor] = shape
            known.values.pop(tensor, None)
            self._bindings.bind(tensor, result.memory)

    def _given(self, tensor: int, known: Known) -> Given:
        shape = known.shapes.get(tensor)
        if shape is None:
            shape = self._program.tensors[tensor].layout.static_shape
        return Given(self._bindings.memory(tensor), shape, known.values.get(tensor))

    # -- one launch at a time -------------------------------------------------------------------

    def _run_one_by_one(self, plan: Plan, known: Known) -> None:
        for step, following in zip_longest(plan.steps, plan.steps[1:]):
            if not isinstance(step, Launch):
                self._carry_out(step, known)
            elif self.inspects:
                is_last = not isinstance(following, Launch) or not self._bindings.same_node(step, following)
                inspect_launch(self._program, self._stream, self._bindings, step, known.shapes, is_last, self._enqueue)
            else:
                self._enqueue(step)

    def _enqueue(self, step: Launch) -> None:
        kernel = self._bindings.kernels[step.kernel]
        if self._profiler is None:
            self._stream.enqueue(kernel, step.work)
            return
        start = time.perf_counter_ns()
        event = self._stream.enqueue_with_event(kernel, step.work)
        self._profiler.add_launch(step.kernel, event, time.perf_counter_ns() - start)
        if self._stream.event_log is not None:
            node = self._program.nodes[self._bindings.kernel_nodes[step.kernel]]
            self._stream.event_log.command("kernel", profiled_name(node), event, start)
