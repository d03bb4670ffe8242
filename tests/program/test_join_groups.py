"""The pass that convolves several groups of channels as one, and when it keeps away."""
from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from clinfer.frontend.reader import to_topology
from clinfer.frontend.transformations import prepare
from clinfer.ops.convolution import GroupConvolution
from clinfer.program.passes.fuse_bias import fuse_bias
from clinfer.program.passes.infer_layouts import infer_layouts
from clinfer.program.passes.join_groups import join_groups
from clinfer.program.passes.keep_filters_compressed import keep_filters_compressed
from clinfer.program.passes.propagate_constants import propagate_constants
from clinfer.runtime.engine import Engine
from tests.network.running import check, network_of
from tests.oracle import CpuPlugin, ov
from tests.program.attention_models import op
from tests.program.building import graph_after

PASSES = (infer_layouts, keep_filters_compressed, propagate_constants, fuse_bias, join_groups)
GROUPS = {(4, 24, 24): [(2, 2)], (3, 24, 24): [(1, 2), (1, 1)], (7, 12, 20): [(1, 4), (1, 3)], (5, 2, 1): [(1, 5)],
          (17, 6, 4): [(2, 8), (1, 1)], (2, 40, 24): [(1, 2)], (40, 3, 3): [(2, 16), (1, 8)]}
"""Number, outputs and inputs of groups, with the number of groups that each convolution has on a CPU and how many each
of them consists of."""


def _model(groups: tuple[int, int, int], axes: int, seed: int = 5, compressed: bool = False) -> ov.Model:
    random = np.random.default_rng(seed)
    number, outputs, inputs = groups
    data = op.parameter([-1, number * inputs, *(-1,) * axes], np.float32)
    weights = random.standard_normal((*groups, *(3,) * axes)).astype(np.float32) / np.float32(inputs**0.5)
    filters = _compressed(random, weights.shape) if compressed else op.constant(weights)
    ones, bias = [1] * axes, random.standard_normal((1, number * outputs, *(1,) * axes)).astype(np.float32)
    convolved = op.group_convolution(data, filters, ones, ones, ones, ones)
    return ov.Model([op.relu(op.add(convolved, op.constant(bias)))], [data], "groups")


def _compressed(random: np.random.Generator, shape: tuple[int, ...]) -> ov.Node:
    """Weights of 8 bits with a scale for each output channel, as NNCF stores them."""
    stored = random.integers(-127, 128, shape).astype(np.int8)
    scale = random.uniform(0.001, 0.01, (*shape[:2], *(1,) * (len(shape) - 2))).astype(np.float32)
    return op.multiply(op.convert(op.constant(stored), "f32"), op.constant(scale))


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize("groups", GROUPS, ids=str)
def test_groups_that_fill_no_blocks_are_joined(engine: Engine, groups: tuple[int, int, int], compressed: bool) -> None:
    graph = graph_after(engine, to_topology(prepare(_model(groups, 2, compressed=compressed))).topology, PASSES)
    assert {graph.element_type(node.inputs[1]).name for node in graph
            if isinstance(node.primitive, GroupConvolution)} == {"i8" if compressed else "f32"}
    found = [(graph.layout(node.inputs[1]).static_shape[0], node.primitive.joined) for node in graph
             if isinstance(node.primitive, GroupConvolution)]
    assert found == (GROUPS[groups] if engine.device.type == "CPU" else [(groups[0], 1)])


@pytest.mark.parametrize("groups, joined", [
    ((32, 4, 4), 8), ((32, 8, 8), 4), ((32, 32, 32), 1), ((9, 24, 24), 1), ((10, 20, 4), 2), ((31, 4, 4), 1),
    ((3, 12, 20), 1), ((2, 4, 4), 2), ((40, 1, 1), 1), ((6, 2, 4), 6)], ids=str)
def test_groups_that_fill_no_tiles_are_joined(engine: Engine, monkeypatch: pytest.MonkeyPatch,
                                              groups: tuple[int, int, int], joined: int) -> None:
    monkeypatch.setattr(engine, "capabilities", replace(engine.capabilities, device_type="GPU", tensor_cores=True))
    number, outputs, inputs = groups
    for kind, wanted in ((np.float16, joined), (np.float32, 1)):
        data = op.parameter([-1, number * inputs, -1, -1], kind)
        weights = np.random.default_rng(3).standard_normal((*groups, 3, 3)).astype(kind)
        convolved = op.group_convolution(data, op.constant(weights), [1, 1], [1, 1], [1, 1], [1, 1])
        graph = graph_after(engine, to_topology(ov.Model([convolved], [data], "groups")).topology, PASSES)
        node, = (node for node in graph if isinstance(node.primitive, GroupConvolution))
        assert isinstance(node.primitive, GroupConvolution) and node.primitive.joined == wanted
        found = graph.constants[node.inputs[1].primitive].on_host(engine.create_stream())
        whole = found.reshape(number // wanted, wanted, outputs, wanted, inputs, 3, 3)
        assert np.array_equal(whole[:, range(wanted), :, range(wanted)].swapaxes(0, 1).reshape(weights.shape), weights)
        assert np.count_nonzero(whole) == np.count_nonzero(weights)


@pytest.mark.parametrize("groups", [(4, 16, 32), (6, 8, 8), (9, 1, 1)], ids=str)
def test_groups_for_which_there_are_kernels_are_left_alone(engine: Engine, groups: tuple[int, int, int]) -> None:
    graph = graph_after(engine, to_topology(prepare(_model(groups, 2))).topology, PASSES)
    assert [node.primitive.joined for node in graph if isinstance(node.primitive, GroupConvolution)] == [1]


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize("axes", [1, 2, 3])
@pytest.mark.parametrize("groups", GROUPS, ids=str)
def test_joined_groups_compute_the_same(engine: Engine, rng: np.random.Generator, groups: tuple[int, int, int],
                                        axes: int, compressed: bool) -> None:
    model = _model(groups, axes, compressed=compressed)
    network, oracle = network_of(engine, model), CpuPlugin(model)
    channels = groups[0] * groups[2]
    for shape in ((1, channels, *(7, 5, 4)[:axes]), (2, channels, *(17, 3, 5)[:axes])):
        check(network, oracle, [rng.standard_normal(shape).astype(np.float32)])
