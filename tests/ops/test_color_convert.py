"""Pictures from planes: shapes, rounding, and what the steps of PrePostProcessor become."""
from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from clinfer.base.errors import ClinferError
from clinfer.base.shape import UNBOUNDED, Dim, Shape
from clinfer.frontend.conversions import partial_shape_of, shape_of
from clinfer.frontend.openvino_import import openvino as ov
from clinfer.frontend.reader import to_topology
from clinfer.frontend.transformations import prepare
from clinfer.network.network import Network
from clinfer.network.plans.plan import Launch
from clinfer.ops.color_convert import ColorConvert
from clinfer.ops.interpolate import Interpolate
from clinfer.program.options import BuildOptions
from clinfer.runtime.engine import Engine
from tests.network.running import check, network_of
from tests.ops.case_runner import execute
from tests.oracle import CpuPlugin

from openvino.preprocess import ColorFormat, PrePostProcessor, ResizeAlgorithm  # isort: skip

op = ov.opset13
ROUNDS = 200
PLANES = {"NV12_SINGLE_PLANE": (), "NV12_TWO_PLANES": ("y", "uv"),
          "I420_SINGLE_PLANE": (), "I420_THREE_PLANES": ("y", "u", "v")}


def model_of(source: str, target: str, resize: bool = False) -> ov.Model:
    """A network over f32 NCHW behind what PrePostProcessor makes of a picture in another form, any size of it."""
    data = op.parameter([-1, 3, -1, -1], ov.Type.f32, name="picture")
    processor = PrePostProcessor(ov.Model([op.relu(data)], [data], "network"))
    tensor = processor.input().tensor().set_element_type(ov.Type.u8)
    if source in PLANES:
        tensor.set_color_format(getattr(ColorFormat, source), list(PLANES[source]))
    else:
        tensor.set_color_format(getattr(ColorFormat, source)).set_layout(ov.Layout("NHWC"))
    processor.input().model().set_layout(ov.Layout("NCHW"))
    steps = processor.input().preprocess().convert_color(getattr(ColorFormat, target)).convert_element_type(ov.Type.f32)
    if resize:
        steps.resize(ResizeAlgorithm.RESIZE_LINEAR, 10, 14)
    steps.mean([123.0, 116.0, 103.0]).scale([58.0, 57.0, 57.5])
    return processor.build()


