"""The pass that takes batches of one away from constant right sides, and what keeps it away."""
from __future__ import annotations

import numpy as np
import pytest

from clinfer.frontend.reader import to_topology
from clinfer.frontend.transformations import prepare
from clinfer.ops.matmul import MatMul
from clinfer.program.passes.drop_batches_of_one import drop_batches_of_one
from clinfer.program.passes.infer_layouts import infer_layouts
from clinfer.runtime.engine import Engine
from tests.network.running import check, network_of
from tests.oracle import CpuPlugin, ov
from tests.program.building import graph_after

op = ov.opset13


def _model(rng: np.random.Generator, left: list[int], right: tuple[int, ...], kind: str = "f32",
           reads_twice: bool = False) -> ov.Model:
    data = op.parameter(left, np.float32)
    weights = op.constant(rng.standard_normal(right).astype({"f32": np.float32, "f16": np.float16}[kind]))
    wide = op.convert(weights, "f32") if kind != "f32" else weights
    product = op.matmul(data, wide, False, True)
    outputs = [op.relu(product), *([op.negative(wide)] if reads_twice else [])]
    return ov.Model(outputs, [data], "dense")


def _right_rank(engine: Engine, model: ov.Model) -> int:
    graph = graph_after(engine, to_topology(prepare(model)).topology, (infer_layouts, drop_batches_of_one))
    product, = (node for node in graph if isinstance(node.primitive, MatMul))
    return graph.layout(product.inputs[1]).rank


@pytest.mark.parametrize(("left", "right", "kind", "rank"), [
    ([1, -1, 96], (1, 64, 96), "f32", 2), ([-1, 5, 96], (1, 64, 96), "f32", 2), ([1, -1, 96], (1, 64, 96), "f16", 2),
    ([2, 3, -1, 96], (1, 1, 64, 96), "f32", 2), ([2, -1, 96], (2, 64, 96), "f32", 3)])
def test_a_batch_of_one_goes_where_the_result_stays(engine: Engine, rng: np.random.Generator, left: list[int],
                                                    right: tuple[int, ...], kind: str, rank: int) -> None:
    model = _model(rng, left, right, kind)
    assert _right_rank(engine, model) == rank
    network, oracle = network_of(engine, prepare(model)), CpuPlugin(model)
    for open_size in (1, 7, 0, 20):
        shape = [open_size if size == -1 else size for size in left]
        check(network, oracle, [rng.standard_normal(shape).astype(np.float32)])


def test_it_stays_where_it_makes_an_axis_of_the_result_or_others_read_it(engine: Engine,
                                                                         rng: np.random.Generator) -> None:
    for model in (_model(rng, [-1, 96], (1, 64, 96)), _model(rng, [1, -1, 96], (1, 64, 96), "f16", reads_twice=True)):
        assert _right_rank(engine, model) == 3
        network, oracle = network_of(engine, prepare(model)), CpuPlugin(model)
        shape = [3 if size.is_dynamic else size.get_length() for size in model.input(0).get_partial_shape()]
        check(network, oracle, [rng.standard_normal(shape).astype(np.float32)])
