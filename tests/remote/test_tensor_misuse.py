"""Images as tensors, and what no tensor is made over or copied to."""
from __future__ import annotations

import numpy as np
import pyopencl as cl
import pytest

from clinfer.api.core import Core
from clinfer.base.errors import ClinferError
from clinfer.frontend.openvino_import import openvino as ov
from clinfer.remote.context import ClContext
from clinfer.remote.tensors import ClImage2DTensor
from clinfer.runtime.device import DeviceInfo
from tests.remote.pipelines import User, read


def test_images(context: ClContext, user: User, rng: np.random.Generator) -> None:
    if not user.device.cl_device.image_support:
        pytest.skip("the device has no images")
    orders, kinds = cl.channel_order, cl.channel_type
    formats = [(found.channel_order, found.channel_data_type) for found in cl.get_supported_image_formats(
        user.context, cl.mem_flags.READ_WRITE, cl.mem_object_type.IMAGE2D)]
    for order, kind, dtype, shape in ((orders.R, kinds.UNORM_INT8, np.uint8, (1, 4, 6, 1)),
                                      (orders.RG, kinds.UNSIGNED_INT8, np.uint8, (4, 6, 2)),
                                      (orders.RGBA, kinds.FLOAT, np.float32, (1, 4, 6, 4))):
        if (order, kind) not in formats:
            continue
        array = rng.integers(0, 255, shape).astype(dtype)
        image = cl.create_image(user.context, cl.mem_flags.READ_WRITE, cl.ImageFormat(order, kind), (6, 4))
        tensor = context.create_tensor(dtype, shape, image)
        assert isinstance(tensor, ClImage2DTensor) and tensor.get() is image
        assert tensor.get_params()["SHARED_MEM_TYPE"] == "OCL_IMAGE2D" and tensor.handle == image.int_ptr
        tensor.copy_from(array)
        np.testing.assert_array_equal(read(tensor), array)
        planar = context.create_tensor(dtype, shape)
        planar.copy_from(tensor)
        np.testing.assert_array_equal(read(planar), array)
        raw = context.create_tensor(dtype, shape, cl_mem=image.int_ptr)
        np.testing.assert_array_equal(read(raw), array)
        del tensor, raw
        assert image.reference_count == 1
    with pytest.raises(ClinferError, match=r"another type than the tensor(.|\n)*FLOAT(.|\n)*f32"):
        context.create_tensor(ov.Type.u8, [4, 6, 4], image)
    with pytest.raises(ClinferError, match=r"another size(.|\n)*\(4, 6, 4\)"):
        context.create_tensor(ov.Type.f32, [6, 4, 4], image)
    assert image.reference_count == 1
    flat = cl.create_image(user.context, cl.mem_flags.READ_WRITE, cl.ImageFormat(orders.RGBA, kinds.FLOAT), (2, 3, 4))
    with pytest.raises(ClinferError, match="two-dimensional"):
        context.create_tensor(ov.Type.f32, [4, 3, 2, 4], flat)


