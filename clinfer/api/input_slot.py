"""One input of an infer request: where its contents are, and how they reach the device."""
from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from contextlib import suppress

import numpy as np

from clinfer.api.arrays import (
    Declared,
    GivenInput,
    HostData,
    check_tensor_type,
    check_unchanged,
    contents,
    raw_bytes,
    tensor_shape,
)
from clinfer.api.batches import Batch
from clinfer.api.ports import port_name
from clinfer.api.remote_checks import RemoteCheck, memory_of
from clinfer.base.errors import ClinferError, OutOfMemoryError
from clinfer.base.shape import Dim, StaticShape, show
from clinfer.frontend.openvino_import import openvino as ov
from clinfer.network.network import Network
from clinfer.remote.host_memories import HostPlace, Span, overlaps, span_of
from clinfer.remote.tensors import RemoteTensor
from clinfer.runtime.engine import Engine
from clinfer.runtime.host_copies import look_up
from clinfer.runtime.memory import Memory
from clinfer.runtime.stream import Stream

_KEPT_BYTES = 4096
"""Inputs up to this size keep a host copy, which spares a read where the host needs their values; so do all that it
computes with. Nothing else refers to the caller's arrays once an inference is over."""
_LEAST_BYTES = 1 << 16
"""Of an input's memory, so that short texts of ever other lengths need no new one."""


