"""Chooses the formats in which the nodes of a graph work, so that reorders move as little as possible.

A node has *ways* to work, each on other formats. Going forward, every way gets the bytes that it costs together with
all that comes before it: what reorders of its inputs move, and of its own bytes the part by which its kernel is slower
than the node's best. Where several nodes read a tensor, each carries its share of what came before. Going back, every
node takes the way that costs least, now that it is known in which formats its readers want the result. For chains
and trees this is the least that there is.
"""
from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod

from clinfer.base.format import Format
from clinfer.base.layout import NO_PADDING, Layout, Padding
from clinfer.kernels.selector import Judged, Selection, alternatives
from clinfer.kernels.spec import KernelParams
from clinfer.program.context import BuildContext
from clinfer.program.graph import Graph, Node
from clinfer.program.implementation_types import kernels_for
from clinfer.program.sample_sizes import Sample
from clinfer.topology import Port

LAUNCH_BYTES = 50_000
"""What a CPU moves in the time that a launch takes; only there kernels differ in the formats that they want."""
PRODUCTS_PER_BYTE = 8
"""Products that a CPU adds up in the time in which it moves a byte."""
SAMPLE_SIZES = 1, 64
"""For the first axis of inputs and for the others, where they are open."""


@dataclass(frozen=True)
class Way:
    """How a node may work: on these layouts, with these kernels. None: any layout; no kernel."""

    inputs: tuple[Layout | None, ...]
    outputs: tuple[Layout, ...]
    selection: Selection | None = None


def plain(layout: Layout) -> Layout:
    """The planar, unpadded layout of the same tensor."""
    return replace(layout, format=Format.planar(layout.rank), padding=NO_PADDING)


def choose_formats(graph: Graph, context: BuildContext, launching: set[str]) -> dict[str, Way]:
    """How each node shall work, by id. Those in `launching` launch kernels; the others want plain tensors."""
    ways: dict[str, list[Way]] = {}
    for node in graph:
        ways[node.id] = (list(_ways(graph, node, context, ways)) if node.id in launching else
                         [Way(tuple(None if node.primitive.reads_shapes_only else plain(layout)
                                    for layout in graph.input_layouts(node)), node.layouts)])
    if any(len(found) > 1 for found in ways.values()):
        return _Choice(graph, context, ways).made()
    return {id: only for id, (only,) in ways.items()}


def _ways(graph: Graph, node: Node, context: BuildContext, ways: Mapping[str, Sequence[Way]]) -> Iterator[Way]:
    """The ways of a node that launches kernels, given those of what it reads."""
    found: dict[tuple[object, ...], Way] = {}
    judged: Judged = {}
    table, forced = kernels_for(node.primitive, context), context.options.forced(node.id)
    values = context.known_values(graph, node)
    for given in _givens([dict.fromkeys(way.outputs[port.index] for way in ways[port.primitive])
                          for port in node.inputs]):
        params = KernelParams.of(node.primitive, given, node.layouts, context.engine.capabilities, values)
        for selection in alternatives(table, params, forced, judged):
            inputs, outputs = selection.params.all_inputs, selection.params.outputs
            known = found.get((inputs, outputs))
            if known is None or known.selection is None or selection.loss < known.selection.loss:
                hidden = node.primitive.value_inputs
                wanted = tuple(None if i in hidden else layout for i, layout in enumerate(inputs))
                found[inputs, outputs] = Way(wanted, outputs, selection)
    yield from found.values()


def _givens(offered: Sequence[Mapping[Layout, None]]) -> Iterator[tuple[Layout, ...]]:
    """The inputs of a node, for each format in which one of them may come: all those that may in that format."""
    formats = dict.fromkeys(layout.format for layouts in offered if len(layouts) > 1 for layout in layouts)
    givens = [tuple(next((x for x in layouts if x.format == wanted), next(iter(layouts))) for layouts in offered)
              for wanted in formats or [None]]
    return iter(dict.fromkeys(givens))


class _Choice:
    """The two ways through a graph; `costs` has the bytes of each way of a node, with all before it."""

    def __init__(self, graph: Graph, context: BuildContext, ways: Mapping[str, Sequence[Way]]) -> None:
        self._graph = graph
        self._ways = ways
        self._sample = Sample(graph, context, *SAMPLE_SIZES)
        self._wanted: dict[Port, dict[Layout, None]] = {}
        self._outputs_are_plain = not context.options.is_internal
        self._costs: dict[str, list[float]] = {}
        self._sizes: dict[tuple[Port, Format, Padding], int] = {}

    def made(self) -> dict[str, Way]:
        """The way of each node."""
        nodes = list(self._graph)
        for node in nodes:
            self._costs[node.id] = [self._loss(node, way) + sum(self._cost_before(port, wanted) for port, wanted in
                                    zip(node.inputs, way.inputs, strict=True)) for way in self._ways[node.id]]
        if self._outputs_are_plain:
            for port in self._graph.outputs.values():
                self._want(port, plain(self._graph.layout(port)))
        chosen = {}
        for node in reversed(nodes):
            totals = [cost + self._cost_behind(node, way)
                      for cost, way in zip(self._costs[node.id], self._ways[node.id], strict=True)]
            chosen[node.id] = way = self._ways[node.id][totals.index(min(totals))]
            for port, wanted in zip(node.inputs, way.inputs, strict=True):
                self._want(port, wanted)
        return chosen

    def _want(self, port: Port, layout: Layout | None) -> None:
        if layout is not None:
            self._wanted.setdefault(port, {})[layout] = None

    def _loss(self, node: Node, way: Way) -> float:
        """What the slower kernels of a way cost: a part of the bytes of the node's tensors and of its products."""
        if way.selection is None or not way.selection.loss:
            return 0.0
        primitive = node.primitive
        ports = [*node.inputs, *(Port(node.id, i) for i in range(len(way.outputs)))]
        work = float(sum(self._bytes(port, self._graph.layout(port)) for port in ports))
        if primitive.weights_input is not None and primitive.channel_axis is not None:
            output = self._sample.layout(Port(node.id)).static_shape
            weights = self._sample.layout(node.inputs[primitive.weights_input])
            work += prod(output) / max(output[primitive.channel_axis], 1) * weights.count / PRODUCTS_PER_BYTE
        return way.selection.loss * work

    def _cost_before(self, port: Port, wanted: Layout | None) -> float:
        """A reader's share of what a tensor costs, and what it costs to bring it into a layout."""
        maker = self._graph[port.primitive]
        if maker.id in self._graph.constants or wanted is None:
            return 0.0
        share = max(len(self._graph.users(maker.id)), 1)
        return min(cost / share + self._reorder(port, way.outputs[port.index], wanted)
                   for cost, way in zip(self._costs[maker.id], self._ways[maker.id], strict=True))

    def _cost_behind(self, node: Node, way: Way) -> float:
        """What reorders for the readers of a node cost; each layout is made once."""
        return sum(self._reorder(Port(node.id, index), layout, wanted) for index, layout in enumerate(way.outputs)
                   for wanted in self._wanted.get(Port(node.id, index), ()))

    def _reorder(self, port: Port, present: Layout, wanted: Layout) -> float:
        if present == wanted:
            return 0.0
        return LAUNCH_BYTES + self._bytes(port, present) + self._bytes(port, wanted)

    def _bytes(self, port: Port, layout: Layout) -> int:
        key = port, layout.format, layout.padding
        if key not in self._sizes:
            self._sizes[key] = layout.with_shape(self._sample.layout(port).shape).byte_size
        return self._sizes[key]
