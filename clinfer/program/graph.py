"""The program's graph while passes rewrite it: primitives, users, layouts and selections.

All edits go through this class, which keeps users consistent; `check` proves it after each pass.
"""
from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from clinfer.base.element_type import ElementType
from clinfer.base.errors import ClinferError
from clinfer.base.layout import Layout
from clinfer.kernels.aliasing import Alias
from clinfer.kernels.selector import Selection
from clinfer.program.constants import ConstantData
from clinfer.program.history import History
from clinfer.program.order import Order
from clinfer.topology import Input, Port, Primitive, Topology


class AliasedBuffer(NamedTuple):
    """A copy of a node that need not be made where tensor `moved` lies within tensor `within` (ports that own memory):
    in some plans, or (`is_certain`) in all.
    """

    alias: Alias
    moved: Port
    within: Port
    is_certain: bool


@dataclass
class Node:
    """One primitive of the graph with what the passes have found out about it so far.

    `layouts`: one per output (shapes may be dynamic). `on_host`: computed with NumPy, never by the
    device. `is_view`: its output is input 0's memory. `selection`: its kernels. `aliases`: which of its copies
    need not be made; `copies`: (number, reason) of those that always are.
    """

    primitive: Primitive
    layouts: tuple[Layout, ...] = ()
    on_host: bool = False
    is_view: bool = False
    selection: Selection | None = None
    aliases: tuple[AliasedBuffer, ...] = ()
    copies: tuple[tuple[int, str], ...] = ()

    @property
    def id(self) -> str:
        return self.primitive.id

    @property
    def by_host(self) -> bool:
        """Whether the host computes it, ahead of a segment or in the middle of one."""
        return self.on_host or self.primitive.computed_on_host

    @property
    def inputs(self) -> tuple[Port, ...]:
        return self.primitive.inputs

    @property
    def work(self) -> str:
        """What carries it out, as far as that is decided: the host, nothing (a view), or a kernel."""
        kernel = self.selection.candidates[0].name if self.selection else ""
        return "host" if self.on_host else "view" if self.is_view else kernel


