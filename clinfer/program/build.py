"""Builds a program: topology -> graph -> passes -> segments, slots and kernels."""
from __future__ import annotations

from dataclasses import dataclass, replace

from clinfer.base.errors import ClinferError
from clinfer.base.tracing import log
from clinfer.kernels.implementation import Implementation
from clinfer.kernels.refused_kernels import KernelBuildError
from clinfer.program.constants import ConstantData
from clinfer.program.context import BuildContext
from clinfer.program.format_choice import built_for
from clinfer.program.graph import Graph, Node
from clinfer.program.implementation_types import refused_types
from clinfer.program.implementations import implementations_of
from clinfer.program.memory_dependencies import (
    Buffer,
    Dependencies,
    in_order_dependencies,
    out_of_order_dependencies,
    steps_before,
)
from clinfer.program.options import BuildOptions
from clinfer.program.passes import run_pipeline
from clinfer.program.program import AliasedTensor, NodeKind, OutputInfo, Program, ProgramNode, Segment, Storage, Tensor
from clinfer.program.refusals import Refusals
from clinfer.program.schedule import assign_segments, order_nodes, useful_inputs, value_ports
from clinfer.runtime.memory import Memory
from clinfer.topology import Input, Port, Primitive, SourceBody, Topology


def build_program(topology: Topology, context: BuildContext) -> Program:
    """The program of a topology; ClinferError if it cannot run on the device."""
    initial = None if topology.initial is None else build_program(topology.initial, context.of_part())
    refused = Refusals(context.kernels.cache.refused)
    while True:
        graph, implementations = _selected(topology, context, refused)
        try:
            context.kernels.prepare(s.code for parts in implementations.values() for i in parts for s in i.stages)
        except KernelBuildError as error:
            refused.add(error, graph, implementations)
        else:
            refused.keep(graph, context.engine.device)
            return _Assembly(graph, context, implementations).program(initial)


def _selected(topology: Topology, context: BuildContext,
              refused: Refusals) -> tuple[Graph, dict[str, tuple[Implementation, ...]]]:
    """The graph after all passes, without what the driver was found to refuse, and the code of its nodes."""
    graph = Graph(topology)
    try:
        run_pipeline(graph, replace(context, refused=refused.by_node))
        return graph, implementations_of(graph, context)
    except ClinferError:
        refused.forget()
        raise


def check_topology(topology: Topology, context: BuildContext) -> None:
    """Raise the ClinferError that a topology's shapes, types and kernels give cause for; builds and runs nothing."""
    graph = Graph(topology)
    run_pipeline(graph, replace(context, options=BuildOptions(is_internal=True)))
    for node in graph:
        for body in node.primitive.bodies:
            check_topology(body.topology, context)


@dataclass
class _Home:
    """Where a tensor and its views lie, while the program is laid out; see `memory_dependencies.Buffer`."""

    made: int
    touched: set[int]
    storage: Storage
    slot: int = -1


