"""What a network was given to work on."""
from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np

from clinfer.base.errors import ClinferError
from clinfer.base.shape import StaticShape, admits, show
from clinfer.network.known import Known
from clinfer.network.memory.buffers import Given
from clinfer.network.surfaces import check_surface
from clinfer.program.program import Program
from clinfer.runtime.memory import Memory
from clinfer.topology import Input


class Inputs:
    """The inputs of a program: memory of the device by name in `given`, and values of types that the host alone has."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self.given: dict[str, Given] = {}
        self._on_host: dict[str, np.ndarray] = {}

    def give(self, name: str, memory: Memory, shape: StaticShape, host_value: np.ndarray | None) -> bool:
        """See `Network.set_input`; whether it is another memory than before, or another shape."""
        before = self.given.get(name)
        is_other = before is None or before.memory is not memory or before.shape != shape
        if is_other:
            self._check(name, memory, shape)
        if before is None or is_other or host_value is not before.host_value:
            self.given[name] = Given(memory, tuple(shape), host_value)
        return is_other

    def _check(self, name: str, memory: Memory, shape: StaticShape) -> None:
        declared = self._declared(name)
        check_shape(declared, shape)
        check_surface(declared, memory, shape)
        needed = declared.element_type.byte_size(math.prod(shape))
        if memory.capacity < needed:
            raise ClinferError(f"the memory of input {name!r} is too small", where="network",
                               values={"needed bytes": needed, "given bytes": memory.capacity})

    def give_on_host(self, name: str, value: np.ndarray) -> None:
        """See `Network.set_host_input`."""
        declared = self._declared(name)
        if not declared.element_type.is_on_host_only or not admits(declared.shape, value.shape):
            raise ClinferError(f"input {name!r} does not take these values of the host", where="network", values={
                "declared": f"{declared.element_type}{show(declared.shape)}", "given": show(value.shape)})
        self._on_host[name] = value

    def clear(self) -> None:
        """Forget them."""
        self.given.clear()
        self._on_host.clear()

    def take(self, bind: Callable[[int, Memory], None], tensors: Mapping[str, int]) -> Known:
        """What is known when an execution begins that is given these inputs, by their names; `bind` is told of the
        memory of each tensor. Errors: ClinferError for inputs that were not given."""
        known, missing = Known(), []
        shapes, values = known.shapes.maps[0], known.values.maps[0]
        for name, tensor in tensors.items():
            given = self.given.get(name)
            if given is not None:
                memory, shapes[tensor], value = given
                bind(tensor, memory)
            elif (value := self._on_host.get(name)) is not None:
                shapes[tensor] = value.shape
            else:
                missing.append(name)
            if value is not None:
                values[tensor] = value
        if missing:
            raise ClinferError("not every input was given", where="network",
                               values={"missing": ", ".join(missing)}, hint="call set_input for each")
        return known

    def _declared(self, name: str) -> Input:
        declared = self._program.inputs.get(name)
        if declared is None:
            raise ClinferError(f"there is no input {name!r}", where="network",
                               values={"inputs": ", ".join(self._program.inputs)})
        return declared


def check_shape(declared: Input, shape: StaticShape) -> None:
    """Raise unless an input admits a shape."""
    if not admits(declared.shape, shape):
        raise ClinferError(f"input {declared.id!r} has a shape outside what the model declares", where="network",
                           values={"declared": show(declared.shape), "given": show(shape)})
