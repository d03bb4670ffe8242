"""The pass that lets groups of heads share a key and a value: how heads may be repeated, and when it keeps away."""
from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from clinfer.frontend.transformations import prepare
from clinfer.ops.broadcast import Broadcast
from clinfer.ops.concat import Concat
from clinfer.ops.gather import Gather
from clinfer.ops.sdpa import ScaledDotProductAttention
from clinfer.ops.tile import Tile
from clinfer.program.graph import Graph
from clinfer.program.options import BuildOptions
from clinfer.runtime.engine import Engine
from tests.network.running import check, network_of
from tests.ops.case_runner import execute
from tests.oracle import CpuPlugin, ov
from tests.program.attention_models import attention_graph, op, repeated, row

SKIPPED = BuildOptions(skipped_passes=frozenset({"group_heads"}))
KEYS, TIMES, DEPTH = 2, 3, 8
HEADS = KEYS * TIMES

Repeat = Callable[[ov.Node], ov.Node]


def _size(data: ov.Node, axis: int) -> ov.Node:
    return op.gather(op.shape_of(data), row(axis), np.int64(0))


def _flat(wide: ov.Node) -> ov.Node:
    return op.reshape(wide, row(0, HEADS, -1, DEPTH), True)


def _stretched(data: ov.Node, *target: int) -> ov.Node:
    return op.broadcast(op.unsqueeze(data, row(2)), row(*target), broadcast_spec="BIDIRECTIONAL")


def _computed(data: ov.Node) -> ov.Node:
    """Both shapes are computed, the second from the stretched tensor."""
    shape = op.concat([_size(data, 0), row(KEYS), row(TIMES), _size(data, 2), row(DEPTH)], 0)
    wide = op.broadcast(op.unsqueeze(data, row(2)), shape)
    return op.reshape(wide, op.concat([_size(wide, 0), row(HEADS), _size(wide, 3), row(DEPTH)], 0), False)


def _behind_a_transpose(data: ov.Node) -> ov.Node:
    """[batch, length, heads, depth] is repeated, then transposed."""
    rows = op.transpose(data, row(0, 2, 1, 3))
    wide = op.broadcast(op.unsqueeze(rows, row(3)), row(1, 1, 1, TIMES, 1), broadcast_spec="BIDIRECTIONAL")
    return op.transpose(op.reshape(wide, row(0, 0, HEADS, DEPTH), True), row(0, 2, 1, 3))


FORMS: dict[str, Repeat] = {
    "exported": lambda data: repeated(data, KEYS, TIMES),
    "computed": _computed,
    "stretched": lambda data: _flat(_stretched(data, 1, 1, TIMES, 1, 1)),
    "behind a transpose": _behind_a_transpose,
    "tiled": lambda data: _flat(op.tile(op.unsqueeze(data, row(2)), row(TIMES, 1, 1))),
    "joined": lambda data: _flat(op.concat([op.unsqueeze(data, row(2))] * TIMES, 2)),
    "gathered": lambda data: op.gather(data, row(*np.repeat(np.arange(KEYS), TIMES).tolist()), np.int64(1))}


def _inputs(heads: int = KEYS) -> list[ov.Node]:
    """Query [batch, HEADS, queries, DEPTH], key and value [batch, heads, keys, DEPTH]."""
    return [op.parameter([-1, count, -1, DEPTH], np.float32) for count in (HEADS, heads, heads)]


def _model(key: Repeat, value: Repeat, inputs: list[ov.Node] | None = None) -> ov.Model:
    query, *others = inputs or _inputs()
    repeated_key, repeated_value = key(others[0]), value(others[1])
    mixed = op.scaled_dot_product_attention(query, repeated_key, repeated_value)
    return ov.Model([mixed], [query, *others], "grouped")


def _arrays(rng: np.random.Generator, batch: int, queries: int, keys: int, heads: int = KEYS) -> list[np.ndarray]:
    return [rng.standard_normal(shape).astype(np.float32) for shape in
            ((batch, HEADS, queries, DEPTH), (batch, heads, keys, DEPTH), (batch, heads, keys, DEPTH))]


def _groups(graph: Graph) -> int:
    attention, = (node.primitive for node in graph if isinstance(node.primitive, ScaledDotProductAttention))
    return attention.groups


def _check(engine: Engine, model: ov.Model, rng: np.random.Generator, heads: int = KEYS) -> None:
    network, oracle = network_of(engine, prepare(model)), CpuPlugin(model)
    for batch, queries, keys in ((2, 5, 9), (1, 1, 1), (3, 2, 40), (2, 5, 9)):
        check(network, oracle, _arrays(rng, batch, queries, keys, heads))


@pytest.mark.parametrize("name", FORMS)
def test_nothing_is_repeated(engine: Engine, name: str, rng: np.random.Generator) -> None:
    model = _model(FORMS[name], FORMS[name])
    graph = attention_graph(engine, model)
    assert _groups(graph) == TIMES
    assert not [node for node in graph if isinstance(node.primitive, (Broadcast, Tile, Concat, Gather))
                and node.layouts[0].element_type.is_float]
    _check(engine, model, rng)


