"""Puts a reorder wherever a tensor's layout is not the one its reader needs; small constants are there in both."""
from __future__ import annotations

import numpy as np

from clinfer.base.layout import Layout
from clinfer.kernels.implementation import Implementation, generate
from clinfer.kernels.selector import select
from clinfer.ops import kernels_of
from clinfer.ops.reorder import Reorder
from clinfer.program.constants import ConstantData
from clinfer.program.context import BuildContext
from clinfer.program.format_choice import plain
from clinfer.program.graph import Graph, Node
from clinfer.program.passes.propagate_constants import HOST_ELEMENTS
from clinfer.program.passes.select_kernels import required_inputs, select_node
from clinfer.runtime.capabilities import Capabilities
from clinfer.topology import Constant, Port


def add_required_reorders(graph: Graph, context: BuildContext) -> None:
    """Insert reorders between differing layouts (one per port and layout) and before outputs."""
    made: dict[tuple[Port, Layout], Port] = {}
    for node in graph:
        if node.primitive.reads_shapes_only:
            continue
        for index, wanted in enumerate(required_inputs(graph, node)):
            port = node.inputs[index]
            if graph.layout(port) != wanted:
                graph.set_input(node.id, index, _reordered(graph, port, wanted, node, made, context))
    if not context.options.is_internal:
        _plain_outputs(graph, made, context)


def _reordered(graph: Graph, port: Port, wanted: Layout, reader: Node, made: dict[tuple[Port, Layout], Port],
               context: BuildContext) -> Port:
    if (port, wanted) not in made:
        id, origin = graph.unique_id(f"{port}/{wanted.format}"), graph[port.primitive].primitive.origin
        data = graph.constants.get(port.primitive)
        if data is not None and data.layout.count <= HOST_ELEMENTS:
            node = graph.insert_before(reader.id, Constant(id, origin=origin, value=np.empty(0),
                                                           element_type=wanted.element_type))
            node.layouts = (wanted,)
            graph.constants[id] = ConstantData(wanted, array=data.on_host(context.stream))
        else:
            node = graph.insert_before(reader.id, Reorder(id, (port,), output_padding=wanted.padding, origin=origin,
                                                          format=wanted.format.name))
            node.layouts = context.infer(graph, node)
            select_node(graph, node, context)
        made[port, wanted] = Port(id)
    return made[port, wanted]


def _plain_outputs(graph: Graph, made: dict[tuple[Port, Layout], Port], context: BuildContext) -> None:
    """Outputs are planar, except where the topology asks for a layout by a reorder or by padding."""
    for name, port in graph.outputs.items():
        layout = graph.layout(port)
        asked = isinstance(graph[port.primitive].primitive, Reorder) or layout.padding
        if asked or layout == plain(layout):
            continue
        if (port, plain(layout)) not in made:
            primitive = Reorder(graph.unique_id(f"{port}/output"), (port,), format=plain(layout).format.name,
                                origin=graph[port.primitive].primitive.origin)
            node = graph.append(primitive)
            node.layouts = context.infer(graph, node)
            select_node(graph, node, context)
            made[port, plain(layout)] = Port(primitive.id)
        graph.outputs[name] = made[port, plain(layout)]


def reorder_between(present: Layout, wanted: Layout, capabilities: Capabilities) -> Implementation:
    """What brings a tensor from one static layout into another, outside a graph."""
    primitive = Reorder("reorder", (Port("present"),), output_padding=wanted.padding, format=wanted.format.name)
    table = kernels_of(primitive)
    selection = select(table, table.problem(primitive, (present,), (wanted,), capabilities))
    return generate(selection.candidates[0], selection.problem)
