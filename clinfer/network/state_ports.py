"""The inputs and outputs of a program that are variable states: what an execution reads and where it writes."""
from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from clinfer.base.errors import ClinferError
from clinfer.base.shape import Shape, StaticShape
from clinfer.network.inputs import check_shape
from clinfer.network.known import Known
from clinfer.network.memory.buffers import Given
from clinfer.network.memory.state_buffer import StateBuffer
from clinfer.network.memory.states import Reading, RequestStates
from clinfer.network.output import NetworkOutput
from clinfer.program.program import OutputInfo, Program
from clinfer.runtime.memory import Memory
from clinfer.runtime.stream import Stream
from clinfer.topology import Input

if TYPE_CHECKING:
    from clinfer.network.network import Network


class StatesGiven(NamedTuple):
    """What an execution reads: shapes by tensors, and where they lie by the roots of tensors; and by these where it
    writes next values."""

    readings: Sequence[Reading]
    shapes: dict[int, StaticShape]
    memories: dict[int, Memory]
    targets: dict[int, StateBuffer]


class _Ports(NamedTuple):
    """Of some variables: the different inputs that they are, the tensors and roots of these, and the roots of next
    values."""

    declared: tuple[Input, ...]
    tensors: tuple[int, ...]
    roots: tuple[int, ...]
    next_roots: tuple[int, ...]


class Besides(NamedTuple):
    """The inputs and outputs of a program that are no states."""

    input_tensors: Mapping[str, int]
    outputs: Mapping[str, OutputInfo]


class StatePorts:
    """Those of one network, with the network that computes first values; made by `make(program, name)`. `besides`: all
    others."""

    def __init__(self, program: Program, make: Callable[[Program, str], Network]) -> None:
        self._program = program
        self._first = None if program.initial is None else make(program.initial, "first values of states")
        states = program.states
        read = {name for state in states for name in (state.input, state.table)}
        written = {state.output for state in states}
        self.besides = Besides({name: tensor for name, tensor in program.input_tensors.items() if name not in read},
                               {name: output for name, output in program.outputs.items() if name not in written})
        self._read = {state.variable: program.input_tensors[state.input] for state in states}
        self._written = {state.variable: program.outputs[state.output].tensor for state in states if state.output}
        self._roots = {variable: program.tensors[tensor].root for variable, tensor in self._written.items()}
        self._steady = {tensor: layout.static_shape for tensor in self._written.values()
                        if (layout := program.tensors[tensor].layout).is_static}
        self._found: dict[tuple[str, ...], _Ports] = {}
        declared: dict[Shape | None, Input] = {}
        self._declared = {state.variable: declared.setdefault(given.shape, given) for state in states
                          for given in (program.inputs[state.input],)}

    def enter(self, states: RequestStates, stream: Stream, inputs: Mapping[str, Given],
              proceed: Callable[[], None] | None) -> StatesGiven:
        """What the next execution reads, and where it writes.

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

        return self._of_program(*states.give(stream, first_values, partial(self._value, inputs, stream)))

    def foresee(self, states: RequestStates, stream: Stream) -> StatesGiven | None:
        """What the next execution reads and where it writes if all goes well and no rows are selected; None where that
        is not known."""
        found = states.foresee(stream)
        return None if found is None else self._of_program(*found)

    def enter_foreseen(self, given: StatesGiven, states: RequestStates, stream: Stream,
                       inputs: Mapping[str, Given]) -> bool:
        """Let the next execution read what `foresee` told, as if `enter` had; False where it reads something else."""
        return states.enter(given.readings, stream, partial(self._value, inputs, stream))

    def _of_program(self, readings: Sequence[Reading], tables: Mapping[str, Given]) -> StatesGiven:
        found = StatesGiven(readings, {}, {}, {})
        for reading in readings:
            declared, tensors, roots, next_roots = self._ports(reading.variables)
            for each in declared:
                check_shape(each, reading.shape)
            found.shapes.update(dict.fromkeys(tensors, reading.shape))
            found.memories.update(zip(roots, reading.memories, strict=True))
            if reading.targets:
                found.targets.update(zip(next_roots, reading.targets, strict=True))
        for name, given in tables.items():
            tensor = self._program.input_tensors[name]
            check_shape(self._program.inputs[name], given.shape)
            found.shapes[tensor], found.memories[self._program.tensors[tensor].root] = given.shape, given.memory
        return found

    def _ports(self, variables: tuple[str, ...]) -> _Ports:
        """The ports of variables that are read alike. Those that are declared alike may be inputs of bounds that were
        found to be narrower."""
        found = self._found.get(variables)
        if found is None:
            declared = {id(each): each for each in [self._declared[name] for name in variables]}
            tensors = tuple(self._read[name] for name in variables)
            found = self._found[variables] = _Ports(
                tuple(declared.values()), tensors, tuple(self._program.tensors[tensor].root for tensor in tensors),
                tuple(self._roots[name] for name in variables if name in self._roots))
        return found

    def leave(self, states: RequestStates, stream: Stream, known: Known,
              lying: Callable[[Collection[int]], list[Memory]]) -> None:
        """Let states note what an execution made of them; `lying`: where the roots of tensors lie at present."""
        tensors = tuple(self._written.values())
        shapes = {**self._steady, **known.shapes_of(tensors)}
        states.take(stream, dict(zip(self._written, map(shapes.__getitem__, tensors), strict=True)),
                    dict(zip(self._roots, lying(self._roots.values()), strict=True)))

    def release_memory(self) -> None:
        """Give back what first values took."""
        if self._first is not None:
            self._first.release_memory()

    def _value(self, inputs: Mapping[str, Given], stream: Stream, name: str) -> np.ndarray:
        """The value of an input, read from the device if the host was not given it."""
        given = _given(inputs, name)
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
