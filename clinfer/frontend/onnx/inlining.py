"""The nodes of a graph put in another graph."""
from __future__ import annotations

from collections.abc import Mapping, Sequence

from clinfer.frontend.onnx.graph import TENSOR, Attribute, Graph, Node
from clinfer.frontend.onnx.wire import LENGTH, VARINT, Field, content_of, text_field

_TENSOR = 4


def inlined(graph: Graph, inputs: Sequence[str], prefix: str) -> tuple[list[Node], list[str]]:
    """The nodes of a body that reads `inputs`, and the names of its results; its own names begin with `prefix`."""
    names = dict(zip(graph.input_names(), inputs, strict=True))
    made = []
    for each, name in zip(graph.initializers(), graph.initializer_names(), strict=True):
        names[name] = f"{prefix}{name}"
        made.append(_constant(each, names[name]))
    for node in graph.nodes:
        names |= {name: f"{prefix}{name}" for name in node.outputs if name}
    for node in graph.nodes:
        rename(node, names)
    return [*made, *graph.nodes], [names.get(name, name) for name in graph.output_names()]


def rename(node: Node, names: Mapping[str, str]) -> None:
    """Give what a node and its bodies read and make other names."""
    node.inputs = [names.get(name, name) for name in node.inputs]
    node.outputs = [names.get(name, name) for name in node.outputs]
    for body in node.bodies():
        for inner in body.nodes:
            rename(inner, names)


def _constant(tensor: Field, name: str) -> Node:
    fields = [text_field(1, "value"), Field(TENSOR, LENGTH, content_of(tensor)), Field(20, VARINT, _TENSOR)]
    return Node("Constant", [], [name], {"value": Attribute("value", None, fields)})
