"""Video surfaces as inputs, alone and in batches, and batches of other tensors."""
from __future__ import annotations

import gc
from collections.abc import Sequence

import numpy as np
import pyopencl as cl
import pytest

from clinfer.api.compiled_model import CompiledModel
from clinfer.api.core import Core
from clinfer.api.infer_request import InferRequest
from clinfer.base.errors import ClinferError
from clinfer.frontend.openvino_import import openvino as ov
from clinfer.remote.context import ClContext
from clinfer.remote.tensors import ClBufferTensor, ClImage2DTensor, RemoteTensor
from tests.network.test_surfaces import KINDS, PLANES, planes_of, surface_model
from tests.oracle import CpuPlugin, assert_close
from tests.remote.pipelines import F32, User, assert_softmax, softmax_model

NV12, I420 = PLANES
ANY = (-1, 3, -1, -1)
FILL = """
kernel void fill(write_only image2d_t plane, uint value) {
    write_imageui(plane, (int2)(get_global_id(0), get_global_id(1)), (uint4)(value));
}
"""


def image_of(user: User, plane: np.ndarray, kind: int = KINDS[0], flags: int = cl.mem_flags.READ_ONLY) -> cl.Image:
    """A plane [h, w, channels] in an image of the user's."""
    height, width, channels = plane.shape
    order = cl.channel_order.R if channels == 1 else cl.channel_order.RG
    return cl.create_image(user.context, flags | cl.mem_flags.COPY_HOST_PTR, cl.ImageFormat(order, kind),
                           (width, height), hostbuf=plane)


def tensors_of(context: ClContext, user: User, source: str, planes: Sequence[np.ndarray],
               kind: int = KINDS[0]) -> list[list[RemoteTensor]]:
    """For each plane, the tensors of its pictures."""
    create = context.create_tensor_nv12 if source == NV12 else context.create_tensor_i420
    pictures = [create(*(image_of(user, np.ascontiguousarray(plane[n]), kind) for plane in planes))
                for n in range(len(planes[0]))]
    return [list(tensors) for tensors in zip(*pictures, strict=True)]


@pytest.fixture(params=[NV12, I420])
def source(request: pytest.FixtureRequest, context: ClContext) -> str:
    """Each kind of surface that the device can read."""
    if context.engine.capabilities.image_channels < (2 if request.param == NV12 else 1):
        pytest.skip("the device has no such images")
    return str(request.param)


@pytest.fixture
def compiled(core: Core, context: ClContext, source: str) -> CompiledModel:
    return core.compile_model(surface_model(source, ANY), context, F32)


def test_surfaces_are_inputs(compiled: CompiledModel, context: ClContext, user: User, source: str,
                             traffic: list[str], rng: np.random.Generator) -> None:
    request, oracle = compiled.create_infer_request(), CpuPlugin(surface_model(source, ANY, ""))
    result = user.buffer(3 * 4 * 6 * 4)
    request.set_tensor(compiled.output(), context.create_tensor(np.float32, [1, 3, 4, 6], result))
    for turn, kind in enumerate((*KINDS, *KINDS)):
        planes = planes_of(source, 1, 4, 6, rng)
        tensors = tensors_of(context, user, source, planes, kind)
        for name, (tensor,) in zip(PLANES[source], tensors, strict=True):
            assert isinstance(tensor, ClImage2DTensor) and isinstance(tensor.get(), cl.Image)
            request.set_tensor(name, tensor)
            assert request.get_tensor(name) is tensor
        del traffic[:]
        request.infer()
        assert not turn or not traffic
        expected, = oracle(planes)
        assert_close(user.contents(result, expected), expected, 1e-5)