class Graph:
    """Nodes by id, in an order in which each stands after those it reads."""

    def __init__(self, topology: Topology) -> None:
        topology.check()
        self._nodes = {p.id: Node(p) for p in topology.sorted()}
        self._order = Order(self._nodes)
        self.outputs: dict[str, Port] = topology.outputs
        self.input_names = [p.id for p in topology.inputs]
        self.states = topology.states
        self.constants: dict[str, ConstantData] = {}
        self.history = History()
        self._users: dict[str, list[str]] = {id: [] for id in self._nodes}
        for node in self:
            self._link(node)

    def __iter__(self) -> Iterator[Node]:
        return iter([self._nodes[id] for id in self._order])

    def __getitem__(self, id: str) -> Node:
        return self._nodes[id]

    def __contains__(self, id: object) -> bool:
        return id in self._nodes

    def __len__(self) -> int:
        return len(self._nodes)

    # -- questions ------------------------------------------------------------------------------

    def users(self, id: str) -> list[Node]:
        """The nodes that read any output of this one (each once)."""
        return [self._nodes[user] for user in dict.fromkeys(self._users[id])]

    def is_read_only_by(self, id: str, reader: str) -> bool:
        """Whether a node reads outputs of this one that nobody else needs."""
        return not self.is_output(id) and set(self._users[id]) == {reader}

    def readers(self, port: Port) -> list[tuple[Node, int]]:
        """Who reads one port, as (node, input index)."""
        return [(user, index) for user in self.users(port.primitive)
                for index, read in enumerate(user.inputs) if read == port]

    def layout(self, port: Port) -> Layout:
        """The layout of a port, once it has been inferred."""
        return self._nodes[port.primitive].layouts[port.index]

    def element_type(self, port: Port) -> ElementType:
        """The element type of a port, once it has been inferred."""
        return self.layout(port).element_type

    def input_layouts(self, node: Node) -> tuple[Layout, ...]:
        """The layouts of everything that a node reads."""
        return tuple(self.layout(port) for port in node.inputs)

    def shared_size(self, id: str, axis: int) -> Hashable | None:
        """What tells a size of an input from others, where several have it (`State.sizes`); None where not."""
        state = next((state for state in self.states if state.input == id and state.sizes), None)
        name = state.sizes[axis] if state else ""
        if state is None or not name:
            return None
        return (name, 0, 0) if name == state.selected_by else ("states", name)

    def is_output(self, id: str) -> bool:
        """Whether an output of the graph is read from this node."""
        return any(port.primitive == id for port in self.outputs.values())

    def last_of(self, nodes: Sequence[Node]) -> Node | None:
        """Which of these nodes stands last; None of none."""
        last = self._order.last_of([node.id for node in nodes])
        return None if last is None else self._nodes[last]

    def unique_id(self, wish: str) -> str:
        """An id that no node has: `wish`, or `wish` with a number behind it."""
        if wish not in self._nodes:
            return wish
        count = 2
        while f"{wish}_{count}" in self._nodes:
            count += 1
        return f"{wish}_{count}"

    # -- edits ----------------------------------------------------------------------------------

    def insert_before(self, reader: str, primitive: Primitive) -> Node:
        """Add a primitive in front of a node (which does not read it yet)."""
        return self._place(primitive, before=reader)

    def add_input(self, reader: str, primitive: Input) -> Node:
        """Add an input of the graph in front of a node (which does not read it yet)."""
        self.input_names.append(primitive.id)
        return self._place(primitive, before=reader)

    def append(self, primitive: Primitive) -> Node:
        """Add a primitive at the end."""
        return self._place(primitive, before=None)

    def move_before(self, id: str, other: str) -> None:
        """Let a node stand right before another one: behind what it reads, and before what reads it."""
        self._order.remove(id)
        self._order.put(id, before=other)

    def bring_before(self, id: str, other: str) -> None:
        """Let a node stand ahead of another one: where it does so already, or right before it, behind what it reads."""
        if self._order.last_of((id, other)) == id:
            self.move_before(id, other)

    def set_input(self, reader: str, index: int, port: Port) -> None:
        """Let input `index` of a node read another port."""
        node = self._nodes[reader]
        inputs = (*node.inputs[:index], port, *node.inputs[index + 1:])
        self.replace(reader, replace(node.primitive, inputs=inputs))

    def replace(self, id: str, primitive: Primitive) -> None:
        """Put another primitive of the same id in a node's place; its findings stay."""
        if primitive.id != id:
            raise ClinferError(f"{primitive.where} cannot replace {id!r}", where="graph")
        node = self._nodes[id]
        self._unlink(node)
        node.primitive = primitive
        self._link(node)

    def redirect(self, old: Port, new: Port) -> None:
        """Let all readers and outputs of one port read another, which does its work from now on."""
        self.history.redirected(old.primitive, self._nodes[new.primitive].primitive)
        for reader, index in self.readers(old):
            if reader.id != new.primitive:
                self.set_input(reader.id, index, new)
        self.outputs = {name: new if port == old else port for name, port in self.outputs.items()}

    def hoist(self, id: str, over: str) -> None:
        """Let a node work on input 0 of one that it reads, which hands on the node's result from then on."""
        node, source = self._nodes[id], self._nodes[over].inputs[0]
        for reader, index in self.readers(Port(id)):
            self.set_input(reader.id, index, Port(over))
        self.outputs = {name: Port(over) if port == Port(id) else port for name, port in self.outputs.items()}
        self.replace(id, replace(node.primitive, inputs=tuple(source if p == Port(over) else p for p in node.inputs)))
        self.set_input(over, 0, Port(id))
        self.move_before(id, over)

    def remove(self, id: str) -> None:
        """Take out a node that nobody reads."""
        if self._users[id] or self.is_output(id):
            raise ClinferError(f"{id!r} is still read", where="graph",
                               values={"by": ", ".join(self._users[id]) or "an output"})
        self._unlink(self._nodes[id])
        self.history.removed(self._nodes[id].primitive)
        self._order.remove(id)
        del self._nodes[id], self._users[id]
        self.constants.pop(id, None)

    def remove_unread(self, id: str) -> None:
        """Take out a node that nobody reads, and with it what nobody else reads."""
        node = self._nodes.get(id)
        if node is None or self._users[id] or self.is_output(id) or id in self.input_names:
            return
        read = {port.primitive for port in node.inputs}
        self.remove(id)
        for source in read:
            self.remove_unread(source)

    # -- consistency ----------------------------------------------------------------------------

    def check(self) -> None:
        """Raise if a node reads what is not there or stands before it, or users are wrong."""
        seen: set[str] = set()
        reads: set[tuple[str, str]] = set()
        for id in self._order:
            primitive = self._nodes[id].primitive
            for port in primitive.inputs:
                source = port.primitive
                if source not in seen:
                    raise ClinferError(f"{primitive.where} stands before {source!r}, which it reads")
                if id not in self._users[source]:
                    raise ClinferError(f"{source!r} does not know its user {id!r}")
                reads.add((id, source))
            seen.add(id)
        for id, users in self._users.items():
            for user in users:
                if (user, id) not in reads:
                    raise ClinferError(f"{id!r} lists {user!r}, which does not read it")
        for name, port in self.outputs.items():
            if port.primitive not in seen:
                raise ClinferError(f"output {name!r} reads {port.primitive!r}, which does not exist")

    def describe(self) -> str:
        """The graph as text, one node a line."""
        lines = []
        for node in self:
            lines.append(f"{node.id} = {type(node.primitive).__name__}({', '.join(map(str, node.inputs))}) "
                         f"-> {', '.join(map(str, node.layouts))} {node.work}".rstrip())
        return "\n".join(lines + [f"output {n} = {p}" for n, p in self.outputs.items()])

    def _place(self, primitive: Primitive, before: str | None) -> Node:
        if primitive.id in self._nodes:
            raise ClinferError(f"two nodes have the id {primitive.id!r}", where="graph")
        node = Node(primitive)
        self._nodes[primitive.id] = node
        self._order.put(primitive.id, before)
        self._users[primitive.id] = []
        self._link(node)
        return node

    def _link(self, node: Node) -> None:
        for port in node.inputs:
            self._users[port.primitive].append(node.id)

    def _unlink(self, node: Node) -> None:
        for port in node.inputs:
            self._users[port.primitive].remove(node.id)
            self.history.left(port.primitive, node.id)
