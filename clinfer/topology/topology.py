"""The topology: named primitives, checked for what can be wrong with a graph of names."""
from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from clinfer.base.element_type import ElementType
from clinfer.base.errors import ClinferError
from clinfer.base.layout import Layout
from clinfer.base.shape import Shape
from clinfer.symbolic.shape_inference import Values
from clinfer.topology.primitive import Port, Primitive
from clinfer.topology.states import State


@dataclass(frozen=True)
class Input(Primitive):
    """An input of the graph ("input_layout"): memory that the caller provides at each execution.

    `shape` may hold dynamic dimensions; None is a dynamic rank. With `is_surface` the memory is images, one for each
    picture of the batch.
    """

    shape: Shape | None = ()
    element_type: ElementType = ElementType.of("f32")
    is_surface: bool = False

    def infer_shapes(self, shapes: tuple[Shape | None, ...], values: Values) -> tuple[Shape | None, ...]:
        return (self.shape,)

    def output_types(self, input_types: tuple[ElementType, ...]) -> tuple[ElementType, ...]:
        return (self.element_type,)


@dataclass(frozen=True, eq=False)
class Constant(Primitive):
    """A constant ("data"): unpacked values in host memory, which the program moves to the device."""

    value: np.ndarray = field(default_factory=lambda: np.zeros(0, np.float32))
    element_type: ElementType = ElementType.of("f32")

    def infer_shapes(self, shapes: tuple[Shape | None, ...], values: Values) -> tuple[Shape | None, ...]:
        return (tuple(self.value.shape),)

    def output_types(self, input_types: tuple[ElementType, ...]) -> tuple[ElementType, ...]:
        return (self.element_type,)


def input_layout(id: str, layout: Layout) -> Input:
    """An input of that layout's shape and type (callers hand in planar memory)."""
    return Input(id, shape=layout.shape, element_type=layout.element_type)


class Topology:
    """Primitives by id and the named outputs of the graph.

    Without `outputs`, every primitive that nobody reads is an output under its own id. `states`: the inputs and outputs
    that are variables of a request; `initial`: what makes their values after a reset, of inputs of the same names.
    Errors: duplicate id; an input that names no primitive or no output of it; a cycle.
    """

    def __init__(self, *primitives: Primitive, outputs: Mapping[str, str | Port] | None = None,
                 states: Sequence[State] = (), initial: Topology | None = None) -> None:
        self.states = tuple(states)
        self.initial = initial
        self._primitives: dict[str, Primitive] = {}
        self._outputs = None if outputs is None else {name: Port.of(p) for name, p in outputs.items()}
        for primitive in primitives:
            self.add(primitive)

    def add(self, primitive: Primitive) -> None:
        """Add one primitive; the ids of its inputs may come later."""
        if primitive.id in self._primitives:
            raise ClinferError(f"two primitives have the id {primitive.id!r}", where="topology",
                               values={"first": self._primitives[primitive.id].where, "second": primitive.where})
        self._primitives[primitive.id] = primitive

    def __iter__(self) -> Iterator[Primitive]:
        return iter(self._primitives.values())

    def __len__(self) -> int:
        return len(self._primitives)

    def __getitem__(self, id: str) -> Primitive:
        return self._primitives[id]

    @property
    def outputs(self) -> dict[str, Port]:
        """The outputs of the graph by name."""
        if self._outputs is not None:
            return dict(self._outputs)
        read = {port.primitive for p in self for port in p.inputs}
        return {p.id: Port(p.id) for p in self if p.id not in read and not isinstance(p, Constant)}

    @property
    def inputs(self) -> tuple[Input, ...]:
        """The inputs of the graph, in the order in which they were added."""
        return tuple(p for p in self if isinstance(p, Input))

    def check(self) -> None:
        """Raise ClinferError for a reference to nothing or a cycle."""
        for primitive in self:
            for port in primitive.inputs:
                self._check_port(port, primitive.where)
        for name, port in self.outputs.items():
            self._check_port(port, f"output {name!r}")
        self.sorted()

    def sorted(self) -> list[Primitive]:
        """The primitives so that each stands after those it reads; stable in the order of adding."""
        waiting = {p.id: {port.primitive for port in p.inputs} for p in self}
        readers: dict[str, list[str]] = {}
        for id, needs in waiting.items():
            for need in needs:
                readers.setdefault(need, []).append(id)
        rank = {id: i for i, id in enumerate(self._primitives)}
        order: list[Primitive] = []
        ready = [rank[id] for id, needs in waiting.items() if not needs]
        ids = list(self._primitives)
        while ready:
            id = ids[heapq.heappop(ready)]
            order.append(self._primitives[id])
            for freed in self._release(id, readers.get(id, ()), waiting):
                heapq.heappush(ready, rank[freed])
        if len(order) != len(self):
            stuck = [id for id, needs in waiting.items() if needs]
            raise ClinferError("the topology has a cycle", where="topology",
                               values={"primitives on or behind it": ", ".join(stuck)})
        return order

    @staticmethod
    def _release(done: str, readers: Iterable[str], waiting: dict[str, set[str]]) -> list[str]:
        freed = []
        for reader in readers:
            waiting[reader].discard(done)
            if not waiting[reader]:
                freed.append(reader)
        return freed

    def _check_port(self, port: Port, reader: str) -> None:
        producer = self._primitives.get(port.primitive)
        if producer is None:
            raise ClinferError(f"{reader} reads {port.primitive!r}, which does not exist", where="topology",
                               values={"primitives": ", ".join(self._primitives)},
                               hint="add the missing primitive, or correct the id")
        if not 0 <= port.index < producer.output_count:
            raise ClinferError(f"{reader} reads output {port.index} of {producer.where}", where="topology",
                               values={"outputs": producer.output_count})
