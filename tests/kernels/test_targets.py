"""Which kernels are chosen on GPUs of each kind, told by their capabilities alone."""
from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from clinfer.base.element_type import ElementType
from clinfer.base.layout import Layout
from clinfer.base.quantisation import Quantisation
from clinfer.base.shape import ANY, Dim, Shape
from clinfer.kernels.contract import Problem
from clinfer.kernels.implementation import generate
from clinfer.kernels.selector import Selection, cheapest, is_able, select
from clinfer.ops import kernels_of
from clinfer.ops.concat import Concat
from clinfer.ops.convolution import Convolution, GroupConvolution
from clinfer.ops.eltwise import Eltwise
from clinfer.ops.matmul import MatMul
from clinfer.ops.mvn import MVN
from clinfer.ops.recurrent import Recurrence
from clinfer.ops.reduce import Reduce
from clinfer.ops.sdpa import ScaledDotProductAttention
from clinfer.ops.softmax import Softmax
from clinfer.runtime.capabilities import Capabilities
from clinfer.runtime.ceilings import default_ceilings
from clinfer.runtime.engine import Engine
from clinfer.topology import Primitive
from tests.kernels.gpus import KINDS, gpu_of


class Axes(list[int]):
    """An input whose values the host knows."""


POINT = {"strides": (1, 1), "dilations": (1, 1), "pads_begin": (0, 0), "pads_end": (0, 0)}
SQUARE = {**POINT, "pads_begin": (1, 1), "pads_end": (1, 1)}
CUBE = {"strides": (1,) * 3, "dilations": (1,) * 3, "pads_begin": (1,) * 3, "pads_end": (1,) * 3}


@pytest.fixture
def gpu(engine: Engine, request: pytest.FixtureRequest) -> Capabilities:
    """The capabilities of a GPU of a kind."""
    return gpu_of(request.param, engine.capabilities)


def _chosen(gpu: Capabilities, primitive: Primitive, kind: str, *given: Shape | Axes) -> Selection:
    """What is chosen for such inputs."""
    problem = _problem(gpu, primitive, kind, *given)
    return select(kernels_of(primitive), problem)


def _problem(gpu: Capabilities, primitive: Primitive, kind: str, *given: Shape | Axes) -> Problem:
    """Inputs of these shapes, all of one type or of one each, and axes; outputs have the first type."""
    kinds = [ElementType.of(name) for name in kind.split()]
    values = {i: np.array(x) for i, x in enumerate(given) if isinstance(x, Axes)}
    shapes = tuple((len(x),) if isinstance(x, Axes) else x for x in given)
    inputs = tuple(map(Layout.planar, shapes, kinds if len(kinds) > 1 else kinds * len(shapes)))
    found = primitive.infer_shapes(shapes, values)
    assert found is not None
    outputs = tuple(Layout.planar(shape, kinds[0]) for shape in found if shape is not None)
    return kernels_of(primitive).problem(primitive, inputs, outputs, gpu, values)


def _names(selection: Selection) -> list[str]:
    return [candidate.name for candidate in selection.candidates]


