"""Chooses the formats and the kernels of every node."""
from __future__ import annotations

from clinfer.base.errors import ClinferError
from clinfer.base.layout import Layout
from clinfer.base.tracing import log
from clinfer.kernels.selector import Selection, select
from clinfer.ops import kernels_of
from clinfer.program.context import BuildContext
from clinfer.program.format_choice import choose_formats, plain, problem_of
from clinfer.program.graph import Graph, Node
from clinfer.topology import Input


def select_kernels(graph: Graph, context: BuildContext) -> None:
    """Give every node that the device computes its selection and its output formats."""
    context.options.check({node.id for node in graph})
    for node in graph:
        _check_images(graph, node, context)
    launching = {node.id for node in graph if _launches(graph, node, context)}
    for id, candidate in choose_formats(graph, context, launching).items():
        node = graph[id]
        node.is_view = id not in launching and _computes(graph, node)
        if candidate.selection is not None:
            _give(node, candidate.selection)


def select_node(graph: Graph, node: Node, context: BuildContext) -> None:
    """Select for one node that launches kernels, with its inputs as they are."""
    _give(node, select(kernels_of(node.primitive), problem_of(graph, node, context), context.options.forced(node.id),
                       refused=context.refused_kernels(node.id)))


def _give(node: Node, selection: Selection) -> None:
    node.selection = selection
    node.layouts = selection.problem.outputs
    _log(node)


def _check_images(graph: Graph, node: Node, context: BuildContext) -> None:
    """Raise for a node that cannot read what it is given as images."""
    images = [port for port in node.inputs if graph.layout(port).format.is_image]
    reads_images = any(kernel.reads_images for kernel in kernels_of(node.primitive).kernels)
    if images and not node.primitive.reads_shapes_only and not reads_images:
        raise ClinferError("an input whose memory is images is read by what reads no images",
                           where=node.primitive.where, values={"input": ", ".join(map(str, images))},
                           hint="give the model a conversion of colours behind it, or leave set_memory_type out")


def _computes(graph: Graph, node: Node) -> bool:
    """Whether the device computes a node, or would if it were no view; the others keep planar layouts."""
    primitive = node.primitive
    return not (node.on_host or node.id in graph.constants or isinstance(primitive, Input) or primitive.bodies
                or primitive.computed_on_host)


def _launches(graph: Graph, node: Node, context: BuildContext) -> bool:
    """Whether a node launches kernels: what the device computes, but for views."""
    if not _computes(graph, node):
        return False
    if not kernels_of(node.primitive):
        raise ClinferError("no kernel computes this primitive", where=node.primitive.where,
                           hint="give its operation a kernel table, see docs/add_an_op.md")
    return not node.primitive.reinterprets_input or bool(node.primitive.output_padding)


def required_inputs(graph: Graph, node: Node) -> tuple[Layout, ...]:
    """The layouts in which a node must be given its inputs."""
    present = graph.input_layouts(node)
    if node.selection is not None:
        hidden = node.primitive.value_inputs
        return tuple(x if i in hidden else wanted
                     for i, (x, wanted) in enumerate(zip(present, node.selection.problem.all_inputs, strict=True)))
    return tuple(plain(x) for x in present)


def _log(node: Node) -> None:
    selection = node.selection
    assert selection is not None
    log(3, f"{node.primitive.where}: {' | '.join(each.name for each in selection.candidates)}"
           + "".join(f"\n    not {name}: {reason}" for name, reason in selection.rejected))