def test_one_head_for_all(engine: Engine, rng: np.random.Generator) -> None:
    def stretch(data: ov.Node) -> ov.Node:
        return op.broadcast(data, op.concat([_size(data, 0), row(HEADS), _size(data, 2), row(DEPTH)], 0))
    model = _model(stretch, stretch, _inputs(1))
    assert _groups(attention_graph(engine, model)) == HEADS
    _check(engine, model, rng, 1)


def test_attention_written_out_on_what_was_kept(engine: Engine, rng: np.random.Generator) -> None:
    """Keys and values of earlier steps stand before the new ones; a mask per head; what was joined is an output too."""
    query, key, value = _inputs()
    past_key, past_value = _inputs()[1:]
    mask = op.parameter([-1, HEADS, -1, -1], np.float32)
    keys, values = (op.concat([a, b], 2) for a, b in ((past_key, key), (past_value, value)))
    turned = op.transpose(repeated(keys, KEYS, TIMES), row(0, 1, 3, 2))
    scores = op.add(op.multiply(op.matmul(query, turned, False, False), np.float32(0.3)), mask)
    mixed = op.matmul(op.softmax(scores, -1), repeated(values, KEYS, TIMES), False, False)
    model = ov.Model([op.transpose(mixed, row(0, 2, 1, 3)), keys, values],
                     [query, key, value, past_key, past_value, mask], "kept")
    assert _groups(attention_graph(engine, model)) == TIMES
    network, oracle = network_of(engine, prepare(model)), CpuPlugin(model)
    for batch, queries, past in ((1, 7, 1), (1, 1, 8), (1, 1, 9), (2, 3, 40)):
        query_array, *new = _arrays(rng, batch, queries, queries)
        old = _arrays(rng, batch, queries, past)[1:]
        masks = rng.standard_normal((batch, HEADS, queries, queries + past)).astype(np.float32)
        check(network, oracle, [query_array, *new, *old, masks])


def test_the_pass_can_be_left_out(engine: Engine, rng: np.random.Generator) -> None:
    model = prepare(_model(FORMS["exported"], FORMS["exported"]))
    given = _arrays(rng, 2, 5, 9)
    networks = [network_of(engine, model, options) for options in (None, SKIPPED)]
    first, second = (execute(network, given)[0] for network in networks)
    assert np.allclose(first, second, rtol=1e-4, atol=1e-5)
    counts = [sum(node.kind == "kernel" for node in network.program.nodes) for network in networks]
    assert counts[0] == 1 and counts[1] > 1


# -- when it keeps away -----------------------------------------------------------------------------


def _in_turns(data: ov.Node) -> ov.Node:
    """Head after head, then all of them again."""
    wide = op.broadcast(op.unsqueeze(data, row(1)), row(1, TIMES, 1, 1, 1), broadcast_spec="BIDIRECTIONAL")
    return _flat(wide)


def _of_other_axes(data: ov.Node) -> ov.Node:
    """The elements of each head are dealt out anew."""
    wide = op.broadcast(op.unsqueeze(data, row(3)), row(1, 1, 1, TIMES, 1), broadcast_spec="BIDIRECTIONAL")
    return _flat(wide)


KEPT: dict[str, Repeat] = {
    "in turns": _in_turns,
    "of other axes": _of_other_axes,
    "gathered in turns": lambda data: op.gather(data, row(*list(range(KEYS)) * TIMES), np.int64(1))}


@pytest.mark.parametrize("name", KEPT)
def test_other_repetitions_stay(engine: Engine, name: str, rng: np.random.Generator) -> None:
    model = _model(KEPT[name], KEPT[name])
    assert _groups(attention_graph(engine, model)) == 1
    _check(engine, model, rng)


def test_keys_and_values_that_are_repeated_differently_stay(engine: Engine, rng: np.random.Generator) -> None:
    model = _model(FORMS["exported"], _in_turns)
    assert _groups(attention_graph(engine, model)) == 1
    _check(engine, model, rng)


def test_sizes_that_may_be_stretched_stay(engine: Engine, rng: np.random.Generator) -> None:
    """The batch to which keys are stretched is another tensor's, and may be larger."""
    query, key, value = _inputs()

    def stretch(data: ov.Node) -> ov.Node:
        shape = op.concat([_size(query, 0), row(KEYS), row(TIMES), _size(data, 2), row(DEPTH)], 0)
        return _flat(op.broadcast(op.unsqueeze(data, row(2)), shape))
    model = _model(stretch, stretch, [query, key, value])
    assert _groups(attention_graph(engine, model)) == 1
    network, oracle = network_of(engine, prepare(model)), CpuPlugin(model)
    for keys in (1, 3):
        query_array = _arrays(rng, 3, 4, 6)[0]
        check(network, oracle, [query_array, *_arrays(rng, keys, 4, 6)[1:]])


def test_what_others_read_stays(engine: Engine, rng: np.random.Generator) -> None:
    query, key, value = _inputs()
    keys, values = repeated(key, KEYS, TIMES), repeated(value, KEYS, TIMES)
    model = ov.Model([op.scaled_dot_product_attention(query, keys, values), op.relu(keys)], [query, key, value], "two")
    graph = attention_graph(engine, model)
    assert _groups(graph) == TIMES and len([x for x in graph if isinstance(x.primitive, Broadcast)]) == 1
    _check(engine, model, rng)
