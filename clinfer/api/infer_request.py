"""The infer request: it owns its inputs and outputs and borrows a stream while it runs."""
from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, InvalidStateError
from concurrent.futures import wait as wait_for_any
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from clinfer.api.arguments import check_callback, seconds
from clinfer.api.flight import Flight, Flights
from clinfer.api.handles import Handle
from clinfer.api.host_slots import HostOutputSlot
from clinfer.api.ports import ConstOutput, describe_all
from clinfer.api.profiling import profiling_info
from clinfer.api.request_execution import RequestExecution, Stop
from clinfer.api.results import Results
from clinfer.api.variable_state import VariableState
from clinfer.base.errors import ClinferError
from clinfer.base.one_of_a_kind import OneOfAKind
from clinfer.base.turns import Token, Turn
from clinfer.frontend.openvino_import import openvino as ov
from clinfer.network.network import Network
from clinfer.network.reports.profiling import unexecuted
from clinfer.network.reports.record import ExecutionRecord
from clinfer.runtime.stream import Stream

if TYPE_CHECKING:
    from clinfer.api.compiled_model import CompiledModel


_NAP_S = 2e-4
_LOOK_S = 0.5
"""How often who waits for a run looks whether it was cancelled by somebody who was interrupted."""


class _RunToken(Token):
    """The token of an inference. `stop`: whether it was cancelled, be it as the request was just taken for it."""

    __slots__ = ("stop",)

    def __init__(self) -> None:
        super().__init__()
        self.stop = Stop()


class _Idle(AbstractContextManager[None]):
    """Has a request, which `take` takes for a token, while its block runs."""

    __slots__ = ("_take", "_token")

    def __init__(self, take: Callable[[Token], None]) -> None:
        self._take = take
        self._token = Token(is_brief=True)

    def __enter__(self) -> None:
        try:
            self._take(self._token)
        except BaseException:
            self._token.is_over = True
            raise

    def __exit__(self, *_: object) -> None:
        self._token.is_over = True


