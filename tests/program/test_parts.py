"""The passes read_parts and join_projections: what is there before and after, and when they keep away."""
from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from bench.models.compressed import compress_weights
from clinfer.base.errors import ClinferError
from clinfer.base.part import Part
from clinfer.frontend.reader import to_topology
from clinfer.frontend.transformations import prepare
from clinfer.ops.concat import Concat
from clinfer.ops.matmul import MatMul
from clinfer.ops.sdpa import KERNELS, ScaledDotProductAttention
from clinfer.ops.sdpa.kernels.floats import FloatsKernel
from clinfer.ops.transpose import Transpose
from clinfer.program.graph import Graph
from clinfer.program.options import BuildOptions
from clinfer.runtime.engine import Engine
from tests.network.running import check, network_of
from tests.ops.case_runner import execute, is_unsupported, refusal_of
from tests.oracle import CpuPlugin, ov
from tests.program.attention_models import (
    DEPTH,
    HEADS,
    HIDDEN,
    MODELS,
    attention_graph,
    attention_model,
    heads,
    joined,
    linear,
    op,
    row,
)

SKIPPED = BuildOptions(skipped_passes=frozenset({"read_parts", "join_projections"}))


def _of(graph: Graph, kind: type) -> list[str]:
    return [node.id for node in graph if isinstance(node.primitive, kind)]


def _inputs(rng: np.random.Generator, sizes: Sequence[tuple[int, int]]) -> list[list[np.ndarray]]:
    return [[rng.standard_normal((*size, HIDDEN)).astype(np.float32)] for size in sizes]


# -- before and after -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("shape", [(-1, -1, HIDDEN), (2, 5, HIDDEN)])
def test_attention_reads_what_the_products_wrote(engine: Engine, name: str, shape: tuple[int, ...]) -> None:
    graph = attention_graph(engine, attention_model(name, 1, *shape))
    attention, = (node.primitive for node in graph if isinstance(node.primitive, ScaledDotProductAttention))
    assert attention.result_axes == (0, 2, 1, 3) and None not in attention.parts and len(attention.parts) == 3
    moving = {type(node.primitive).__name__ for node in graph} & {"Transpose", "Split", "VariadicSplit", "Slice",
                                                                 "Gather", "Squeeze"}
    assert not moving and len(_of(graph, MatMul)) == MODELS[name][1]


# The mask of "by_hand" is a sum, which is computed in f32 at any precision: that is no attention of bf16.
@pytest.mark.parametrize("name, kernel", [(name, kernel.name) for name in MODELS for kernel in KERNELS.kernels
                                          if (name, kernel.name) != ("by_hand", "sdpa_bf16")])
def test_kernels_read_parts(engine: Engine, name: str, kernel: str, rng: np.random.Generator) -> None:
    seed, precision = int(rng.integers(2**31)), "bf16" if kernel == "sdpa_bf16" else "f32"
    model = to_topology(prepare(attention_model(name, seed, -1, -1, HIDDEN), precision)).topology
    attention, = _of(attention_graph(engine, model), ScaledDotProductAttention)
    try:
        network = network_of(engine, model, BuildOptions({attention: ("", kernel)}))
    except ClinferError as error:
        is_everywhere = kernel in ("sdpa_local", "sdpa_ref") or engine.capabilities.device_type == "CPU"
        is_able = engine.capabilities.bf16_products if precision == "bf16" else is_everywhere and "mma" not in kernel
        if kernel == "sdpa_f32":
            is_able = FloatsKernel().targets(engine.capabilities) is None
        if is_able or not is_unsupported(error):
            raise
        pytest.skip(refusal_of(error, kernel))
    oracle = CpuPlugin(attention_model(name, seed, -1, -1, HIDDEN))
    for inputs in _inputs(rng, ((2, 5), (1, 1), (1, 40), (3, 33), (2, 5))):
        check(network, oracle, inputs, 2e-2 if precision == "bf16" else 1e-4)


def test_the_passes_can_be_left_out(engine: Engine, rng: np.random.Generator) -> None:
    model = prepare(attention_model("three", 3, -1, -1, HIDDEN))
    given, = _inputs(rng, ((2, 9),))
    networks = [network_of(engine, model, BuildOptions(skipped_passes=frozenset(names))) for names in
                ((), ("read_parts",), ("join_projections",), ("read_parts", "join_projections"))]
    first, *others = (execute(network, given)[0] for network in networks)
    assert all(np.allclose(first, other, rtol=1e-4, atol=1e-5) for other in others)
    launched = [sum(node.kind == "kernel" for node in network.program.nodes) for network in networks]
    assert launched == [2, 8, 4, 8]
    gone = {removal.type: removal.by for removal in networks[0].program.removed if removal.fate == "fused"}
    assert gone["Transpose"] == "read_parts" and gone["MatMul"] == "join_projections"


@pytest.mark.parametrize("kind, group", [("u4", 8), ("i8", 0)])
def test_products_of_compressed_weights_become_one(engine: Engine, rng: np.random.Generator, kind: str,
                                                   group: int) -> None:
    model = attention_model("three", int(rng.integers(2**31)), -1, -1, HIDDEN)
    assert compress_weights(model, kind, group, smallest=1) == 3
    product, = (node for node in attention_graph(engine, model) if isinstance(node.primitive, MatMul))
    assert isinstance(product.primitive, MatMul) and product.primitive.quantisation
    assert product.layouts[0].shape[-1] == 3 * HIDDEN
    oracle = CpuPlugin(model, DYNAMIC_QUANTIZATION_GROUP_SIZE="0")
    for inputs in _inputs(rng, ((2, 5), (1, 1))):
        check(network_of(engine, prepare(model)), oracle, inputs)


