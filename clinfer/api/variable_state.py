"""Variable states as users see them."""
from __future__ import annotations

import operator
from contextlib import AbstractContextManager
from typing import Any, Protocol

import numpy as np

from clinfer.api.arrays import raw_bytes
from clinfer.api.remote_checks import check_context, memory_of
from clinfer.base.errors import ClinferError, WrongTypeError
from clinfer.base.one_of_a_kind import OneOfAKind
from clinfer.base.shape import StaticShape, admits, show
from clinfer.frontend.conversions import element_type_of, ov_type, static_shape_of
from clinfer.frontend.openvino_import import openvino as ov
from clinfer.network.memory.states import RequestStates
from clinfer.network.memory.stored_values import as_declared, as_stored
from clinfer.remote.tensors import RemoteTensor
from clinfer.runtime.engine import Engine
from clinfer.runtime.memory import Memory
from clinfer.runtime.stream import Stream
from clinfer.topology import State


class StateOwner(Protocol):
    """The request that a state belongs to."""

    def idle(self) -> AbstractContextManager[None]:
        """Lets inferences wait; ClinferError while one runs."""

    def idle_stream(self) -> AbstractContextManager[Stream]:
        """A stream for transfers, while inferences wait; ClinferError while one runs."""


class VariableState(OneOfAKind):
    """One variable of a request. Made by `InferRequest.query_state`; every use of it while the request runs is an
    error."""

    def __init__(self, request: StateOwner, engine: Engine, states: RequestStates, declared: State) -> None:
        self._request = request
        self._engine = engine
        self._states = states
        self._declared = declared

    @property
    def name(self) -> str:
        """The variable's name in the model."""
        return self._declared.variable

    @property
    def state(self) -> ov.Tensor:
        """The value, as a host tensor of its own: changing it changes nothing. After a reset zeros of the declared
        shape, with 0 for what is open."""
        declared = self._declared
        with self._request.idle_stream() as stream:
            units = self._states.read(self.name, stream)
        units = as_declared(declared, units)
        tensor = ov.Tensor(ov_type(declared.element_type), list(units.shape))
        raw_bytes(tensor.data)[:] = raw_bytes(units)
        return tensor

    @state.setter
    def state(self, value: Any) -> None:
        """Copy a value, of the host or of a remote context; the tensor stays the caller's."""
        if not isinstance(value, ov.Tensor | RemoteTensor):
            raise WrongTypeError(f"state {self.name!r} is set to a tensor", where="variable state",
                                 values={"given": type(value).__name__})
        logical = self._checked(value)
        stored = self._declared.stored(logical)
        with self._request.idle_stream() as stream:
            if isinstance(value, RemoteTensor) and self._is_declared_form:
                source, nbytes = self._memory_of(value), self._declared.element_type.byte_size(value.size)
                self._states.write(self.name, stream, stored, lambda memory: stream.copy(source, memory, nbytes))
            else:
                self._states.write(self.name, stream, stored,
                                   lambda memory: self._write(stream, memory, value, logical))

    def reset(self) -> None:
        """Let the next inference begin with the first value."""
        with self._request.idle():
            self._states.reset(self.name)

    def shorten(self, length: int) -> None:
        """Keep the first `length` entries of a state that grows (a cache of keys or values), along the axis along which
        it does; nothing is moved. Not one of OpenVINO's. ClinferError for other states, and where it has fewer."""
        with self._request.idle():
            self._states.shorten(self.name, operator.index(length))

    def _write(self, stream: Stream, memory: Memory, value: Any, logical: StaticShape) -> None:
        declared = self._declared
        if isinstance(value, RemoteTensor):
            units = np.empty(declared.element_type.byte_size(value.size), np.uint8)
            stream.read(self._memory_of(value), units)
            units = units.view(declared.element_type.storage).reshape(logical)
        else:
            units = value.data
        units = as_stored(declared, units, declared.element_type)
        if units.size:
            stream.write(memory, raw_bytes(units), blocking=True)

    @property
    def _is_declared_form(self) -> bool:
        """Whether the request stores it as the model declares it."""
        return not self._declared.order and self._declared.stored_type == self._declared.element_type

    @property
    def _label(self) -> str:
        return f"state {self.name!r}"

    def _memory_of(self, value: RemoteTensor) -> Memory:
        return memory_of(value, self._label, self._engine)

    def _checked(self, value: Any) -> StaticShape:
        declared = self._declared
        if isinstance(value, RemoteTensor):
            check_context(value, self._label, self._engine)
        given = element_type_of(value.element_type, f"state {self.name!r}")
        if given != declared.element_type:
            raise ClinferError(f"state {self.name!r} has another element type", where="variable state",
                               values={"declared": declared.element_type.name, "given": given.name})
        shape = static_shape_of(value.shape)
        if not admits(declared.shape, shape):
            raise ClinferError(f"state {self.name!r} cannot have this shape", where="variable state",
                               values={"declared": show(declared.shape), "given": show(shape)})
        return shape

    def __repr__(self) -> str:
        return f"<VariableState: {self.name!r}>"