class InputSlot:
    """The contents lie in one of four places.

    In a remote tensor, once the user set one: nothing is transferred. In several tensors that the user set, one for
    each entry of a batch. In a host tensor, once the user set or got one:
    it is read anew at every inference, because the user may have written to it; the device reads it itself if it can.
    Else in device memory, where the last given array went: it needs no second transfer.
    """

    def __init__(self, declared: Declared, engine: Engine, place: HostPlace, room: int = 0) -> None:
        """`room`: bytes of device memory to have from the start, if they are to be had."""
        self.declared = declared
        self._engine = engine
        self.check_remote = RemoteCheck(declared, engine)
        """Raises unless kernels can read a remote tensor as the input."""
        self._place = place
        self._tensor: ov.Tensor | None = None
        self._remote: RemoteTensor | None = None
        self._batch: Batch | None = None
        self._is_shared = False
        self._data: HostData | None = None
        self._memory: Memory | None = None
        self._shape: StaticShape = ()
        """Of what the device memory holds, if there is any."""
        self._room: Memory | None = _room(engine, max(room, _LEAST_BYTES), declared.label)
        """What the device memory becomes when it is first needed."""
        self._value: np.ndarray | None = None
        """What the device memory holds, for the host, if that is kept."""
        self._sent: HostData | None = None
        """What the device memory holds, as far as it is known; a copy."""
        self._admitted: StaticShape | None = None
        """A shape that the model is known to admit."""

    def prepare_copies(self, stream: Stream) -> None:
        """Make ready what the first transfer needs, on a device whose buffers lie in the host's memory."""
        if self._room is not None:
            with suppress(ClinferError):
                look_up(stream, self._room)

    @property
    def given_shape(self) -> StaticShape | None:
        """The shape of the present contents; None without any."""
        if self._data is not None:
            return self._data.shape
        if self._remote is not None:
            return self._remote.static_shape
        if self._batch is not None:
            return self._batch.shape
        return self._shape if self._memory is not None else None

    @property
    def shape(self) -> StaticShape:
        """The shape of what `prepare` found."""
        shape = self.given_shape
        assert shape is not None
        return shape

    @property
    def remotes(self) -> tuple[RemoteTensor, ...]:
        """The remote tensors that were set, if there are any."""
        if self._batch is not None:
            return self._batch.remotes
        return () if self._remote is None else (self._remote,)

    def give(self, data: HostData, share: bool, keep: bool) -> None:
        """Take an array as the contents of the next inferences.

        `share`: the array stays the contents, and later changes to it count. `keep`: the array must be
        copied now unless it is private, because the inference starts later. Else the inference follows at
        once, before the caller can change the array. A tensor of the user's is filled if it can take the
        array, a shared array is never written to.
        """
        if share and not data.is_private and data.units.flags.writeable and data.units.ndim:
            self._place.leave(data.units)
            self._take_tensor(_shared(data, self.declared), is_shared=True)
        elif self._tensor is not None and not self._is_shared and _fill(self._tensor, data, self.declared):
            self._data = None
        else:
            self._tensor = self._remote = self._batch = None
            self._place.forget()
            self._data = HostData(data.units.copy(), data.shape, True) if keep and not data.is_private else data

    def set_tensor(self, tensor: ov.Tensor | RemoteTensor) -> None:
        """Use the user's tensor from now on; its contents are read at every inference."""
        if isinstance(tensor, RemoteTensor):
            self.check_remote(tensor)
            if tensor is self._remote:
                return
            self._tensor, self._remote, self._data, self._memory, self._room = None, tensor, None, None, None
            self._batch = None
            self._place.forget()
            return
        check_tensor_type(tensor, self.declared)
        shape = tensor_shape(tensor, self.declared)
        if 0 not in shape:
            self._check_shape(shape)
        self._place.forget()
        self._take_tensor(tensor, is_shared=False)

    def set_tensors(self, tensors: Sequence[ov.Tensor | RemoteTensor]) -> None:
        """Use several tensors from now on, one for each entry of the batch; a single one is `set_tensor`."""
        if not tensors:
            raise ClinferError(f"{self.declared.label} was given no tensors", where="infer request")
        if len(tensors) == 1:
            self.set_tensor(tensors[0])
            return
        batch = Batch(tensors, self.declared, self._engine)
        batch.check()
        self._tensor = self._remote = self._data = self._memory = self._room = None
        self._place.forget()
        self._batch = batch

    def get_tensor(self, stream: Stream | None) -> ov.Tensor | RemoteTensor:
        """The remote tensor that was set, or a host tensor with the present contents, which is read at every inference
        from now on.

        Without any contents it has the declared shape with 0 for what is dynamic. `stream` reads them back
        from the device, see `is_on_device_only`.
        """
        if self._batch is not None:
            raise ClinferError(f"{self.declared.label} has several tensors, which set_tensors was given",
                               where="infer request", hint="keep them, or set one tensor for the whole batch")
        if self._remote is not None:
            return self._remote
        if self._tensor is None:
            kind = self.declared.port.element_type
            if self._data is not None:
                self._tensor = ov.Tensor(kind, list(self._data.shape))
                raw_bytes(self._tensor.data)[:] = raw_bytes(self._data.units)
            elif stream is not None and self._memory is not None:
                self._tensor = ov.Tensor(kind, list(self._shape))
                if 0 not in self._shape:
                    stream.read(self._memory, raw_bytes(self._tensor.data))
            else:
                self._tensor = ov.Tensor(kind, blank_shape(self.declared))
            self._data = None
        self._is_shared = False
        return self._tensor

    @property
    def is_on_device_only(self) -> bool:
        """Whether `get_tensor` needs a stream."""
        return self._tensor is None and self._data is None and self._memory is not None

    def prepare(self) -> None:
        """Raise unless there are contents that the model admits; nothing is transferred yet.

        An input that was never given is zeros in the smallest shape that the model admits.
        """
        if self.declared.is_surface and self.remotes:
            # Images cannot change any more.
            return
        if self._remote is not None:
            self.check_remote(self._remote)
        elif self._batch is not None:
            self._batch.check()
            self._data = self._batch.on_host()
        elif self._tensor is not None:
            self._data = contents(self._tensor, self.declared)
            self._check_shape(self._data.shape)
        elif self._data is None and self._memory is None:
            self._data = zeros(self.declared)
        if self.declared.is_surface:
            raise ClinferError(f"{self.declared.label} is a surface, and was given memory of the host",
                               where="infer request", hint="give images, made tensors by a context's create_tensor or "
                               "create_tensor_nv12, or leave set_memory_type out")

    @property
    def has_host_tensor(self) -> bool:
        """Whether the user set or got a host tensor."""
        return self._tensor is not None

    def upload(self, stream: Stream, network: Network, name: str, written: Sequence[Span]) -> None:
        """Enqueue the transfer, if one is needed, and tell the network, which has that name for the input; the
        caller finishes the stream. `written`: where on the host the device writes its results itself."""
        data, remote, batch = self._data, self._remote, self._batch
        if remote is not None:
            network.set_input(name, memory_of(remote, self.declared.label, self._engine), remote.static_shape)
            return
        if batch is not None and self.declared.is_surface:
            network.set_input(name, batch.pictures, batch.shape)
            return
        if batch is not None and data is None:
            self._memory, self._value, self._sent = self._fit(batch.shape), None, None
            batch.gather(stream, self._memory)
        if data is not None:
            is_kept = data.units.nbytes <= _KEPT_BYTES or name in network.program.called_inputs
            shared = None if self._tensor is None else self._place.memory(data.units)
            if shared is not None and not (written and overlaps(span_of(data.units), written)):
                network.set_input(name, shared, data.shape, self._copied_value(data) if is_kept else None)
                return
            self._send(stream, data, is_kept)
        assert self._memory is not None
        network.set_input(name, self._memory, self._shape, self._value)

    def _send(self, stream: Stream, data: HostData, is_kept: bool) -> None:
        """Enqueue the transfer to the device's memory, unless it is known to hold these bytes. Of few it is one from a
        copy, so that the caller's array is out of use."""
        (before, sent), self._sent = (self._memory, self._sent), None
        memory = self._memory = self._fit(data.shape)
        if data.units.nbytes > _KEPT_BYTES:
            self._value = self._copied_value(data) if is_kept else None
            stream.write(memory, data.units)
            return
        if sent is None or memory is not before or sent.shape != data.shape or (
                sent.units.tobytes() != data.units.tobytes()):
            sent = HostData(data.units.copy(), data.shape, is_private=True)
            self._value = sent.logical(self.declared.element_type)
            stream.write(memory, sent.units)
        self._sent = self._data = sent

    def _copied_value(self, data: HostData) -> np.ndarray:
        return data.logical(self.declared.element_type).copy()

    @property
    def is_apart(self) -> bool:
        """Whether an inference that was enqueued works on no memory of the host that somebody else has."""
        return bool(self.remotes) or self._data is None or self._data.is_private

    def move_to_host(self, stream: Stream) -> None:
        """Give the device memory back; what is there only is read into memory of the host first (blocking)."""
        memory, self._memory, self._room = self._memory, None, None
        if memory is None:
            return
        if self._tensor is None and self._batch is None and self._data is None:
            units = stream.read(memory, self._nbytes(self._shape)).view(self.declared.element_type.storage)
            self._data = HostData(units, self._shape, is_private=True)
        memory.release()

    @property
    def in_use(self) -> object:
        """What the device reads during an inference."""
        return self._place.in_use, self._tensor, self._remote, self._batch, self._data, self._memory

    def check_unchanged(self) -> None:
        """Raise if the user's tensor is another than what was transferred."""
        if self._tensor is not None and self._data is not None and not self._data.is_private:
            check_unchanged(self._tensor, self._data.units, self.declared)

    def settle(self, error: BaseException | None = None) -> None:
        """Let go of the caller's array once the inference is over.

        After one that failed the contents are on the host, to be transferred again; if it ran out of memory, the
        device memory of what was given to it is given back.
        """
        data = self._data
        if error is not None:
            self._sent = None
        if data is not None and isinstance(error, OutOfMemoryError) and self._memory is not None:
            self._memory.release()
            self._memory = None
        if error is None or self._tensor is not None or self._batch is not None:
            self._data = None
        elif data is not None and not data.is_private:
            self._data = HostData(data.units.copy(), data.shape, is_private=True)

    def _take_tensor(self, tensor: ov.Tensor, is_shared: bool) -> None:
        self._tensor, self._is_shared, self._data = tensor, is_shared, None
        self._remote = self._batch = None

    def _check_shape(self, shape: StaticShape) -> None:
        if shape != self._admitted:
            self.declared.check_shape(shape)
            self._admitted = shape

    def _fit(self, shape: StaticShape) -> Memory:
        """The device memory, for contents of this shape. It stays the same while it is large enough, so that kernels
        keep it."""
        held = self._memory
        if held is not None and shape == self._shape:
            return held
        nbytes, held, self._room = self._nbytes(shape), held or self._room, None
        if held is None or held.capacity < nbytes:
            held = self._memory = None
            held = self._engine.allocate_bytes(max(nbytes, _LEAST_BYTES), self.declared.label)
        self._shape = shape
        return held

    def _nbytes(self, shape: StaticShape) -> int:
        return self.declared.element_type.byte_size(math.prod(shape))


