"""What cannot work is refused before anything is enqueued; nothing is leaked, nothing is released twice."""
from __future__ import annotations

import gc
import threading
import time

import numpy as np
import pyopencl as cl
import pytest
from openvino import opset13 as ops

from clinfer.api.compiled_model import CompiledModel
from clinfer.api.core import Core
from clinfer.api.infer_request import InferRequest
from clinfer.base.errors import ClinferError
from clinfer.frontend.openvino_import import openvino as ov
from clinfer.network.network import Network
from clinfer.remote.context import ClContext
from clinfer.remote.tensors import RemoteTensor
from clinfer.runtime.device import DeviceInfo, available_devices
from tests.remote.pipelines import F32, User, assert_softmax, is_alone, softmax_model


@pytest.fixture(scope="module")
def compiled(core: Core, context: ClContext) -> CompiledModel:
    return core.compile_model(softmax_model(), context, F32 | {"NUM_STREAMS": 2})


@pytest.fixture
def request_(compiled: CompiledModel) -> InferRequest:
    return compiled.create_infer_request()


@pytest.fixture
def nothing_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fails the test if an inference is enqueued."""
    monkeypatch.setattr(Network, "execute", lambda *_, **__: pytest.fail("something was enqueued"))


def _refused(request: InferRequest, tensor: RemoteTensor, message: str, *keys: str) -> None:
    for key in keys:
        before = request.get_tensor(key)
        with pytest.raises(ClinferError, match=message) as raised:
            request.set_tensor(key, tensor)
        assert f"'{key}'" in str(raised.value) and "given" in str(raised.value)
        assert request.get_tensor(key) is before
    if "x" in keys:
        with pytest.raises(ClinferError, match=message):
            request.infer({"x": tensor})
        with pytest.raises(ClinferError, match=message):
            request.start_async({"x": tensor})


@pytest.mark.usefixtures("nothing_runs")
def test_tensors_of_another_context_or_device(core: Core, request_: InferRequest, device: DeviceInfo) -> None:
    others = [found.cl_device for found in available_devices() if found != device]
    for given in (cl.Context([found]) for found in (device.cl_device, *others)):
        buffer = cl.Buffer(given, cl.mem_flags.READ_WRITE, 60)
        tensor = ClContext(core, given).create_tensor(ov.Type.f32, [3, 5], buffer)
        _refused(request_, tensor, r"tensor of another context(.|\n)*the model's context(.|\n)*try:", "x", "y")
        del tensor
        gc.collect()
        assert buffer.reference_count == 1


@pytest.mark.usefixtures("nothing_runs")
def test_tensors_of_another_type_or_shape(context: ClContext, request_: InferRequest) -> None:
    for kind in (ov.Type.f16, ov.Type.i32, ov.Type.u8):
        _refused(request_, context.create_tensor(kind, [3, 5]), r"wrong element type(.|\n)*expected", "x", "y")
    _refused(request_, context.create_tensor(ov.Type.f32, [15]), r"wrong rank", "x", "y")
    _refused(request_, context.create_tensor(ov.Type.f32, [5, 3]), r"outside the model's bounds", "x", "y")


@pytest.mark.usefixtures("nothing_runs")
def test_shapes_that_changed_after_they_were_set(context: ClContext, request_: InferRequest) -> None:
    tensor = context.create_tensor(ov.Type.f32, [3, 5])
    request_.set_tensor("x", tensor)
    tensor.shape = [5, 3]
    for run in (request_.infer, request_.start_async):
        with pytest.raises(ClinferError, match="outside the model's bounds"):
            run()


@pytest.mark.usefixtures("nothing_runs")
def test_images_where_no_surface_is_wanted(context: ClContext, user: User, core: Core) -> None:
    image_format = cl.ImageFormat(cl.channel_order.R, cl.channel_type.FLOAT)
    try:
        image = cl.create_image(user.context, cl.mem_flags.READ_WRITE, image_format, (5, 3))
    except cl.Error:
        pytest.skip("the device has no such images")
    request = core.compile_model(softmax_model(), context, F32).create_infer_request()
    tensor = context.create_tensor(ov.Type.f32, [3, 5], image)
    _refused(request, tensor, r"is no surface(.|\n)*give a buffer", "x", "y")
    del tensor
    gc.collect()
    assert image.reference_count == 1


@pytest.mark.usefixtures("nothing_runs")
def test_outputs_that_cannot_be_written_to(core: Core, context: ClContext, user: User) -> None:
    request = core.compile_model(softmax_model(rows=3), context, F32).create_infer_request()
    fixed = cl.Buffer(user.context, cl.mem_flags.READ_ONLY, 60)
    tensor = context.create_tensor(ov.Type.f32, [3, 5], fixed)
    request.set_tensor("x", tensor)
    _refused(request, tensor, "may only read", "y")
    small = context.create_tensor(ov.Type.f32, [0, 5], user.buffer(59))
    _refused(request, small, r"outside the model's bounds|does not fit", "y")
    unshaped = user.buffer(59)
    tensor = context.create_tensor(ov.Type.f32, [0], unshaped)
    with pytest.raises(ClinferError, match=r"does not fit(.|\n)*bytes needed: 60(.|\n)*bytes given: 59"):
        request.set_tensor("y", tensor)


def test_two_running_requests_with_the_same_memory(compiled: CompiledModel, context: ClContext, user: User,
                                                   monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator) -> None:
    entered, goes_on = threading.Event(), threading.Event()
    real = InferRequest._await

    def slow(self: InferRequest, *given: object) -> None:
        entered.set()
        assert goes_on.wait(20)
        real(self, *given)  # type: ignore[arg-type]

    array = rng.standard_normal((3, 5), dtype=np.float32)
    result, source = user.buffer(60), user.buffer(array)
    first, second, third = (compiled.create_infer_request() for _ in range(3))
    whole = context.create_tensor(ov.Type.f32, [3, 5], result)
    first.set_tensors({"x": context.create_tensor(ov.Type.f32, [3, 5], source), "y": whole})
    second.set_tensors({"x": context.create_tensor(ov.Type.f32, [3, 5], source),
                        "y": context.create_tensor(ov.Type.f32, [3, 5], cl_mem=result.int_ptr)})
    third.set_tensors({"x": context.create_tensor(ov.Type.f32, [3, 5], result),
                       "y": context.create_tensor(ov.Type.f32, [3, 5])})
    monkeypatch.setattr(InferRequest, "_await", slow)
    first.start_async()
    assert entered.wait(20)
    monkeypatch.setattr(InferRequest, "_await", real)
    try:
        for other in (second, third):
            with pytest.raises(ClinferError, match=r"another inference is running(.|\n)*wait"):
                other.infer()
        second.set_tensor("y", context.create_tensor(ov.Type.f32, [3, 5]))
        second.infer()
    finally:
        goes_on.set()
    first.wait()
    assert_softmax(user.contents(result, array), array)
    third.infer()


@pytest.mark.usefixtures("nothing_runs")
def test_an_output_in_the_memory_of_another_tensor(core: Core, context: ClContext, request_: InferRequest,
                                                   user: User) -> None:
    buffer = user.buffer(4096)
    given = context.create_tensor(ov.Type.f32, [3, 5], buffer)
    same = context.create_tensor(ov.Type.f32, [3, 5], cl_mem=buffer.int_ptr)
    request_.set_tensors({"x": given, "y": same})
    for run in (request_.infer, request_.start_async):
        with pytest.raises(ClinferError, match=r"lies in the memory of another(.|\n)*memory of its own"):
            run()
            request_.wait()
    x = ops.parameter([-1], np.float32)
    x.output(0).set_names({"x"})
    both = core.compile_model(ov.Model([ops.exp(x), ops.sin(x)], [x]), context, F32).create_infer_request()
    for number in range(2):
        both.set_output_tensor(number, context.create_tensor(ov.Type.f32, [4], buffer))
    with pytest.raises(ClinferError, match="lies in the memory of another"):
        both.infer([np.zeros(4, np.float32)])


def test_regions_apart_are_no_clash(context: ClContext, request_: InferRequest, rng: np.random.Generator) -> None:
    rows = context.engine.capabilities.buffer_alignment // 4
    array = rng.standard_normal((rows, 5), dtype=np.float32)
    whole = context.create_tensor(ov.Type.f32, [2 * rows, 5])
    given, taken = whole.roi([0, 0], [rows, 5]), whole.roi([rows, 0], [2 * rows, 5])
    given.copy_from(array)
    request_.set_tensors({"x": given, "y": taken})
    request_.infer()
    found = np.empty_like(array)
    taken.copy_to(found)
    assert_softmax(found, array)


def test_nothing_is_leaked(core: Core, device: DeviceInfo, rng: np.random.Generator) -> None:
    """After inferences that went well and that failed, all that the user has is his alone again."""
    given = cl.Context([device.cl_device])
    queue = cl.CommandQueue(given)
    array = rng.standard_normal((3, 5), dtype=np.float32)
    buffers = [cl.Buffer(given, cl.mem_flags.READ_WRITE, 60) for _ in range(3)]
    before = given.reference_count
    for owner in (given, queue):
        context = ClContext(core, owner)
        compiled = core.compile_model(softmax_model(), context, F32)
        request = compiled.create_infer_request()
        tensors = [context.create_tensor(ov.Type.f32, [3, 5], buffer) for buffer in buffers]
        tensors[0].copy_from(array)
        request.set_tensors({"x": tensors[0], "y": tensors[1]})
        request.start_async()
        request.wait()
        request.set_tensor("y", tensors[2])
        request.infer()
        with pytest.raises(ClinferError):
            request.set_tensor("y", context.create_tensor(ov.Type.i32, [3, 5], buffers[1]))
        request.set_tensor("y", context.create_tensor(ov.Type.f32, [0, 5], buffers[1].get_sub_region(0, 20)))
        with pytest.raises(ClinferError):
            request.infer()
        del context, compiled, request, tensors
    gc.collect()
    # A driver may let go of what it used a moment later, in a thread of its own. Of clinfer nothing is left for another
    # collection, which may be far away.
    deadline = time.monotonic() + 10
    while given.reference_count > before and time.monotonic() < deadline:
        time.sleep(0.05)
    assert [buffer.reference_count for buffer in buffers] == [1, 1, 1]
    assert given.reference_count == before
    assert is_alone(queue, device)
    for buffer in buffers:
        buffer.release()


def test_openvinos_own_remote_tensors_are_refused(request_: InferRequest) -> None:
    with pytest.raises(ClinferError, match=r"needs an openvino.Tensor"):
        request_.set_tensor("x", object())
