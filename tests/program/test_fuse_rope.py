"""The pass that makes rotary positions one primitive."""
from __future__ import annotations

from collections.abc import Callable

import numpy as np
import onnx
import pytest
from onnx import helper

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
from tests.ops.case_runner import execute
from tests.oracle import CpuPlugin, assert_close, ov
from tests.program import rope_models
from tests.program.building import graph_after
from tests.program.rope_models import DEPTH as DEPTH_OF_FORMS
from tests.program.rope_models import FORMS, rope_graph, rope_inputs, rope_model, rope_result

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


@pytest.mark.parametrize("rotated", [DEPTH_OF_FORMS, 8])
@pytest.mark.parametrize("name", FORMS)
def test_forms_that_exporters_write(engine: Engine, name: str, rotated: int, rng: np.random.Generator) -> None:
    """All elements of a head are turned, or its first ones."""
    model, form = rope_model(name, rotated), FORMS[name]
    node, = (node for node in rope_graph(engine, model) if node.inputs)
    made = node.primitive
    assert isinstance(made, RoPE) and (made.interleaved, made.paired) == (form.interleaved, form.paired)
    assert made.rotated == (rotated if rotated < DEPTH_OF_FORMS else 0)
    networks = [network_of(engine, prepare(model), options) for options in (None, SKIPPED)]
    for batch, length, places in ((2, 5, 5), (1, 1, 1), (3, 40, 40), (2, 0, 0), (2, 6, 1)):
        given = rope_inputs(rng, name, batch, length, places, rotated)
        for network in networks:
            assert_close(execute(network, given)[0], rope_result(name, *given, rotated), 1e-5, f"{given[0].shape}")


@pytest.mark.parametrize("attributes", [{}, {"interleaved": 1}, {"rotary_embedding_dim": 4},
                                        {"rotary_embedding_dim": 4, "interleaved": 1}], ids=str)
def test_what_openvino_makes_of_rotary_embeddings(engine: Engine, attributes: dict[str, int]) -> None:
    width = attributes.get("rotary_embedding_dim", 8)
    given = [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape) for name, shape in (
        ("data", ["b", 3, "n", 8]), ("cosine", ["b", "n", width // 2]), ("sine", ["b", "n", width // 2]))]
    node = helper.make_node("RotaryEmbedding", [x.name for x in given], ["turned"], **attributes)
    graph = helper.make_graph([node], "rotary", given, [
        helper.make_tensor_value_info("turned", onnx.TensorProto.FLOAT, ["b", 3, "n", 8])])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)])
    made, = (node.primitive for node in rope_graph(engine, ov.Core().read_model(model.SerializeToString()))
             if node.inputs and not node.primitive.reinterprets_input)
    assert isinstance(made, RoPE) and made.paired and made.interleaved == ("interleaved" in attributes)
    assert made.rotated == attributes.get("rotary_embedding_dim", 0)


def test_first_elements_that_are_joined_with_others_at_once(engine: Engine, rng: np.random.Generator) -> None:
    """As OpenVINO reads ONNX's RotaryEmbedding with a width of its own."""
    data = op.parameter([-1, HEADS, -1, DEPTH], np.float32)
    cosine, sine = (op.parameter([1, 1, -1, 2], np.float32) for _ in range(2))
    first, rest = op.variadic_split(data, np.int64(-1), _row(4, -1)).outputs()
    low, high = op.split(first, np.int64(-1), 2).outputs()
    turned = [op.subtract(op.multiply(low, cosine), op.multiply(high, sine)),
              op.add(op.multiply(high, cosine), op.multiply(low, sine))]
    model = ov.Model([op.concat([*turned, rest], -1)], [data, cosine, sine], "at once")
    node, = (node for node in rope_graph(engine, model) if node.inputs)
    assert isinstance(node.primitive, RoPE) and node.primitive.rotated == 4 and node.primitive.paired
    network = network_of(engine, prepare(model))
    for length in (5, 1, 33):
        given = [rng.standard_normal(shape).astype(np.float32)
                 for shape in ((2, HEADS, length, DEPTH), *[(1, 1, length, 2)] * 2)]
        assert_close(execute(network, given)[0], rope_result("halves apart", *given, 4), 1e-5)


