"""Chooses the kernels of every node, following the formats of the producers in processing order."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from clinfer.base.errors import ClinferError
from clinfer.base.format import Format
from clinfer.base.layout import NO_PADDING, Layout
from clinfer.base.tracing import log
from clinfer.kernels.selector import select
from clinfer.kernels.spec import KernelParams, KernelSpec
from clinfer.ops import kernels_of
from clinfer.program.context import BuildContext
from clinfer.program.graph import Graph, Node
from clinfer.topology import Input


def select_kernels(graph: Graph, context: BuildContext) -> None:
    """Give every node that the device computes its selection and its output formats."""
    context.options.check({node.id for node in graph})
    for node in graph:
        select_node(graph, node, context)


def select_node(graph: Graph, node: Node, context: BuildContext) -> None:
    """Select for one node; views, host nodes, inputs and nodes with bodies keep planar layouts."""
    primitive, table = node.primitive, kernels_of(node.primitive)
    _check_images(graph, node, table)
    if node.on_host or node.id in graph.constants or isinstance(primitive, Input):
        return
    if primitive.bodies or primitive.computed_on_host:
        return
    if not table:
        raise ClinferError("no kernel computes this primitive", where=node.primitive.where,
                           hint="give its room a kernel table, see docs/add_an_op.md")
    if node.primitive.reinterprets_input and not node.primitive.output_padding:
        node.is_view = True
        return
    params = KernelParams.of(node.primitive, graph.input_layouts(node), node.layouts, context.engine.capabilities,
                             context.known_values(graph, node))
    node.selection = select(table, params, context.options.forced(node.id))
    node.layouts = node.selection.params.outputs
    _log(node)


def _check_images(graph: Graph, node: Node, table: Sequence[KernelSpec]) -> None:
    """Raise for a node that cannot read what it is given as images."""
    images = [port for port in node.inputs if graph.layout(port).format.is_image]
    if images and not node.primitive.reads_shapes_only and not any(spec.reads_images for spec in table):
        raise ClinferError("an input whose memory is images is read by what reads no images",
                           where=node.primitive.where, values={"input": ", ".join(map(str, images))},
                           hint="give the model a conversion of colours behind it, or leave set_memory_type out")


def required_inputs(graph: Graph, node: Node) -> tuple[Layout, ...]:
    """The layouts in which a node must be given its inputs."""
    present = graph.input_layouts(node)
    if node.selection is not None:
        hidden = node.primitive.value_inputs
        return tuple(x if i in hidden else wanted
                     for i, (x, wanted) in enumerate(zip(present, node.selection.params.all_inputs, strict=True)))
    return tuple(plain(x) for x in present)


def plain(layout: Layout) -> Layout:
    """The planar, unpadded layout of the same tensor."""
    return replace(layout, format=Format.planar(layout.rank), padding=NO_PADDING)


def _log(node: Node) -> None:
    selection = node.selection
    assert selection is not None
    log(3, f"{node.primitive.where}: {' | '.join(s.name for s in selection.specs)}"
           + "".join(f"\n    not {name}: {reason}" for name, reason in selection.rejected))
