"""The networks of the bodies of a network's nodes."""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from clinfer.base.errors import ClinferError
from clinfer.network.loops import Loop, deliver
from clinfer.network.memory.buffers import Given
from clinfer.network.memory.preallocation import Preallocation
from clinfer.network.plans.plan import RunBody
from clinfer.network.reports.memory_picture import MemoryPicture
from clinfer.network.reports.profiling import NodeProfile
from clinfer.program.program import Program

if TYPE_CHECKING:
    from clinfer.network.network import Network


class Bodies:
    """Makes the network of a body when it runs first, and runs it. `make`: from a body's program
    and its path to its network."""

    def __init__(self, program: Program, preallocation: Preallocation,
                 make: Callable[[Program, str], Network]) -> None:
        self._program = program
        self._preallocation = preallocation
        self._make = make
        self._networks: dict[tuple[int, int], Network] = {}
        self._loops: dict[tuple[int, int], Loop] = {}

    def prepare(self) -> None:
        """Make what runs the bodies, ready to plan."""
        for index, node in enumerate(self._program.nodes):
            for body, source in enumerate(node.primitive.bodies):
                step = RunBody(index, body)
                self._network(step).prepare()
                if source.loop is not None:
                    self._loop(step).prepare()

    def run(self, step: RunBody, inputs: Mapping[int, Given], targets: Sequence[Given] | None,
            proceed: Callable[[], None] | None, is_counted: bool) -> Sequence[Given]:
        """The node's outputs in their order, for its inputs by their index; valid until the body runs again, or written
        to `targets`. `is_counted`: see `Network.execute`."""
        node = self._program.nodes[step.node]
        source = node.primitive.bodies[step.body]
        given = {name: inputs[index] for name, index in source.inputs.items()}
        network = self._network(step)
        try:
            if source.loop is not None:
                return self._loop(step).run(given, step.limit, targets, proceed, is_counted)
            for name, tensor in given.items():
                network.set_input(name, tensor.memory, tensor.shape, tensor.host_value)
            if targets is not None:
                network.set_outputs({name: target.memory for name, target in zip(source.outputs, targets, strict=True)})
            outputs = network.execute(proceed=proceed, is_counted=is_counted)
            results = [Given(outputs[name].memory, outputs[name].layout.static_shape) for name in source.outputs]
            if targets is not None:
                deliver(network, source, results, targets)
        except ClinferError as error:
            raise error.at(node.primitive.where) from None
        return results if targets is None else targets

    def release_memory(self) -> None:
        """Give back what loops keep, and the memory of the networks."""
        for loop in self._loops.values():
            loop.release()
        for network in self._networks.values():
            network.release_memory()

    def start_profile(self) -> None:
        """See `Network.start_profile`."""
        for network in self._networks.values():
            network.start_profile()

    def profiles(self) -> dict[tuple[int, int], tuple[NodeProfile, ...]]:
        """What the runs of each body cost, by (node, number of the body)."""
        return {key: network.profile() for key, network in self._networks.items()}

    def memory_pictures(self) -> tuple[tuple[str, MemoryPicture], ...]:
        """What the network of each body that ran holds, by names as in `<primitive>/body<n>`."""
        pictures = ((f"{self._program.nodes[node].primitive.id}/body{body}", network.memory_picture())
                    for (node, body), network in self._networks.items())
        return tuple((name, picture) for name, picture in pictures if picture is not None)

    def _network(self, step: RunBody) -> Network:
        key = step.node, step.body
        if key not in self._networks:
            node = self._program.nodes[step.node]
            self._networks[key] = self._make(node.bodies[step.body], f"{node.primitive.id}/body{step.body}")
        return self._networks[key]

    def _loop(self, step: RunBody) -> Loop:
        key = step.node, step.body
        if key not in self._loops:
            source = self._program.nodes[step.node].primitive.bodies[step.body]
            self._loops[key] = Loop(self._network(step), source, self._preallocation)
        return self._loops[key]
