"""LinearAttention, which OpenVINO's import does not know."""
from __future__ import annotations

from clinfer.frontend.onnx.operator import Operands, Reading
from clinfer.frontend.onnx.scan import scan
from clinfer.frontend.onnx.values import Value, concat, filled, scalar, vector


def convert(node: Operands) -> list[Value]:
    """A state [batch, heads, keys, values] that each token decays and writes to, read by its query.

    Formulas: ONNX's text of the operator. Computed in f32, or in f64 for inputs of f64.
    """
    query = node[0]
    heads, groups = node.number("q_num_heads", 1), node.number("kv_num_heads", 1)
    rule = node.text("update_rule", "gated_delta")
    wide = "f64" if query.type == "f64" else "f32"
    # [tokens, batch, heads of keys, queries of a head, keys]
    queries = _by_token(query.to(wide), groups * (heads // groups)).reshape([0, 0, groups, heads // groups, -1], True)
    keys, values = _by_token(node[1].to(wide), groups), _by_token(node[2].to(wide), groups)
    scale = _scale(node, keys)
    slices = [queries, keys, values]
    has_decay, has_rate = "gated" in rule, "delta" in rule
    if has_decay:
        decay = _by_token(node[4].to(wide), groups).apply("exp")
        slices.append(decay)
    if has_rate:
        slices.append(_by_token(node[5].to(wide), node[5].static_length(2)))

    def step(states: list[Value], parts: list[Value], fixed: list[Value]) -> tuple[list[Value], list[Value]]:
        q, k, v, *rest = (part.squeeze(0) for part in parts)
        state = states[0]
        if has_decay:
            state = state * rest[0].unsqueeze(3)
        column = k.unsqueeze(3)
        written = v.unsqueeze(2)
        if has_rate:
            written = (written - k.unsqueeze(2).matmul(state)) * rest[-1].unsqueeze(3)
        state = state + column * written
        return [state], [(q.matmul(state) * fixed[0]).unsqueeze(0)]

    past = node.get(3)
    if past is None:
        shape = concat([keys.size(1), vector(groups), keys.size(3), values.size(3)], 0)
        state = filled(scalar(0.0, wide), shape)
    else:
        state = past.to(wide)
    (last,), (read,) = scan(step, [state], slices, [scale])
    joined = concat([query.size(0), query.size(1), vector(-1)], 0)
    return [read.transpose([1, 0, 2, 3, 4]).reshape(joined).to(query.type), last.to(query.type)]


def _by_token(packed: Value, heads: int) -> Value:
    """[batch, tokens, heads * size] as [tokens, batch, heads, size]."""
    return packed.reshape([0, 0, heads, -1], True).transpose([1, 0, 2, 3])


def _scale(node: Operands, keys: Value) -> Value:
    given = float(node.attribute("scale", 0.0))
    return keys.constant_like(given) if given else 1.0 / keys.count(3).to(keys.type).apply("sqrt")


MENDINGS = (Reading("LinearAttention", convert),)
