"""Scan with a body that reads values from around it, which OpenVINO's import takes for inputs of the Scan."""
from __future__ import annotations

from collections.abc import Sequence

from clinfer.frontend.onnx.graph import Graph, Node, all_nodes, value_info
from clinfer.frontend.onnx.inlining import rename
from clinfer.frontend.onnx.operator import Rewriting, Scope

_WITHOUT_BATCH = 9
"""The first opset whose Scan has no batch."""


def rewrite(node: Node, scope: Scope) -> Sequence[Node] | None:
    """What Constant nodes around make is copied into the body; other values, initializers among them, become states
    that every step hands on. Not in opset 8, in which states have a batch."""
    body, scanned = node.value("body"), node.value("num_scan_inputs")
    if not isinstance(body, Graph) or not isinstance(scanned, int) or scope.version < _WITHOUT_BATCH:
        return None
    around = _read_from_around(body)
    if not around:
        return None
    for name in around:
        known = scope.nodes.get(name)
        if known is not None and known.op_type == "Constant":
            body.nodes.insert(0, Node("Constant", [], [name], known.attributes))
    handed = [name for name in around if name not in {made for each in body.nodes for made in each.outputs}]
    states = len(node.inputs) - scanned
    for number, name in enumerate(handed):
        inner = f"{name}/inside"
        for each in body.nodes:
            rename(each, {name: inner})
        body.nodes.append(Node("Identity", [inner], [f"{inner}/next"]))
        body.insert_input(states + number, value_info(inner, scope.types.get(name, 0)))
        body.insert_output(states + number, value_info(f"{inner}/next", scope.types.get(name, 0)))
    node.inputs[states:states] = handed
    node.outputs[states:states] = [f"{node.own_name()}/{name}" for name in handed]
    return [node]


def _read_from_around(body: Graph) -> list[str]:
    own = {*body.input_names(), *body.initializer_names()}
    own |= {name for node in all_nodes(body) for name in node.outputs}
    own |= {name for node in all_nodes(body) for inner in node.bodies()
            for name in (*inner.input_names(), *inner.initializer_names())}
    read = [name for node in all_nodes(body) for name in node.inputs]
    return list(dict.fromkeys(name for name in read if name and name not in own))


MENDINGS = (Rewriting("Scan", rewrite),)
