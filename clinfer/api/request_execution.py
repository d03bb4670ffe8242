"""One inference of a request on a stream: handed over, waited for, or left behind when an interrupt comes."""
from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from clinfer.api.host_slots import HostOutputSlot
from clinfer.api.input_slot import describe_given
from clinfer.api.remotes import Remotes
from clinfer.api.request_tensors import RequestTensors
from clinfer.base.errors import CancelledError, ClinferError, OutOfMemoryError
from clinfer.network.memory.states import RequestStates
from clinfer.network.network import Network
from clinfer.network.reports.execution_log import EMPTY_PAGE
from clinfer.network.reports.profiling import NodeProfile
from clinfer.remote.claims import Use, claim
from clinfer.runtime.stream import Stream

if TYPE_CHECKING:
    from clinfer.api.compiled_model import CompiledModel
    from clinfer.api.saved_model import ModelParts
    from clinfer.api.stream_pool import StreamPool

_LEAVE_S = 0.3
"""How long an interrupt waits for the device to be done."""


class Stop:
    """Whether an inference was cancelled."""

    __slots__ = ("is_set",)

    def __init__(self) -> None:
        self.is_set = False


class RequestExecution(RequestTensors):
    """What a request does with a network that it borrows. One inference at a time."""

    def __init__(self, compiled_model: CompiledModel) -> None:
        super().__init__(compiled_model)
        self._stop = Stop()
        self._left: Stream | None = None
        """In which an inference that was interrupted may still run."""
        self._profile: tuple[NodeProfile, ...] = ()
        self._states = RequestStates(compiled_model.engine, compiled_model.states)
        self._page = EMPTY_PAGE

    def _enqueue(self, then: Callable[[Network, CompiledModel], None]) -> None:
        """Hand the inference to a stream, and do what comes `then`, while the stream is this request's."""
        use = Use()
        pool: StreamPool | None = None
        try:
            remotes = self._look()
            self._claim(remotes, use)
            self._proceed()
            if not (remotes.are_checked and remotes.is_all):
                for slot in self._inputs:
                    slot.prepare()
            model = self._compiled.for_inputs(self._inputs)
            pool = model.pool
            self._enqueue_on(pool.take(use), model, use, then)
        except BaseException as error:
            self._settle(error)
            raise
        finally:
            use.is_over = True
            if pool is not None:
                pool.tell()

    def _settle(self, error: BaseException | None) -> None:
        if self._found_remotes is None or not self._found_remotes.is_all:
            for slot in self._inputs:
                slot.settle(error)

    def _enqueue_on(self, network: Network, model: CompiledModel, use: Use,
                    then: Callable[[Network, CompiledModel], None]) -> None:
        try:
            self._give_and_run(network, model)
            then(network, model)
            self._states.commit()
        except Exception as error:
            # The caller's arrays must be out of use before the error reaches the caller.
            with suppress(ClinferError):
                network.stream.finish()
            if isinstance(error, OutOfMemoryError):
                network.release_memory()
            if isinstance(error, ClinferError) and not isinstance(error, CancelledError):
                told = error.beside({"inputs": describe_given(self._inputs)})
                raise told.with_traceback(error.__traceback__) from None
            raise
        except BaseException:
            self._leave(network.stream, use)
            raise

    def _leave(self, stream: Stream, use: Use) -> None:
        """Answer an interrupt, though the device may be at work for long: what it works on is kept until it is done."""
        self._left = stream
        with suppress(ClinferError):
            if not stream.finish_within(_LEAVE_S):
                use.event = stream.marker()
                stream.keep((use, [i.in_use for i in self._inputs], [o.in_use for o in self._outputs]))

    def _give_and_run(self, network: Network, model: CompiledModel) -> None:
        stream, parts = network.stream, model.parts
        network.start_profile()
        self._page = EMPTY_PAGE
        with self._taken_over(stream):
            self._hand_over(network, parts)
            results = network.execute(proceed=self._proceed, states=self._states)
            self._page = network.page
            for name, output in zip(parts.output_names, self._outputs, strict=True):
                if isinstance(output, HostOutputSlot):
                    output.receive(network.host_output(name))
                else:
                    output.receive(stream, results[name])

    def _hand_over(self, network: Network, parts: ModelParts) -> None:
        """Give the network what it reads, and where it writes; remote tensors that it has are left as they are."""
        remotes = self._remotes()
        has_remotes = network.given is remotes.identity
        if has_remotes and remotes.is_all:
            return
        network.given = None
        read, written = self._host_spans(remotes)
        for name, slot in zip(parts.input_names, self._inputs, strict=True):
            slot.upload(network.stream, network, name, written)
        if not (has_remotes and remotes.has_all_written):
            network.set_outputs(self._given_outputs(parts.output_names, read))
        network.given, remotes.are_checked = remotes.identity, True

    def _await(self, network: Network, model: CompiledModel) -> None:
        network.stream.finish()
        self._complete()
        if self._compiled.profiles:
            self._profile = network.profile()
            model.keep_profile(self._profile, network.take_event_log())

    def _complete(self) -> None:
        """Raise if the user changed tensors meanwhile, or cancelled."""
        for given in self._inputs:
            given.check_unchanged()
        for output in self._outputs:
            output.check_unchanged()
        self._proceed()

    def _claim(self, remotes: Remotes, use: Use) -> None:
        """Keep other inferences that run at the same time from memory that this one writes to."""
        if remotes.tensors:
            remotes.check_apart()
            # In one queue they run one behind the other.
            if not self._compiled.shares_queue:
                claim(use, *remotes.spans)

    def _proceed(self) -> None:
        if self._stop.is_set:
            raise self._cancelled()

    @staticmethod
    def _cancelled() -> ClinferError:
        return CancelledError("the inference was cancelled", where="infer request")
