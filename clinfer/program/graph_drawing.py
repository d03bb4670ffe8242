"""A graph in the DOT language, for Graphviz and what else draws it."""
from __future__ import annotations

from clinfer.program.graph import Graph, Node
from clinfer.topology import Port


def draw_graph(graph: Graph) -> str:
    """The nodes with what carries them out, and an edge per input with the layout that is read."""
    lines = ["digraph program {"]
    for node in graph:
        shape = "ellipse" if node.id in graph.constants or node.on_host else "box"
        lines.append(f"  {_quoted(node.id)} [label={_quoted(_label(node))}, shape={shape}];")
        lines += [_edge(graph, port, node.id) for port in node.inputs]
    for name, port in graph.outputs.items():
        lines += [f"  {_quoted(f'output {name}')} [shape=plaintext];", _edge(graph, port, f"output {name}")]
    return "\n".join([*lines, "}", ""])


def _edge(graph: Graph, port: Port, reader: str) -> str:
    return f"  {_quoted(port.primitive)} -> {_quoted(reader)} [label={_quoted(str(graph.layout(port)))}];"


def _label(node: Node) -> str:
    return "\n".join(filter(None, [node.id, type(node.primitive).__name__, node.work]))


def _quoted(text: str) -> str:
    """A text as a DOT string; its line ends are those of the label."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
