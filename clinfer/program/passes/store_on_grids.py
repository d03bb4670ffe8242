"""Stores as bytes what FakeQuantize rounded and products of bytes read."""
from __future__ import annotations

from dataclasses import replace

from clinfer.base.element_type import ElementType
from clinfer.base.grid import MOST_LEVELS, Grid
from clinfer.ops.convert import Convert
from clinfer.ops.fake_quantize import FakeQuantize
from clinfer.ops.matmul import MatMul
from clinfer.ops.pooling import MaxPool
from clinfer.ops.quantised_convolution import QuantisedConvolution
from clinfer.program.context import BuildContext
from clinfer.program.graph import Graph, Node
from clinfer.program.passes.byte_values import inserted
from clinfer.topology import Port

_DATA = 0


def store_on_grids(graph: Graph, context: BuildContext) -> None:
    """Let the results of FakeQuantize be stored as whole numbers of their grid, where nothing reads them but the data
    of products that multiply these numbers (`note_data_grids`), by way of MaxPool or not.

    Rounding to the levels is what storing them does, so that of a FakeQuantize whose levels are all 256, and which
    gives what it takes, nothing else is left. Without instructions for bytes products may as well compute in floats.
    """
    if not context.engine.capabilities.multiplies_bytes:
        return
    for node in graph:
        if isinstance(node.primitive, FakeQuantize) and not node.primitive.fused_ops and not graph.is_output(node.id):
            grid = grid_of_levels(graph, context, node)
            if grid is not None and _multiplied_by(graph, Port(node.id)):
                _store(graph, context, node, grid)


def grid_of_levels(graph: Graph, context: BuildContext, node: Node) -> Grid | None:
    """The grid of the results of a FakeQuantize whose bounds are constants of one number."""
    primitive = node.primitive
    assert isinstance(primitive, FakeQuantize)
    low, high = (context.number(graph, bound) for bound in node.inputs[3:5])
    return None if low is None or high is None else Grid.of(low, high, primitive.levels)


def _multiplied_by(graph: Graph, port: Port) -> bool:
    """Whether a tensor of f32 is read by products of bytes alone, all of which know its grid."""
    readers = graph.readers(port)
    return graph.element_type(port).name == "f32" and bool(readers) and all(
        _multiplies(reader, index) or _passes_on(graph, reader) for reader, index in readers)


def _multiplies(reader: Node, index: int) -> bool:
    primitive = reader.primitive
    return index == _DATA and (isinstance(primitive, QuantisedConvolution)
                               or (isinstance(primitive, MatMul) and primitive.data_grid is not None))


def _passes_on(graph: Graph, reader: Node) -> bool:
    primitive = reader.primitive
    return (isinstance(primitive, MaxPool) and primitive.output_count == 1 and not primitive.fused_ops
            and not graph.is_output(reader.id) and _multiplied_by(graph, Port(reader.id)))


def _store(graph: Graph, context: BuildContext, node: Node, grid: Grid) -> None:
    """Put a conversion in the place of a FakeQuantize, or behind it."""
    primitive, kind = node.primitive, ElementType.on(grid)
    assert isinstance(primitive, FakeQuantize)
    bounds = [context.number(graph, bound) for bound in node.inputs[1:]]
    only_rounds = bounds[:2] == bounds[2:] and primitive.levels == MOST_LEVELS
    source, reader = (node.inputs[0] if only_rounds else Port(node.id)), graph.readers(Port(node.id))[0][0]
    stored = inserted(graph, context, reader, Convert(graph.unique_id(f"{node.id}/stored"), (source,),
                                                      origin=primitive.origin, destination_type=kind.name))
    graph.redirect(Port(node.id), stored)
    graph.remove_unread(node.id)
    _pass_on(graph, stored, kind)


def _pass_on(graph: Graph, port: Port, kind: ElementType) -> None:
    """Let what a MaxPool gives be of the type of what it reads."""
    for reader, _ in graph.readers(port):
        if isinstance(reader.primitive, MaxPool):
            reader.layouts = (replace(reader.layouts[0], element_type=kind),)
            _pass_on(graph, Port(reader.id), kind)
