"""The picture of a network's memory: where its tensors lay, how long, and what could not be done with less."""
from __future__ import annotations

import numpy as np
import pytest
from openvino import opset13 as ops

from clinfer.network.network import Network
from clinfer.network.reports.memory_picture import MemoryPicture, PicturedBlock, PicturedTensor
from clinfer.runtime.engine import Engine
from tests.frontend.models import if_model
from tests.network.running import network_of
from tests.ops.case_runner import execute
from tests.oracle import ov


def _tensor(first: int, last: int, nbytes: int, block: int, offset: int) -> PicturedTensor:
    return PicturedTensor("t", "tensor", "", first, last, nbytes, block, offset)


@pytest.mark.parametrize(("tensors", "live"), [
    ([], (0, 0, 0, 0)),
    ([_tensor(0, 1, 10, 0, 0), _tensor(1, 2, 20, 0, 16)], (10, 30, 20, 0)),
    ([_tensor(0, 1, 10, 0, 0), _tensor(1, 3, 20, 1, 0)], (10, 30, 20, 20)),
    ([_tensor(0, 2, 30, 0, 0), _tensor(1, 1, 10, 0, 5), _tensor(1, 3, 10, 0, 25)], (30, 35, 35, 10)),
])
def test_live_bytes_count_once(tensors: list[PicturedTensor], live: tuple[int, ...]) -> None:
    blocks = (PicturedBlock(50, "cl_mem", "cl_mem"), PicturedBlock(70, "cl_mem", "cl_mem"))
    picture = MemoryPicture(("a", "b", "c", "d"), tuple(tensors), blocks, 0, 0)
    assert picture.live == live and picture.lower_bound == max(live) and picture.peak == 120


def _branching_model() -> ov.Model:
    x = ops.parameter([-1, -1, 8], np.float32)
    x.set_friendly_name("x")
    a = ops.softmax(x, 1)
    b = ops.concat([a, ops.reduce_sum(a, ops.constant([1], np.int64), True), x], 1)
    best = ops.topk(b, ops.constant(3), 1, "max", "value")
    c = ops.softmax(ops.transpose(best.output(0), ops.constant([0, 2, 1], np.int64)), 2)
    return ov.Model([ops.multiply(c, ops.reduce_max(c, ops.constant([2], np.int64), True)), a], [x])


def _pictured(network: Network, *inputs: np.ndarray) -> MemoryPicture:
    execute(network, inputs)
    picture = network.memory_picture()
    assert picture is not None
    return picture


def _overlap(one: PicturedTensor, other: PicturedTensor) -> bool:
    return (one.block == other.block and one.offset < other.offset + other.nbytes
            and other.offset < one.offset + one.nbytes)


def test_what_is_needed_at_the_same_time_lies_apart(engine: Engine, rng: np.random.Generator) -> None:
    """Of several rows, none of whose parts can lie within what is concatenated."""
    network = network_of(engine, _branching_model())
    assert network.memory_picture() is None
    for rows, columns in [(3, 17), (9, 40), (2, 5), *rng.integers(2, 30, (3, 2)).tolist()]:
        picture = _pictured(network, rng.standard_normal((rows, columns, 8)).astype(np.float32))
        kernels = [node.primitive.id for node in network.program.nodes if node.kind == "kernel"]
        assert set(kernels) <= set(picture.steps)
        for number, one in enumerate(picture.tensors):
            assert 0 <= one.first <= one.last < len(picture.steps)
            assert one.offset + one.nbytes <= picture.blocks[one.block].nbytes
            for other in picture.tensors[number + 1:]:
                within_time = one.first <= other.last and other.first <= one.last
                assert not (within_time and _overlap(one, other)), f"{one} and {other}"
        assert picture.inputs == rows * columns * 8 * 4
        made = sum(t.nbytes for t in picture.tensors)
        assert 0 < picture.lower_bound <= picture.peak and picture.lower_bound <= made
        outputs = {t.shape: t.last for t in picture.tensors if t.kind == "output"}
        assert outputs[f"[{rows},{columns},8]"] == len(picture.steps) - 1


def test_sizes_are_those_of_the_execution(engine: Engine) -> None:
    """A chain without anything to share: every tensor is known by hand."""
    x = ops.parameter([-1, 16], np.float32)
    first = ops.softmax(x, 1)
    second = ops.cum_sum(first, ops.constant(1))
    network = network_of(engine, ov.Model([ops.softmax(second, 1)], [x]))
    for rows in (5, 2):
        picture = _pictured(network, np.zeros((rows, 16), np.float32))
        kept = [t for t in picture.tensors if t.kind != "scratch"]
        assert [(t.nbytes, t.kind) for t in kept] == [(rows * 64, "tensor")] * 2 + [(rows * 64, "output")]
        assert [(t.first, t.last) for t in kept] == [(0, 1), (1, 2), (2, 2)]
        assert picture.lower_bound >= 2 * rows * 64


def test_bodies_have_pictures_of_their_own(engine: Engine, rng: np.random.Generator) -> None:
    model = if_model(rng)
    network = network_of(engine, model)
    inputs = [rng.standard_normal([d.get_length() if d.is_static else 3 for d in port.partial_shape]).astype(
        port.element_type.to_dtype()) for port in model.inputs]
    picture = _pictured(network, *inputs)
    assert [name.split("/")[-1][:4] for name, _ in picture.bodies] == ["body"]
    assert picture.bodies[0][1].steps
