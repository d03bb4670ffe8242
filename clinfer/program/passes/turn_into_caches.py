"""Lets what caches grow by be written where they grow, so that nobody copies it there."""
from __future__ import annotations

from dataclasses import replace

from clinfer.ops.append import Append
from clinfer.ops.concat import Concat
from clinfer.ops.rope import RoPE
from clinfer.program.context import BuildContext
from clinfer.program.graph import Graph, Node
from clinfer.program.passes.read_parts import read_part
from clinfer.topology import Primitive


def turn_into_caches(graph: Graph, context: BuildContext) -> None:
    """Where a state grows by what RoPE alone makes for it, let RoPE make all of its next value; where it grows by what
    is a part of another tensor, or that with its axes moved, let it be read there.

    An input may lie within the output of a kernel instead (`alias_buffers`), but not on every device, and where it
    does, it is somewhere else for each length.
    """
    for state in graph.states:
        if state.grows:
            _join(graph, graph[graph.outputs[state.output].primitive], state.input, context)


def _join(graph: Graph, node: Node, variable: str, context: BuildContext) -> None:
    concat = node.primitive
    if not isinstance(concat, Concat) or concat.fused_ops or concat.output_padding or len(node.inputs) != 2:
        return
    before, own = node.inputs
    axis = concat.axis % node.layouts[0].rank
    if before.primitive != variable or len({graph.element_type(port) for port in (before, own)}) > 1:
        return
    if _may_turn(graph, node):
        turned = graph[own.primitive].primitive
        assert isinstance(turned, RoPE)
        graph.replace(node.id, replace(turned, id=concat.id, inputs=(*turned.inputs, before), behind=axis))
        graph.remove(turned.id)
    elif context.as_part(graph, own) is not None:
        graph.replace(node.id, Append(concat.id, (own, before), origin=concat.origin, axis=axis))
        read_part(graph, graph[node.id], 0, context)


def _may_turn(graph: Graph, node: Node) -> bool:
    """Whether RoPE makes what is joined for nobody else."""
    own = node.inputs[1]
    rope: Primitive = graph[own.primitive].primitive
    return isinstance(rope, RoPE) and not rope.fused_ops and not rope.output_padding and rope.behind is None and (
        len(graph.readers(own)) == 1 and not graph.is_output(rope.id))
