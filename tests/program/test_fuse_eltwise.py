"""The pass that fuses element-wise fused operations: what is there before and after, and when it keeps away."""
from __future__ import annotations

import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view

from clinfer.base.errors import ClinferError
from clinfer.base.layout import Padding
from clinfer.base.shape import ANY, Dim
from clinfer.frontend.shape_inference import OpenVinoShapeInference
from clinfer.network.network import Network
from clinfer.ops.convert import Convert
from clinfer.ops.convolution import Convolution
from clinfer.ops.eltwise import Eltwise
from clinfer.ops.fake_quantize import FakeQuantize
from clinfer.ops.group_norm import GroupNormalization
from clinfer.ops.matmul import MatMul
from clinfer.ops.reduce import Reduce
from clinfer.ops.sdpa import ScaledDotProductAttention
from clinfer.ops.softmax import Softmax
from clinfer.program.blobs.programs import load_program, save_program
from clinfer.program.graph import Graph
from clinfer.program.options import BuildOptions
from clinfer.program.passes.fuse_eltwise import fuse_eltwise
from clinfer.program.passes.infer_layouts import infer_layouts
from clinfer.program.passes.mark_host_nodes import mark_host_nodes
from clinfer.program.size_names import SizeNames, is_kept, is_kept_if_it_fits
from clinfer.runtime.engine import Engine
from clinfer.symbolic.dimensions import NamedDim
from clinfer.topology import Before, Port, Primitive, Topology
from tests.network.running import network_of
from tests.ops.case_runner import execute
from tests.program.building import constant, context_of, given, graph_after, numbers

PASSES = (infer_layouts, mark_host_nodes, fuse_eltwise)
SKIPPED = BuildOptions(skipped_passes=frozenset({"fuse_eltwise"}))


def _eltwise(id: str, mode: str, *inputs: str, **fields: object) -> Eltwise:
    return Eltwise(id, inputs, mode=mode, **fields)  # type: ignore[arg-type]


def _convolution(id: str, data: str, weights: str, stride: int = 1, pad: int = 1) -> Convolution:
    return Convolution(id, (data, weights), strides=(stride,) * 2, dilations=(1, 1), pads_begin=(pad,) * 2,
                       pads_end=(pad,) * 2)


def _weights(id: str, *shape: int) -> Primitive:
    return constant(id, (np.sin(np.arange(np.prod(shape))) / 4).astype(np.float32).reshape(shape))


def _fused_ops(graph: Graph, id: str) -> list[str]:
    return [fused.primitive.id for fused in graph[id].primitive.fused_ops]


# -- before and after -------------------------------------------------------------------------------


def _chain(rng: np.random.Generator) -> tuple[Topology, np.ndarray]:
    row = rng.standard_normal(5).astype(np.float32)
    return Topology(given("x", ANY, 5), _eltwise("half", "Multiply", "x", "factor"),
                    constant("factor", np.array(0.5, np.float32)), constant("row", row),
                    _eltwise("sum", "Subtract", "row", "half"), _eltwise("relu", "Relu", "sum"),
                    _eltwise("square", "Multiply", "relu", "relu")), row


def test_a_chain_becomes_one_primitive(engine: Engine, rng: np.random.Generator) -> None:
    topology, row = _chain(rng)
    graph = graph_after(engine, topology, PASSES)
    host = graph["half"].primitive
    assert [(fused.primitive.id, fused.operands) for fused in host.fused_ops] == [
        ("sum", (2, None)), ("relu", (None,)), ("square", (None, None))]
    assert not {"sum", "relu", "square"} & {node.id for node in graph}
    assert graph.outputs == {"square": Port("half")} and graph.layout(host.inputs[2]).shape == (1, 5)
    network = network_of(engine, topology)
    for rows in (7, 1, 0, 3):
        x = rng.standard_normal((rows, 5)).astype(np.float32)
        assert np.allclose(execute(network, [x])[0], np.maximum(row - x * 0.5, 0) ** 2, rtol=1e-5, atol=1e-6)
    gone = {r.primitive: (r.fate, r.into, r.by) for r in network.program.removed}
    assert gone["square"] == ("fused", "half", "fuse_eltwise")


