"""Shuffles of channels that models write out."""
from __future__ import annotations

import numpy as np
import pytest

from clinfer.frontend.reader import to_topology
from clinfer.frontend.transformations import prepare
from clinfer.ops.shuffle_channels import ShuffleChannels
from clinfer.program.passes.fuse_shuffles import fuse_shuffles
from clinfer.program.passes.infer_layouts import infer_layouts
from clinfer.program.passes.propagate_constants import propagate_constants
from clinfer.runtime.engine import Engine
from tests.network.running import check, network_of
from tests.oracle import CpuPlugin, ov
from tests.program.building import graph_after

op = ov.opset13


def _model(groups: int, order: tuple[int, ...] = (0, 2, 1, 3, 4), sizes: tuple[int, ...] = (12, 3, 5)) -> ov.Model:
    channels, *space = sizes
    data = op.parameter([-1, *sizes], np.float32)
    split = op.reshape(data, np.array([-1, groups, channels // groups, *space]), False)
    turned = op.transpose(split, np.array(order))
    return ov.Model([op.relu(op.reshape(turned, np.array([-1, *sizes]), False))], [data], "shuffle")


def _shuffles(engine: Engine, model: ov.Model) -> list[ShuffleChannels]:
    graph = graph_after(engine, to_topology(prepare(model)).topology, (infer_layouts, propagate_constants,
                                                                      fuse_shuffles))
    return [node.primitive for node in graph if isinstance(node.primitive, ShuffleChannels)]


@pytest.mark.parametrize("groups", [2, 3, 6])
def test_a_shuffle_is_one_primitive(engine: Engine, rng: np.random.Generator, groups: int) -> None:
    model = _model(groups)
    shuffle, = _shuffles(engine, model)
    assert (shuffle.axis, shuffle.group) == (1, groups)
    network, oracle = network_of(engine, prepare(model)), CpuPlugin(model)
    for batch in (2, 1, 3):
        check(network, oracle, [rng.standard_normal((batch, 12, 3, 5)).astype(np.float32)])


def test_what_only_looks_like_one_is_none(engine: Engine, rng: np.random.Generator) -> None:
    """Other axes change places, an open size may move from one axis to another, or the channels become others."""
    other_axes = _model(4, (0, 1, 2, 4, 3), (12, 4, 4))
    data = op.parameter([-1, 12, -1, 5], np.float32)
    split = op.reshape(data, np.array([-1, 3, 4, 6, 5]), False)
    mixed = op.reshape(op.transpose(split, np.array([0, 2, 1, 3, 4])), np.array([-1, 12, 6, 5]), False)
    given = op.parameter([-1, 12, 5], np.float32)
    apart = op.transpose(op.reshape(given, np.array([-1, 3, 4, 5]), False), np.array([0, 2, 1, 3]))
    others = op.reshape(apart, np.array([-1, 6, 10]), False)
    for model, shape in ((other_axes, (2, 12, 4, 4)), (ov.Model([op.relu(mixed)], [data], "open"), (1, 12, 12, 5)),
                         (ov.Model([op.relu(others)], [given], "others"), (2, 12, 5))):
        assert not _shuffles(engine, model)
        check(network_of(engine, prepare(model)), CpuPlugin(model), [rng.standard_normal(shape).astype(np.float32)])
