"""How far elements of a tensor are moved, and what they are joined with, before something is computed of them."""
from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from clinfer.program.graph import Graph, Node
from clinfer.topology import Port


@dataclass(frozen=True)
class Spread:
    """Tensors of which each element is one of `sources`, which something else than moving has made.

    `movers` make all others; `readers` of any of them, with the port and the input's index, are no movers."""

    sources: tuple[Port, ...]
    movers: tuple[Node, ...]
    readers: tuple[tuple[Port, Node, int], ...]


def sources_of(graph: Graph, port: Port) -> tuple[Port, ...]:
    """The tensors of whose elements a tensor is made; itself, if it was computed."""
    ports = _reached(port, lambda reached: _picked(graph, reached))
    return tuple(reached for reached in ports if not _picked(graph, reached))


def spread_of(graph: Graph, port: Port) -> Spread:
    """What elements of a tensor get into, together with all that is joined with them on their way."""
    def next_to(reached: Port) -> Iterable[Port]:
        onwards = [Port(reader.id, output) for reader, index in graph.readers(reached) if _moves(graph, reader, index)
                   for output in range(reader.primitive.output_count)]
        return (*onwards, *(_picked(graph, reached) if _moves(graph, graph[reached.primitive]) else ()))

    ports = _reached(port, next_to)
    makers = {reached: graph[reached.primitive] for reached in ports}
    return Spread(tuple(reached for reached in ports if not _moves(graph, makers[reached])),
                  tuple({maker.id: maker for maker in makers.values() if _moves(graph, maker)}.values()),
                  tuple((reached, reader, index) for reached in ports for reader, index in graph.readers(reached)
                        if not _moves(graph, reader, index)))


def _reached(port: Port, next_to: Callable[[Port], Iterable[Port]]) -> list[Port]:
    """A port and all that can be reached from it, each once."""
    found, left = {port: None}, [port]
    while left:
        new = [other for other in dict.fromkeys(next_to(left.pop())) if other not in found]
        found.update(dict.fromkeys(new))
        left += new
    return list(found)


def _picked(graph: Graph, port: Port) -> tuple[Port, ...]:
    """The tensors from which what made a tensor picked its elements; nothing: it computed them."""
    node = graph[port.primitive]
    return () if node.primitive.fused_ops else tuple(node.inputs[i] for i in node.primitive.picked_inputs)


def _moves(graph: Graph, node: Node, index: int | None = None) -> bool:
    """Whether a node moves elements (of one input, or of any), and its results are seen by the nodes that read them
    alone."""
    primitive = node.primitive
    picked = primitive.picked_inputs
    return bool(picked) and (index is None or index in picked) and not (
        primitive.fused_ops or primitive.output_padding or node.on_host or node.id in graph.constants
        or graph.is_output(node.id))