def test_the_pass_can_be_left_out(engine: Engine, rng: np.random.Generator) -> None:
    topology, _ = _chain(rng)
    x = rng.standard_normal((7, 5)).astype(np.float32)
    fused, unfused = network_of(engine, topology), network_of(engine, topology, SKIPPED)
    assert sum(node.kind == "kernel" for node in fused.program.nodes) == 1
    assert sum(node.kind == "kernel" for node in unfused.program.nodes) == 4
    assert np.allclose(execute(fused, [x])[0], execute(unfused, [x])[0], rtol=1e-5, atol=1e-6)
    with pytest.raises(ClinferError, match=r"cannot be left out[^$]*infer_layouts"):
        network_of(engine, topology, BuildOptions(skipped_passes=frozenset({"infer_layouts"})))


def test_a_residual_of_dynamic_size_is_fused(engine: Engine, rng: np.random.Generator) -> None:
    topology = Topology(given("x", ANY, 4, ANY, ANY), _weights("w1", 4, 4, 3, 3), _weights("w2", 4, 4, 1, 1),
                        _convolution("first", "x", "w1"), _eltwise("relu", "Relu", "first"),
                        _convolution("second", "relu", "w1", stride=2), _convolution("short", "x", "w2", 2, 0),
                        _eltwise("sum", "Add", "second", "short"), _eltwise("last", "HSwish", "sum"))
    graph = graph_after(engine, topology, PASSES)
    assert _fused_ops(graph, "first") == ["relu"]
    assert _fused_ops(graph, "second") + _fused_ops(graph, "short") == ["sum", "last"]
    fused, unfused = network_of(engine, topology), network_of(engine, topology, SKIPPED)
    for shape in ((1, 4, 9, 6), (2, 4, 3, 3), (1, 4, 1, 17)):
        x = rng.standard_normal(shape).astype(np.float32)
        assert np.allclose(execute(fused, [x])[0], execute(unfused, [x])[0], rtol=1e-4, atol=1e-5)


def test_a_host_moves_behind_what_its_fused_operation_reads(engine: Engine, rng: np.random.Generator) -> None:
    topology = Topology(given("x", 3, 5), _eltwise("host", "Exp", "x"), Softmax("late", ("x",), axis=1),
                        _eltwise("sum", "Add", "host", "late"), outputs={"late": "late", "sum": "sum"})
    graph = graph_after(engine, topology, PASSES)
    assert [node.id for node in graph] == ["x", "late", "host"] and _fused_ops(graph, "host") == ["sum"]
    x = rng.standard_normal((3, 5)).astype(np.float32)
    exp = np.exp(x)
    assert np.allclose(execute(network_of(engine, topology), [x])[1], exp + exp / exp.sum(1, keepdims=True), rtol=1e-4)


def test_all_joins_the_last_host(engine: Engine, rng: np.random.Generator) -> None:
    """What an element-wise host has taken in goes with it into the other tensor that it reads."""
    topology = Topology(given("x", ANY, 5), _eltwise("exp", "Exp", "x"), Softmax("soft", ("x",), axis=1),
                        _eltwise("sum", "Add", "exp", "soft"))
    graph = graph_after(engine, topology, PASSES)
    assert [node.id for node in graph] == ["x", "soft"] and _fused_ops(graph, "soft") == ["exp", "sum"]
    network = network_of(engine, topology)
    for rows in (3, 1, 0, 4):
        x = rng.standard_normal((rows, 5)).astype(np.float32)
        exp = np.exp(x)
        assert np.allclose(execute(network, [x])[0], exp + exp / exp.sum(1, keepdims=True), rtol=1e-4)


def test_a_small_product_is_not_computed_for_each_element(engine: Engine) -> None:
    topology = Topology(given("x", 2, 3, 8, 8), given("factor", 2, 3, 1, 1), _eltwise("gate", "Sigmoid", "factor"),
                        Softmax("soft", ("x",), axis=1), _eltwise("scaled", "Multiply", "soft", "gate"))
    graph = graph_after(engine, topology, PASSES)
    assert "gate" in graph and _fused_ops(graph, "soft") == ["scaled"]