def _room(engine: Engine, nbytes: int, label: str) -> Memory:
    try:
        return engine.allocate_bytes(nbytes, label)
    except ClinferError:
        # Room ahead of need is no reason to fail.
        return engine.allocate_bytes(_LEAST_BYTES, label)


def describe_given(slots: Iterable[GivenInput]) -> str:
    """The inputs that have contents, with their shapes, as errors tell them."""
    return ", ".join(f"{port_name(slot.declared.port)!r} {slot.declared.element_type}{show(shape)}"
                     for slot in slots if (shape := slot.given_shape) is not None)


def _shared(data: HostData, declared: Declared) -> ov.Tensor:
    if declared.element_type.is_encoded:
        return ov.Tensor(data.units, ov.Shape(data.shape), declared.port.element_type)
    return ov.Tensor(data.units.reshape(data.shape), shared_memory=True)


def _fill(tensor: ov.Tensor, data: HostData, declared: Declared) -> bool:
    """Copy an array into the user's tensor; False if it cannot take that shape."""
    try:
        if tensor_shape(tensor, declared) != data.shape:
            tensor.shape = list(data.shape)
    except RuntimeError:
        return False
    raw_bytes(tensor.data)[:] = raw_bytes(data.units)
    return True


def zeros(declared: Declared) -> HostData:
    """Zeros in the smallest shape that the model admits. Errors: an input of which not even the rank is known, and a
    surface, which takes images."""
    if declared.shape is None or declared.is_surface:
        raise ClinferError(f"{declared.label} was never given, and has no zeros: " + (
            "it is a surface" if declared.is_surface else "its rank is open"), where="infer request",
            hint="pass it to infer(), or set or fill its tensor before")
    shape, kind = tuple(d.low if isinstance(d, Dim) else d for d in declared.shape), declared.element_type
    units = (kind.byte_size(math.prod(shape)),) if kind.is_packed else shape
    return HostData(np.zeros(units, kind.storage), shape, is_private=True)


def blank_shape(declared: Declared) -> list[int]:
    """The declared shape with 0 in place of what is dynamic."""
    return [0 if isinstance(d, Dim) else d for d in declared.shape or ()] if declared.shape is not None else [0]
