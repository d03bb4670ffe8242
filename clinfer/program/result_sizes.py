"""Finds what is known of the results of bodies before they run."""
from __future__ import annotations

from collections.abc import Hashable, Mapping

from clinfer.base.shape import Shape
from clinfer.program.context import BuildContext
from clinfer.program.graph import Graph
from clinfer.program.size_names import SizeNames
from clinfer.symbolic.dimensions import NamedDim, names_in
from clinfer.topology import BodyResult, BodySize, Port


def body_results(graph: Graph, context: BuildContext) -> dict[str, BodyResult]:
    """Of each output of a body's graph, whose layouts are known."""
    names = SizeNames(graph, context)
    given: dict[Hashable, tuple[str, int]] = {
        size.name: (name, axis) for name in graph.input_names
        for axis, size in enumerate(names.shape(Port(name))) if isinstance(size, NamedDim)}
    return {name: BodyResult(graph.layout(port).shape, _sizes(names.shape(port), given))
            for name, port in graph.outputs.items()}


def _sizes(shape: Shape, given: Mapping[Hashable, tuple[str, int]]) -> tuple[BodySize, ...] | None:
    """The sizes of a named shape, as far as they are those of the inputs, whose names are `given`."""
    found: list[BodySize] = []
    for size in shape:
        if isinstance(size, int):
            found.append(size)
        elif isinstance(size, NamedDim) and names_in(size) <= given.keys():
            found.append(frozenset(given[name] for name in names_in(size)))
        else:
            return None
    return tuple(found)