def test_the_padding_of_the_last_fused_operation_stays(engine: Engine, rng: np.random.Generator) -> None:
    padding = Padding((1, 0), (0, 2))
    topology = Topology(given("x", 3, 5), _eltwise("exp", "Exp", "x"),
                        _eltwise("relu", "Relu", "exp", output_padding=padding))
    network, x = network_of(engine, topology), rng.standard_normal((3, 5)).astype(np.float32)
    assert np.allclose(execute(network, [x])[0], np.exp(x), rtol=1e-5)
    assert network.execute()["relu"].layout.padding == padding and network.program.nodes[-1].primitive.id == "exp"


def test_a_chain_is_rounded_once(engine: Engine) -> None:
    x = np.array([0.5, 3, 1000], np.float16)
    topology = Topology(given("x", 3, kind="f16"), constant("much", np.array(300, np.float16)),
                        _eltwise("up", "Multiply", "x", "much"), _eltwise("down", "Divide", "up", "much"),
                        Convert("wide", ("down",), destination_type="f32"))
    network = network_of(engine, topology)
    result, = execute(network, [x])
    assert result.dtype == np.float32 and np.allclose(result, x.astype(np.float32), rtol=1e-6)
    assert sum(node.kind == "kernel" for node in network.program.nodes) == 1


def test_values_are_quantised_by_what_makes_them(engine: Engine, rng: np.random.Generator) -> None:
    """Sums of whole numbers are exact, and no bound is so that one lies between two levels."""
    channel = np.arange(6, dtype=np.float32).reshape(1, 6, 1, 1)
    bounds = (-5.3 - channel / 7, 7.1 + channel / 9, np.float32(-1), 2 + channel)
    weights = rng.integers(-2, 3, (6, 4, 3, 3)).astype(np.float32)
    topology = Topology(given("x", ANY, 4, ANY, ANY), constant("weights", weights),
                        *(constant(f"bound{i}", np.asarray(bound)) for i, bound in enumerate(bounds)),
                        _convolution("sums", "x", "weights"), _eltwise("relu", "Relu", "sums"),
                        FakeQuantize("levels", ("relu", *(f"bound{i}" for i in range(4))), levels=16))
    assert _fused_ops(graph_after(engine, topology, PASSES), "sums") == ["relu", "levels"]
    fused, unfused = network_of(engine, topology), network_of(engine, topology, SKIPPED)
    low, high, to_low, to_high = (np.asarray(bound, np.float64) for bound in bounds)
    for shape in ((2, 4, 5, 7), (1, 4, 1, 1), (3, 4, 16, 2)):
        x = rng.integers(-1, 2, shape).astype(np.float32)
        padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
        sums = np.einsum("nihwyx,oiyx->nohw", sliding_window_view(padded, (3, 3), (2, 3)), weights)
        inside = np.clip(np.maximum(sums, 0), low, high)
        wanted = np.rint((inside - low) / (high - low) * 15) / 15 * (to_high - to_low) + to_low
        for network in (fused, unfused):
            assert np.allclose(execute(network, [x])[0], wanted, rtol=1e-5, atol=1e-5)


def test_a_tensor_that_is_read_twice_counts_once(engine: Engine, rng: np.random.Generator) -> None:
    """With each bound counted as often as it is read, the host would read nine tensors more."""
    weights = rng.integers(-2, 3, (6, 4, 3, 3)).astype(np.float32)
    parts = [given("x", 2, 4, 5, 7), given("y", 2, 6, 5, 7), constant("weights", weights),
             *(constant(f"bound{i}", np.float32(bound)) for i, bound in enumerate((-6.4, 6.35, -12.8, 12.7))),
             _convolution("sums", "x", "weights"),
             FakeQuantize("levels", ("sums", "bound0", "bound1", "bound0", "bound1"), levels=256),
             _eltwise("added", "Add", "levels", "y"),
             FakeQuantize("again", ("added", "bound2", "bound3", "bound2", "bound3"), levels=256)]
    graph = graph_after(engine, Topology(*parts), PASSES)
    assert _fused_ops(graph, "sums") == ["levels", "added", "again"] and len(graph["sums"].inputs) == 7
    fused, unfused = network_of(engine, Topology(*parts)), network_of(engine, Topology(*parts), SKIPPED)
    x, y = rng.integers(-1, 2, (2, 4, 5, 7)), rng.integers(-5, 6, (2, 6, 5, 7))
    data = [x.astype(np.float32), (y + 0.26).astype(np.float32)]
    assert np.allclose(execute(fused, data)[0], execute(unfused, data)[0], atol=1e-5)


