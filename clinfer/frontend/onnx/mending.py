"""Which nodes of a model are read otherwise than OpenVINO does, and the model in which they are marked."""
from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from clinfer.frontend.onnx.graph import Graph, Node, all_nodes
from clinfer.frontend.onnx.model import Model
from clinfer.frontend.onnx.operator import DOMAIN, Mending, Operands, Reading, Rewriting, Scope, renamed
from clinfer.frontend.onnx.operators import MENDINGS
from clinfer.frontend.openvino_import import openvino as ov


def mend(model: Model) -> bool:
    """Mark the nodes of a model that need it; whether there are any."""
    changed = False
    for part in model.parts:
        if any(map(_is_known, all_nodes(part.graph))) and _mend(part.graph, Scope(0), part.versions):
            part.import_domain(DOMAIN)
            changed = True
    return changed


def add_readings(core: ov.Core) -> None:
    """Let a core read the nodes that are marked."""
    from openvino.frontend.onnx import ConversionExtension
    for mending in MENDINGS:
        if isinstance(mending, Reading):
            core.add_extension(ConversionExtension(mending.op_type, DOMAIN, _converter(mending)))


def _converter(reading: Reading) -> Callable[[ov.frontend.NodeContext], list[ov.Output]]:
    def convert(context: ov.frontend.NodeContext) -> list[ov.Output]:
        try:
            return [value.port for value in reading.convert(Operands(context))]
        except Exception as error:
            # On a line of its own OpenVINO's report keeps what it says.
            raise ValueError(f"\n{reading.op_type}: {error}") from None
    return convert


_TABLE: Mapping[tuple[str, str], tuple[Mending, ...]] = {
    key: tuple(each for each in MENDINGS if (each.domain, each.op_type) == key)
    for key in {(each.domain, each.op_type) for each in MENDINGS}}


def _mend(graph: Graph, around: Scope, versions: Mapping[str, int]) -> bool:
    scope = _scope_in(graph, around)
    nodes: list[Node] = []
    changed = False
    for node in graph.nodes:
        for body in node.bodies():
            changed |= _mend(body, scope, versions)
        replacement = None
        if _is_known(node):
            replacement = _mend_node(node, replace(scope, version=versions.get(node.domain, 1)))
        changed |= replacement is not None
        nodes += [node] if replacement is None else replacement
    graph.nodes = nodes
    return changed


def _is_known(node: Node) -> bool:
    """Whether some nodes of its operator are mended."""
    return (node.domain, node.op_type) in _TABLE


def _mend_node(node: Node, scope: Scope) -> list[Node] | None:
    """What stands in place of a node; None where it stays."""
    for mending in _TABLE.get((node.domain, node.op_type), ()):
        if isinstance(mending, Rewriting):
            made = mending.rewrite(node, scope)
            if made is not None:
                return [each for one in made for each in (_mend_node(one, scope) or [one])]
        elif mending.is_needed(node, scope):
            return [renamed(node, scope.version)]
    return None


def _scope_in(graph: Graph, around: Scope) -> Scope:
    constants = {*around.constants, *graph.initializer_names()}
    constants |= {name for node in graph.nodes if node.op_type == "Constant" for name in node.outputs}
    nodes = {**around.nodes, **{name: node for node in graph.nodes for name in node.outputs if name}}
    return replace(around, constants=frozenset(constants), large=around.large | {*graph.large_initializers()},
                   types={**around.types, **graph.declared_types()}, nodes=nodes)