def picture_of(ports: Sequence[ov.Output], batch: int, height: int, width: int,
               rng: np.random.Generator) -> list[np.ndarray]:
    """Random planes, or a picture, for inputs."""
    arrays = []
    for port in ports:
        name = port.get_any_name() if port.get_names() else port.get_node().get_friendly_name()
        channels = shape_of(port.get_partial_shape())[3]  # type: ignore[index]
        size = (height // 2, width // 2) if name.endswith(("/u", "/v", "/uv")) else (height, width)
        if len(ports) == 1 and channels == 1:
            size = (height * 3 // 2, width)
        arrays.append(rng.integers(0, 256, (batch, *size, channels), dtype=np.uint8))
    return arrays


def _random_planes(rng: np.random.Generator, *shapes: tuple[int, ...]) -> list[np.ndarray]:
    return [rng.integers(0, 256, shape, dtype=np.uint8) for shape in shapes]


def launches(network: Network) -> int:
    """Of the plans that ran last."""
    return sum(isinstance(step, Launch) for plan in network._ready.current if plan is not None for step in plan.steps)


@pytest.mark.parametrize("target", ["RGB", "BGR"])
@pytest.mark.parametrize("source", [*PLANES, "RGB", "BGR", "RGBX", "BGRX"])
def test_preprocessing_of_pictures(engine: Engine, source: str, target: str, rng: np.random.Generator) -> None:
    model = model_of(source, target, resize=source == "NV12_TWO_PLANES")
    network, oracle = network_of(engine, to_topology(prepare(model)).topology), CpuPlugin(model)
    for batch, height, width in ((2, 6, 10), (1, 2, 2), (3, 4, 70), (1, 8, 6)):
        check(network, oracle, picture_of(model.inputs, batch, height, width, rng))


@pytest.mark.parametrize("source", ["NV12_TWO_PLANES", "RGB"])
def test_pictures_are_resized_plane_by_plane(engine: Engine, source: str, rng: np.random.Generator) -> None:
    model = model_of(source, "RGB", resize=True)
    topology, counts = to_topology(prepare(model)).topology, []
    for skipped in ((), ("move_transpose_ahead",)):
        network = network_of(engine, topology, BuildOptions(skipped_passes=frozenset(skipped)))
        check(network, CpuPlugin(model), picture_of(model.inputs, 2, 6, 10, rng))
        resize, = (node for node in network.program.nodes if isinstance(node.primitive, Interpolate))
        assert ("interpolate_ref" in {x.name for x in resize.implementations}) == bool(skipped)
        counts.append(launches(network))
    assert counts[0] == (2 if source in PLANES else 3) <= counts[1]


def test_all_steps_without_resize_are_one_kernel(engine: Engine, rng: np.random.Generator) -> None:
    model = model_of("NV12_TWO_PLANES", "BGR")
    topology = to_topology(prepare(model)).topology
    counts = []
    for skipped in ((), ("fuse_conversion",), ("fuse_conversion", "read_parts", "fuse_eltwise")):
        network = network_of(engine, topology, BuildOptions(skipped_passes=frozenset(skipped)))
        check(network, CpuPlugin(model), picture_of(model.inputs, 2, 6, 10, rng))
        counts.append(launches(network))
    assert counts[0] == 1 < counts[1] < counts[2]


@pytest.mark.parametrize("source", PLANES)
@pytest.mark.parametrize("kernel", ["color_convert_planar_rows", "color_convert_rows", "color_convert_ref"])
def test_kernels_apply_fused_operations(engine: Engine, source: str, kernel: str, rng: np.random.Generator) -> None:
    if kernel.endswith("rows") and engine.capabilities.device_type != "CPU":
        pytest.skip("made for CPUs")
    for sizes in ((2, 6, 34), (1, 2, 16)):
        model, read = with_epilogue(source, *sizes, is_planar=kernel != "color_convert_rows")
        topology = to_topology(model).topology
        node, = (primitive.id for primitive in topology if isinstance(primitive, ColorConvert))
        network = network_of(engine, topology, BuildOptions({node: ("", kernel)}))
        planes = picture_of(model.inputs[:-len(read)], *sizes, rng)
        check(network, CpuPlugin(model), [*planes, *(rng.random(shape, np.float32) for shape in read)])
        assert launches(network) == 1


@pytest.mark.parametrize("kernel", ["color_convert_planar_rows", "color_convert_rows", "color_convert_ref"])
def test_fused_operations_round_to_halves(engine: Engine, kernel: str, rng: np.random.Generator) -> None:
    if kernel.endswith("rows") and engine.capabilities.device_type != "CPU":
        pytest.skip("made for CPUs")
    planes = [op.parameter(shape, ov.Type.u8) for shape in ([2, 6, 34, 1], [2, 3, 17, 2])]
    pixels = op.convert(op.nv12_to_rgb(*planes), "f32")
    if kernel != "color_convert_rows":
        pixels = op.transpose(pixels, np.array([0, 3, 1, 2]))
    halves = op.convert(op.convert(op.multiply(pixels, np.float32(0.01)), "f16"), "f32")
    model = ov.Model([op.multiply(halves, np.float32(3))], planes, "halves")
    topology = to_topology(model).topology
    node, = (primitive.id for primitive in topology if isinstance(primitive, ColorConvert))
    network = network_of(engine, topology, BuildOptions({node: ("", kernel)}))
    check(network, CpuPlugin(model), _random_planes(rng, (2, 6, 34, 1), (2, 3, 17, 2)), 1e-3)
    assert launches(network) == 1


def with_epilogue(source: str, batch: int, height: int, width: int,
                  is_planar: bool = True) -> tuple[ov.Model, list[list[int]]]:
    """A conversion with element-wise operations behind it, and the shapes of the other tensors that they read: that of
    the result (of planes), or one number for each row, and one for each picture."""
    small = [batch, height // 2, width // 2, 2 if source.startswith("NV12") else 1]
    last = len(PLANES[source]) - 1
    shapes = [[batch, height, width, 1], *[small] * last] if last > 0 else [[batch, height * 3 // 2, width, 1]]
    planes = [op.parameter(shape, ov.Type.u8, name=name)
              for shape, name in zip(shapes, ("/y", *(f"/{name}" for name in PLANES[source][1:])), strict=True)]
    read = [[batch, 3, height, width] if is_planar else [batch, height, 1, 3], [batch, 1, 1, 1]]
    others = [op.parameter(shape, ov.Type.f32) for shape in read]
    convert = op.nv12_to_bgr if source.startswith("NV12") else op.i420_to_bgr
    pixels = op.convert(convert(*planes), "f32")
    if is_planar:
        pixels = op.transpose(pixels, np.array([0, 3, 1, 2]))
    scaled = op.multiply(pixels, np.array([2, 3, 5], np.float32).reshape((1, 3, 1, 1) if is_planar else (1, 1, 1, 3)))
    return ov.Model([op.subtract(op.add(others[0], scaled), others[1])], [*planes, *others], "fused_ops"), read


def test_what_others_read_is_rounded_and_stays(engine: Engine, rng: np.random.Generator) -> None:
    planes = [op.parameter([-1, -1, -1, n], ov.Type.u8, name=f"p{n}") for n in (1, 2)]
    colors = op.nv12_to_rgb(*planes)
    model = ov.Model([colors, op.multiply(op.convert(colors, "f32"), np.float32(3))], planes, "two readers")
    network = network_of(engine, model)
    check(network, CpuPlugin(model), _random_planes(rng, (1, 4, 6, 1), (1, 2, 3, 2)))


def test_every_level_is_openvinos(engine: Engine, rng: np.random.Generator) -> None:
    planes = [op.parameter(shape, ov.Type.u8) for shape in ([1, 512, 512, 1], [1, 256, 256, 2])]
    model = ov.Model([op.nv12_to_bgr(*planes)], planes, "levels")
    check(network_of(engine, model), CpuPlugin(model), _random_planes(rng, (1, 512, 512, 1), (1, 256, 256, 2)))


def _random_shape(rng: np.random.Generator, sizes: Sequence[int], wrong: float) -> Shape:
    """The sizes, some of them (`wrong`) not what they should be, some open, some bounded."""
    shape: list[int | Dim] = []
    for size in sizes:
        actual = max(size + (int(rng.integers(-1, 2)) if rng.random() < wrong else 0), 0)
        choice = rng.random()
        low = max(actual - int(rng.integers(0, 4)), 0)
        shape.append(actual if choice < 0.6 else Dim() if choice < 0.8 else Dim(low, actual + int(rng.integers(0, 4))))
    return tuple(shape)


@pytest.mark.parametrize("source", PLANES)
def test_shapes_are_openvinos(source: str, rng: np.random.Generator) -> None:
    kind, create = (("nv12", op.nv12_to_rgb) if source.startswith("NV12") else ("i420", op.i420_to_rgb))
    accepted = refused = 0
    for _ in range(ROUNDS):
        batch, height, width = int(rng.integers(0, 4)), 2 * int(rng.integers(0, 5)), 2 * int(rng.integers(0, 5))
        last = 2 if source == "NV12_TWO_PLANES" else 1
        planes = max(len(PLANES[source]), 1)
        whole = (batch, height * 3 // 2 if planes == 1 else height, width, 1)
        wrong = float(rng.choice([0, 0.2]))
        shapes = tuple(_random_shape(rng, sizes, wrong) for sizes in (
            whole, *[(batch, height // 2, width // 2, last)] * (planes - 1)))
        what = f"{[str(partial_shape_of(s)) for s in shapes]}"
        try:
            node = create(*(op.parameter(partial_shape_of(s), ov.Type.u8) for s in shapes))
            expected = shape_of(node.output(0).get_partial_shape())
        except RuntimeError:
            expected = None
        try:
            found, = ColorConvert("c", tuple("abc"[:planes]), source=kind).infer_shapes(shapes, {})
        except ClinferError:
            assert expected is None, what
            refused += 1
            continue
        accepted += 1
        if all(isinstance(size, int) for shape in shapes for size in shape):
            assert found == expected, what
        elif expected is not None:
            assert found is not None and all(_overlap(a, b) for a, b in zip(found, expected, strict=True)), what
    assert accepted > ROUNDS // 4 and refused > ROUNDS // 50


def _overlap(one: int | Dim, other: int | Dim) -> bool:
    (a, b), (c, d) = ((x.low, x.high) if isinstance(x, Dim) else (x, x) for x in (one, other))
    return a <= min(d, UNBOUNDED) and c <= min(b, UNBOUNDED)


def test_planes_that_do_not_fit_are_refused_before_they_run(engine: Engine) -> None:
    planes = [op.parameter([-1, -1, -1, n], ov.Type.u8, name=f"p{n}") for n in (1, 2)]
    network = network_of(engine, ov.Model([op.nv12_to_rgb(*planes)], planes, "open"))
    for luma, chroma in (((1, 5, 4, 1), (1, 2, 2, 2)), ((1, 4, 5, 1), (1, 2, 2, 2)), ((2, 4, 4, 1), (1, 2, 2, 2)),
                         ((1, 4, 4, 1), (1, 4, 4, 2))):
        with pytest.raises(ClinferError, match="planes do not fit together"):
            execute(network, [np.zeros(luma, np.uint8), np.zeros(chroma, np.uint8)])