class InferRequest(RequestExecution, OneOfAKind, metaclass=Handle):
    """Runs a compiled model, at once or in the background. Requests of one model may run in parallel.

    Made by `CompiledModel.create_infer_request`. While a request runs, every other use of it is an error;
    after an error or an interrupt it can be used again. What the device was given before an interrupt (Ctrl-C) may
    still run for a while: the next use waits for it, and its arrays are kept until then.

    In a queue of the user's, `start_async` enqueues the inference in the calling thread. Where all inputs and outputs
    are remote tensors, or inputs of at most 4 KB that are copied, the request may then be used at once: what is begun
    next runs behind it.

    `on_finish(request, error)` is called after every background run and its callback, in the thread that ends it.
    """

    def __init__(self, compiled_model: CompiledModel,
                 on_finish: Callable[[InferRequest, BaseException | None], None] | None = None) -> None:
        super().__init__(compiled_model)
        self._flights = Flights()
        self._turn = Turn()
        self._run: Future[None] | None = None
        self._queued: tuple[Token, Future[None]] | None = None
        self._callback_threads: set[int] = set()
        self._callback: Callable[[Any], None] | None = None
        self._on_finish = on_finish
        self._latency_ms = 0.0
        self._was_started = False
        self._userdata: Any = None
        compiled_model.requests.add(self)

    # -- running --------------------------------------------------------------------------------

    def infer(self, inputs: Any = None, share_inputs: bool = False, share_outputs: bool = False, *,
              decode_strings: bool = True) -> Results:
        """Run now. `inputs`: one array or tensor, a list in the order of the inputs, or a dictionary by
        index, name or port; what is left out keeps its contents.

        `share_inputs`: an array of the right type stays the input, so that later changes to it count.
        `share_outputs`: the next inference overwrites the results if it has results of the same shape.
        `decode_strings`: results that are strings are arrays of NumPy's kind U, else S. They are always copies.
        """
        start, token = time.perf_counter(), _RunToken()
        try:
            self._begin(token)
            self._run = None
            self._give(inputs, share_inputs, keep=False)
            self._was_started = True
            self._execute(start)
            return self._collect(share_outputs, decode_strings)
        finally:
            token.is_over = True

    def start_async(self, inputs: Any = None, userdata: Any = None, share_inputs: bool = False) -> None:
        """Run in the background; see `infer`. Wrong inputs are an error now, other errors come from `wait()`.

        Unless shared, arrays may be changed as soon as this returns; tensors must be left alone. In a queue of the
        user's everything is enqueued when this returns, and nothing is waited for but what the model's
        `host_waits` name. An interrupt may come when the run has begun: `wait()` for it then.
        """
        start, token, before = time.perf_counter(), _RunToken(), self._run
        run: Future[None] | None = None
        try:
            self._begin(token)
            self._give(inputs, share_inputs, keep=True)
            if userdata is not None:
                self._userdata = userdata
            self._was_started = True
            if not self._compiled.shares_queue:
                for slot in self._inputs:
                    slot.prepare()
                run = self._run = Future()
                self._queued = token, run
                self._submit(token, run, partial(self._execute, start))
                return
            self._start_in_queue(start)
            if self._callback is None and self._on_finish is None:
                token.is_over = True
            else:
                run = self._run = Future()
                self._submit(token, run, partial(self._flights.end, self._land))
        except BaseException:
            if token.decide("given up"):
                if run is not None and self._run is run:
                    self._run = before
                token.is_over = True
            raise

    def wait(self) -> None:
        """Wait until the background run and its callback are over; raises what went wrong in them."""
        self._join(None)

    def wait_for(self, timeout: float) -> bool:
        """Wait at most that many milliseconds; whether the run is over, False if none was ever started. Raises what
        went wrong in it."""
        deadline = time.monotonic() + seconds(timeout)
        return self._was_started and self._join(deadline)

    def cancel(self) -> None:
        """End the run in progress, if there is one: who waits for it gets a CancelledError.

        What the device has been given already runs to its end, nothing more is given to it. The request is busy
        until then, and can be used as before afterwards; its outputs may hold old or new values.
        """
        user = self._turn.user
        (user.stop if isinstance(user, _RunToken) else self._stop).is_set = True
        queued = self._queued
        if queued is not None and queued[0].decide("given up"):
            error = self._cancelled()
            try:
                self._settle(error)
            finally:
                queued[0].is_over = True
                self._conclude(queued[1], error)

    def set_callback(self, callback: Callable[[Any], None], userdata: Any = None) -> None:
        """Call `callback(userdata)` after every background run that succeeds, in the thread that ran it."""
        check_callback(callback, "infer request")
        with self.idle():
            self._callback, self._userdata = callback, userdata

    def _join(self, deadline: float | None) -> bool:
        """Wait for the present run and for those that its callback starts; whether they are over."""
        run = self._run
        if run is None:
            return self._flights.end(self._land, deadline)
        while run is not None and threading.get_ident() not in self._callback_threads:
            left = _LOOK_S if deadline is None else min(_LOOK_S, max(0.0, deadline - time.monotonic()))
            if not wait_for_any([run], left).done:
                if deadline is not None and time.monotonic() >= deadline:
                    return False
                self._end_given_up(run)
                continue
            following = self._run
            if following is run or following is None:
                run.result()
                break
            run = following
        return True

    def _end_given_up(self, run: Future[None]) -> None:
        """End a run for somebody who was interrupted while cancelling it."""
        queued = self._queued
        if queued is not None and queued[1] is run and queued[0].is_given_up and not run.done():
            with suppress(InvalidStateError):
                self._conclude(run, self._cancelled())

    def _submit(self, token: Token, run: Future[None], work: Callable[[], object]) -> None:
        try:
            self._compiled.executor.submit(self._run_in_background, token, run, work)
        except RuntimeError as error:
            raise ClinferError(f"nothing can be started in the background: {error}", where="infer request",
                               hint="infer() runs in the calling thread") from error

    def _run_in_background(self, token: Token, run: Future[None], work: Callable[[], object]) -> None:
        if not token.decide("begun"):
            return
        error: BaseException | None = None
        try:
            work()
        except BaseException as caught:
            error = caught
        callback, thread = self._callback, threading.get_ident()
        self._callback_threads.add(thread)
        token.is_over = True
        try:
            if callback is not None and error is None:
                callback(self._userdata)
        except BaseException as caught:
            error = error or caught
        self._callback_threads.discard(thread)
        self._conclude(run, error)

    def _conclude(self, run: Future[None], error: BaseException | None) -> None:
        if error is None:
            run.set_result(None)
        else:
            run.set_exception(error)
        if self._on_finish is not None:
            self._on_finish(self, error)

    def _execute(self, start: float) -> None:
        """Run with the inputs that were given; `start` (of time.perf_counter): from when on latency counts."""
        self._enqueue(self._await)
        self._settle(None)
        self._latency_ms = (time.perf_counter() - start) * 1e3

    # -- in the user's queue --------------------------------------------------------------------

    def _start_in_queue(self, start: float) -> None:
        """Enqueue an inference in the user's queue."""
        self._run = None
        if self._compiled.profiles:
            self._execute(start)
        else:
            self._enqueue(partial(self._fly, start))

    def _fly(self, start: float, network: Network, model: CompiledModel) -> None:
        """Note that what lies in the queue now is an inference of this request."""
        remotes = self._remotes()
        is_apart = remotes.has_all_written and all(slot.is_apart for slot in self._inputs)
        self._flights.add(Flight(network.stream.marker(), start, remotes.tensors, is_apart))
        network.stream.flush()

    def _land(self, flight: Flight, error: BaseException | None) -> None:
        """An inference in the user's queue is over; raises what went wrong."""
        self._latency_ms = (time.perf_counter() - flight.start) * 1e3
        try:
            if error is not None:
                raise error
            if flight.is_apart:
                self._proceed()
            else:
                self._complete()
        except BaseException as caught:
            self._settle(caught)
            raise
        self._settle(None)

    def _end_flight(self) -> None:
        """Raise while an inference in the user's queue uses the host's memory; wait for one that was interrupted."""
        if self._left is not None:
            with suppress(ClinferError):
                self._left.finish()
            self._left = None
        if not self._flights.end_if_done(self._land):
            raise self._is_busy()

    @property
    def is_running(self) -> bool:
        """Whether an inference runs, or waits for its turn."""
        return self._turn.user is not None

    # -- what it tells --------------------------------------------------------------------------

    def query_state(self) -> list[VariableState]:
        """The variable states of this request, in the model's order."""
        self._check_idle()
        engine = self._compiled.engine
        return [VariableState(self, engine, self._states, declared) for declared in self._states.declared]

    def reset_state(self) -> None:
        """Let every variable state have its first value at the next inference."""
        with self.idle():
            self._states.reset()

    def idle(self) -> AbstractContextManager[None]:
        """Let inferences of this request wait; raises while one runs."""
        return _Idle(self._take)

    @contextmanager
    def idle_stream(self) -> Iterator[Stream]:
        """A stream for transfers, see `idle`; waits until one is free."""
        token, pool = Token(), self._compiled.pool
        try:
            with self.idle():
                yield pool.take(token).stream
        finally:
            token.is_over = True
            pool.tell()

    @property
    def userdata(self) -> Any:
        """What was last given to `set_callback` or `start_async` beside it."""
        return self._userdata

    @property
    def results(self) -> Results:
        """The results of the last inference."""
        with self.idle():
            return self._collect(share=False)

    @property
    def latency(self) -> float:
        """Milliseconds from the start of the last inference to its results, transfers and waits for a stream
        included."""
        self._check_idle()
        return self._latency_ms

    @property
    def dynamic_record(self) -> ExecutionRecord:
        """What the last inference did because its shapes were new to its stream; empty where it did nothing of the
        kind. See docs/dynamic_shapes.md."""
        self._check_idle()
        return self._page.tell()

    def get_profiling_info(self) -> list[ov.ProfilingInfo]:
        """What each primitive cost in the last inference: `real_time` on the device, `cpu_time` on the host.

        Before the first inference, and without PERF_COUNT, every primitive is NOT_RUN.
        """
        self._check_idle()
        return profiling_info(self._profile or unexecuted(self._compiled.program))

    @property
    def profiling_info(self) -> list[ov.ProfilingInfo]:
        """See `get_profiling_info`."""
        return self.get_profiling_info()

    @property
    def model_inputs(self) -> list[ConstOutput]:
        """The compiled model's input ports."""
        return list(self._ports.inputs)

    @property
    def model_outputs(self) -> list[ConstOutput]:
        """The compiled model's output ports."""
        return list(self._ports.outputs)

    def get_compiled_model(self) -> CompiledModel:
        """The model that this request runs."""
        return self._compiled

    def __repr__(self) -> str:
        return (f"<InferRequest: inputs {describe_all(self._ports.inputs)}; "
                f"outputs {describe_all(self._ports.outputs)}>")

    def move_to_host(self, stream: Stream) -> None:
        """Keep the inputs on the host until the next inference, unless one is running or was not waited for."""
        token = Token(is_brief=True)
        try:
            if self._turn.take(token) and self._flights.is_empty:
                for slot in self._inputs:
                    slot.move_to_host(stream)
        finally:
            token.is_over = True

    # -- helpers --------------------------------------------------------------------------------

    def _collect(self, share: bool, decode_strings: bool = True) -> Results:
        return Results(self._ports, [output.decoded() if decode_strings and isinstance(output, HostOutputSlot)
                                     else output.result(share) for output in self._outputs])

    def _begin(self, token: _RunToken) -> None:
        """Take the request for an inference; raises while another one runs."""
        self._take(token)
        self._stop = token.stop

    def _take(self, token: Token) -> None:
        while not self._turn.take(token):
            self._wait_for_turn()
        self._end_flight()

    def _wait_for_turn(self) -> None:
        """Wait while the request is in use for something brief; raises while it runs."""
        while (user := self._turn.user) is not None:
            if not user.is_brief:
                raise self._is_busy()
            time.sleep(_NAP_S)

    def _check_idle(self) -> None:
        self._wait_for_turn()
        self._end_flight()

    @staticmethod
    def _is_busy() -> ClinferError:
        return ClinferError("the infer request is running", where="infer request",
                            hint="wait() for it, or use another request of the same model")
