"""The inputs and outputs of an infer request, as users set and get them."""
from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, TypeAlias

from clinfer.api.arguments import only
from clinfer.api.arrays import Declared, HostData, by_key, from_tensor, from_value
from clinfer.api.host_slots import AnyInputSlot, AnyOutputSlot, HostInputSlot, HostOutputSlot
from clinfer.api.input_slot import InputSlot
from clinfer.api.output_slot import OutputSlot
from clinfer.api.ports import INTEGERS, AnyPort, PortKey, describe
from clinfer.api.remotes import Remotes
from clinfer.base.errors import ClinferError, WrongTypeError
from clinfer.base.turns import Token
from clinfer.frontend.openvino_import import openvino as ov
from clinfer.network.memory.buffers import OfferedMemory
from clinfer.network.plans.likely_needs import likely_bytes
from clinfer.remote.host_memories import HostPlace, Span
from clinfer.remote.lent import NOTHING_LENT, taken_over
from clinfer.remote.tensors import RemoteTensor
from clinfer.runtime.memory import Memory
from clinfer.runtime.stream import Stream

if TYPE_CHECKING:
    from clinfer.api.compiled_model import CompiledModel

AnyTensor: TypeAlias = ov.Tensor | RemoteTensor
"""In host memory, or in memory of a remote context."""


def _items(tensors: Any, name: str) -> Iterable[tuple[Any, AnyTensor]]:
    if not isinstance(tensors, Mapping):
        raise WrongTypeError(f"{name} takes a dictionary, or a key and a list of tensors", where="infer request",
                             values={"given": type(tensors).__name__})
    return tensors.items()


def _room(declared: Declared, compiled_model: CompiledModel) -> int:
    """The bytes of device memory that an input has from the start."""
    if declared.shape is None or declared.is_surface:
        return 0
    return min(likely_bytes(declared.shape, declared.element_type), compiled_model.preallocation.room)


def _batch(tensors: Any) -> list[AnyTensor]:
    if not isinstance(tensors, Iterable):
        raise WrongTypeError("a batch is given as a list of tensors", where="infer request",
                             values={"given": type(tensors).__name__})
    return list(tensors)


