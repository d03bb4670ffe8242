"""Lets rotary positions be written where a cache grows, so that nobody copies them there."""
from __future__ import annotations

from dataclasses import replace

from clinfer.ops.concat import Concat
from clinfer.ops.rope import RoPE
from clinfer.program.context import BuildContext
from clinfer.program.graph import Graph, Node


def turn_into_caches(graph: Graph, context: BuildContext) -> None:
    """Where a state grows by what RoPE alone makes for it, let RoPE make all of its next value.

    An input may lie within the output of a kernel instead (`alias_buffers`), but not on every device, and where it
    does, it is somewhere else for each length.
    """
    for state in graph.states:
        if state.grows:
            _join(graph, graph[graph.outputs[state.output].primitive], state.input)


def _join(graph: Graph, node: Node, variable: str) -> None:
    concat = node.primitive
    if not isinstance(concat, Concat) or concat.fused_ops or concat.output_padding or len(node.inputs) != 2:
        return
    before, own = node.inputs
    turned = graph[own.primitive]
    rope = turned.primitive
    if before.primitive != variable or not isinstance(rope, RoPE) or rope.fused_ops or rope.output_padding:
        return
    if rope.behind is not None or len(graph.readers(own)) != 1 or graph.is_output(turned.id):
        return
    kinds = {graph.element_type(before), turned.layouts[0].element_type, node.layouts[0].element_type}
    if len(kinds) == 1:
        graph.replace(node.id, replace(rope, id=concat.id, inputs=(*rope.inputs, before),
                                       behind=concat.axis % node.layouts[0].rank))
        graph.remove(turned.id)
