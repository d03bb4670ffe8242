"""The pass that makes rotary positions one primitive."""
from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from bench.models import llama
from clinfer.base.errors import ClinferError
from clinfer.frontend.reader import to_topology
from clinfer.frontend.transformations import prepare
from clinfer.ops.rope import RoPE
from clinfer.program.graph import Graph
from clinfer.program.options import BuildOptions
from clinfer.program.passes.fuse_rope import fuse_rope
from clinfer.program.passes.infer_layouts import infer_layouts
from clinfer.program.passes.propagate_constants import propagate_constants
from clinfer.runtime.engine import Engine
from tests.network.running import check, network_of
from tests.oracle import CpuPlugin, assert_close, ov
from tests.program.building import graph_after
from tests.rooms.room_runner import execute

SKIPPED = BuildOptions(skipped_passes=frozenset({"fuse_rope"}))
HEADS, DEPTH = 3, 10
HALF = DEPTH // 2

op = ov.opset13
Halves = Callable[[ov.Node], tuple[ov.Output, ov.Output]]


def _row(*numbers: int) -> ov.Node:
    return op.constant(np.array(numbers, np.int64))


def _sliced(data: ov.Node) -> tuple[ov.Output, ov.Output]:
    return (op.slice(data, _row(0), _row(HALF), _row(1), _row(-1)).output(0),
            op.slice(data, _row(HALF), _row(2**63 - 1), _row(1), _row(-1)).output(0))


def _split(data: ov.Node) -> tuple[ov.Output, ov.Output]:
    low, high = op.split(data, np.int64(-1), 2).outputs()
    return low, high


def _strided(data: ov.Node) -> tuple[ov.Output, ov.Output]:
    def cut(begin: int, end: int, end_mask: int) -> ov.Output:
        return op.strided_slice(data, _row(0, 0, 0, begin), _row(0, 0, 0, end), _row(1, 1, 1, 1), [1, 1, 1, 0],
                                [1, 1, 1, end_mask]).output(0)
    return cut(0, HALF, 0), cut(HALF, 0, 1)


HALVES: dict[str, Halves] = {"sliced": _sliced, "split": _split, "strided": _strided}


def _model(halves: Halves = _sliced, sign: float = -1.0, swapped: bool = False) -> ov.Model:
    data = op.parameter([-1, HEADS, -1, DEPTH], np.float32)
    cosine, sine = (op.parameter([1, 1, -1, DEPTH], np.float32) for _ in range(2))
    low, high = halves(data)
    turned = op.concat([op.multiply(high, np.float32(sign)), low], -1)
    straight, other = op.multiply(data, cosine), op.multiply(sine, turned)
    return ov.Model([op.add(other, straight) if swapped else op.add(straight, other)], [data, cosine, sine], "rope")


def _graph(engine: Engine, model: ov.Model) -> Graph:
    return graph_after(engine, to_topology(prepare(model)).topology, (infer_layouts, propagate_constants, fuse_rope))


def _made(graph: Graph) -> list[str]:
    return [node.id for node in graph if isinstance(node.primitive, RoPE)]


def _arrays(rng: np.random.Generator, batch: int, length: int, places: int) -> list[np.ndarray]:
    return [rng.standard_normal(shape).astype(np.float32) for shape in
            ((batch, HEADS, length, DEPTH), (1, 1, places, DEPTH), (1, 1, places, DEPTH))]


@pytest.mark.parametrize("name", HALVES)
@pytest.mark.parametrize("swapped", [False, True])
def test_it_becomes_one_primitive(engine: Engine, name: str, swapped: bool, rng: np.random.Generator) -> None:
    model = _model(HALVES[name], swapped=swapped)
    graph = _graph(engine, model)
    assert len(_made(graph)) == 1 and len([node for node in graph if node.inputs]) == 1
    network, apart = (network_of(engine, prepare(model), options) for options in (None, SKIPPED))
    oracle = CpuPlugin(model)
    for batch, length in ((2, 5), (1, 1), (3, 40), (2, 0)):
        given = _arrays(rng, batch, length, length)
        check(network, oracle, given)
        check(apart, oracle, given)
    check(network, oracle, _arrays(rng, 2, 6, 1))


def test_factors_that_do_not_stretch_are_an_error(engine: Engine, rng: np.random.Generator) -> None:
    with pytest.raises(ClinferError, match="must stretch"):
        execute(network_of(engine, prepare(_model())), _arrays(rng, 2, 1, 7))


def test_other_signs_stay(engine: Engine, rng: np.random.Generator) -> None:
    model = _model(sign=-2.0)
    assert not _made(_graph(engine, model))
    check(network_of(engine, prepare(model)), CpuPlugin(model), _arrays(rng, 2, 5, 5))


def test_exchanged_halves_stay(engine: Engine, rng: np.random.Generator) -> None:
    model = _model(lambda data: _sliced(data)[::-1])
    assert not _made(_graph(engine, model))
    data, cosine, sine = _arrays(rng, 2, 5, 5)
    # OpenVINO's CPU plugin takes these for rotary positions.
    turned = np.concatenate([-data[..., :HALF], data[..., HALF:]], -1)
    assert_close(execute(network_of(engine, prepare(model)), [data, cosine, sine])[0], data * cosine + turned * sine,
                 1e-5)


def test_a_llama_in_f16(engine: Engine, rng: np.random.Generator) -> None:
    """What is precise is computed in f32 inside of the kernels."""
    model = llama.build(size=llama.TINY)
    network, oracle = network_of(engine, prepare(model, "f16")), CpuPlugin(model)
    for shape in ((2, 9), (1, 33)):
        check(network, oracle, [rng.integers(0, 300, shape)], 2e-2)


def test_a_llama_layer(engine: Engine, rng: np.random.Generator) -> None:
    """Ten primitives: two normalisations, three products in one, two turns, attention, and four products."""
    counts = []
    for layers in (1, 2):
        model = llama.build(size=llama.Size(layers, 64, 4, 96, 300))
        network, oracle = network_of(engine, prepare(model)), CpuPlugin(model)
        for shape in ((2, 9), (1, 1), (1, 33)):
            check(network, oracle, [rng.integers(0, 300, shape)])
        counts.append(sum(node.kind == "kernel" for node in network.program.nodes))
    assert counts[1] - counts[0] == 10
