"""The infer request: it owns its inputs and outputs and borrows a stream while it runs."""
from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from concurrent.futures import wait as wait_for_any
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from clinfer.api.absent import NO_STATES
from clinfer.api.arguments import check_callback, seconds
from clinfer.api.flight import Flight, Flights
from clinfer.api.handles import Handle
from clinfer.api.input_slot import describe_given
from clinfer.api.ports import ConstOutput, describe_all
from clinfer.api.profiling import profiling_info
from clinfer.api.request_tensors import RequestTensors
from clinfer.api.results import Results
from clinfer.base.errors import CancelledError, ClinferError, OutOfMemoryError
from clinfer.frontend.openvino_import import openvino as ov
from clinfer.network.journal import EMPTY_PAGE
from clinfer.network.network import Network
from clinfer.network.profiling import NodeProfile, unexecuted
from clinfer.network.record import ExecutionRecord
from clinfer.remote.claims import check_apart, claimed
from clinfer.runtime.stream import Stream

if TYPE_CHECKING:
    from clinfer.api.compiled_model import CompiledModel


_NO_CLAIM = nullcontext()


class InferRequest(RequestTensors, metaclass=Handle):
    """Runs a compiled model, at once or in the background. Requests of one model may run in parallel.

    Made by `CompiledModel.create_infer_request`. While a request runs, every other use of it is an error;
    after an error it can be used again.

    In a queue of the user's, `start_async` enqueues the inference in the calling thread. Where all inputs and outputs
    are remote tensors the request may then be used at once: what is begun next runs behind it.

    `on_finish(request, error)` is called after every background run and its callback, in the thread that ends it.
    """

    query_state = reset_state = NO_STATES

    def __init__(self, compiled_model: CompiledModel,
                 on_finish: Callable[[InferRequest, BaseException | None], None] | None = None) -> None:
        super().__init__(compiled_model)
        self._flights = Flights()
        self._busy = threading.Lock()
        self._run: Future[None] | None = None
        self._stop = threading.Event()
        self._queued: tuple[Future[None], Future[None]] | None = None
        self._queue_lock = threading.Lock()
        self._callback_threads: set[int] = set()
        self._callback: Callable[[Any], None] | None = None
        self._on_finish = on_finish
        self._latency_ms = 0.0
        self._was_started = False
        self._profile: tuple[NodeProfile, ...] = ()
        self._page = EMPTY_PAGE
        self._userdata: Any = None
        compiled_model.requests.add(self)

    # -- running --------------------------------------------------------------------------------

    def infer(self, inputs: Any = None, share_inputs: bool = False, share_outputs: bool = False, *,
              decode_strings: bool = True) -> Results:
        """Run now. `inputs`: one array or tensor, a list in the order of the inputs, or a dictionary by
        index, name or port; what is left out keeps its contents.

        `share_inputs`: an array of the right type stays the input, so that later changes to it count.
        `share_outputs`: the next inference overwrites the results if it has results of the same shape.
        """
        start = time.perf_counter()
        with self._exclusive():
            self._end_flight()
            self._run = None
            self._stop = threading.Event()
            self._give(inputs, share_inputs, keep=False)
            self._was_started = True
            self._execute(start)
            return self._collect(share_outputs)

    def start_async(self, inputs: Any = None, userdata: Any = None, share_inputs: bool = False) -> None:
        """Run in the background; see `infer`. Wrong inputs are an error now, other errors come from `wait()`.

        Unless shared, arrays may be changed as soon as this returns; tensors must be left alone. In a queue of the
        user's everything is enqueued when this returns, and nothing is waited for but what the model's
        `host_waits` name.
        """
        start = time.perf_counter()
        if not self._busy.acquire(blocking=False):
            raise self._is_busy()
        run: Future[None] = Future()
        try:
            self._end_flight()
            self._give(inputs, share_inputs, keep=True)
            for slot in self._inputs:
                slot.prepare()
            if userdata is not None:
                self._userdata = userdata
            self._was_started = True
            self._stop = threading.Event()
            if self._compiled.shares_queue:
                if not self._start_in_queue(run, start):
                    self._busy.release()
                return
            before, self._run = self._run, run
            try:
                self._queued = (self._compiled.executor.submit(
                    self._run_in_background, run, partial(self._execute, start)), run)
            except BaseException:
                self._run = before
                raise
        except BaseException:
            self._busy.release()
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
        self._stop.set()
        with self._queue_lock:
            queued, self._queued = self._queued, None
        if queued is not None and queued[0].cancel():
            error = self._cancelled()
            self._settle(error)
            self._busy.release()
            self._conclude(queued[1], error)

    def set_callback(self, callback: Callable[[Any], None], userdata: Any = None) -> None:
        """Call `callback(userdata)` after every background run that succeeds, in the thread that ran it."""
        self._check_idle()
        check_callback(callback, "infer request")
        self._callback, self._userdata = callback, userdata

    def _join(self, deadline: float | None) -> bool:
        """Wait for the present run and for those that its callback starts; whether they are over."""
        run = self._run
        if run is None:
            return self._flights.end(self._land, deadline)
        while run is not None and threading.get_ident() not in self._callback_threads:
            left = None if deadline is None else max(0.0, deadline - time.monotonic())
            if not wait_for_any([run], left).done:
                return False
            following = self._run
            if following is run or following is None:
                run.result()
                break
            run = following
        return True

    def _run_in_background(self, run: Future[None], work: Callable[[], object]) -> None:
        error: BaseException | None = None
        try:
            work()
        except BaseException as caught:
            error = caught
        callback, thread = self._callback, threading.get_ident()
        self._callback_threads.add(thread)
        self._busy.release()
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
        with self._claimed():
            self._enqueue(self._await)
        self._settle(None)
        self._latency_ms = (time.perf_counter() - start) * 1e3

    def _enqueue(self, then: Callable[[Network, CompiledModel], None]) -> None:
        """Hand the inference to a stream, and do what comes `then`, while the stream is this request's."""
        try:
            self._proceed()
            for slot in self._inputs:
                slot.prepare()
            model = self._compiled.for_inputs(self._inputs)
            with model.pool.borrow() as network:
                self._enqueue_on(network, model, then)
        except BaseException as error:
            self._settle(error)
            raise

    def _settle(self, error: BaseException | None) -> None:
        for slot in self._inputs:
            slot.settle(error)

    def _enqueue_on(self, network: Network, model: CompiledModel,
                    then: Callable[[Network, CompiledModel], None]) -> None:
        try:
            self._give_and_run(network, model)
            then(network, model)
        except BaseException as error:
            # The caller's arrays must be out of use before the error reaches the caller.
            with suppress(ClinferError):
                network.stream.finish()
            if isinstance(error, OutOfMemoryError):
                network.release_memory()
            if isinstance(error, ClinferError) and not isinstance(error, CancelledError):
                told = error.beside({"inputs": describe_given(self._inputs)})
                raise told.with_traceback(error.__traceback__) from None
            raise

    def _give_and_run(self, network: Network, model: CompiledModel) -> None:
        stream, parts = network.stream, model.parts
        network.start_profile()
        self._page = EMPTY_PAGE
        with self._taken_over(stream):
            read, written = self._host_spans()
            for name, slot in zip(parts.input_names, self._inputs, strict=True):
                slot.upload(stream, network, name, written)
            network.set_outputs(self._given_outputs(parts.output_names, read))
            results = network.execute(proceed=self._proceed)
            self._page = network.page
            for name, output in zip(parts.output_names, self._outputs, strict=True):
                output.receive(stream, results[name])

    def _await(self, network: Network, model: CompiledModel) -> None:
        network.stream.finish()
        self._complete()
        if self._compiled.profiles:
            self._profile = network.profile()
            model.keep_profile(self._profile)

    def _complete(self) -> None:
        """Raise if the user changed tensors meanwhile, or cancelled."""
        for given in self._inputs:
            given.check_unchanged()
        for output in self._outputs:
            output.check_unchanged()
        self._proceed()

    def _claimed(self) -> AbstractContextManager[None]:
        """Keeps other inferences that run at the same time from memory that this one writes to."""
        if not self._had_remote:
            return _NO_CLAIM
        read, written = self._remote_tensors()
        check_apart(read, written)
        # In one queue they run one behind the other.
        return _NO_CLAIM if self._compiled.shares_queue else claimed(read, written)

    # -- in the user's queue --------------------------------------------------------------------

    def _start_in_queue(self, run: Future[None], start: float) -> bool:
        """Enqueue an inference in the user's queue; whether somebody waits for its end in the background."""
        self._run = None
        if self._compiled.profiles:
            self._execute(start)
        else:
            with self._claimed():
                self._enqueue(partial(self._fly, start))
        if self._callback is None and self._on_finish is None:
            return False
        self._run = run
        self._compiled.executor.submit(self._run_in_background, run, partial(self._flights.end, self._land))
        return True

    def _fly(self, start: float, network: Network, model: CompiledModel) -> None:
        """Note that what lies in the queue now is an inference of this request."""
        read, written = self._remote_tensors()
        is_remote = all(slot.remotes for slot in self._inputs) and len(written) == len(self._outputs)
        self._flights.add(Flight(network.stream.marker(), start, (*read, *written), is_remote))
        network.stream.flush()

    def _land(self, start: float, error: BaseException | None) -> None:
        """An inference in the user's queue is over; raises what went wrong."""
        self._latency_ms = (time.perf_counter() - start) * 1e3
        try:
            if error is not None:
                raise error
            self._complete()
        except BaseException as caught:
            self._settle(caught)
            raise
        self._settle(None)

    def _end_flight(self) -> None:
        """Raise while an inference in the user's queue uses the host's memory."""
        if not self._flights.end_if_done(self._land):
            raise self._is_busy()

    # -- what it tells --------------------------------------------------------------------------

    @property
    def userdata(self) -> Any:
        """What was last given to `set_callback` or `start_async` beside it."""
        return self._userdata

    @property
    def results(self) -> Results:
        """The results of the last inference."""
        self._check_idle()
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
        if self._busy.acquire(blocking=False):
            try:
                for slot in self._inputs if self._flights.is_empty else ():
                    slot.move_to_host(stream)
            finally:
                self._busy.release()

    # -- helpers --------------------------------------------------------------------------------

    def _collect(self, share: bool) -> Results:
        return Results(self._ports, [output.result(share) for output in self._outputs])

    @contextmanager
    def _exclusive(self) -> Iterator[None]:
        if not self._busy.acquire(blocking=False):
            raise self._is_busy()
        try:
            yield
        finally:
            self._busy.release()

    def _check_idle(self) -> None:
        if self._busy.locked():
            raise self._is_busy()
        self._end_flight()

    def _proceed(self) -> None:
        if self._stop.is_set():
            raise self._cancelled()

    @staticmethod
    def _cancelled() -> ClinferError:
        return CancelledError("the inference was cancelled", where="infer request")

    @staticmethod
    def _is_busy() -> ClinferError:
        return ClinferError("the infer request is running", where="infer request",
                            hint="wait() for it, or use another request of the same model")