MATRIX = ((1, 12, 128, 64),) * 3
EXPECTED = {
    "one row, f16": (MatMul("p", ("x", "w")), "f16", ((1, 1024), (1024, 1024)),
                     {"nvidia": "matmul_mma_32x32", "": "matmul_rows_1"}),
    "one row, weights of 4 bits": (MatMul("p", ("x", "w", "scale"), transpose_b=True, quantisation=Quantisation(2)),
                                   "f16 i4 f16", ((1, 2048), (2048, 2048), (32, 2048)),
                                   {"nvidia": "matmul_few_8", "": "matmul_rows_1"}),
    "few rows along k, f16": (MatMul("p", ("x", "w"), transpose_b=True), "f16", ((5, 2048), (8192, 2048)),
                              {"nvidia": "matmul_few_8", "": "matmul_rows_4"}),
    "some rows, f16": (MatMul("p", ("x", "w")), "f16", ((16, 1024), (1024, 1024)),
                       {"nvidia": "matmul_mma_32x32", "": "matmul_rows_4"}),
    "many rows, f16": (MatMul("p", ("x", "w")), "f16", ((4096, 4096), (4096, 4096)),
                       {"hopper": "matmul_tma_128x256", "nvidia": "matmul_mma_128x128", "arm": "matmul_rows_4",
                        "": "matmul_local_64"}),
    "few tiles of a long sum, f16": (MatMul("p", ("x", "w")), "f16", ((197, 3072), (3072, 768)),
                                     {"hopper": "matmul_tma_64x64_shared", "nvidia": "matmul_mma_32x32",
                                      "arm": "matmul_rows_4", "": "matmul_local_64"}),
    "odd sizes, f16": (MatMul("p", ("x", "w")), "f16", ((64, 1001), (1001, 999)),
                       {"nvidia": "matmul_mma_anywhere", "arm": "matmul_rows_4", "": "matmul_local_32"}),
    "many rows, f32": (MatMul("p", ("x", "w")), "f32", ((4096, 4096), (4096, 4096)),
                       {"arm": "matmul_rows_4", "": "matmul_local_64"}),
    "attention, f16": (ScaledDotProductAttention("p", ("q", "k", "v")), "f16", MATRIX,
                       {"hopper": "sdpa_wgmma", "nvidia": "sdpa_mma", "arm": "sdpa_ref", "": "sdpa_local"}),
    "attention, f32": (ScaledDotProductAttention("p", ("q", "k", "v")), "f32", MATRIX,
                       {"arm": "sdpa_ref", "": "sdpa_local"}),
    "convolution, f16": (Convolution("p", ("x", "w"), **SQUARE), "f16", ((8, 64, 56, 56), (64, 64, 3, 3)),
                         {"hopper": "convolution_tma_128x64", "nvidia": "convolution_mma_64x64",
                          "arm": "convolution_ref", "": "convolution_local_64"}),
    "few pixels of many channels, f16": (Convolution("p", ("x", "w"), **SQUARE), "f16",
                                         ((1, 512, 7, 7), (512, 512, 3, 3)),
                                         {"hopper": "convolution_tma_64x64_shared", "nvidia": "convolution_mma_32x32",
                                          "arm": "convolution_ref", "": "convolution_local_32"}),
    "first convolution, f16": (Convolution("p", ("x", "w"), strides=(2, 2), dilations=(1, 1), pads_begin=(3, 3),
                                           pads_end=(3, 3)), "f16", ((8, 3, 224, 224), (64, 3, 7, 7)),
                               {"nvidia": "convolution_mma_rows_1", "arm": "convolution_ref",
                                "": "convolution_local_64"}),
    "volumes, f16": (Convolution("p", ("x", "w"), **CUBE), "f16", ((1, 64, 16, 56, 56), (64, 64, 3, 3, 3)),
                     {"hopper": "convolution_wgmma_64x64", "nvidia": "convolution_mma_64x64",
                      "arm": "convolution_ref", "": "convolution_local_64"}),
    "groups, f16": (GroupConvolution("p", ("x", "w"), **SQUARE), "f16", ((1, 128, 56, 56), (4, 32, 32, 3, 3)),
                    {"nvidia": "convolution_mma_32x32", "arm": "convolution_ref", "": "convolution_local_32"}),
    "depthwise, f16": (GroupConvolution("p", ("x", "w"), **SQUARE), "f16", ((1, 144, 56, 56), (144, 1, 1, 3, 3)),
                       {"nvidia": "convolution_depthwise_1", "arm": "convolution_depthwise_4",
                        "": "convolution_depthwise_2"}),
    "depthwise of many, f16": (GroupConvolution("p", ("x", "w"), **SQUARE), "f16",
                               ((16, 144, 56, 56), (144, 1, 1, 3, 3)), {"": "convolution_depthwise_4"}),
    "one pixel, f16": (Convolution("p", ("x", "w"), **POINT), "f16", ((1, 20, 1, 1), (480, 20, 1, 1)),
                       {"": "convolution_one_pixel"}),
    "one query, f16": (ScaledDotProductAttention("p", ("q", "k", "v")), "f16",
                       ((1, 12, 1, 64), (1, 12, 512, 64), (1, 12, 512, 64)),
                       {"arm": "sdpa_ref", "": "sdpa_split_1", "nvidia": "sdpa_split_1_aligned"}),
    "one query of grouped heads, f16": (ScaledDotProductAttention("p", ("q", "k", "v"), groups=4), "f16",
                                        ((1, 32, 1, 64), (1, 8, 2048, 64), (1, 8, 2048, 64)),
                                        {"arm": "sdpa_ref", "": "sdpa_split_4", "nvidia": "sdpa_split_4_aligned"}),
    "many rows, bf16": (MatMul("p", ("x", "w")), "bf16", ((512, 1024), (1024, 1024)),
                        {"arm": "matmul_rows_4", "": "matmul_local_64"}),
    "convolution, bf16": (Convolution("p", ("x", "w"), **SQUARE), "bf16", ((8, 64, 56, 56), (64, 64, 3, 3)),
                          {"arm": "convolution_ref", "": "convolution_local_64"}),
    "product of bytes": (MatMul("p", ("x", "w", "scale", "grid", "start"), quantisation=Quantisation(2), data_grid=3),
                         "f16 i8 f32 f32 i32", ((64, 1024), (1024, 1024), (1, 1024), (1, 3), (1, 1024)),
                         {"arm": "matmul_rows_4", "": "matmul_local_32"}),
    "LSTM": (Recurrence("p", ("x", "r", "b", "h", "c", "n"), cell="lstm", hidden_size=256,
                        activations=("sigmoid", "tanh", "tanh")), "f32 f32 f32 f32 f32 i32",
             ((4, 50, 1024), (1, 256, 4, 256), (1, 1024), (4, 1, 256), (4, 1, 256), (4,)), {"": "recurrent_ref"}),
    "softmax of rows, f16": (Softmax("p", ("x",), axis=3), "f16", ((1, 12, 128, 128),), {"": "softmax_rows"}),
    "softmax of channels, f16": (Softmax("p", ("x",)), "f16", ((1, 1000, 8, 8),), {"": "softmax_columns"}),
    "layer norm, f16": (MVN("p", ("x", "axes")), "f16 i64", ((1, 128, 768), Axes([2])), {"": "mvn_held"}),
    "layer norm of a row, f16": (MVN("p", ("x", "axes")), "f16 i64", ((1, 1, 2048), Axes([2])), {"": "mvn_wide"}),
    "mean of pixels, f16": (Reduce("p", ("x", "axes"), mode="Mean"), "f16 i64", ((8, 64, 56, 56), Axes([2, 3])),
                            {"": "reduce_rows"}),
    "sum of columns, f32": (Reduce("p", ("x", "axes")), "f32 i64", ((4096, 512), Axes([0])),
                            {"arm": "reduce_columns", "": "reduce_columns_shared_4"}),
    "mean of pixels, channels last, f16": (Reduce("p", ("x", "axes"), mode="Mean"), "f16 i64",
                                           ((1, 14, 14, 480), Axes([1, 2])),
                                           {"arm": "reduce_columns", "": "reduce_columns_shared_4"}),
    "mean of many pixels, channels last, f16": (Reduce("p", ("x", "axes"), mode="Mean"), "f16 i64",
                                                ((1, 112, 112, 32), Axes([1, 2])),
                                                {"arm": "reduce_columns", "": "reduce_columns_shared_4_sliced"}),
    "largest of odd columns, f16": (Reduce("p", ("x", "axes"), mode="Max"), "f16 i64", ((7, 7, 777), Axes([0, 1])),
                                    {"arm": "reduce_columns", "": "reduce_columns_shared_1"}),
    "sum of pairs, f32": (Reduce("p", ("x", "axes")), "f32 i64", ((64, 2, 65536), Axes([1])), {"": "reduce_columns"}),
    "joined channels, f16": (Concat("p", ("x", "y", "z"), axis=3), "f16", ((1, 56, 56, 64), *((1, 56, 56, 32),) * 2),
                             {"": "concat_joined"}),
    "joined pictures, f16": (Concat("p", ("x", "y")), "f16", ((1, 64, 7, 7), (1, 64, 7, 7)), {"": "concat_joined"}),
    "sum": (Eltwise("p", ("x", "y")), "f16", ((8, 64, 56, 56), (8, 64, 56, 56)), {"": "eltwise_vector"}),
}