def test_fused_operations_survive_in_a_blob(engine: Engine, rng: np.random.Generator) -> None:
    topology, _ = _chain(rng)
    network, x = network_of(engine, topology), rng.standard_normal((7, 5)).astype(np.float32)
    blob = b"".join(bytes(part) for part in save_program(network.program, None, {}))
    program, _ = load_program(memoryview(blob), engine, {})
    again = Network(program, engine.create_stream(), OpenVinoShapeInference())
    assert np.array_equal(execute(again, [x])[0], execute(network, [x])[0])


def test_what_several_fused_operations_read_is_a_host(engine: Engine, rng: np.random.Generator) -> None:
    """A diamond: x * sigmoid(x) + |x| and, behind another fused operation, that result twice."""
    topology = Topology(given("x", ANY, 4), _weights("w", 4, 7), MatMul("product", ("x", "w")),
                        _eltwise("relu", "Sin", "product"), _eltwise("gate", "Sigmoid", "relu"),
                        _eltwise("swish", "Multiply", "gate", "relu"), _weights("row", 7),
                        _eltwise("shifted", "Subtract", "row", "swish"), _eltwise("abs", "Abs", "shifted"),
                        _eltwise("more", "Multiply", "abs", "relu"), _eltwise("last", "Add", "more", "shifted"))
    network = network_of(engine, topology)
    node, = (node for node in network.program.nodes if node.kind == "kernel")
    assert [fused.operands for fused in node.primitive.fused_ops] == [
        (None,), (None,), (None, Before(1)), (2, None), (None,), (None, Before(1)), (None, Before(4))]
    unfused = network_of(engine, topology, SKIPPED)
    for rows in (3, 1, 0, 9):
        x = rng.standard_normal((rows, 4)).astype(np.float32)
        assert np.allclose(execute(network, [x])[0], execute(unfused, [x])[0], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("shape, other", [((ANY, 5), (ANY, 5)), ((Dim(1, 3), 5), (3, 5)), ((ANY, 5), (ANY, 1))])
def test_each_shape_decides_how_an_eltwise_host_stretches(engine: Engine, rng: np.random.Generator,
                                                          shape: tuple[object, ...], other: tuple[object, ...]) -> None:
    topology = Topology(given("x", *shape), _eltwise("exp", "Exp", "x"), given("other", *other),
                        _eltwise("sum", "Add", "other", "exp"), _eltwise("product", "Multiply", "sum", "x"))
    network = network_of(engine, topology)
    assert sum(node.kind == "kernel" for node in network.program.nodes) == 1
    for rows, others in ((3, 3), (1, 3), (3, 1), (1, 1), (0, 1), (1, 0), (0, 0), (3, 3)):
        if (isinstance(other[0], int) and others != 3) or (isinstance(shape[0], Dim) and shape[0].low > rows):
            continue
        x = rng.standard_normal((rows, 5)).astype(np.float32)
        y = rng.standard_normal((others, other[1])).astype(np.float32)  # type: ignore[call-overload]
        assert np.allclose(execute(network, [x, y])[0], (np.exp(x) + y) * x, rtol=1e-4, atol=1e-5)


def test_group_norm_takes_what_stretches_along_some_pixels(engine: Engine, rng: np.random.Generator) -> None:
    """Whether they do is known for each shape only: sizes of 1 stretch along nothing."""
    topology = Topology(given("x", ANY, 32, ANY, ANY), constant("ones", np.ones(32, np.float32)),
                        constant("zeros", np.zeros(32, np.float32)), numbers("axes", 1, 3),
                        Reduce("row", ("x", "axes"), mode="Max", keep_dims=True),
                        GroupNormalization("norm", ("x", "ones", "zeros"), num_groups=4),
                        _eltwise("scaled", "Multiply", "norm", "row"), _eltwise("sum", "Add", "scaled", "x"))
    fused, unfused = network_of(engine, topology), network_of(engine, topology, SKIPPED)
    assert not {"scaled", "sum"} & {node.primitive.id for node in fused.program.nodes}
    for batch, height, width in ((2, 5, 7), (1, 6, 1), (2, 1, 9), (1, 1, 1), (3, 4, 4)):
        x = rng.standard_normal((batch, 32, height, width)).astype(np.float32)
        assert np.allclose(execute(fused, [x])[0], execute(unfused, [x])[0], rtol=1e-4, atol=1e-4)


# -- what stays -------------------------------------------------------------------------------------


@pytest.mark.parametrize("given_shape, others, fused, outputs", [
    ((3, 5), (_eltwise("second", "Abs", "exp"),), _eltwise("fused", "Relu", "exp"), None),
    ((3, 5), (), _eltwise("fused", "Relu", "exp"), {"a": "exp", "b": "fused"}),
    ((1, 5), (_weights("other", 3, 5),), _eltwise("fused", "Add", "exp", "other"), None),
    ((5,), (_weights("other", 3, 5),), _eltwise("fused", "Add", "exp", "other"), None),
    ((3, 5), (constant("other", np.array(0, np.float32)),), _eltwise("fused", "Less", "exp", "other"), None),
    ((3, 5), (), Convert("fused", ("exp",), destination_type="i32"), None),
], ids=["read-twice", "an-output", "grows", "grows-in-rank", "boolean", "integer"])
def test_what_cannot_be_fused_stays(engine: Engine, given_shape: tuple[object, ...], others: tuple[Primitive, ...],
                                     fused: Primitive, outputs: dict[str, str] | None) -> None:
    topology = Topology(given("x", *given_shape), _eltwise("exp", "Exp", "x"), *others, fused, outputs=outputs)
    graph = graph_after(engine, topology, PASSES)
    assert "fused" in graph and not graph["exp"].primitive.fused_ops


def test_a_host_that_cannot_stretch_stays(engine: Engine, rng: np.random.Generator) -> None:
    topology = Topology(given("x", ANY, 5, 4), numbers("axes", 2), Reduce("sum", ("x", "axes"), mode="Sum"),
                        given("other", ANY, 5), _eltwise("fused", "Add", "sum", "other"))
    network = network_of(engine, topology)
    node = network.program.explain().node("fused")
    assert node.unfused == (("sum", "its result might be stretched"), ("other", "known before the kernels run"))
    for rows, others in ((3, 3), (1, 4), (4, 1)):
        x, other = (rng.standard_normal(s).astype(np.float32) for s in ((rows, 5, 4), (others, 5)))
        assert np.allclose(execute(network, [x, other])[0], x.sum(2) + other, atol=1e-5)


def test_integers_and_padded_hosts_stay(engine: Engine) -> None:
    topology = Topology(given("n", 5, kind="i32"), _eltwise("double", "Add", "n", "n"), _eltwise("a", "Abs", "double"),
                        given("x", 5), _eltwise("exp", "Exp", "x", output_padding=Padding((1,), (0,))),
                        _eltwise("b", "Abs", "exp"))
    graph = graph_after(engine, topology, PASSES)
    assert {"a", "b"} <= {node.id for node in graph}


def test_a_primitive_with_a_forced_kernel_stays(engine: Engine) -> None:
    topology = Topology(given("x", 3, 5), _eltwise("exp", "Exp", "x"), _eltwise("relu", "Relu", "exp"))
    options = BuildOptions({"relu": ("", "eltwise_ref")})
    assert "relu" in graph_after(engine, topology, PASSES, options)
    assert network_of(engine, topology, options).program.explain().node("relu").work == "eltwise_ref"


def test_a_host_reads_a_bounded_number_of_tensors(engine: Engine, rng: np.random.Generator) -> None:
    numbers = rng.uniform(-1, 1, 20).astype(np.float32)
    adds = [_eltwise(f"add{i}", "Add", f"add{i - 1}" if i else "x", f"c{i}") for i in range(20)]
    topology = Topology(given("x", 3, 5), *(constant(f"c{i}", n.reshape(1)) for i, n in enumerate(numbers)), *adds)
    network, x = network_of(engine, topology), rng.standard_normal((3, 5)).astype(np.float32)
    assert max(len(node.inputs) for node in network.program.nodes) == 10
    assert np.allclose(execute(network, [x])[0], x + numbers.sum(), atol=1e-5)


# -- names of sizes ---------------------------------------------------------------------------------


def test_what_stretches_is_known_by_the_names_it_stretches_to(engine: Engine) -> None:
    topology = Topology(given("x", ANY, 5), given("y", ANY, 5), given("z", ANY, 5), _eltwise("xy", "Add", "x", "y"),
                        _eltwise("yx", "Multiply", "y", "x"), _eltwise("xyz", "Add", "xy", "z"),
                        given("q", ANY, 2, ANY, 8), given("mask", ANY, 1, 1, ANY),
                        ScaledDotProductAttention("attention", ("q", "q", "q", "mask")))
    names = SizeNames(graph_after(engine, topology, (infer_layouts,)), context_of(engine))
    shape = {id: names.shape(Port(id)) for id in ("x", "y", "z", "xy", "yx", "xyz", "q", "mask", "attention")}
    assert shape["xy"] == shape["yx"] != shape["xyz"]
    assert is_kept(shape["xyz"], tuple(shape[id] for id in ("x", "y", "z", "xy")))
    assert not is_kept(shape["xy"], (shape["z"],)) and not is_kept(shape["x"], (shape["xy"],))
    assert is_kept(shape["attention"], (shape["q"],)) and not is_kept(shape["q"], (shape["attention"],))


def test_a_size_that_is_never_1_is_kept_if_it_fits() -> None:
    def sizes(*lows: int) -> tuple[Dim, ...]:
        return tuple(NamedDim(low, 99, f"size {n}") for n, low in enumerate(lows))
    other, = sizes(0)
    for shape, read in (((7, 5), (other,)), (sizes(2, 3), (other, other)), ((2, 8, 3), (other, other, 1)),
                        ((2, 8, 3, 3), (other, 8, other, other))):
        assert is_kept_if_it_fits(shape, (read,)) and not is_kept(shape, (read,))
    for shape, read in ((sizes(1), (5,)), (sizes(0, 1), (other,)), ((1,), (other,)), ((2, 8, 3, 3), (other, 1, 1))):
        assert not is_kept_if_it_fits(shape, (read,))


def test_equal_sizes_have_equal_names(engine: Engine) -> None:
    topology = Topology(given("x", ANY, 4, ANY, ANY), given("y", ANY, 4, ANY, ANY), _weights("w1", 4, 4, 3, 3),
                        _weights("w2", 4, 4, 1, 1), _convolution("same", "x", "w1"),
                        _convolution("half", "x", "w1", stride=2), _convolution("also_half", "x", "w2", 2, 0),
                        _convolution("third", "x", "w2", 3, 0), _convolution("smaller", "x", "w1", 1, 0),
                        _convolution("other", "y", "w1", stride=2), Softmax("soft", ("half",), axis=1))
    graph = graph_after(engine, topology, (infer_layouts,))
    names = SizeNames(graph, context_of(engine))
    shape = {node.id: names.shape(Port(node.id)) for node in graph}
    assert shape["same"] == shape["x"] and shape["half"] == shape["also_half"] == shape["soft"]
    assert len({shape[id] for id in ("x", "y", "half", "third", "smaller", "other")}) == 6
    assert shape["half"][0] == shape["x"][0] != shape["other"][0]