class RequestTensors:
    """One slot per input and output of a model."""

    def __init__(self, compiled_model: CompiledModel) -> None:
        self._compiled = compiled_model
        self._ports = compiled_model.ports
        engine = compiled_model.engine
        surfaces = compiled_model.surfaces

        def place() -> HostPlace:
            return HostPlace(engine, reaches_arrays=not compiled_model.shares_queue)

        def input_slot(declared: Declared) -> AnyInputSlot:
            if declared.element_type.is_on_host_only:
                return HostInputSlot(declared)
            return InputSlot(declared, engine, place(), _room(declared, compiled_model))

        def output_slot(declared: Declared) -> AnyOutputSlot:
            is_on_host = declared.element_type.is_on_host_only
            return HostOutputSlot(declared) if is_on_host else OutputSlot(declared, engine, place())

        self._inputs = [input_slot(Declared.of(port, "input", index in surfaces))
                        for index, port in enumerate(self._ports.inputs)]
        if engine.capabilities.buffers_in_place:
            stream = engine.create_stream()
            for slot in self._inputs:
                slot.prepare_copies(stream)
        self._outputs = [output_slot(Declared.of(port, "output")) for port in self._ports.outputs]
        self._found_remotes: Remotes | None = None
        self._had_remote = False
        self._had_tensor = False
        """Whether a remote tensor, or any tensor, was ever set, got or shared; sparing a look at each slot."""

    def idle(self) -> AbstractContextManager[None]:
        """Let inferences wait; raises while one runs."""
        raise NotImplementedError

    # -- inputs of one inference ----------------------------------------------------------------

    def _give(self, inputs: Any, share: bool, keep: bool) -> None:
        """Check everything, then take everything."""
        self._had_tensor |= share
        if inputs is None:
            return
        given = self._convert(inputs)
        if given and self._had_remote:
            self._found_remotes = None
        for index, value in given.items():
            if isinstance(value, HostData):
                self._inputs[index].give(value, share, keep)
            else:
                self._set(self._inputs[index], value)

    def _slot(self, key: str | AnyPort) -> AnyInputSlot | AnyOutputSlot:
        is_input, index = self._ports.find(key)
        return (self._inputs if is_input else self._outputs)[index]

    def _set(self, slot: AnyInputSlot | AnyOutputSlot, tensor: AnyTensor | None) -> None:
        is_remote = isinstance(tensor, RemoteTensor)
        if slot.remotes != ((tensor,) if is_remote else ()):
            self._found_remotes = None
        slot.set_tensor(tensor)
        self._had_tensor = True
        self._had_remote |= is_remote

    def _set_batch(self, index: int, tensors: list[AnyTensor]) -> None:
        self._found_remotes = None
        self._inputs[index].set_tensors(tensors)
        self._had_remote = self._had_remote or any(isinstance(tensor, RemoteTensor) for tensor in tensors)

    def _convert(self, inputs: Any) -> dict[int, HostData | AnyTensor]:
        given: dict[int, HostData | AnyTensor] = {}
        for key, value in by_key(inputs, self._ports).items():
            index = self._ports.input_index(key)
            slot = self._inputs[index]
            if isinstance(value, RemoteTensor):
                slot.check_remote(value)
                given[index] = value
            elif isinstance(value, ov.Tensor | ov.RemoteTensor):
                from_tensor(value, slot.declared)
                given[index] = value
            else:
                given[index] = from_value(value, slot.declared)
        return given

    def _given_outputs(self, names: Sequence[str], read: Sequence[Span]) -> dict[str, Memory | OfferedMemory]:
        """The memories of the user's to which the device writes, by the program's names of the outputs; `read`: see
        `OutputSlot.memory`."""
        if not self._had_tensor:
            return {}
        return {name: memory for name, output in zip(names, self._outputs, strict=True)
                if (memory := output.memory(read)) is not None}

    def _look(self) -> Remotes:
        """The remote tensors of an inference that begins: those of the last one, and what is known of them, if they lie
        where they did."""
        found = self._found_remotes
        if found is None or not found.lie_there():
            found = self._found_remotes = Remotes(self._inputs, self._outputs)
        return found

    def _remotes(self) -> Remotes:
        """The remote tensors that are set at present."""
        return self._found_remotes or self._look()

    def _taken_over(self, stream: Stream) -> AbstractContextManager[None]:
        """Takes over what other APIs lend, while commands are enqueued that use it."""
        if not self._had_remote or not self._remotes().lends:
            return NOTHING_LENT
        return taken_over(stream, self._remotes().tensors)

    def _host_spans(self, remotes: Remotes) -> tuple[list[Span], list[Span]]:
        """Where on the host the device reads remote inputs, and may write outputs: an input or output of the host's
        that lies there is transferred, so that nothing is read after it was overwritten."""
        if not self._had_tensor or remotes.is_all or not (
                any(slot.has_host_tensor for slot in self._inputs)
                or any(slot.has_host_tensor for slot in self._outputs)):
            return [], []
        if remotes.has_all_written:
            return remotes.read_on_host, remotes.written_on_host
        return remotes.read_on_host, [span for slot in self._outputs if (span := slot.host_span)]

    # -- tensors --------------------------------------------------------------------------------

    def set_tensor(self, name: str | AnyPort | None = None, tensor: AnyTensor | None = None, *,
                   port: AnyPort | None = None) -> None:
        """Use a tensor of the host or of a remote context as the input or output of a name or port."""
        with self.idle():
            self._set(self._slot(name if port is None else only("set_tensor", name=name, port=port)), tensor)

    def set_tensors(self, inputs: Mapping[Any, AnyTensor] | str | AnyPort | None = None,
                    tensors: Sequence[AnyTensor] | None = None, *, tensor_name: str | None = None,
                    port: AnyPort | None = None) -> None:
        """`set_tensors({key: tensor})`: `set_tensor` for each item, a number being the index of an input.
        `set_tensors(key, tensors)`: one tensor for each entry of the batch of the input of a name or port, each of
        which has shape 1 along the first axis.

        Images of a batch are read where they lie; other tensors are copied into one memory at each inference.
        """
        given = only("set_tensors", inputs=inputs, tensor_name=tensor_name, port=port)
        with self.idle():
            if tensors is None:
                for each, tensor in _items(given, "set_tensors"):
                    is_index = isinstance(each, INTEGERS)
                    self._set(self._inputs[self._ports.input_index(each)] if is_index else self._slot(each), tensor)
                return
            is_input, index = self._ports.find(given)
            if not is_input:
                raise ClinferError("set_tensors gives the entries of a batch to inputs alone", where="infer request",
                                   values={"output": describe(self._ports.outputs[index])})
            self._set_batch(index, _batch(tensors))

    def set_input_tensor(self, index: Any = None, tensor: AnyTensor | None = None) -> None:
        """`set_input_tensor(index, tensor)`, or `set_input_tensor(tensor)` where there is one input."""
        key, value = (None, index) if tensor is None else (index, tensor)
        with self.idle():
            self._set(self._inputs[self._ports.input_index(key)], value)

    def set_output_tensor(self, index: Any = None, tensor: AnyTensor | None = None) -> None:
        """`set_output_tensor(index, tensor)`, or `set_output_tensor(tensor)` where there is one output."""
        key, value = (None, index) if tensor is None else (index, tensor)
        with self.idle():
            self._set(self._outputs[self._ports.output_index(key)], value)

    def set_input_tensors(self, inputs: Any = None, tensors: Sequence[AnyTensor] | None = None, *,
                          idx: PortKey | None = None) -> None:
        """`set_input_tensors({index: tensor})`: `set_input_tensor` for each item. `set_input_tensors(index, tensors)`,
        or `set_input_tensors(tensors)` where there is one input: see `set_tensors`."""
        given = only("set_input_tensors", inputs=inputs, idx=idx)
        with self.idle():
            if tensors is None and isinstance(given, Mapping):
                for each, tensor in given.items():
                    self._set(self._inputs[self._ports.input_index(each)], tensor)
                return
            batch = _batch(given if tensors is None else tensors)
            self._set_batch(self._ports.input_index(None if tensors is None else given), batch)

    def set_output_tensors(self, outputs: Mapping[PortKey, AnyTensor]) -> None:
        """`set_output_tensor` for each item."""
        with self.idle():
            for key, tensor in _items(outputs, "set_output_tensors"):
                self._set(self._outputs[self._ports.output_index(key)], tensor)

    def get_tensor(self, name: str | AnyPort | None = None, *, port: AnyPort | None = None) -> AnyTensor:
        """The tensor of the input or output of a name or port; see get_input_tensor."""
        is_input, index = self._ports.find(only("get_tensor", name=name, port=port))
        return self.get_input_tensor(index) if is_input else self.get_output_tensor(index)

    def get_input_tensor(self, index: PortKey | None = None) -> AnyTensor:
        """The tensor that was set for an input (the only one without an index), else a host tensor with what it
        holds; it is read at every later inference."""
        slot = self._inputs[self._ports.input_index(index)]
        with self.idle():
            self._had_tensor = True
            if not slot.is_on_device_only:
                return slot.get_tensor(None)
            token, pool = Token(), self._compiled.pool
            try:
                return slot.get_tensor(pool.take(token).stream)
            finally:
                token.is_over = True
                pool.tell()

    def get_output_tensor(self, index: PortKey | None = None) -> AnyTensor:
        """The tensor that was set for an output (the only one without an index), else a host tensor with the last
        results; it is written at every later inference."""
        slot = self._outputs[self._ports.output_index(index)]
        with self.idle():
            self._had_tensor = True
            return slot.get_tensor()

    @property
    def input_tensors(self) -> list[AnyTensor]:
        """The tensors of all inputs."""
        return [self.get_input_tensor(i) for i in range(len(self._inputs))]

    @property
    def output_tensors(self) -> list[AnyTensor]:
        """The tensors of all outputs."""
        return [self.get_output_tensor(i) for i in range(len(self._outputs))]