def test_batches_of_surfaces(compiled: CompiledModel, context: ClContext, user: User, source: str,
                             traffic: list[str], rng: np.random.Generator) -> None:
    request, oracle = compiled.create_infer_request(), CpuPlugin(surface_model(source, ANY, ""))
    for count in (3, 1, 2, 3):
        planes = planes_of(source, count, 4, 6, rng)
        for port, tensors in zip(compiled.inputs, tensors_of(context, user, source, planes), strict=True):
            request.set_tensors(port, tensors)
        del traffic[:]
        actual = request.infer()[0]
        assert not {"write", "copy", "copy_rows"} & set(traffic)
        assert_close(actual, oracle(planes)[0], 1e-5, f"{count} pictures")


def test_a_blob_keeps_surfaces(compiled: CompiledModel, core: Core, context: ClContext, user: User, source: str,
                               rng: np.random.Generator) -> None:
    again = core.import_model(compiled.export_model(), context)
    planes = planes_of(source, 1, 4, 6, rng)
    tensors = [tensor for tensor, in tensors_of(context, user, source, planes)]
    assert_close(again(tensors)[0], CpuPlugin(surface_model(source, ANY, ""))(planes)[0], 1e-5)


def test_a_decoder_in_the_same_queue(core: Core, user: User) -> None:
    """The user's kernels write the planes, the inference reads them, and the host waits once."""
    queue = cl.CommandQueue(user.context)
    context = ClContext(core, queue)
    if not context.engine.capabilities.image_channels:
        pytest.skip("the device has no images")
    compiled = core.compile_model(surface_model(I420, (1, 3, 4, 6)), context, F32)
    fill = cl.Kernel(cl.Program(user.context, FILL).build(), "fill")
    images = [image_of(user, np.zeros((*size, 1), np.uint8), flags=cl.mem_flags.READ_WRITE)
              for size in ((4, 6), (2, 3), (2, 3))]
    result = user.buffer(3 * 4 * 6 * 4)
    request = compiled.create_infer_request()
    for port, tensor in zip(compiled.inputs, context.create_tensor_i420(*images), strict=True):
        request.set_tensor(port, tensor)
    request.set_tensor(compiled.output(), context.create_tensor(np.float32, [1, 3, 4, 6], result))
    for values in ((16, 128, 128), (235, 90, 200)):
        for image, value in zip(images, values, strict=True):
            fill(queue, image.shape, None, image, np.uint32(value))
        cl.enqueue_barrier(queue)
        request.start_async()
        cl.enqueue_barrier(queue)
        found = np.empty((1, 3, 4, 6), np.float32)
        cl.enqueue_copy(queue, found, result)
        request.wait()
        planes = [np.full((1, *image.shape[::-1], 1), value, np.uint8)
                  for image, value in zip(images, values, strict=True)]
        assert_close(found, CpuPlugin(surface_model(I420, (1, 3, 4, 6), ""))(planes)[0], 1e-5)


def test_planes_in_buffers(core: Core, context: ClContext, user: User, rng: np.random.Generator) -> None:
    compiled = core.compile_model(surface_model(NV12, ANY, ""), context, F32)
    planes = planes_of(NV12, 1, 4, 6, rng)
    tensors = context.create_tensor_nv12(*map(user.buffer, planes), height=4, width=6)
    assert [tuple(tensor.shape) for tensor in tensors] == [(1, 4, 6, 1), (1, 2, 3, 2)]
    assert all(isinstance(tensor, ClBufferTensor) for tensor in tensors)
    assert_close(compiled(list(tensors))[0], CpuPlugin(surface_model(NV12, ANY, ""))(planes)[0], 1e-5)


def test_images_are_given_back(core: Core, context: ClContext, user: User, rng: np.random.Generator) -> None:
    if not context.engine.capabilities.image_channels:
        pytest.skip("the device has no images")
    request = core.compile_model(surface_model(I420, ANY), context, F32).create_infer_request()
    planes = planes_of(I420, 2, 4, 6, rng)
    images = [[image_of(user, np.ascontiguousarray(plane[n])) for plane in planes] for n in range(2)]
    pictures = [context.create_tensor_i420(*own) for own in images]
    for port, tensors in zip(request.model_inputs, zip(*pictures, strict=True), strict=True):
        request.set_tensors(port, tensors)
    del pictures, tensors
    gc.collect()
    expected, = CpuPlugin(surface_model(I420, ANY, ""))(planes)
    assert_close(request.infer()[0], expected, 1e-5)
    del request
    gc.collect()
    assert {image.reference_count for own in images for image in own} == {1}


