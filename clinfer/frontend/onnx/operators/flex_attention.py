"""FlexAttention, which OpenVINO's import does not know: its bodies are put between the steps that it is made of."""
from __future__ import annotations

from collections.abc import Sequence

from clinfer.frontend.onnx.graph import Graph, Node
from clinfer.frontend.onnx.inlining import inlined
from clinfer.frontend.onnx.operator import Operands, Reading, Rewriting, Scope
from clinfer.frontend.onnx.operators.attention import for_each_head
from clinfer.frontend.onnx.values import Value

_DOMAIN = "ai.onnx.preview"


def rewrite(node: Node, scope: Scope) -> Sequence[Node]:
    """Scores, what `score_mod` makes of them, probabilities, what `prob_mod` makes of those, and their product."""
    query, key, value = node.inputs
    result = node.outputs[0]
    kept = {name: value for name, value in node.attributes.items() if name in ("scale", "softmax_precision")}
    names = f"{result}/scores"
    made = [Node("FlexScores", [query, key], [names], kept, _DOMAIN)]
    names = _modified(node, "score_mod", names, made)
    made.append(Node("FlexProbabilities", [names], [f"{result}/probabilities"], {}, _DOMAIN))
    names = _modified(node, "prob_mod", f"{result}/probabilities", made)
    return [*made, Node("FlexProduct", [names, value, query], [result], {}, _DOMAIN)]


def _modified(node: Node, body: str, values: str, made: list[Node]) -> str:
    graph = node.value(body)
    if not isinstance(graph, Graph):
        return values
    nodes, (result,) = inlined(graph, [values], f"{values}/")
    made += nodes
    return result


def convert_scores(node: Operands) -> list[Value]:
    """Products of queries and keys by `scale`, in f32 or f64."""
    is_wide = node[0].type == "f64" or node.number("softmax_precision", 1) == 11
    query, key = (node[index].to("f64" if is_wide else "f32") for index in (0, 1))
    given = float(node.attribute("scale", 0.0))
    scale = query.constant_like(given) if given else 1.0 / query.count(3).to(query.type).apply("sqrt")
    return [query.matmul(for_each_head(key, query), transpose_b=True) * scale]


def convert_probabilities(node: Operands) -> list[Value]:
    """Softmax of scores."""
    return [node[0].softmax(3)]


def convert_product(node: Operands) -> list[Value]:
    """What probabilities take of the values, in the type of the query."""
    probabilities, value, query = node[0], node[1], node[2]
    return [probabilities.matmul(for_each_head(value.to(probabilities.type), query)).like(query)]


MENDINGS = (Rewriting("FlexAttention", rewrite, _DOMAIN),
            Reading("FlexScores", convert_scores, domain=_DOMAIN),
            Reading("FlexProbabilities", convert_probabilities, domain=_DOMAIN),
            Reading("FlexProduct", convert_product, domain=_DOMAIN))
