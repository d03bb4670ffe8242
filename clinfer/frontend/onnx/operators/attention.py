"""Attention of which OpenVINO's import loses something: windows, the past keys before a causal mask, and the names of
keys and values that are results as well."""
from __future__ import annotations

import math

import numpy as np

from clinfer.frontend.onnx.graph import Node
from clinfer.frontend.onnx.operator import TYPES, Operands, Reading, Scope
from clinfer.frontend.onnx.values import Value, array, concat, filled, iota, op, scalar, vector

_SCORES, _SOFTCAPPED, _BIASED, _PROBABILITIES = range(4)


def convert(node: Operands) -> list[Value]:
    """Softmax of scores and bias, by values; the keys and values with the past ones; and a step of the scores.

    Formulas: the reference implementation that ONNX's text of the operator describes.
    """
    heads = node.number("q_num_heads", 0)
    # Only where heads are apart may their number be left out.
    is_apart = not heads or node[0].has_rank(4)
    query, key, value = node[0], node[1], node[2]
    if not is_apart:
        query = _by_head(query, heads)
        key, value = (_by_head(each, node.number("kv_num_heads", 0)) for each in (key, value))
    if node.has(4):
        key, value = concat([node[4], key], 2), concat([node[5], value], 2)
    else:
        # An input that is a result as well would lose its name.
        key, value = key.like(key), value.like(value)
    scores = _scores(node, query, for_each_head(key, query))
    steps = {_SCORES: scores}
    softcap = float(node.attribute("softcap", 0.0))
    if softcap > 0:
        scores = (scores / softcap).apply("tanh") * softcap
    steps[_SOFTCAPPED] = scores
    bias = _bias(node, query, key)
    biased = scores if bias is None else scores + bias
    steps[_BIASED] = biased
    kind = TYPES[node.number("softmax_precision", 0)] if node.attribute("softmax_precision") else query.type
    probabilities = biased.to(kind).softmax(3)
    if bias is not None:
        nothing = bias.max(-1, keep=True).equals(-math.inf)
        probabilities = nothing.where(0.0, probabilities)
    steps[_PROBABILITIES] = probabilities
    result = probabilities.like(query).matmul(for_each_head(value, query))
    if not is_apart:
        result = result.transpose([0, 2, 1, 3]).reshape([0, 0, -1], copies_zeros=True)
    return [result, key, value, steps[node.number("qk_matmul_output_mode", 0)].like(query)][:max(node.output_count, 1)]


def _by_head(tokens: Value, heads: int) -> Value:
    """[batch, tokens, heads * size] as [batch, heads, tokens, size]."""
    return tokens.reshape([0, 0, heads, -1], copies_zeros=True).transpose([0, 2, 1, 3])


def for_each_head(heads: Value, query: Value) -> Value:
    """Heads of keys or values, each repeated for the query's heads of its group."""
    count, groups = query.length(1), heads.length(1)
    if count is None or groups is None:
        number = query.count(1)
        return heads.gather(iota(number) // (number // heads.count(1)), 1)
    return heads if count == groups else heads.gather(array(np.arange(count) // (count // groups)), 1)


def _scores(node: Operands, query: Value, key: Value) -> Value:
    given = float(node.attribute("scale", 0.0))
    root = query.constant_like(math.sqrt(given)) if given else \
        (1.0 / query.count(3).to("f32").apply("sqrt")).apply("sqrt").like(query)
    return (query * root).matmul(key * root, transpose_b=True)


def _bias(node: Operands, query: Value, key: Value) -> Value | None:
    """What is added to scores: the mask, and minus infinity where a query may not look; None for nothing."""
    allowed = _allowed(node, query, key)
    places = None
    if allowed is not None:
        places = allowed.where(query.constant_like(0.0), -math.inf)
    mask = node.get(3)
    if mask is None:
        return places
    if mask.type == "boolean":
        mask = mask.where(query.constant_like(0.0), -math.inf)
    missing = key.size(2) - mask.size(mask.rank - 1)
    ends = concat([vector(*[0] * (mask.rank - 1)), missing], 0)
    mask = Value(op.pad(mask.port, vector(*[0] * mask.rank).port, ends.port, "constant",
                        mask.constant_like(-math.inf).port))
    return mask if places is None else places + mask


def _allowed(node: Operands, query: Value, key: Value) -> Value | None:
    """Which keys a query may look at, as [batch or 1, 1, queries, keys]; None for all."""
    keys = iota(key.count(2))
    offset = filled(scalar(0), vector(1, 1, 1, 1))
    lengths = node[6].to("i64").reshape([-1, 1, 1, 1]) if node.has(6) else None
    if node.has(4):
        offset = offset + node[4].count(2)
    elif lengths is not None:
        offset = lengths - query.count(2)
    behind = iota(query.count(2)).reshape([-1, 1]) + offset - keys
    left, right = node.number("left_window_size", -1), node.number("right_window_size", -1)
    conditions = []
    if node.number("is_causal", 0):
        conditions.append(behind >= 0)
    if left >= 0:
        conditions.append(behind <= left)
    if right >= 0:
        conditions.append(behind >= -right)
    if lengths is not None:
        conditions.append(keys < lengths)
    found = None
    for condition in conditions:
        found = condition if found is None else found & condition
    return found


def _is_needed(node: Node, scope: Scope) -> bool:
    sides = (node.value("left_window_size", -1), node.value("right_window_size", -1))
    has_past = len(node.inputs) > 4 and node.inputs[4] != ""
    hands_on = not has_past and any(node.outputs[1:3]) and any(map(scope.is_given, node.inputs[1:3]))
    return any(side != -1 for side in sides) or (bool(node.value("is_causal", 0)) and has_past) or hands_on


MENDINGS = (Reading("Attention", convert, _is_needed),)
