"""The infer request: it owns its inputs and outputs and borrows a stream while it runs."""
from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from concurrent.futures import wait as wait_for_any
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from clinfer.api.absent import NO_STATES
from clinfer.api.arrays import Declared, HostData, by_key, from_tensor, from_value
from clinfer.api.handles import Handle
from clinfer.api.input_slot import InputSlot, describe_given
from clinfer.api.output_slot import OutputSlot
from clinfer.api.ports import PortKey, describe_all
from clinfer.api.profiling import profiling_info
from clinfer.api.results import Results
from clinfer.base.errors import CancelledError, ClinferError, OutOfMemoryError
from clinfer.frontend.openvino_import import openvino as ov
from clinfer.network.journal import EMPTY_PAGE
from clinfer.network.network import Network
from clinfer.network.profiling import NodeProfile, unexecuted
from clinfer.network.record import ExecutionRecord
from clinfer.runtime.stream import Stream

if TYPE_CHECKING:
    from clinfer.api.compiled_model import CompiledModel


class InferRequest(metaclass=Handle):
    """Runs a compiled model, at once or in the background. Requests of one model may run in parallel.

    Made by `CompiledModel.create_infer_request`. While a request runs, every other use of it is an error;
    after an error it can be used again. Arrays and tensors are in host memory.

    `on_finish(request, error)` is called after every background run and its callback, in the thread that ends it.
    """

    query_state = reset_state = NO_STATES

    def __init__(self, compiled_model: CompiledModel,
                 on_finish: Callable[[InferRequest, BaseException | None], None] | None = None) -> None:
        self._compiled = compiled_model
        self._ports = compiled_model.ports
        engine = compiled_model.engine
        self._inputs = [InputSlot(Declared.of(port, "input"), engine) for port in self._ports.inputs]
        self._outputs = [OutputSlot(Declared.of(port, "output")) for port in self._ports.outputs]
        self._busy = threading.Lock()
        self._run: Future[None] | None = None
        self._stop = threading.Event()
        self._queued: tuple[Future[None], Future[None]] | None = None
        self._queue_lock = threading.Lock()
        self._callback_threads: set[int] = set()
        self._callback: Callable[[Any], None] | None = None
        self._on_finish = on_finish
        self._latency_ms = 0.0
        self._profile: tuple[NodeProfile, ...] = ()
        self._page = EMPTY_PAGE
        self.userdata: Any = None
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
            self._run = None
            self._stop = threading.Event()
            self._give(inputs, share_inputs, keep=False)
            self._execute(start)
            return self._collect(share_outputs)

    def start_async(self, inputs: Any = None, userdata: Any = None, share_inputs: bool = False) -> None:
        """Run in the background; see `infer`. Wrong inputs are an error now, other errors come from `wait()`.

        Unless shared, arrays may be changed as soon as this returns; tensors must be left alone.
        """
        start = time.perf_counter()
        if not self._busy.acquire(blocking=False):
            raise self._is_busy()
        run: Future[None] = Future()
        try:
            self._give(inputs, share_inputs, keep=True)
            for slot in self._inputs:
                slot.prepare()
            if userdata is not None:
                self.userdata = userdata
            self._stop = threading.Event()
            before, self._run = self._run, run
            try:
                self._queued = (self._compiled.executor.submit(self._run_in_background, run, start), run)
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
        """Wait at most that many milliseconds; whether the run is over. Raises what went wrong in it."""
        return self._join(time.monotonic() + timeout / 1e3)

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
        if not callable(callback):
            raise ClinferError("a callback must be callable", where="infer request",
                               values={"given": type(callback).__name__})
        self._callback, self.userdata = callback, userdata

    def _join(self, deadline: float | None) -> bool:
        """Wait for the present run and for those that its callback starts; whether they are over."""
        run = self._run
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

    def _run_in_background(self, run: Future[None], start: float) -> None:
        error: BaseException | None = None
        try:
            self._execute(start)
        except BaseException as caught:
            error = caught
        callback, thread = self._callback, threading.get_ident()
        self._callback_threads.add(thread)
        self._busy.release()
        try:
            if callback is not None and error is None:
                callback(self.userdata)
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
        try:
            self._proceed()
            for slot in self._inputs:
                slot.prepare()
            model = self._compiled.for_inputs(self._inputs)
            with model.pool.borrow() as network:
                self._execute_on(network, model)
        except BaseException as error:
            self._settle(error)
            raise
        self._settle(None)
        self._latency_ms = (time.perf_counter() - start) * 1e3

    def _settle(self, error: BaseException | None) -> None:
        for slot in self._inputs:
            slot.settle(error)

    def _execute_on(self, network: Network, model: CompiledModel) -> None:
        try:
            self._run_on(network, model)
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

    def _run_on(self, network: Network, model: CompiledModel) -> None:
        stream = network.stream
        network.start_profile()
        self._page = EMPTY_PAGE
        for name, slot in zip(model.parts.input_names, self._inputs, strict=True):
            slot.upload(stream, network, name)
        results = network.execute(proceed=self._proceed)
        self._page = network.page
        for name, output in zip(model.parts.output_names, self._outputs, strict=True):
            output.receive(stream, results[name])
        stream.finish()
        for given in self._inputs:
            given.check_unchanged()
        for output in self._outputs:
            output.check_unchanged()
        self._proceed()
        if self._compiled.profiles:
            self._profile = network.profile()
            model.keep_profile(self._profile)

    # -- inputs ---------------------------------------------------------------------------------

    def _give(self, inputs: Any, share: bool, keep: bool) -> None:
        """Check everything, then take everything."""
        given = self._convert(inputs)
        for index, value in given.items():
            if isinstance(value, HostData):
                self._inputs[index].give(value, share, keep)
            else:
                self._inputs[index].set_tensor(value)

    def _convert(self, inputs: Any) -> dict[int, HostData | ov.Tensor]:
        given: dict[int, HostData | ov.Tensor] = {}
        for key, value in by_key(inputs, self._ports).items():
            index = self._ports.input_index(key)
            declared = self._inputs[index].declared
            if isinstance(value, ov.Tensor | ov.RemoteTensor):
                from_tensor(value, declared)
                given[index] = value
            else:
                given[index] = from_value(value, declared)
        return given

    # -- tensors --------------------------------------------------------------------------------

    def set_tensor(self, key: str | ov.Output | ov.ConstOutput, tensor: ov.Tensor) -> None:
        """Use a host tensor as the input or output of a name or port."""
        self._check_idle()
        is_input, index = self._ports.find(key)
        (self._inputs if is_input else self._outputs)[index].set_tensor(tensor)

    def set_tensors(self, tensors: Mapping[str | ov.Output | ov.ConstOutput, ov.Tensor]) -> None:
        """`set_tensor` for each item."""
        for key, tensor in tensors.items():
            self.set_tensor(key, tensor)

    def set_input_tensor(self, index: Any = None, tensor: ov.Tensor | None = None) -> None:
        """`set_input_tensor(index, tensor)`, or `set_input_tensor(tensor)` where there is one input."""
        self._check_idle()
        key, value = (None, index) if tensor is None else (index, tensor)
        self._inputs[self._ports.input_index(key)].set_tensor(value)

    def set_output_tensor(self, index: Any = None, tensor: ov.Tensor | None = None) -> None:
        """`set_output_tensor(index, tensor)`, or `set_output_tensor(tensor)` where there is one output."""
        self._check_idle()
        key, value = (None, index) if tensor is None else (index, tensor)
        self._outputs[self._ports.output_index(key)].set_tensor(value)

    def set_input_tensors(self, tensors: Mapping[PortKey, ov.Tensor]) -> None:
        """`set_input_tensor` for each item."""
        for key, tensor in tensors.items():
            self.set_input_tensor(key, tensor)

    def set_output_tensors(self, tensors: Mapping[PortKey, ov.Tensor]) -> None:
        """`set_output_tensor` for each item."""
        for key, tensor in tensors.items():
            self.set_output_tensor(key, tensor)

    def get_tensor(self, key: str | ov.Output | ov.ConstOutput) -> ov.Tensor:
        """The host tensor of the input or output of a name or port; see get_input_tensor."""
        is_input, index = self._ports.find(key)
        return self.get_input_tensor(index) if is_input else self.get_output_tensor(index)

    def get_input_tensor(self, index: PortKey | None = None) -> ov.Tensor:
        """The host tensor of an input (of the only one without an index), read at every later inference."""
        self._check_idle()
        slot = self._inputs[self._ports.input_index(index)]
        if not slot.is_on_device_only:
            return slot.get_tensor(None)
        with self._compiled.pool.borrow() as network:
            return slot.get_tensor(network.stream)

    def get_output_tensor(self, index: PortKey | None = None) -> ov.Tensor:
        """The host tensor of an output (of the only one without an index), written at every later inference."""
        self._check_idle()
        return self._outputs[self._ports.output_index(index)].get_tensor()

    @property
    def input_tensors(self) -> list[ov.Tensor]:
        """The host tensors of all inputs."""
        return [self.get_input_tensor(i) for i in range(len(self._inputs))]

    @property
    def output_tensors(self) -> list[ov.Tensor]:
        """The host tensors of all outputs."""
        return [self.get_output_tensor(i) for i in range(len(self._outputs))]

    # -- what it tells --------------------------------------------------------------------------

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

        The model must be compiled with PERF_COUNT. Before the first inference every primitive is NOT_RUN.
        """
        self._check_idle()
        if not self._compiled.profiles:
            raise ClinferError("profiling is off", where="infer request",
                               hint='compile the model with {"PERF_COUNT": True}')
        return profiling_info(self._profile or unexecuted(self._compiled.program))

    @property
    def profiling_info(self) -> list[ov.ProfilingInfo]:
        """See `get_profiling_info`."""
        return self.get_profiling_info()

    @property
    def model_inputs(self) -> list[ov.Output]:
        """The compiled model's input ports."""
        return list(self._ports.inputs)

    @property
    def model_outputs(self) -> list[ov.Output]:
        """The compiled model's output ports."""
        return list(self._ports.outputs)

    def get_compiled_model(self) -> CompiledModel:
        """The model that this request runs."""
        return self._compiled

    def __repr__(self) -> str:
        return (f"<InferRequest: inputs {describe_all(self._ports.inputs)}; "
                f"outputs {describe_all(self._ports.outputs)}>")

    def move_to_host(self, stream: Stream) -> None:
        """Keep the inputs on the host until the next inference, unless one is running."""
        if self._busy.acquire(blocking=False):
            try:
                for slot in self._inputs:
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