class _Assembly:
    """Turns a finished graph into the frozen program."""

    def __init__(self, graph: Graph, context: BuildContext,
                 implementations: dict[str, tuple[Implementation, ...]]) -> None:
        self.graph = graph
        self.context = context
        self.implementations = implementations
        segments = assign_segments(graph)
        self.segments = segments
        self.order = order_nodes([n for n in graph if n.id not in graph.constants], graph, segments)
        self.ports = [Port(n.id, i) for n in graph for i in range(len(n.layouts))]
        self.index = {port: i for i, port in enumerate(self.ports)}
        self.roots = self._find_roots()
        self.homes = self._find_homes()
        self._keep_what_bodies_return()
        self.long_homes = self._find_long_homes()
        self.scratch: dict[str, tuple[int, ...]] = {}
        self.slots = self._number_slots()

    def program(self, initial: Program | None) -> Program:
        """The program of the graph; `initial`: the one that makes the first values of its states."""
        nodes = tuple(self._node(node) for node in self.order)
        constants = {self.index[Port(id)]: data for id, data in self.graph.constants.items()}
        memory = self._settle(constants)
        return Program(
            engine=self.context.engine, kernels=self.context.kernels, nodes=nodes,
            tensors=(*(self._tensor(i) for i in range(len(self.ports))),
                     *(self._long_home(n, root) for n, root in enumerate(self.long_homes))),
            long_homes={root: len(self.ports) + n for n, root in enumerate(self.long_homes)},
            segments=self._segments(nodes),
            inputs={name: self._input(name) for name in self.graph.input_names},
            input_tensors={name: self.index[Port(name)] for name in self.graph.input_names},
            outputs={name: OutputInfo(self.index[port], self.graph.layout(port))
                     for name, port in self.graph.outputs.items()},
            constants=constants, constant_memory=memory, dependencies=self._dependencies(),
            first_scratch=sum(home.slot >= 0 for home in (*self.homes.values(), *self.long_homes.values())),
            execution_order=self.context.options.execution_order, removed=self.graph.history.removals(self.graph),
            states=self.graph.states, initial=initial)

    def _settle(self, constants: dict[int, ConstantData]) -> dict[int, Memory]:
        """Let constants be where they are read, and only there; the memory of those on the device."""
        memory = {}
        for tensor, data in list(constants.items()):
            on_device = self._needs_memory(tensor)
            # What was given is read by another program, too.
            if self.ports[tensor].primitive not in self.context.given:
                data.settle(self.context.stream, on_device, self._is_read_on_host(tensor))
            elif on_device and self._is_read_once(tensor):
                constants[tensor] = data = data.in_place(self.context.stream)
            if on_device:
                memory[tensor] = data.on_device(self.context.stream)
        return memory

    def _is_read_once(self, tensor: int) -> bool:
        """Whether a constant that was given is read by one run of an internal program, which does not hand it on."""
        return (self.context.options.is_internal
                and all(self.roots[self.index[port]] != tensor for port in self.graph.outputs.values()))

    def _is_read_on_host(self, tensor: int) -> bool:
        return any(node.primitive.computed_on_host or self.ports[tensor] in value_ports(node)
                   for node, _ in self.graph.readers(self.ports[tensor]))

    def _input(self, name: str) -> Input:
        primitive = self.graph[name].primitive
        assert isinstance(primitive, Input)
        return primitive

    def _needs_memory(self, tensor: int) -> bool:
        """Whether a kernel, a body, a view or the caller takes a tensor that the host has as a buffer."""
        if self.graph.layout(self.ports[tensor]).element_type.is_on_host_only:
            return False
        if self.ports[tensor] in self.graph.outputs.values():
            return True
        for node, index in self.graph.readers(self.ports[tensor]):
            if not node.by_host and index not in node.primitive.value_inputs:
                return True
            if any(index in body.inputs.values() for body in node.primitive.bodies):
                return True
        return False

    # -- memory ---------------------------------------------------------------------------------

    def _find_roots(self) -> list[int]:
        roots = list(range(len(self.ports)))
        for node in self.graph:
            if node.is_view:
                roots[self.index[Port(node.id)]] = roots[self.index[node.inputs[0]]]
        return roots

    def _find_homes(self) -> dict[int, _Home]:
        step = {node.id: i for i, node in enumerate(self.order)}
        outputs = {self.roots[self.index[port]] for port in self.graph.outputs.values()}
        homes: dict[int, _Home] = {}
        for i, port in enumerate(self.ports):
            root = self.roots[i]
            if root == i:
                made = step.get(port.primitive, 0)
                homes[i] = _Home(made, {made}, self._storage(port, i in outputs))
            homes[root].touched |= self._touches(port, step)
        for root in outputs:
            homes[root].touched.add(len(self.order))
        return homes

    def _keep_what_bodies_return(self) -> None:
        """A body whose results lie where it put them may return what it was given: the inputs of its node live as long
        as the outputs."""
        for node in reversed(self.order):
            if node.primitive.bodies and node.primitive.data_dependent_output:
                outputs = {self.roots[self.index[Port(node.id, i)]] for i in range(len(node.layouts))}
                touched = set().union(*(self.homes[i].touched for i in outputs))
                for root in {self.roots[self.index[port]] for port in node.inputs}:
                    self.homes[root].touched |= touched

    def _touches(self, port: Port, step: dict[str, int]) -> set[int]:
        """The steps that need a port. What a later segment reads is needed by all of that segment,
        because memory is arranged anew, for what that segment makes, before its first step."""
        born = self.segments[port.primitive]
        touched = {step.get(port.primitive, 0)}
        for reader, _ in self.graph.readers(port):
            segment = self.segments[reader.id]
            if segment == born:
                touched.add(step.get(reader.id, 0))
            else:
                touched |= {step[n.id] for n in self.order if self.segments[n.id] == segment}
        return touched

    def _storage(self, port: Port, is_output: bool) -> Storage:
        node = self.graph[port.primitive]
        if isinstance(node.primitive, Input):
            return "input"
        if node.id in self.graph.constants:
            return "constant"
        if node.by_host and not self._needs_memory(self.index[port]):
            return "host"
        if node.primitive.data_dependent_output:
            return "body"
        if is_output:
            return "output"
        return "slot"

    def _find_long_homes(self) -> dict[int, _Home]:
        """By root, where a tensor lies in plans in which others lie within it: alive while any of them is.

        Where another segment's plan decides, or the memory is no slot, the tensor lives that long in every plan.
        """
        longer = {root: _Home(home.made, set(home.touched), home.storage) for root, home in self.homes.items()}
        aliases = [(self.index[a.moved], self.index[a.within], self.segments[node.id])
                   for node in self.order for a in node.aliases]
        changed = True
        while changed:
            changed = False
            for moved, within, segment in aliases:
                by_plan = (self.homes[within].storage == "slot"
                           and self.segments[self.ports[within].primitive] == segment)
                for home in (longer[within],) if by_plan else (longer[within], self.homes[within]):
                    if not longer[moved].touched <= home.touched:
                        home.touched |= longer[moved].touched
                        home.made = min(home.made, longer[moved].made)
                        changed = True
        holders = {within for _, within, _ in aliases}
        return {root: home for root, home in longer.items()
                if root in holders and home.storage == "slot" and home.touched != self.homes[root].touched}

    def _number_slots(self) -> list[Buffer]:
        """Give every tensor of the pool and every scratch buffer a slot, tensors first; the slots as buffers."""
        slots: list[Buffer] = []
        for root, home in self.homes.items():
            if home.storage in ("slot", "output"):
                home.slot = len(slots)
                slots.append(Buffer(str(self.ports[root]), home.made, frozenset(home.touched)))
        for root, home in self.long_homes.items():
            home.slot = len(slots)
            slots.append(Buffer(f"{self.ports[root]} with others", home.made, frozenset(home.touched)))
        for step, node in enumerate(self.order):
            numbers = range(len(slots), len(slots) + _scratch_count(node))
            self.scratch[node.id] = tuple(numbers)
            slots += [Buffer(f"{node.id}/scratch{n}", step, frozenset([step])) for n in range(len(numbers))]
        return slots

    def _dependencies(self) -> Dependencies:
        if not self._may_run_at_once:
            found = in_order_dependencies(self.slots)
        else:
            step = {node.id: i for i, node in enumerate(self.order)}
            sources = [[step[p.primitive] for p in node.inputs if p.primitive in step] for node in self.order]
            before = steps_before(sources, [self.segments[node.id] for node in self.order])
            found = out_of_order_dependencies(self.slots, dict(enumerate(before)))
        for number, (slot, others) in enumerate(zip(self.slots, found, strict=True)):
            log(6, f"slot {number}: {slot.name}, steps {slot.made} to {slot.last}, apart from {sorted(others)}")
        return found

    @property
    def _may_run_at_once(self) -> bool:
        """Whether steps that do not depend on each other may run at the same time: on an out-of-order queue, or as
        stages of one level of a megakernel."""
        context = self.context
        return context.options.execution_order == "out_of_order" or context.engine.megakernels is not None

    # -- parts ----------------------------------------------------------------------------------

    def _tensor(self, index: int) -> Tensor:
        root = self.roots[index]
        home = self.homes[root]
        return Tensor(self.ports[index], self.graph.layout(self.ports[index]), root, home.storage, home.slot)

    def _long_home(self, number: int, root: int) -> Tensor:
        return replace(self._tensor(root), root=len(self.ports) + number, slot=self.long_homes[root].slot)

    def _node(self, node: Node) -> ProgramNode:
        bodies = tuple(build_program(body.topology, self.context.of_part()) for body in node.primitive.bodies)
        return ProgramNode(
            _without_topologies(node.primitive), tuple(self.index[p] for p in node.inputs),
            tuple(self.index[Port(node.id, i)] for i in range(len(node.layouts))), _kind(node),
            self.segments[node.id], self.implementations.get(node.id, ()), self.scratch.get(node.id, ()),
            node.selection.rejected if node.selection else (), bodies,
            node.selection.costs if node.selection else (), node.selection.why if node.selection else "",
            node.selection is not None and node.selection.is_forced,
            tuple(AliasedTensor(a.alias, self.index[a.moved], self.index[a.within]) for a in node.aliases),
            node.copies, useful_inputs(self.graph, node, self.segments) if node.aliases else (),
            self.graph.history.unfused.get(node.id, ()), refused_types(self.graph, node),
            built_for(node.selection) if node.selection else ())

    def _segments(self, nodes: tuple[ProgramNode, ...]) -> tuple[Segment, ...]:
        count = max((node.segment for node in nodes), default=-1) + 1
        segments: list[Segment] = []
        awaited: set[int] = set()
        for number in reversed(range(count)):
            segments.insert(0, self._segment(nodes, number, awaited))
            awaited.update(segments[0].values)
        return tuple(segments)

    def _segment(self, nodes: tuple[ProgramNode, ...], number: int, awaited: set[int]) -> Segment:
        members = [i for i, n in enumerate(nodes) if n.segment == number and not isinstance(n.primitive, Input)]
        made = {t for i in members for t in nodes[i].outputs}
        incoming: dict[int, None] = {}
        values: dict[int, None] = {}
        for i in members:
            needed = {self.index[p] for p in value_ports(self.graph[nodes[i].primitive.id])}
            for tensor in nodes[i].inputs:
                if tensor not in made and self.ports[tensor].primitive not in self.graph.constants:
                    incoming[tensor] = None
                    if tensor in needed:
                        values[tensor] = None
        on_device = [i for i in members if nodes[i].kind not in ("host", "call")]
        fetched = tuple(t for i in on_device for t in nodes[i].outputs if t in awaited)
        first = next(i for i, node in enumerate(nodes) if node.segment == number)
        held = tuple(i for i, slot in enumerate(self.slots) if slot.made < first <= slot.last)
        return Segment(tuple(members), tuple(incoming), tuple(values), held, fetched)


def _without_topologies(primitive: Primitive) -> Primitive:
    """The primitive with bodies that are built: without what they were built from, above all their constants."""
    built = {name: replace(body, topology=Topology()) for name, body in vars(primitive).items()
             if isinstance(body, SourceBody)}
    return replace(primitive, **built) if built else primitive  # type: ignore[arg-type]


def _kind(node: Node) -> NodeKind:
    if isinstance(node.primitive, Input):
        return "input"
    if node.on_host:
        return "host"
    if node.is_view:
        return "view"
    if node.primitive.computed_on_host:
        return "call"
    return "body" if node.primitive.bodies else "kernel"


def _scratch_count(node: Node) -> int:
    """How many scratch buffers the node's kernels need at most."""
    if node.selection is None:
        return 0
    return max(len(candidate.lower(node.selection.problem).scratch) for candidate in node.selection.candidates)
