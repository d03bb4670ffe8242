"""One output of an infer request: where it is read to."""
from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from clinfer.api.arrays import Declared, check_tensor_type, check_unchanged, raw_bytes, tensor_shape
from clinfer.api.input_slot import blank_shape
from clinfer.api.remote_checks import RemoteCheck, check_writable, memory_of
from clinfer.api.result_memory import ResultMemory
from clinfer.base.errors import ClinferError
from clinfer.base.shape import StaticShape, show
from clinfer.frontend.host_tensors import host_tensor_over
from clinfer.frontend.openvino_import import openvino as ov
from clinfer.network.memory.buffers import OfferedMemory
from clinfer.network.output import NetworkOutput
from clinfer.remote.host_memories import HostPlace, Span, overlaps, span_of
from clinfer.remote.tensors import RemoteTensor
from clinfer.runtime.engine import Engine
from clinfer.runtime.memory import Memory
from clinfer.runtime.stream import Stream


class OutputSlot:
    """The results go to a new array at every inference, or to one and the same tensor once the user set or got it. New
    arrays may lie in memory of earlier ones of which the caller kept nothing.

    An array whose owner wants it overwritten (`share`) takes the next results of the same shape, and is the memory of
    the tensor that the user gets. Results of another shape go elsewhere: the memory of what was handed out is never
    given back under its owner.

    The device itself writes to a remote tensor, and to a host tensor in memory that it reaches.
    """

    def __init__(self, declared: Declared, engine: Engine, place: HostPlace) -> None:
        self.declared = declared
        self._engine = engine
        self._check_remote = RemoteCheck(declared, engine)
        self._place = place
        self._offered: OfferedMemory | None = None
        self._begin = 0
        self._remote: RemoteTensor | None = None
        self._results = ResultMemory()
        self._dtype = declared.port.element_type.to_dtype()
        self._tensor: ov.Tensor | None = None
        self._units: np.ndarray | None = None
        self._written: np.ndarray | None = None
        self._is_users = False
        self._is_shared = False
        self._shape: StaticShape = ()

    @property
    def remotes(self) -> tuple[RemoteTensor, ...]:
        """The remote tensor that was set, if one was."""
        return () if self._remote is None else (self._remote,)

    def set_tensor(self, tensor: ov.Tensor | RemoteTensor) -> None:
        """Write the results to the user's tensor from now on."""
        if isinstance(tensor, RemoteTensor):
            self._check_remote(tensor)
            check_writable(tensor, self.declared)
            self._tensor, self._remote, self._units, self._written = None, tensor, None, None
            self._is_shared = False
            self._place.forget()
            return
        check_tensor_type(tensor, self.declared)
        if tensor.size:
            self.declared.check_shape(tensor_shape(tensor, self.declared))
        self._tensor, self._remote, self._units, self._written = tensor, None, None, None
        self._is_users, self._is_shared = True, False
        self._place.forget()

    def get_tensor(self) -> ov.Tensor | RemoteTensor:
        """The remote tensor that was set, or a host tensor with the last results, to which the next ones are written
        as well.

        Before the first inference: of the declared shape, with 0 for what is dynamic.
        """
        if self._remote is not None:
            return self._remote
        if self._tensor is None:
            kind = self.declared.port.element_type
            if self._units is None:
                self._tensor = ov.Tensor(kind, blank_shape(self.declared))
            elif self._is_shared:
                self._tensor = host_tensor_over(self._units, self.declared.element_type, self._shape)
            else:
                self._tensor = ov.Tensor(kind, list(self._shape))
                raw_bytes(self._tensor.data)[:] = raw_bytes(self._units)
            self._units, self._is_users = None, False
        return self._tensor

    @property
    def has_host_tensor(self) -> bool:
        """Whether the user set or got a host tensor."""
        return self._tensor is not None

    @property
    def host_span(self) -> Span | None:
        """Where on the host the device may write the results itself."""
        if self._remote is not None:
            return self._remote.host_span
        return None if self._tensor is None else span_of(self._tensor.data)

    def memory(self, read: Sequence[Span]) -> Memory | OfferedMemory | None:
        """The memory of the user's to which the device writes the results, if there is one.

        `read`: where on the host the device reads inputs while it writes.
        """
        if self._remote is not None:
            self._check_remote(self._remote)
            return memory_of(self._remote, self.declared.label, self._engine)
        units = None if self._tensor is None or self._is_lent_out else self._tensor.data
        found = None if units is None else self._place.memory(units)
        if units is None or found is None or (read and overlaps(span_of(units), read)):
            self._offered = None
        elif self._offered is None or self._offered.offered is not found:
            self._offered, self._begin = OfferedMemory(found), span_of(units)[0]
        return self._offered

    def receive(self, stream: Stream, output: NetworkOutput) -> None:
        """Enqueue the read of a result, unless it is written to `memory`; it is valid once the caller finished the
        stream."""
        layout = output.layout
        if layout.element_type != self.declared.element_type or not layout.is_dense_planar:
            raise ClinferError(f"{self.declared.label} has another layout than declared", where="infer request",
                               values={"expected": self.declared.element_type, "computed": layout})
        if self._remote is not None:
            self._fit_remote(self._remote, layout.static_shape)
            return
        target = self._written = self._target(layout.static_shape)
        if not target.nbytes or self._is_written_in_place(target, output.memory):
            return
        if target.flags.c_contiguous:
            stream.read_at_finish(output.memory, raw_bytes(target))
        else:
            units = np.empty(target.shape, target.dtype)
            stream.read(output.memory, raw_bytes(units))
            target[...] = units

    def _is_written_in_place(self, target: np.ndarray, memory: Memory) -> bool:
        # What was offered begins where the tensor began then, and a tensor that moved is another one.
        offered = self._offered
        return offered is not None and memory is offered.offered and span_of(target)[0] == self._begin

    @property
    def in_use(self) -> object:
        """What the device writes during an inference."""
        return self._place.in_use, self._tensor, self._remote, self._offered, self._units, self._written

    def check_unchanged(self) -> None:
        """Raise if the user's tensor is another than what was read to."""
        if self._tensor is not None and self._written is not None:
            check_unchanged(self._tensor, self._written, self.declared)

    def result(self, share: bool) -> np.ndarray | RemoteTensor:
        """The last results: the remote tensor if one was set, else an array: in memory that the next inference
        overwrites if `share`, else the caller's own."""
        if self._remote is not None:
            return self._remote
        if self._tensor is None and self._units is None:
            raise ClinferError(f"{self.declared.label} was not computed yet", where="infer request",
                               hint="call infer() first, or start_async() and wait()")
        if self._units is None:
            self._is_shared = self._is_shared or share
            return self.get_tensor().data if share else self.get_tensor().data.copy()
        self._is_shared = share
        return self._units.view() if share else self._units

    @property
    def _is_lent_out(self) -> bool:
        """Whether somebody holds an array in memory of the slot's own, which another shape must not touch."""
        return self._is_shared and not self._is_users

    def _target(self, shape: StaticShape) -> np.ndarray:
        if self._tensor is not None and self._is_lent_out and tensor_shape(self._tensor, self.declared) != shape:
            self._tensor, self._is_shared = None, False
        if self._tensor is not None:
            self._reshape(self._tensor, shape)
            return self._tensor.data
        kind = self.declared.element_type
        if self._units is None or not self._is_shared or shape != self._shape:
            self._units = self._written = None
            nbytes = kind.byte_size(math.prod(shape))
            try:
                self._units = self._results.array((nbytes,) if kind.is_packed else shape, self._dtype, nbytes)
            except (MemoryError, OverflowError, ValueError) as error:
                raise ClinferError(f"the host has no room for {self.declared.label}",
                                   values={"shape": show(shape), "because": error}) from None
            self._shape, self._is_shared = shape, False
        return self._units

    def _fit_remote(self, tensor: RemoteTensor, shape: StaticShape) -> None:
        try:
            tensor.reshape(shape)
        except ClinferError:
            raise self._does_not_fit(shape, tensor.static_shape) from None

    def _reshape(self, tensor: ov.Tensor, shape: StaticShape) -> None:
        if tensor_shape(tensor, self.declared) == shape:
            return
        try:
            tensor.shape = list(shape)
        except (RuntimeError, TypeError):
            raise self._does_not_fit(shape, tuple(tensor.shape)) from None

    def _does_not_fit(self, shape: StaticShape, tensor: StaticShape) -> ClinferError:
        return ClinferError(f"{self.declared.label} does not fit into the tensor that was set for it",
                            where="infer request", values={"result": show(shape), "tensor": show(tensor)},
                            hint="set a tensor that is large enough, or none")
