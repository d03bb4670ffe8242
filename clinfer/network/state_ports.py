"""The inputs and outputs of a program that are variable states: what an execution reads and where it writes."""
from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from clinfer.base.errors import ClinferError
from clinfer.network.memory.buffers import Given, GrowingBuffer
from clinfer.network.memory.states import RequestStates
from clinfer.network.output import NetworkOutput
from clinfer.program.program import Program
from clinfer.runtime.stream import Stream

if TYPE_CHECKING:
    from clinfer.network.network import Network


class StatePorts:
    """Those of one network, with the network that computes first values; made by `make(program, name)`."""

    def __init__(self, program: Program, make: Callable[[Program, str], Network]) -> None:
        self._program = program
        self._first = None if program.initial is None else make(program.initial, "first values of states")

    def enter(self, states: RequestStates, stream: Stream, inputs: Mapping[str, Given],
              proceed: Callable[[], None] | None) -> tuple[dict[str, Given], dict[str, GrowingBuffer]]:
        """What the next execution reads, by inputs, and where it writes next values, by outputs.

        `inputs`: what the network was given otherwise, for first values. `proceed`: see `Network.execute`.
        """
        @cache
        def first_values() -> dict[str, NetworkOutput]:
            network = self._first
            assert network is not None
            for name in network.program.inputs:
                given = _given(inputs, name)
                network.set_input(name, given.memory, given.shape, given.host_value)
            return network.execute(proceed=proceed)

        read = states.give(stream, first_values, lambda name: self._value(_given(inputs, name), name, stream))
        return read, states.targets()

    def release_memory(self) -> None:
        """Give back what first values took."""
        if self._first is not None:
            self._first.release_memory()

    def _value(self, given: Given, name: str, stream: Stream) -> np.ndarray:
        """The value of an input, read from the device if the host was not given it."""
        if given.host_value is not None:
            return given.host_value
        layout = self._program.tensors[self._program.input_tensors[name]].layout
        return NetworkOutput(layout.with_shape(given.shape), given.memory, stream).to_numpy()


def _given(inputs: Mapping[str, Given], name: str) -> Given:
    given = inputs.get(name)
    if given is None:
        raise ClinferError("not every input was given", where="network", values={"missing": name},
                           hint="call set_input for each")
    return given
