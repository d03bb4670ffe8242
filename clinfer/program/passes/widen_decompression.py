"""Lets weights that become f32 be decompressed in f32."""
from __future__ import annotations

from dataclasses import dataclass, replace

from clinfer.ops.convert import Convert
from clinfer.ops.eltwise import Eltwise
from clinfer.ops.gather import Gather
from clinfer.ops.reshape import Reshape
from clinfer.program.context import BuildContext
from clinfer.program.graph import Graph, Node
from clinfer.topology import Port, Primitive

_MODES = ("Subtract", "Multiply")
_EXACT_BITS = 8
"""Of types of so many bits f16 holds every number."""


def widen_decompression(graph: Graph, context: BuildContext) -> None:
    """(weights - zero point) * scale of constants, computed in f16 and converted to f32 then, is computed in f32: where
    it becomes a constant, that holds the same products as kernels that decompress."""
    for node in graph:
        if _is_widening(graph, node) and _scales_constants(graph, node.inputs[0]):
            graph.redirect(Port(node.id), _Widening(graph, context, node).of(node.inputs[0]))
            graph.remove_unread(node.id)


def _is_widening(graph: Graph, node: Node) -> bool:
    return isinstance(node.primitive, Convert) and node.primitive.destination_type == "f32" \
        and graph.element_type(node.inputs[0]).name == "f16"


def _scales_constants(graph: Graph, port: Port) -> bool:
    """Whether numbers are differences and products of constants, be they looked up or reshaped."""
    node = graph[port.primitive]
    if isinstance(node.primitive, Reshape):
        return _scales_constants(graph, node.inputs[0])
    if not isinstance(node.primitive, Eltwise) or node.primitive.mode not in _MODES:
        return False
    computed = [given for given in node.inputs if not _is_constant(graph, given)]
    return len(computed) < 2 and all(_scales_constants(graph, given) for given in computed)


def _is_constant(graph: Graph, port: Port) -> bool:
    """Whether numbers are a constant, another type of one or looked up in one."""
    node = graph[port.primitive]
    return port.primitive in graph.constants or (
        isinstance(node.primitive, (Convert, Gather)) and all(_is_constant(graph, given) for given in node.inputs))


@dataclass(frozen=True)
class _Widening:
    """Makes in front of a node what it reads, in f32."""

    graph: Graph
    context: BuildContext
    node: Node

    def of(self, port: Port) -> Port:
        """The same numbers as a tensor of f16, computed in f32."""
        source = self.graph[port.primitive]
        primitive, inputs = source.primitive, source.inputs
        if isinstance(primitive, Eltwise):
            return self._add(replace(primitive, inputs=tuple(map(self.of, inputs))))
        if isinstance(primitive, (Reshape, Gather)):
            return self._add(replace(primitive, inputs=(self.of(inputs[0]), *inputs[1:])))
        is_exact = isinstance(primitive, Convert) and self.graph.element_type(inputs[0]).bits <= _EXACT_BITS
        narrow = inputs[0] if is_exact else port
        return self._add(Convert("", (narrow,), origin=self.node.primitive.origin, destination_type="f32"))

    def _add(self, primitive: Primitive) -> Port:
        """Another primitive in f32."""
        id = self.graph.unique_id(f"{self.node.id}/{type(primitive).__name__}")
        added = self.graph.insert_before(self.node.id, replace(primitive, id=id))
        added.layouts = self.context.infer(self.graph, added)
        return Port(added.id)