def _almost(name: str, data: ov.Node, cosine: ov.Node, sine: ov.Node) -> ov.Node:
    """What looks like rotary positions of neighbours, but is not."""
    start = 1 if name == "the seconds first" else 0
    even, odd = (rope_models.cut(data, (start + i) % 2, 2**31, 2) for i in (0, 1))
    if name == "the third of each":
        even, odd = rope_models.cut(data, 0, HALF), rope_models.cut(data, 1, 1 + HALF)
    signs = (1.0, -1.0) if name == "the other sign" else (-1.0, 1.0)
    pair = [op.unsqueeze(op.multiply(x, np.float32(sign)), np.int64(-1))
            for x, sign in zip((odd, even), signs, strict=True)]
    turned = op.reshape(op.concat(pair, -2 if name == "half after half" else -1), _row(0, 0, 0, DEPTH), True)
    return op.add(op.multiply(data, cosine), op.multiply(turned, sine))


@pytest.mark.parametrize("name", ["the seconds first", "the third of each", "the other sign", "half after half"])
def test_other_pairs_stay(engine: Engine, name: str, rng: np.random.Generator) -> None:
    data = op.parameter([-1, HEADS, -1, DEPTH], np.float32)
    cosine, sine = (op.parameter([1, 1, -1, DEPTH], np.float32) for _ in range(2))
    model = ov.Model([_almost(name, data, cosine, sine)], [data, cosine, sine], "almost")
    assert not _made(_graph(engine, model))
    given = _arrays(rng, 2, 5, 5)
    first, second = (execute(network_of(engine, prepare(model), options), given)[0] for options in (None, SKIPPED))
    assert_close(first, second, 1e-5)


def test_factors_of_which_one_is_another_stay(engine: Engine, rng: np.random.Generator) -> None:
    data = op.parameter([-1, HEADS, -1, DEPTH], np.float32)
    cosine, sine, other = (op.parameter([1, 1, -1, HALF], np.float32) for _ in range(3))
    low, high = op.split(data, np.int64(-1), 2).outputs()
    turned = [op.subtract(op.multiply(low, cosine), op.multiply(high, sine)),
              op.add(op.multiply(high, cosine), op.multiply(low, other))]
    model = ov.Model([op.concat(turned, -1)], [data, cosine, sine, other], "other")
    assert not _made(_graph(engine, model))
    given = [rng.standard_normal(s).astype(np.float32) for s in ((2, HEADS, 5, DEPTH), *[(1, 1, 5, HALF)] * 3)]
    check(network_of(engine, prepare(model)), CpuPlugin(model), given)


def test_elements_that_stand_elsewhere_are_not_handed_on(engine: Engine, rng: np.random.Generator) -> None:
    data = op.parameter([-1, HEADS, -1, DEPTH], np.float32)
    cosine, sine = (op.parameter([1, 1, -1, 8], np.float32) for _ in range(2))
    turned = FORMS["halves in a sum"].turn(rope_models.cut(data, 0, 8), cosine, sine)
    model = ov.Model([op.concat([turned, rope_models.cut(data, 6, 8)], -1)], [data, cosine, sine], "elsewhere")
    graph = _graph(engine, model)
    assert [node.primitive.rotated for node in graph if isinstance(node.primitive, RoPE)] == [0]
    given = [rng.standard_normal(s).astype(np.float32) for s in ((2, HEADS, 5, DEPTH), *[(1, 1, 5, 8)] * 2)]
    whole = rope_result("halves in a sum", *given, 8)
    assert_close(execute(network_of(engine, prepare(model)), given)[0],
                 np.concatenate([whole[..., :8], given[0][..., 6:8]], -1), 1e-5)


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