def test_layers_may_share_their_weights(engine: Engine, rng: np.random.Generator) -> None:
    data = op.parameter([-1, -1, HIDDEN], np.float32)
    weights = [op.constant((rng.standard_normal((HIDDEN, HIDDEN)) / HIDDEN).astype(np.float32)) for _ in range(3)]
    result = data
    for _ in range(3):
        result = joined(_attend(*(heads(op.matmul(result, each, False, True)) for each in weights)))
    model = ov.Model([result], [data], "shared")
    graph = attention_graph(engine, model)
    assert len(_of(graph, MatMul)) == 3 and len(_of(graph, Concat)) == 1
    network, oracle = network_of(engine, prepare(model)), CpuPlugin(model)
    for inputs in _inputs(rng, ((2, 5), (1, 20))):
        check(network, oracle, inputs)


# -- when they keep away ----------------------------------------------------------------------------


def _attend(*operands: ov.Node) -> ov.Node:
    return op.scaled_dot_product_attention(*operands)


def test_what_others_read_stays(engine: Engine, rng: np.random.Generator) -> None:
    data = op.parameter([-1, -1, HIDDEN], np.float32)
    key = heads(linear(rng, data.output(0), HIDDEN))
    query, value = (heads(linear(rng, data.output(0), HIDDEN)) for _ in range(2))
    mixed = _attend(query, key, value)
    model = ov.Model([joined(mixed), op.relu(key), op.relu(mixed)], [data], "others")
    graph = attention_graph(engine, model)
    assert len(_of(graph, Transpose)) == 2 and len(_of(graph, MatMul)) == 2
    network, oracle = network_of(engine, prepare(model)), CpuPlugin(model)
    for inputs in _inputs(rng, ((2, 5), (1, 20))):
        check(network, oracle, inputs)


def test_other_tensors_are_projected_apart(engine: Engine, rng: np.random.Generator) -> None:
    first, second = (op.parameter([-1, -1, HIDDEN], np.float32) for _ in range(2))
    query = heads(linear(rng, first.output(0), HIDDEN))
    key, value = (heads(linear(rng, second.output(0), HIDDEN)) for _ in range(2))
    model = ov.Model([joined(_attend(query, key, value))], [first, second], "cross")
    assert len(_of(attention_graph(engine, model), MatMul)) == 2
    network, oracle = network_of(engine, prepare(model)), CpuPlugin(model)
    for (a,), (b,) in zip(_inputs(rng, ((2, 5), (1, 20))), _inputs(rng, ((2, 7), (1, 33))), strict=True):
        check(network, oracle, [a, b])


def test_heads_of_sizes_that_may_differ_are_projected_apart(engine: Engine, rng: np.random.Generator) -> None:
    """Batch and length after the reshape are values of the execution."""
    data, target = op.parameter([-1, -1, HIDDEN], np.float32), op.parameter([2], np.int64)
    shape = op.concat([target, row(HEADS, DEPTH)], 0)
    parts = [op.transpose(op.reshape(linear(rng, data.output(0), HIDDEN), shape, False), row(0, 2, 1, 3))
             for _ in range(3)]
    model = ov.Model([op.transpose(_attend(*parts), row(0, 2, 1, 3))], [data, target], "values")
    graph = attention_graph(engine, model)
    assert not _of(graph, Transpose) and len(_of(graph, MatMul)) == 3
    network, oracle = network_of(engine, prepare(model)), CpuPlugin(model)
    for (given,), batch in zip(_inputs(rng, ((2, 6), (1, 12))), (1, 3), strict=True):
        check(network, oracle, [given, np.array([batch, 12 // batch], np.int64)])


def test_rows_stay_together(engine: Engine, rng: np.random.Generator) -> None:
    """A transpose after which the last axis does not lie last in memory is done."""
    data = op.parameter([-1, 2, DEPTH, -1], np.float32)
    turned = op.transpose(data, row(0, 1, 3, 2))
    model = ov.Model([op.transpose(_attend(turned, turned, turned), row(0, 1, 3, 2))], [data], "columns")
    assert len(_of(attention_graph(engine, model), Transpose)) == 2
    check(network_of(engine, prepare(model)), CpuPlugin(model),
          [rng.standard_normal((2, 2, DEPTH, 9)).astype(np.float32)])


# -- parts ------------------------------------------------------------------------------------------


def test_parts_of_lengths_that_inferences_bring(engine: Engine, rng: np.random.Generator) -> None:
    data, lengths = ov.opset13.parameter([6, 3], np.float32), ov.opset13.parameter([2], np.int64)
    model = ov.Model(ov.opset13.variadic_split(data, np.int64(0), lengths).outputs(), [data, lengths], "lengths")
    network, oracle = network_of(engine, prepare(model)), CpuPlugin(model)
    for first in (2, 5, 2, 0):
        check(network, oracle, [rng.standard_normal((6, 3), dtype=np.float32), np.array([first, 6 - first], np.int64)])


def test_a_part_of_a_part_is_what_numpy_says(rng: np.random.Generator) -> None:
    values = rng.integers(0, 1000, (5, 6, 7))
    part = Part.whole(3).cut(1, 1, 5).permute((2, 0, 1)).cut(2, 1, 3).cut(0, 4, 5).without(0)
    seen = values[:, 1:5].transpose(2, 0, 1)[4, :, 1:3]
    assert part.shape(values.shape) == seen.shape
    index = tuple(slice(*{a: (b, c) for a, b, c in part.cuts}.get(axis, (None, None))) for axis in range(3))
    left = [axis for axis in range(3) if axis not in part.axes]
    assert np.array_equal(values[index].transpose((*left, *part.axes)).reshape(seen.shape), seen)
