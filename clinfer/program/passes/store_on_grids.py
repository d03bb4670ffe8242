"""Stores as bytes what FakeQuantize rounded and products of bytes read."""
from __future__ import annotations

from dataclasses import replace

from clinfer.base.element_type import ElementType
from clinfer.base.grid import MOST_LEVELS, Grid
from clinfer.ops.convert import Convert
from clinfer.ops.eltwise import Eltwise
from clinfer.ops.fake_quantize import FakeQuantize
from clinfer.ops.matmul import MatMul
from clinfer.ops.quantised_convolution import QuantisedConvolution
from clinfer.program.context import BuildContext
from clinfer.program.graph import Graph, Node
from clinfer.program.passes.insertion import inserted
from clinfer.program.passes.spread import Spread, spread_of
from clinfer.topology import Port

_DATA = 0
_STORED, _MOVED, _CONVERTED = 3, 6, 5
"""Bytes by which an element is less to write where it is stored as one of its own, and less to read and write where it
is moved; and those that it takes to make a float of it again, but for element-wise operations, which do that as they
read it."""


def store_on_grids(graph: Graph, context: BuildContext) -> None:
    """Let the results of FakeQuantize be stored as whole numbers of their grid, where nothing reads them but the data
    of products that multiply these numbers (`note_data_grids`), or where moving them, as bytes, saves more than it
    takes to convert what else reads them. What is joined must all be on one grid.

    Rounding to the levels is what storing them does, so that of a FakeQuantize whose levels are all 256, and which
    gives what it takes, nothing else is left. Without instructions for bytes products may as well compute in floats.
    """
    if not context.engine.capabilities.multiplies_bytes:
        return
    for node in graph:
        grid = _grid_of(graph, context, node) if node.id in graph else None
        if grid is None:
            continue
        spread = spread_of(graph, Port(node.id))
        is_one_grid = all(_grid_of(graph, context, graph[source.primitive]) == grid for source in spread.sources)
        if is_one_grid and _saves_bytes(graph, spread):
            _store_all(graph, context, spread, ElementType.on(grid))


def _grid_of(graph: Graph, context: BuildContext, node: Node) -> Grid | None:
    """The grid of what a node gives, if that can be stored on it."""
    is_rounded = isinstance(node.primitive, FakeQuantize) and not node.primitive.fused_ops
    is_seen = graph.is_output(node.id) or graph.element_type(Port(node.id)).name != "f32"
    return grid_of_levels(graph, context, node) if is_rounded and not is_seen else None


def grid_of_levels(graph: Graph, context: BuildContext, node: Node) -> Grid | None:
    """The grid of the results of a FakeQuantize whose bounds are constants of one number."""
    primitive = node.primitive
    assert isinstance(primitive, FakeQuantize)
    low, high = (context.number(graph, bound) for bound in node.inputs[3:5])
    return None if low is None or high is None else Grid.of(low, high, primitive.levels)


def _saves_bytes(graph: Graph, spread: Spread) -> bool:
    moved = sum(not mover.primitive.reinterprets_input for mover in spread.movers)
    others = _others(spread)
    converted = len({port for port, reader in others if not isinstance(reader.primitive, Eltwise)})
    return len(spread.readers) + moved > len(others) and (
        _STORED * len(spread.sources) + _MOVED * moved > _CONVERTED * converted)


def _others(spread: Spread) -> list[tuple[Port, Node]]:
    """Who reads numbers of a grid, and from where, but does not multiply bytes."""
    return [(port, reader) for port, reader, index in spread.readers
            if not (_multiplies(reader, index) or reader.primitive.reads_shapes_only)]


def _multiplies(reader: Node, index: int) -> bool:
    primitive = reader.primitive
    return index == _DATA and (isinstance(primitive, QuantisedConvolution)
                               or (isinstance(primitive, MatMul) and primitive.data_grid is not None))


def _store_all(graph: Graph, context: BuildContext, spread: Spread, kind: ElementType) -> None:
    for port in dict.fromkeys(port for port, _ in _others(spread)):
        readers = {reader.id: reader for read, reader in _others(spread) if read == port}
        fusing = [reader for reader in readers.values() if isinstance(reader.primitive, Eltwise)]
        together = [reader for reader in readers.values() if reader not in fusing]
        for group in (*([reader] for reader in fusing), together):
            _read_floats(graph, context, port, group)
    for mover in spread.movers:
        mover.layouts = tuple(replace(layout, element_type=kind) for layout in mover.layouts)
    for source in spread.sources:
        _store(graph, context, graph[source.primitive], kind)


def _read_floats(graph: Graph, context: BuildContext, port: Port, readers: list[Node]) -> None:
    """Let some of those who read a tensor read one of f32 that is made of it."""
    if not readers:
        return
    converted = _converted(graph, context, readers, port, "f32")
    for reader in readers:
        for index in (index for index, read in enumerate(reader.inputs) if read == port):
            graph.set_input(reader.id, index, converted)


def _store(graph: Graph, context: BuildContext, node: Node, kind: ElementType) -> None:
    """Put a conversion in the place of a FakeQuantize, or behind it."""
    primitive = node.primitive
    assert isinstance(primitive, FakeQuantize)
    bounds = [context.number(graph, bound) for bound in node.inputs[1:]]
    only_rounds = bounds[:2] == bounds[2:] and primitive.levels == MOST_LEVELS
    source = node.inputs[0] if only_rounds else Port(node.id)
    graph.redirect(Port(node.id), _converted(graph, context, graph.users(node.id), source, kind.name))
    graph.remove_unread(node.id)


def _converted(graph: Graph, context: BuildContext, readers: list[Node], port: Port, kind: str) -> Port:
    """A tensor in another type, made before so many nodes."""
    origin = graph[port.primitive].primitive.origin
    converted = inserted(graph, context, readers[0], Convert(graph.unique_id(f"{port}/{kind}"), (port,), origin=origin,
                                                             destination_type=kind))
    for reader in readers:
        graph.bring_before(converted.primitive, reader.id)
    return converted