@pytest.mark.parametrize("gpu", KINDS, indirect=True)
@pytest.mark.parametrize("name", EXPECTED)
def test_chosen_kernels(gpu: Capabilities, request: pytest.FixtureRequest, name: str) -> None:
    primitive, kind, shapes, expected = EXPECTED[name]
    gpu_kind = request.node.callspec.params["gpu"]
    alike = [gpu_kind, *(["nvidia"] if gpu_kind == "hopper" else []), ""]
    assert _names(_chosen(gpu, primitive, kind, *shapes)) == [next(expected[k] for k in alike if k in expected)]


@pytest.mark.parametrize("gpu", KINDS, indirect=True)
def test_no_gpu_gets_kernels_made_for_cpus(gpu: Capabilities) -> None:
    cpu = replace(gpu, device_type="CPU", bf16_products=True)
    for primitive, kind, shapes, _ in EXPECTED.values():
        found = dict(_chosen(gpu, primitive, kind, *shapes).rejected)
        refused = tuple(name for name, reason in found.items() if reason == "made for CPUs")
        assert all(any(name.startswith(kernel.name) for name in refused) for kernel in kernels_of(primitive).kernels
                   if kernel.targets(gpu) is not None and kernel.targets(cpu) is None)


def _may_be_open(primitive: Primitive, number: int, axis: int) -> bool:
    """Compressed weights are constants, and heads that share keys are counted when a model is read."""
    if getattr(primitive, "quantisation", None) is not None:
        return number == 0
    return getattr(primitive, "groups", 1) == 1 or axis != 1