# -- bad surfaces -----------------------------------------------------------------------------------


def _plane(user: User, height: int, width: int, order: int = cl.channel_order.R, kind: int = KINDS[0],
           flags: int = cl.mem_flags.READ_ONLY) -> cl.Image:
    return cl.create_image(user.context, flags, cl.ImageFormat(order, kind), (width, height))


def test_planes_that_are_no_picture(context: ClContext, user: User) -> None:
    luma, half, buffer = _plane(user, 4, 6), _plane(user, 2, 3), user.buffer(24)
    wrong = _plane(user, 2, 3, cl.channel_order.RGBA)
    write_only = _plane(user, 2, 3, flags=cl.mem_flags.WRITE_ONLY)
    for planes, message in (
            ((luma, half, wrong), "plane 'v' is an image of the wrong format"),
            ((luma, _plane(user, 2, 3, kind=cl.channel_type.FLOAT), half), "plane 'u' is an image of the wrong format"),
            ((_plane(user, 5, 6), half, half), "are even"), ((_plane(user, 4, 5), half, half), "are even"),
            ((luma, half, _plane(user, 4, 6)), "plane 'v' does not fit the plane of brightness"),
            ((luma, _plane(user, 2, 6), half), "plane 'u' does not fit the plane of brightness"),
            ((luma, buffer, half), "all images, or all buffers"),
            ((buffer, buffer, buffer), "buffers do not tell how large the picture is"),
            ((luma, half, write_only), "may only write")):
        with pytest.raises(ClinferError, match=message):
            context.create_tensor_i420(*planes)
    with pytest.raises(ClinferError, match="plane 'uv' is an image of the wrong format"):
        context.create_tensor_nv12(luma, half)
    with pytest.raises(ClinferError, match="another size than the picture"):
        context.create_tensor_i420(luma, half, half, height=6, width=6)
    with pytest.raises(ClinferError, match="are even"):
        context.create_tensor_nv12(buffer, buffer, height=3, width=4)
    with pytest.raises(ClinferError, match="too small"):
        context.create_tensor_nv12(buffer, buffer, height=8, width=4)


def test_what_meets_the_wrong_input(core: Core, context: ClContext, user: User, rng: np.random.Generator) -> None:
    if not context.engine.capabilities.image_channels:
        pytest.skip("the device has no images")
    surfaces = core.compile_model(surface_model(I420, ANY), context, F32).create_infer_request()
    buffers = core.compile_model(surface_model(I420, ANY, ""), context, F32).create_infer_request()
    luma, *_ = context.create_tensor_i420(_plane(user, 4, 6), _plane(user, 2, 3), _plane(user, 2, 3))
    with pytest.raises(ClinferError, match="is no surface, and was given an image"):
        buffers.set_tensor("y", luma)
    with pytest.raises(ClinferError, match="is a surface, and was given no image"):
        surfaces.set_tensor("y", context.create_tensor("u8", [1, 4, 6, 1]))
    with pytest.raises(ClinferError, match=r"'picture/y' was never given(.|\n)*it is a surface"):
        surfaces.infer()
    with pytest.raises(ClinferError, match="is a surface, and was given memory of the host"):
        surfaces.infer(planes_of(I420, 1, 4, 6, rng))
    with pytest.raises(ClinferError, match="part of an image"):
        surfaces.set_tensor("y", luma.roi([0, 0, 0, 0], [1, 2, 2, 1]))
    with pytest.raises(ClinferError, match="wrong rank"):
        surfaces.set_tensor("y", context.create_tensor("u8", [4, 6], _plane(user, 4, 6)))
    alpha = cl.ImageFormat(cl.channel_order.A, KINDS[1])
    if alpha in cl.get_supported_image_formats(user.context, cl.mem_flags.READ_ONLY, cl.mem_object_type.IMAGE2D):
        with pytest.raises(ClinferError, match="an image of the wrong format"):
            surfaces.set_tensor("y", context.create_tensor("u8", [1, 4, 6, 1], cl.create_image(
                user.context, cl.mem_flags.READ_ONLY, alpha, (6, 4))))
    surfaces.set_tensors("y", [luma, luma])
    for name in ("u", "v"):
        surfaces.set_tensor(name, context.create_tensor("u8", [1, 2, 3, 1], _plane(user, 2, 3)))
    with pytest.raises(ClinferError, match="planes do not fit together"):
        surfaces.infer()


