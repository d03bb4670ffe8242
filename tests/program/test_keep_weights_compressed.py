"""Products that read compressed weights: which chains in front of them go, and which stay."""
from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import clinfer
from bench.models import bert, llama
from bench.models.compressed import compress_weights
from clinfer.base.element_type import ElementType
from clinfer.base.errors import ClinferError
from clinfer.base.shape import ANY
from clinfer.frontend.shape_inference import OpenVinoShapeInference
from clinfer.network.compile import compile_topology
from clinfer.network.network import Network
from clinfer.ops.convert import Convert
from clinfer.ops.convolution import Convolution, GroupConvolution
from clinfer.ops.deconvolution import ConvolutionBackpropData, GroupConvolutionBackpropData
from clinfer.ops.eltwise import Eltwise
from clinfer.ops.gather import Gather
from clinfer.ops.matmul import MatMul
from clinfer.ops.reshape import Reshape
from clinfer.program.graph import Graph
from clinfer.program.options import BuildOptions
from clinfer.program.passes.infer_layouts import infer_layouts
from clinfer.program.passes.keep_filters_compressed import keep_filters_compressed
from clinfer.program.passes.keep_weights_compressed import keep_weights_compressed
from clinfer.program.passes.remove_needless_nodes import remove_needless_nodes
from clinfer.program.program import Program
from clinfer.runtime.device import DeviceInfo
from clinfer.runtime.engine import Engine
from clinfer.topology import Constant, Input, Port, Primitive, Topology
from tests.candidates import candidates_of
from tests.ops.case_runner import execute, is_unsupported
from tests.ops.compressed import RANGES
from tests.oracle import CpuPlugin, assert_close
from tests.program.building import constant, given, graph_after, numbers

ROWS, DEPTH, GROUPS = 6, 40, 4
CONVOLUTIONS = {cls.__name__: cls for cls in (Convolution, GroupConvolution, ConvolutionBackpropData,
                                              GroupConvolutionBackpropData)}
RUN = (infer_layouts, keep_weights_compressed, remove_needless_nodes)


def _whole(id: str, rng: np.random.Generator, shape: tuple[int, ...], kind: str) -> Constant:
    values = rng.integers(-8, 8, shape) if kind.startswith("i") else rng.integers(0, 16, shape)
    return Constant(id, value=values.astype(ElementType.of(kind).numpy), element_type=ElementType.of(kind))


def _chain(rng: np.random.Generator, kind: str, shape: tuple[int, ...], per_group: tuple[int, ...],
           zero_point: tuple[int, ...] | None = None, transpose: bool = True, read: str = "f32") -> list[Primitive]:
    """Weights, their chain of f16, which becomes `read`, and a product `y` of `x` [?, DEPTH]."""
    parts: list[Primitive] = [given("x", ANY, DEPTH), _whole("weights", rng, shape, kind),
                              Convert("wide", ("weights",), destination_type="f16"),
                              constant("scale", rng.uniform(0.5, 1.5, per_group).astype(np.float16))]
    if zero_point is not None:
        parts += [_whole("zero", rng, zero_point, kind), Convert("zero/wide", ("zero",), destination_type="f16"),
                  Eltwise("free", ("wide", "zero/wide"), mode="Subtract")]
    parts.append(Eltwise("scaled", ("free" if zero_point is not None else "wide", "scale"), mode="Multiply"))
    if len(shape) == 3:
        parts += [numbers("pattern", *((ROWS, DEPTH) if transpose else (DEPTH, ROWS))),
                  Reshape("flat", ("scaled", "pattern"))]
    parts += [Convert("weights/read", (parts[-1].id,), destination_type=read),
              MatMul("y", ("x", "weights/read"), transpose_b=transpose)]
    return parts