@pytest.mark.parametrize("gpu", KINDS, indirect=True)
@pytest.mark.parametrize("name", EXPECTED)
def test_every_kernel_can_be_written_for_open_sizes(gpu: Capabilities, name: str) -> None:
    """Those of the first input, of all inputs, or of all but their last axis: what a kernel is not able to do it must
    say."""
    primitive, kind, shapes, _ = EXPECTED[name]
    written = 0
    for inputs, axes in ((1, 0), (len(shapes), 0), (len(shapes), 1)):
        given = [x if isinstance(x, Axes) or number >= inputs else tuple(
            ANY if axis < len(x) - axes and _may_be_open(primitive, number, axis) else size
            for axis, size in enumerate(x)) for number, x in enumerate(shapes)]
        problem = _problem(gpu, primitive, kind, *given)
        for candidate in kernels_of(primitive).candidates(problem):
            wanted = candidate.in_own_formats(problem)
            if is_able(candidate, wanted):
                written += len(generate(candidate, wanted).stages)
    assert written


def _open_rows(capabilities: Capabilities, kind: str) -> Selection:
    """A product with 1 to 4096 rows, and samples of some of them."""
    primitive, element_type = MatMul("p", ("x", "w")), ElementType.of(kind)
    table = kernels_of(primitive)

    def problem(rows: int | Dim) -> Problem:
        given = tuple(Layout.planar(shape, element_type) for shape in ((rows, 768), (768, 3072), (rows, 3072)))
        return table.problem(primitive, given[:2], given[2:], capabilities)
    return select(table, problem(Dim(1, 4096)), samples=[problem(rows) for rows in (64, 1, 8, 500)])