# -- batches of other tensors -----------------------------------------------------------------------


@pytest.fixture
def request_of_rows(core: Core, context: ClContext) -> InferRequest:
    return core.compile_model(softmax_model(), context, F32).create_infer_request()


def test_batches_of_host_tensors(request_of_rows: InferRequest, rng: np.random.Generator) -> None:
    request = request_of_rows
    rows = [rng.standard_normal((1, 5), np.float32) for _ in range(3)]
    tensors = [ov.Tensor(row, shared_memory=True) for row in rows]
    for given in (tensors, tensors[:2], tensors[:1], tensors):
        request.set_tensors("x", given)
        for row in rows:
            row[:] = rng.standard_normal((1, 5), np.float32)
        assert_softmax(request.infer()[0], np.concatenate(rows[:len(given)]))
    request.set_input_tensors(tensors[:2])
    assert_softmax(request.infer()[0], np.concatenate(rows[:2]))
    request.set_input_tensors(0, tensors)
    request.start_async()
    request.wait()
    assert_softmax(request.get_output_tensor().data, np.concatenate(rows))
    x = rng.standard_normal((2, 5), np.float32)
    assert_softmax(request.infer(x)[0], x)


def test_batches_of_remote_buffers(request_of_rows: InferRequest, context: ClContext, user: User,
                                   rng: np.random.Generator) -> None:
    request = request_of_rows
    rows = [rng.standard_normal((1, 5), np.float32) for _ in range(3)]
    tensors = [context.create_tensor(np.float32, [1, 5], user.buffer(row)) for row in rows]
    for count in (3, 2, 3):
        request.set_tensors("x", tensors[:count])
        assert_softmax(request.infer()[0], np.concatenate(rows[:count]))


def test_batches_that_are_none(core: Core, context: ClContext, request_of_rows: InferRequest) -> None:
    request = request_of_rows
    host, remote = ov.Tensor(np.zeros((1, 5), np.float32)), context.create_tensor(np.float32, [1, 5])
    for given, message in (([], "was given no tensors"), ([host, remote], "of the host and of a remote context"),
                           ([host, ov.Tensor(np.zeros((2, 5), np.float32))], "of one shape, which begins with 1"),
                           ([ov.Tensor(np.zeros((2, 5), np.float32))] * 2, "of one shape, which begins with 1"),
                           ([ov.Tensor(np.zeros((1, 6), np.float32))] * 2, "outside the model's bounds"),
                           ([ov.Tensor(np.zeros((1, 5), np.int32))] * 2, "wrong element type")):
        with pytest.raises(ClinferError, match=message):
            request.set_tensors("x", given)
    with pytest.raises(ClinferError, match="to inputs alone"):
        request.set_tensors("y", [host, host])
    with pytest.raises(ClinferError, match="a dictionary, or a key and a list"):
        request.set_tensors([host])
    fixed = core.compile_model(softmax_model(rows=3), context, F32).create_infer_request()
    with pytest.raises(ClinferError, match="outside the model's bounds"):
        fixed.set_tensors("x", [host, host])
    request.set_tensors("x", [host, host])
    with pytest.raises(ClinferError, match="has several tensors"):
        request.get_tensor("x")