def test_what_no_tensor_is_made_over(core: Core, context: ClContext, user: User, device: DeviceInfo) -> None:
    foreign = cl.Context([device.cl_device])
    elsewhere, small = cl.Buffer(foreign, cl.mem_flags.READ_WRITE, 64), user.buffer(60)
    with pytest.raises(ClinferError, match=r"belongs to another OpenCL context(.|\n)*this context"):
        context.create_tensor(ov.Type.f32, [16], elsewhere)
    with pytest.raises(ClinferError, match=r"too small(.|\n)*bytes needed: 64(.|\n)*bytes given: 60"):
        context.create_tensor(ov.Type.f32, [16], small)
    with pytest.raises(ClinferError, match="too small"):
        context.create_tensor(ov.Type.f32, [16], cl_mem=small.int_ptr)
    assert (elsewhere.reference_count, small.reference_count) == (1, 1)
    for given in (np.zeros(16, np.float32), "text", 12345, cl.mem_flags):
        with pytest.raises(ClinferError, match=r"cannot be made over this object(.|\n)*cl_mem="):
            context.create_tensor(ov.Type.f32, [16], given)
    with pytest.raises(ClinferError, match="over one object"):
        context.create_tensor(ov.Type.f32, [4], small, cl_mem=small.int_ptr)
    for name in ("cl_mem", "usm"):
        with pytest.raises(ClinferError, match=f"{name} is no handle|no unified shared memory"):
            context.create_tensor(ov.Type.f32, [4], **{name: "text"})
    with pytest.raises(ClinferError, match=r"no unified shared memory"):
        context.create_tensor(ov.Type.f32, [4], usm=np.zeros(64).ctypes.data)
    for shape in ([-1, 4], "text", 5, ov.PartialShape([-1])):
        with pytest.raises(ClinferError, match="static shape"):
            context.create_tensor(ov.Type.f32, shape)
    with pytest.raises(ClinferError, match="no element type"):
        context.create_tensor(object(), [4])
    with pytest.raises(ClinferError, match="devices have no tensors of type string"):
        context.create_tensor(ov.Type.string, [4])


def test_shared_virtual_memory_that_is_none(context: ClContext, user: User) -> None:
    device = user.device.cl_device
    if context.engine.svm_calls is None or not device.svm_capabilities:
        pytest.skip("no shared virtual memory")
    gone = cl.SVMAllocation(user.context, 64, 0, cl.svm_mem_flags.READ_WRITE)
    with pytest.raises(ClinferError, match="too small"):
        context.create_tensor(ov.Type.f32, [17], gone)
    gone.release()
    with pytest.raises(ClinferError, match="was released"):
        context.create_tensor(ov.Type.f32, [16], gone)
    odd = cl.csvm_empty(user.context, (64,), np.uint8)[1:33]
    with pytest.raises(ClinferError, match="between two elements"):
        context.create_tensor(ov.Type.f32, [4], cl.SVM(odd))
    plain = cl.SVM(np.zeros(16, np.float32))
    if device.svm_capabilities & cl.device_svm_capabilities.FINE_GRAIN_SYSTEM:
        np.testing.assert_array_equal(read(context.create_tensor(ov.Type.f32, [16], plain)), 0)
    else:
        with pytest.raises(ClinferError, match=r"ordinary memory(.|\n)*csvm_empty"):
            context.create_tensor(ov.Type.f32, [16], plain)


def test_copies_between_tensors_that_are_not_alike(context: ClContext) -> None:
    tensor = context.create_tensor(ov.Type.f32, [3, 4])
    for other in (np.zeros((4, 3), np.float32), np.zeros((3, 4), np.int32), ov.Tensor(ov.Type.f16, [3, 4]),
                  context.create_tensor(ov.Type.f32, [12])):
        for copy in (tensor.copy_to, tensor.copy_from):
            with pytest.raises(ClinferError, match=r"another type or shape(.|\n)*from(.|\n)*to"):
                copy(other)
    for copy in (tensor.copy_to, tensor.copy_from):
        with pytest.raises(ClinferError, match=r"or a NumPy array(.|\n)*given: list"):
            copy([1.0])
    fixed = np.zeros((3, 4), np.float32)
    fixed.flags.writeable = False
    with pytest.raises(ClinferError, match="cannot be written to"):
        tensor.copy_to(fixed)


def test_devices_without_pointers(context: ClContext, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = context.engine
    monkeypatch.setattr(engine, "native_types", {
        "cl_mem": "cl_mem", "usm_host": "host_cl_mem", "usm_shared": "cl_mem", "usm_device": "cl_mem"})
    for create, wanted in ((context.create_usm_host_tensor, "usm_host"),
                           (context.create_usm_device_tensor, "usm_device")):
        with pytest.raises(ClinferError, match=rf"no pointers(.|\n)*wanted: {wanted}(.|\n)*create_tensor"):
            create(ov.Type.f32, [3])
    tensor = context.create_host_tensor(ov.Type.f32, [3])
    tensor.data[...] = 1
    assert tensor.data.tolist() == [1, 1, 1]