@pytest.mark.parametrize("gpu", ["nvidia"], indirect=True)
def test_rows_get_their_own_kernels_on_a_gpu(gpu: Capabilities) -> None:
    selection = _open_rows(gpu, "f16")
    assert {_for_rows(selection, rows) for rows in (1, 64)} == {"matmul_mma_32x32"}
    assert _for_rows(selection, 4096) != "matmul_mma_32x32"


@pytest.mark.parametrize("vector_floats, abilities, wanted", [
    (16, {"bf16_products"}, {1: "matmul_tile_1", 8: "matmul_tile_8", 504: "matmul_f32_13"}),
    (16, {"float_products"}, {1: "matmul_tile_1", 8: "matmul_tile_8", 504: "matmul_tile_8"}),
    (8, {"float_products"}, {1: "matmul_tile_1", 8: "matmul_f32_4", 504: "matmul_f32_6"}),
    (8, set(), {1: "matmul_tile_1", 8: "matmul_tile_4x1", 504: "matmul_tile_6x1"}),
    (4, set(), {1: "matmul_tile_1", 8: "matmul_tile_4x1", 504: "matmul_tile_6x1"})])
def test_rows_get_their_own_kernels_on_a_cpu(engine: Engine, vector_floats: int, abilities: set[str],
                                             wanted: dict[int, str]) -> None:
    if engine.device.type != "CPU":
        pytest.skip("made for CPUs")
    capabilities = replace(engine.capabilities, compute_units=2, vector_floats=vector_floats,
                           bf16_products="bf16_products" in abilities, float_products="float_products" in abilities,
                           ceilings=default_ceilings("CPU", 2))
    selection = _open_rows(capabilities, "f32")
    assert {rows: _for_rows(selection, rows) for rows in wanted} == wanted
    assert len(selection.candidates) <= 3, "what is hardly faster is not built"


@pytest.mark.parametrize("vector_floats, wanted", [(16, {"matmul_tile_14", "matmul_tile_8"}), (8, {"matmul_tile_6x1"})])
def test_tiles_of_few_rows_pack_nothing_on_a_cpu(engine: Engine, vector_floats: int, wanted: set[str]) -> None:
    primitive, element_type = MatMul("p", ("x", "w")), ElementType.of("f32")
    given = tuple(Layout.planar(shape, element_type) for shape in ((3, 64, 64), (3, 64, 64), (3, 64, 64)))
    table = kernels_of(primitive)
    problem = table.problem(primitive, given[:2], given[2:], replace(engine.capabilities, vector_floats=vector_floats))
    assert {each.name for each in table.candidates(problem) if each.name.startswith("matmul_tile")} == wanted


@pytest.mark.parametrize("queries, float_products, wanted", [
    (1, True, "sdpa_rows_1"), (512, True, "sdpa_f32_4"), (512, False, "sdpa_tiles")])
def test_one_query_reads_keys_where_they_lie_on_a_cpu(engine: Engine, queries: int, float_products: bool,
                                                      wanted: str) -> None:
    if engine.device.type != "CPU":
        pytest.skip("made for CPUs")
    capabilities = replace(engine.capabilities, compute_units=2, vector_floats=8, bf16_products=False,
                           float_products=float_products, ceilings=default_ceilings("CPU", 2))
    attention = ScaledDotProductAttention("p", ("q", "k", "v"))
    for keys in (16, 512, 4096):
        shapes = ((1, 12, queries, 64), (1, 12, keys, 64), (1, 12, keys, 64))
        assert _names(_chosen(capabilities, attention, "f32", *shapes)) == [wanted]


def _for_rows(selection: Selection, rows: int) -> str:
    """What a plan launches for so many rows."""
    problem = selection.problem
    (left, right), (output,) = problem.inputs, problem.outputs
    static = replace(problem, inputs=(left.with_shape((rows, 768)), right), outputs=(output.with_shape((rows, 3072)),))
    return selection.candidates[cheapest(selection.candidates, static)].name
