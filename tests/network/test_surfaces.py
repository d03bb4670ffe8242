"""Inputs whose memory is images: conversions of colours read the planes where they lie."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyopencl as cl
import pytest

from clinfer.base.element_type import ElementType
from clinfer.base.errors import ClinferError
from clinfer.base.layout import Layout
from clinfer.frontend.openvino_import import openvino as ov
from clinfer.frontend.reader import to_topology
from clinfer.frontend.transformations import prepare
from clinfer.network.network import Network
from clinfer.runtime.engine import Engine
from clinfer.runtime.memory import Allocation, Memory, NativeImage
from clinfer.runtime.pictures import Pictures
from clinfer.runtime.stream import Stream
from clinfer.topology import Input, Topology
from tests.network.running import network_of
from tests.ops.test_color_convert import launches, with_epilogue
from tests.oracle import CpuPlugin, assert_close

from openvino.preprocess import ColorFormat, PrePostProcessor  # isort: skip

op = ov.opset13
PLANES = {"NV12_TWO_PLANES": ("y", "uv"), "I420_THREE_PLANES": ("y", "u", "v")}
KINDS = (cl.channel_type.UNSIGNED_INT8, cl.channel_type.UNORM_INT8)
U8 = ElementType.of("u8")


def surface_model(source: str, shape: Sequence[int], memory_type: str = "GPU_SURFACE") -> ov.Model:
    """A network over f32 NCHW, of this shape, behind the conversion of pictures of another form."""
    data = op.parameter(list(shape), ov.Type.f32, name="picture")
    processor = PrePostProcessor(ov.Model([op.relu(data)], [data], "network"))
    tensor = processor.input().tensor().set_element_type(ov.Type.u8)
    tensor.set_color_format(getattr(ColorFormat, source), list(PLANES[source]))
    if memory_type:
        tensor.set_memory_type(memory_type)
    processor.input().model().set_layout(ov.Layout("NCHW"))
    steps = processor.input().preprocess().convert_color(ColorFormat.RGB).convert_element_type(ov.Type.f32)
    steps.mean([123.0, 116.0, 103.0]).scale([58.0, 57.0, 57.5])
    return processor.build()


def planes_of(source: str, batch: int, height: int, width: int, rng: np.random.Generator) -> list[np.ndarray]:
    """Random planes of pictures."""
    small = (batch, height // 2, width // 2, 2 if source == "NV12_TWO_PLANES" else 1)
    shapes = [(batch, height, width, 1), *[small] * (len(PLANES[source]) - 1)]
    return [rng.integers(0, 256, shape, dtype=np.uint8) for shape in shapes]


def image_of(engine: Engine, plane: np.ndarray, kind: int) -> Memory:
    """A plane [h, w, channels] as an image that somebody else owns."""
    height, width, channels = plane.shape
    order = cl.channel_order.R if channels == 1 else cl.channel_order.RG
    image = cl.create_image(engine.cl_context, cl.mem_flags.READ_ONLY | cl.mem_flags.COPY_HOST_PTR,
                            cl.ImageFormat(order, kind), (width, height), hostbuf=plane)
    return Memory(engine, Allocation(NativeImage(image), plane.nbytes), Layout.planar((1, *plane.shape), U8))


def give_images(network: Network, planes: Sequence[np.ndarray], kind: int = KINDS[0]) -> list[Memory]:
    """Set the inputs of a network, an image for each plane of each picture; the images."""
    engine, made = network.program.engine, []
    for name, plane in zip(network.program.inputs, planes, strict=False):
        images = [image_of(engine, np.ascontiguousarray(picture), kind) for picture in plane]
        memory = images[0] if len(images) == 1 else Pictures(images, Layout.planar(plane.shape, U8))
        network.set_input(name, memory, plane.shape)
        made += images
    return made


def surface_network(engine: Engine, source: str, shape: Sequence[int] = (-1, 3, -1, -1)) -> Network:
    if engine.capabilities.image_channels < (2 if source == "NV12_TWO_PLANES" else 1):
        pytest.skip("the device has no such images")
    return network_of(engine, to_topology(prepare(surface_model(source, shape))).topology)


def result_of(network: Network) -> np.ndarray:
    output, = network.execute().values()
    return output.to_numpy()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("source", PLANES)
def test_planes_are_read_where_they_lie(engine: Engine, source: str, kind: int, rng: np.random.Generator) -> None:
    network, oracle = surface_network(engine, source), CpuPlugin(surface_model(source, (-1, 3, -1, -1), ""))
    for batch, height, width in ((1, 4, 6), (1, 2, 130), (3, 6, 4), (1, 6, 4), (2, 6, 4), (16, 2, 2)):
        planes = planes_of(source, batch, height, width, rng)
        give_images(network, planes, kind)
        assert_close(result_of(network), oracle(planes)[0], 1e-5, f"{batch} pictures, {height} x {width}")


def test_images_have_fused_operations(engine: Engine, rng: np.random.Generator) -> None:
    source, sizes = "I420_THREE_PLANES", (2, 4, 6)
    if not engine.capabilities.image_channels:
        pytest.skip("the device has no images")
    model, read = with_epilogue(source, *sizes)
    topology = to_topology(model).topology
    changed = [replace(p, is_surface=True) if isinstance(p, Input) and p.element_type == U8 else p for p in topology]
    network = network_of(engine, Topology(*changed, outputs=topology.outputs))
    planes = planes_of(source, *sizes, rng)
    others = [rng.random(shape, np.float32) for shape in read]
    give_images(network, planes)
    for name, array in zip(list(network.program.inputs)[3:], others, strict=True):
        memory = engine.allocate_memory(Layout.planar(array.shape, ElementType.of("f32")))
        network.stream.write(memory, array, blocking=True)
        network.set_input(name, memory, array.shape)
    assert_close(result_of(network), CpuPlugin(model)([*planes, *others])[0], 1e-5)
    assert launches(network) == sizes[0]


def test_nothing_is_copied(engine: Engine, monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator) -> None:
    network = surface_network(engine, "I420_THREE_PLANES")
    oracle = CpuPlugin(surface_model("I420_THREE_PLANES", (-1, 3, -1, -1), ""))
    for _ in range(2):
        give_images(network, planes_of("I420_THREE_PLANES", 2, 4, 6, rng))
        network.execute()
    planes = planes_of("I420_THREE_PLANES", 2, 4, 6, rng)
    give_images(network, planes)
    moved: list[str] = []
    for name in ("copy", "copy_rows", "write", "fill"):
        monkeypatch.setattr(Stream, name, lambda *args, called=name, **more: moved.append(called))
    monkeypatch.setattr(Engine, "allocate_bytes", lambda *args, **more: moved.append("allocation"))
    launched: list[int] = []
    enqueue_all = Stream.enqueue_all
    monkeypatch.setattr(Stream, "enqueue_all", lambda stream, launches: (
        launched.append(len(launches)), enqueue_all(stream, launches))[1])
    network.execute()
    monkeypatch.undo()
    assert not moved and launched == [2]
    assert_close(result_of(network), oracle(planes)[0], 1e-5)


def test_a_static_batch_may_be_any(engine: Engine, rng: np.random.Generator) -> None:
    source, shape = "I420_THREE_PLANES", (20, 3, 4, 6)
    network, oracle = surface_network(engine, source, shape), CpuPlugin(surface_model(source, shape, ""))
    planes = planes_of(source, 20, 4, 6, rng)
    give_images(network, planes)
    assert_close(result_of(network), oracle(planes)[0], 1e-5)


def test_images_of_former_batches_are_let_go(engine: Engine, rng: np.random.Generator) -> None:
    network = surface_network(engine, "I420_THREE_PLANES")
    images = give_images(network, planes_of("I420_THREE_PLANES", 3, 4, 6, rng))
    network.execute()
    natives = [image.native.cl_image for image in images]  # type: ignore[union-attr]
    del images
    give_images(network, planes_of("I420_THREE_PLANES", 1, 4, 6, rng))
    network.execute()
    network.stream.finish()
    held = [bindings for kernel in network._bindings.kernels for bindings in kernel.held.values()
            if bindings.native_type == "image" and bindings.native.cl_image in natives]  # type: ignore[union-attr]
    assert not held


def test_too_many_pictures_for_an_open_batch(engine: Engine, rng: np.random.Generator) -> None:
    network = surface_network(engine, "I420_THREE_PLANES")
    give_images(network, planes_of("I420_THREE_PLANES", 17, 2, 2, rng))
    with pytest.raises(ClinferError, match="more pictures than there are kernels"):
        network.execute()


def test_images_and_buffers_are_not_taken_for_each_other(engine: Engine, rng: np.random.Generator) -> None:
    surfaces = surface_network(engine, "I420_THREE_PLANES")
    buffers = network_of(engine, to_topology(surface_model("I420_THREE_PLANES", (1, 3, 2, 2), "GPU_BUFFER")).topology)
    plane = rng.integers(0, 256, (2, 2, 1), dtype=np.uint8)
    image, buffer = image_of(engine, plane, KINDS[0]), engine.allocate_bytes(4)
    with pytest.raises(ClinferError, match="reads images and was given a buffer"):
        surfaces.set_input(next(iter(surfaces.program.inputs)), buffer, (1, 2, 2, 1))
    with pytest.raises(ClinferError, match="was given an image, but reads a buffer"):
        buffers.set_input(next(iter(buffers.program.inputs)), image, (1, 2, 2, 1))
    with pytest.raises(ClinferError, match="one image for each picture"):
        surfaces.set_input(next(iter(surfaces.program.inputs)), image, (2, 2, 2, 1))


def test_planes_that_do_not_fit_are_refused(engine: Engine, rng: np.random.Generator) -> None:
    network = surface_network(engine, "I420_THREE_PLANES")
    luma, u, v = planes_of("I420_THREE_PLANES", 1, 4, 6, rng)
    give_images(network, [luma, u, v[:, :1]])
    with pytest.raises(ClinferError, match="planes do not fit together"):
        network.execute()


def test_only_conversions_of_colours_read_images(engine: Engine) -> None:
    data = op.parameter([1, 4, 4, 1], ov.Type.u8, name="picture")
    processor = PrePostProcessor(ov.Model([op.convert(data, "f32")], [data], "network"))
    processor.input().tensor().set_memory_type("GPU_SURFACE")
    with pytest.raises(ClinferError, match="read by what reads no images"):
        network_of(engine, processor.build())


@pytest.mark.each_device
def test_a_device_without_such_images(engine: Engine) -> None:
    if engine.capabilities.image_channels == 2:
        pytest.skip("the device has all images")
    with pytest.raises(ClinferError, match="the device has no images of 2 channels"):
        network_of(engine, to_topology(prepare(surface_model("NV12_TWO_PLANES", (-1, 3, -1, -1)))).topology)


def test_an_unknown_type_of_memory() -> None:
    with pytest.raises(ClinferError, match="'VRAM' is not supported"):
        to_topology(surface_model("NV12_TWO_PLANES", (1, 3, 4, 4), "VRAM"))
