"""Weights: narrow ones stay narrow on the device, packed ones are packed once."""
from __future__ import annotations

import numpy as np
import pytest
from openvino import opset13 as ops

from clinfer.frontend.transformations import prepare
from clinfer.program.options import BuildOptions
from clinfer.runtime.engine import Engine
from tests.network.running import check, network_of
from tests.oracle import CpuPlugin, ov

AS_THEY_ARE = BuildOptions(skipped_passes=frozenset({"transform_filters"}))
"""Filters of convolutions are held as the model has them."""


def _convolution(x: ov.Node, weights: ov.Node) -> ov.Node:
    return ops.convolution(x, weights, [1, 1], [1, 1], [1, 1], [1, 1])


@pytest.mark.parametrize("kind", ["convolution", "matmul"])
def test_weights_held_in_f16_stay_f16(engine: Engine, rng: np.random.Generator, kind: str) -> None:
    shape = (48, 32, 3, 3) if kind == "convolution" else (128, 96)
    weights = rng.standard_normal(shape).astype(np.float16)
    wide = ops.convert(ops.constant(weights), "f32")
    x = ops.parameter([-1, 32, 9, 9] if kind == "convolution" else [-1, 128], np.float32)
    y = _convolution(x, wide) if kind == "convolution" else ops.matmul(x, wide, False, False)
    model = ov.Model([ops.relu(y)], [x])
    network = network_of(engine, prepare(model, "f32"), AS_THEY_ARE)
    oracle = CpuPlugin(model)
    held = [network.program.tensors[index].layout for index in network.program.constant_memory]
    assert [layout.element_type.name for layout in held if layout.count == weights.size] == ["f16"]
    for batch in (1, 3):
        check(network, oracle, [rng.standard_normal((batch, *([32, 9, 9] if kind == "convolution" else [128])))
                                .astype(np.float32)])


@pytest.mark.parametrize("options", [AS_THEY_ARE, BuildOptions()], ids=["as they are", "transformed"])
def test_the_original_of_packed_weights_is_let_go(engine: Engine, rng: np.random.Generator,
                                                  options: BuildOptions) -> None:
    weights = rng.standard_normal((64, 64, 3, 3)).astype(np.float32)
    x = ops.parameter([1, 64, 9, 9], np.float32)
    network = network_of(engine, ov.Model([_convolution(x, ops.constant(weights))], [x]), options)
    size, = (memory.nbytes for memory in network.program.constant_memory.values())
    assert size == weights.nbytes or options is not AS_THEY_ARE
    assert all(data.array is None or data.array.size < weights.size for data in network.program.constants.values())
