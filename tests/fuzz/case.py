"""A graph with all its arrays in several settings of its sizes: what is checked and what is cut down."""
from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

import numpy as np

from tests.fuzz.graph import Dims, Graph, Input, Ref

PACKED = ("u4", "i4")
"""Types that only constants have."""
SMALL = 8
"""Elements of integer inputs that are numbers rather than data."""


@dataclass(frozen=True)
class Record:
    """A tensor of the graph: its type, its declared dimensions and its array in each setting."""

    type: str
    dims: Dims | None
    values: tuple[np.ndarray, ...]


@dataclass(frozen=True)
class Case:
    """A graph, and every tensor of it by the node-by-node oracle. Results may differ from these by `tolerance`,
    relative to the scale of an output."""

    graph: Graph
    tensors: Mapping[Ref, Record]
    tolerance: float
    style: str = ""

    @property
    def settings(self) -> int:
        return len(next(iter(self.tensors.values())).values)

    def feed(self, setting: int) -> list[np.ndarray]:
        """The inputs."""
        return [self.tensors[Ref(i.name)].values[setting] for i in self.graph.inputs]

    def expected(self, setting: int) -> list[np.ndarray]:
        """The outputs."""
        return [self.tensors[ref].values[setting] for ref in self.graph.outputs]

    def only_settings(self, kept: Collection[int]) -> Case:
        tensors = {ref: replace(r, values=tuple(r.values[s] for s in kept)) for ref, r in self.tensors.items()}
        return replace(self, tensors=tensors)

    def only_steps(self, kept: Collection[str], outputs: Collection[Ref] | None = None) -> Case | None:
        """Some of the steps; what they read of others comes as inputs. The outputs are those given, else all that
        no step reads. None where nothing is left, or nothing that arrays can hold."""
        steps = [step for step in self.graph.steps if step.name in kept]
        read = {ref for step in steps for ref in step.refs}
        if outputs is None:
            outputs = [ref for ref in self.tensors if ref.name in kept and ref not in read]
        if not outputs or any(self.tensors[ref].type in PACKED for ref in outputs):
            return None
        needed = Graph((), tuple(steps), tuple(outputs)).used()
        read = {ref for step in needed.steps for ref in step.refs}
        made = {step.name for step in needed.steps}
        if any(self.tensors[ref].type in PACKED for ref in read if ref.name not in made):
            return None
        names = {ref: f"{ref.name}_{ref.port}" for ref in sorted(read, key=_order) if ref.name not in made}
        sources = {i.name: i for i in self.graph.inputs}
        inputs = tuple(sources[ref.name] if ref.name in sources else Input(
            name, self.tensors[ref].type, self.tensors[ref].dims) for ref, name in names.items())
        renamed = {ref: Ref(i.name) for ref, i in zip(names, inputs, strict=True)}
        rewired = tuple(replace(step, operands=tuple(
            renamed.get(o, o) if isinstance(o, Ref) else o for o in step.operands)) for step in needed.steps)
        tensors = {renamed.get(ref, ref): record for ref, record in self.tensors.items()}
        return replace(self, graph=Graph(inputs, rewired, tuple(outputs)), tensors=tensors)

    def declared(self, setting: int) -> Case:
        """With the shapes of one setting as the declared ones, and only that setting."""
        inputs = tuple(replace(i, dims=a.shape) for i, a in zip(self.graph.inputs, self.feed(setting), strict=True))
        return replace(self, graph=replace(self.graph, inputs=inputs)).only_settings([setting])

    def largest(self) -> Case:
        """The static twin of the setting with the most data."""
        return self.declared(max(range(self.settings), key=lambda s: sum(a.size for a in self.feed(s))))

    def with_constants(self) -> Case | None:
        """That, with constants in the place of small inputs of integers; None where there are none, or no others."""
        twin = self.largest()
        constants = {Ref(i.name): a for i, a in zip(twin.graph.inputs, twin.feed(0), strict=True)
                     if a.dtype.kind == "i" and a.size <= SMALL}
        if not constants or len(constants) == len(twin.graph.inputs):
            return None
        steps = tuple(replace(step, operands=tuple(
            constants.get(o, o) if isinstance(o, Ref) else o for o in step.operands)) for step in twin.graph.steps)
        inputs = tuple(i for i in twin.graph.inputs if Ref(i.name) not in constants)
        return replace(twin, graph=replace(twin.graph, inputs=inputs, steps=steps))


def _order(ref: Ref) -> tuple[str, int]:
    return ref.name, ref.port