CHAINS = {
    "channels": ("i8", (ROWS, DEPTH), (ROWS, 1), None, True),
    "one-scale": ("i8", (ROWS, DEPTH), (), None, True),
    "one-zero": ("u8", (ROWS, DEPTH), (ROWS, 1), (), True),
    "zeros": ("u8", (ROWS, DEPTH), (ROWS, 1), (ROWS, 1), True),
    "columns": ("u4", (DEPTH, ROWS), (1, ROWS), (ROWS,), False),
    "groups": ("u4", (ROWS, GROUPS, DEPTH // GROUPS), (ROWS, GROUPS, 1), (ROWS, GROUPS, 1), True),
    "groups-one-zero": ("u4", (ROWS, GROUPS, DEPTH // GROUPS), (ROWS, GROUPS, 1), (1, 1, 1), True),
    "groups-of-columns": ("i4", (GROUPS, DEPTH // GROUPS, ROWS), (GROUPS, 1, ROWS), None, False),
}


def _product(graph: Graph) -> MatMul:
    primitive = graph["y"].primitive
    assert isinstance(primitive, MatMul) and primitive.quantisation is not None
    return primitive


@pytest.mark.parametrize("read", ["f32", "bf16"])
@pytest.mark.parametrize("name", CHAINS)
def test_the_product_reads_what_the_model_stores(engine: Engine, rng: np.random.Generator, name: str,
                                                 read: str) -> None:
    kind, shape, per_group, zero_point, transpose = CHAINS[name]
    topology = Topology(*_chain(rng, kind, shape, per_group, zero_point, transpose, read))
    graph = graph_after(engine, topology, RUN)
    product = _product(graph)
    layouts = graph.input_layouts(graph["y"])
    groups = GROUPS if len(shape) == 3 else 1
    assert [str(x.element_type) for x in layouts] == ["f32", kind, "f16", *([kind] if zero_point is not None else [])]
    assert layouts[1].shape == ((ROWS, DEPTH) if transpose else (DEPTH, ROWS))
    assert {x.shape for x in layouts[2:]} == {(groups, ROWS)}
    assert (product.quantisation.zero_point is None) == (zero_point is None) and product.transpose_b == transpose
    assert [node.id for node in graph if not isinstance(node.primitive, Constant)] == ["x", "y"]


@pytest.mark.sampled(1 / 2)
@pytest.mark.parametrize("name", CHAINS)
def test_the_result_is_that_of_the_chain(engine: Engine, rng: np.random.Generator, name: str) -> None:
    topology = Topology(*_chain(rng, *CHAINS[name]))
    x = rng.standard_normal((5, DEPTH)).astype(np.float32)
    results = []
    for skipped in (frozenset[str](), frozenset({"keep_weights_compressed"})):
        program = compile_topology(engine, topology, OpenVinoShapeInference(), BuildOptions(skipped_passes=skipped))
        network = Network(program, engine.create_stream(), OpenVinoShapeInference())
        assert any(getattr(n.primitive, "quantisation", None) for n in program.nodes) != bool(skipped)
        fate, = ((r.fate, r.by) for r in program.removed if r.primitive == "wide")
        assert fate == ("fused", "widen_decompression" if skipped else "keep_weights_compressed")
        results += execute(network, [x])
    assert_close(results[0], results[1], 2e-3, name)


@pytest.mark.parametrize("entries", [16, 5])
@pytest.mark.parametrize("narrow", [False, True], ids=str)
def test_weights_are_looked_up_in_a_codebook(engine: Engine, rng: np.random.Generator, narrow: bool,
                                             entries: int) -> None:
    """`narrow`: the codebook is converted from f8e4m3, and the places to u8, as compression tools have it."""
    held = ElementType.of("f8e4m3" if narrow else "f16")
    codebook = held.decode(held.encode(rng.standard_normal(entries).astype(np.float32)), entries)
    places = rng.integers(0, entries, (ROWS, GROUPS, DEPTH // GROUPS))
    scale = rng.uniform(0.5, 1.5, (ROWS, GROUPS, 1)).astype(np.float16)
    lookup = [Constant("codebook", value=codebook, element_type=held), constant("axis", np.array(0)),
              Constant("places", value=places.astype(np.uint8), element_type=ElementType.of("u4")),
              Convert("wide", ("codebook",), destination_type="f16"),
              Convert("whole", ("places",), destination_type="u8"),
              Gather("found", ("wide", "whole", "axis") if narrow else ("codebook", "places", "axis"))]
    chain = [constant("scale", scale), Eltwise("scaled", ("found", "scale"), mode="Multiply"),
             numbers("pattern", ROWS, DEPTH), Reshape("flat", ("scaled", "pattern")),
             Convert("read", ("flat",), destination_type="f32"), MatMul("y", ("x", "read"), transpose_b=True)]
    topology = Topology(Input("x", shape=(ANY, DEPTH), element_type=ElementType.of("f32")), *lookup, *chain,
                        outputs={"y": Port("y")})
    graph = graph_after(engine, topology, RUN)
    product = _product(graph)
    assert product.quantisation is not None
    assert product.quantisation.codebook == (*map(float, codebook), *(0.0,) * (16 - entries))
    assert [str(x.element_type) for x in graph.input_layouts(graph["y"])] == ["f32", "u4", "f16"]
    program = compile_topology(engine, topology, OpenVinoShapeInference())
    network = Network(program, engine.create_stream(), OpenVinoShapeInference())
    weights = (codebook.astype(np.float64)[places] * scale).reshape(ROWS, DEPTH)
    for rows in (1, 20):
        x = rng.standard_normal((rows, DEPTH)).astype(np.float32)
        assert_close(execute(network, [x])[0], (x @ weights.T).astype(np.float32), 1e-5, f"{rows} rows")


FILTERS = {
    "bytes": ("Convolution", "i8", (18, 21, 3, 3), (18, 1, 1, 1), False, "i8"),
    "one-scale": ("Convolution", "f8e4m3", (18, 21, 3, 3), (), False, "f16"),
    "zeros": ("Convolution", "u4", (18, 21, 3, 3), (18, 1, 1, 1), True, "i8"),
    "depthwise": ("GroupConvolution", "u8", (21, 1, 1, 3, 3), (21, 1, 1, 1, 1), True, "f16"),
    "few-inputs": ("Convolution", "i4", (34, 3, 3, 3), (34, 1, 1, 1), True, "i8"),
    "groups": ("GroupConvolution", "i8", (2, 16, 32, 1, 1), (2, 16, 1, 1, 1), False, "i8"),
    "transposed": ("ConvolutionBackpropData", "i8", (20, 17, 2, 2), (1, 17, 1, 1), True, "i8"),
    "transposed-groups": ("GroupConvolutionBackpropData", "u4", (3, 8, 5, 3, 3), (3, 1, 5, 1, 1), False, "i8"),
}
"""Of a convolution: its primitive, the type and shape of its filter, the shape of the scales and perhaps of zero
points, and the type in which kernels read it."""


def _convolution(rng: np.random.Generator, name: str) -> Topology:
    """A convolution `y` of `x` with a compressed filter, a bias and Relu."""
    kind, stored, shape, per_channel, has_zeros, _ = FILTERS[name]
    held, primitive = ElementType.of(stored), CONVOLUTIONS[kind]
    low, high = RANGES.get(stored, (0, 7))
    stored_numbers = rng.integers(low, high, shape) / (4 if held.is_float else 1)
    inputs = shape[0] * shape[1 if "Backprop" in kind else 2] if "Group" in kind else shape[
        0 if "Backprop" in kind else 1]
    ones = (1,) * 2
    parts: list[Primitive] = [
        given("x", ANY, inputs, ANY, ANY),
        Constant("weights", value=stored_numbers.astype(held.numpy), element_type=held),
        Convert("wide", ("weights",), destination_type="f32"),
        constant("scale", rng.uniform(0.5, 1.5, per_channel).astype(np.float32))]
    if has_zeros:
        zeros = rng.integers(low, high, per_channel) if stored != "i8" else np.zeros(per_channel)
        parts += [constant("zero", zeros.astype(np.float32)), Eltwise("free", ("wide", "zero"), mode="Subtract")]
    parts += [Eltwise("scaled", ("free" if has_zeros else "wide", "scale"), mode="Multiply"),
              primitive("y", ("x", "scaled"), strides=ones, dilations=ones, pads_begin=ones, pads_end=ones)]
    return Topology(*parts, Eltwise("high", ("y",), mode="Relu"))


@pytest.mark.parametrize("name", FILTERS)
def test_filters_stay_narrow(engine: Engine, rng: np.random.Generator, name: str) -> None:
    """The scale is a fused operation, and each kernel gives what it gives of the decompressed filter."""
    topology = _convolution(rng, name)
    x = rng.standard_normal((2, topology["x"].shape[1], 7, 9)).astype(np.float32)

    def result(skipped: tuple[str, ...], kernel: str = "") -> tuple[Program, np.ndarray]:
        options = BuildOptions({"y": ("", kernel)} if kernel else {},
                               skipped_passes=frozenset({"transform_filters", *skipped}))
        program = compile_topology(engine, topology, OpenVinoShapeInference(), options)
        network = Network(program, engine.create_stream(), OpenVinoShapeInference())
        return program, execute(network, [x])[0]

    _, expected = result(("keep_filters_compressed",))
    program, found = result(())
    node, = (node for node in program.nodes if node.primitive.id == "y")
    assert {program.tensors[node.inputs[1]].layout.element_type.name} == {FILTERS[name][-1]}
    assert not any(isinstance(node.primitive, Eltwise) for node in program.nodes)
    assert_close(found, expected, 1e-4, name)
    for kernel in candidates_of(program, "y"):
        try:
            assert_close(result((), kernel)[1], expected, 1e-4, kernel)
        except ClinferError as error:
            if not is_unsupported(error):
                raise


def test_filters_that_stay_decompressed_say_why(engine: Engine, rng: np.random.Generator) -> None:
    within = [constant("scale", np.full((18, 21, 1, 1), 0.5, np.float32)) if p.id == "scale" else p
              for p in _convolution(rng, "bytes")]
    graph = graph_after(engine, Topology(*within), (infer_layouts, keep_filters_compressed))
    (_, reason), = graph.history.unfused["y"]
    assert reason == ("its compressed weights become f32 when the program is built: scales or zero points differ "
                      "within an output channel")


REASONS = {"scale-along-k": "differ within a group", "scale-of-integers": "no constant of floats",
           "computed-scale": "no constant of floats", "computed-zero": "zero point is computed", "other-type": "",
           "axes": "3 axes", "no-scale": "no scale", "twice": "Eltwise stands before",
           "reshape": "its Reshape does more"}


@pytest.mark.parametrize("reason", REASONS)
def test_other_chains_stay_and_say_why(engine: Engine, rng: np.random.Generator, reason: str) -> None:
    chain = _chain(rng, "u8", (ROWS, DEPTH), (ROWS, 1))
    if reason == "scale-along-k":
        chain = _chain(rng, "u8", (ROWS, DEPTH), (ROWS, DEPTH))
    elif reason == "scale-of-integers":
        chain = [p for p in chain if p.id != "scale"] + [
            _whole("small", rng, (1, 1), "i16"), Convert("scale", ("small",), destination_type="f16")]
    elif reason == "computed-scale":
        chain = [p for p in chain if p.id != "scale"] + [given("scale", ROWS, 1, kind="f16")]
    elif reason == "other-type":
        chain = [_whole("weights", rng, (ROWS, DEPTH), "i16") if p.id == "weights" else p for p in chain]
    elif reason == "computed-zero":
        chain = [given("zero", ROWS, 1, kind="u8") if p.id == "zero" else p
                 for p in _chain(rng, "u8", (ROWS, DEPTH), (ROWS, 1), (ROWS, 1))]
    elif reason == "no-scale":
        chain = [p for p in chain if p.id not in ("scale", "scaled")]
        chain = [replace(p, inputs=("wide",)) if p.id == "weights/read" else p for p in chain]
    elif reason == "twice":
        chain = [replace(p, inputs=("half", "scale")) if p.id == "scaled" else p for p in chain]
        chain.append(Eltwise("half", ("wide", "scale"), mode="Multiply"))
    elif reason == "reshape":
        chain = _chain(rng, "u8", (ROWS // 2, 2, DEPTH), (ROWS // 2, 2, 1))
    else:
        chain = [_whole("weights", rng, (2, ROWS, DEPTH), "u8") if p.id == "weights" else p for p in chain]
    graph = graph_after(engine, Topology(*chain), RUN)
    assert type(graph["y"].primitive) is MatMul
    notes = graph.history.unfused.get("y", ())
    assert [part for part, _ in notes] == (["weights/read"] if REASONS[reason] else [])
    assert all(REASONS[reason] in text for _, text in notes)


def test_weights_that_two_products_read_are_there_once(engine: Engine, rng: np.random.Generator) -> None:
    chain = _chain(rng, "u4", *CHAINS["groups"][1:4])
    graph = graph_after(engine, Topology(*chain, MatMul("z", ("x", "weights/read"), transpose_b=True)), RUN)
    assert graph["y"].inputs == graph["z"].inputs


def test_a_llama_of_4_bits(device: DeviceInfo, rng: np.random.Generator) -> None:
    """Every product but the two of attention reads 4 bits; those of query, key and value are one."""
    size = replace(llama.TINY, layers=1)
    model = llama.build(size=size)
    assert compress_weights(model, "i4", 32) == 8
    compiled = clinfer.Core().compile_model(model, device.name, {"INFERENCE_PRECISION_HINT": "f32"})
    request, oracle = compiled.create_infer_request(), CpuPlugin(model, DYNAMIC_QUANTIZATION_GROUP_SIZE="0")
    for shape in ((1, 1), (2, 33), (1, 7)):
        tokens = rng.integers(0, size.vocabulary, shape)
        for actual, expected in zip(request.infer([tokens]).values(), oracle([tokens]), strict=True):
            assert_close(actual, expected, 1e-4, str(shape))


@pytest.mark.parametrize("kind, group", [("u4", 32), ("i8", 0), ("nf4", 32), ("f4e2m1", 0)])
def test_a_model_with_compressed_weights(device: DeviceInfo, rng: np.random.Generator, kind: str, group: int) -> None:
    model = bert.build(size=replace(bert.TINY, layers=1, hidden=128))
    assert compress_weights(model, kind, group) == 7
    request = clinfer.Core().compile_model(model, device.name,
                                            {"INFERENCE_PRECISION_HINT": "f32"}).create_infer_request()
    oracle = CpuPlugin(model, DYNAMIC_QUANTIZATION_GROUP_SIZE="0")
    for shape in ((1, 17), (2, 3)):
        inputs = bert.random_tokens(shape, rng, bert.TINY.vocabulary)
        for actual, expected in zip(request.infer(inputs).values(), oracle(inputs), strict=True):
            assert_close(actual, expected, 1e-4, f"{kind} {shape}")
