"""Remote tensors: over the user's memory and over new memory, what they tell, regions, copies, lifetimes."""
from __future__ import annotations

import gc
import math
from collections.abc import Callable

import numpy as np
import pyopencl as cl
import pytest

from clinfer.api.core import Core
from clinfer.base.errors import ClinferError
from clinfer.frontend.openvino_import import openvino as ov
from clinfer.remote.context import ClContext
from clinfer.remote.tensors import ClBufferTensor, ClImage2DTensor, RemoteTensor, USMTensor
from clinfer.runtime.device import DeviceInfo
from tests.remote.pipelines import User

Make = Callable[[np.ndarray], RemoteTensor]


@pytest.fixture(params=["buffer", "sub-buffer", "cl_mem", "own buffer", "svm", "usm", "usm host", "usm device"])
def make(request: pytest.FixtureRequest, context: ClContext, user: User) -> Make:
    """Makes a tensor of each kind with an array's contents."""
    return lambda array: _made(request.param, context, user, array)


def _made(kind: str, context: ClContext, user: User, array: np.ndarray) -> RemoteTensor:
    def over(**handle: object) -> RemoteTensor:
        return context.create_tensor(array.dtype, array.shape, **handle)

    if kind == "buffer":
        return over(handle=user.buffer(array))
    if kind == "cl_mem":
        given = user.buffer(array)
        return over(cl_mem=given.int_ptr)
    if kind == "sub-buffer":
        unit = user.device.cl_device.mem_base_addr_align // 8
        whole = user.buffer(unit + array.nbytes)
        part = whole.get_sub_region(unit, array.nbytes)
        cl.enqueue_copy(user.queue, part, array)
        return over(handle=part)
    if kind == "svm":
        if context.engine.svm_calls is None or not context.engine.device.cl_device.svm_capabilities:
            pytest.skip("no shared virtual memory")
        shared = cl.csvm_empty(user.context, array.shape, array.dtype)
        with cl.SVM(shared).map_rw(user.queue) as mapped:
            mapped[...] = array
        return over(handle=cl.SVM(shared))
    if kind == "own buffer":
        tensor = over()
    else:
        wanted = "usm_host" if kind == "usm host" else "usm_device"
        if context.engine.native_types[wanted] in ("cl_mem", "host_cl_mem"):
            pytest.skip("no pointers of this type")
        create = context.create_usm_host_tensor if kind == "usm host" else context.create_usm_device_tensor
        tensor = create(array.dtype, array.shape)
        if kind == "usm":
            if not context.engine.capabilities.usm:
                pytest.skip("no unified shared memory")
            base = tensor
            tensor = over(usm=base.get())
            tensor.kept_by_the_test = base  # type: ignore[attr-defined]
    tensor.copy_from(array)
    return tensor


def _read(tensor: RemoteTensor) -> np.ndarray:
    found = np.empty(tensor.static_shape, tensor.kind.storage)
    tensor.copy_to(found)
    return found


def test_what_a_tensor_tells(make: Make, context: ClContext, rng: np.random.Generator) -> None:
    array = rng.standard_normal((4, 3, 5), dtype=np.float32)
    tensor = make(array)
    assert tensor.element_type == tensor.get_element_type() == ov.Type.f32
    assert tensor.shape == tensor.get_shape() == ov.Shape([4, 3, 5])
    assert (tensor.size, tensor.get_size()) == (60, 60)
    assert tensor.byte_size == tensor.get_byte_size() == 240
    assert tensor.strides == tensor.get_strides() == array.strides and tensor.is_continuous()
    assert tensor.get_device_name() == tensor.device_name == context.get_device_name()
    params = tensor.get_params()
    assert params["OCL_CONTEXT"] == context.handle
    if isinstance(tensor, USMTensor):
        assert params["MEM_HANDLE"] == tensor.get() and "USM" in params["SHARED_MEM_TYPE"]
    else:
        assert isinstance(tensor, ClBufferTensor)
        assert params["MEM_HANDLE"] == tensor.handle == tensor.get().int_ptr
        assert params["SHARED_MEM_TYPE"] == "OCL_BUFFER"
    assert "f32[4,3,5]" in repr(tensor)
    for name in ("data", "bytes_data", "str_data"):
        with pytest.raises(ClinferError, match=r"no data on the host(.|\n)*copy_to"):
            getattr(tensor, name)


def test_contents_come_and_go(make: Make, rng: np.random.Generator) -> None:
    array = rng.standard_normal((4, 3, 5), dtype=np.float32)
    tensor = make(array)
    np.testing.assert_array_equal(_read(tensor), array)
    host = ov.Tensor(ov.Type.f32, [4, 3, 5])
    tensor.copy_to(host)
    np.testing.assert_array_equal(host.data, array)
    tensor.copy_from(ov.Tensor(2 * array))
    np.testing.assert_array_equal(_read(tensor), 2 * array)
    tensor.copy_from(np.asfortranarray(array))
    turned = np.full((4, 3, 5), np.nan, np.float32, order="F")
    tensor.copy_to(turned)
    np.testing.assert_array_equal(turned, array)
    unshaped = ov.Tensor(ov.Type.f32, [0])
    tensor.copy_to(unshaped)
    np.testing.assert_array_equal(unshaped.data, array)


def test_tensors_are_copied_to_each_other(make: Make, context: ClContext, user: User,
                                          rng: np.random.Generator) -> None:
    array = rng.integers(-9, 9, (7, 6)).astype(np.int16)
    tensor = make(array)
    for kind in ("buffer", "sub-buffer"):
        other = _made(kind, context, user, np.zeros_like(array))
        tensor.copy_to(other)
        np.testing.assert_array_equal(_read(other), array)
        other.copy_from(make(array + 1))
        np.testing.assert_array_equal(_read(other), array + 1)
        other.copy_to(tensor)
        np.testing.assert_array_equal(_read(tensor), array + 1)
        tensor.copy_from(array)


def test_tensors_of_two_contexts_are_copied_through_the_host(make: Make, core: Core, device: DeviceInfo,
                                                             rng: np.random.Generator) -> None:
    array = rng.standard_normal((4, 3)).astype(np.float16)
    other = core.get_default_context(device.name).create_tensor(ov.Type.f16, [4, 3])
    make(array).copy_to(other)
    np.testing.assert_array_equal(_read(other), array)
    back = make(np.zeros_like(array))
    back.copy_from(other)
    np.testing.assert_array_equal(_read(back), array)


@pytest.mark.parametrize("element_type", ["bf16", "boolean", "i64", "u4", "i4"])
def test_every_element_type_is_copied(context: ClContext, element_type: str, rng: np.random.Generator) -> None:
    kind = getattr(ov.Type, element_type)
    host, back = (ov.Tensor(kind, [3, 5]) for _ in range(2))
    host.data.reshape(-1).view(np.uint8)[...] = rng.integers(0, 2, host.data.nbytes)
    back.data.reshape(-1).view(np.uint8)[...] = 0xAA
    tensor, other = (context.create_tensor(kind, [3, 5]) for _ in range(2))
    tensor.copy_from(host)
    tensor.copy_to(other)
    other.copy_to(back)
    np.testing.assert_array_equal(host.data, back.data)
    assert tensor.byte_size == host.byte_size


def test_regions(make: Make, context: ClContext, rng: np.random.Generator) -> None:
    array = rng.standard_normal((4, 6, 5), dtype=np.float32)
    for _ in range(12):
        tensor = make(array)
        ends = [sorted(rng.choice(size + 1, 2, replace=False)) for size in array.shape]
        begin, end = [low for low, _ in ends], [high for _, high in ends]
        cut = tuple(slice(low, high) for low, high in ends)
        region = RemoteTensor(tensor, begin, end) if rng.integers(2) else tensor.roi(begin, end)
        assert tuple(region.shape) == array[cut].shape and region.is_continuous() == array[cut].flags.c_contiguous
        np.testing.assert_array_equal(_read(region), array[cut])
        expected = array.copy()
        expected[cut] *= 3
        region.copy_from(expected[cut])
        np.testing.assert_array_equal(_read(tensor), expected)
        apart = context.create_tensor(np.float32, array[cut].shape)
        region.copy_to(apart)
        np.testing.assert_array_equal(_read(apart), expected[cut])
        other = make(np.zeros_like(array))
        region.copy_to(other.roi(begin, end))
        np.testing.assert_array_equal(_read(other)[cut], expected[cut])
        assert math.prod(array[cut].shape) == np.count_nonzero(_read(other)), "nothing else was written"


def test_regions_of_regions(make: Make, rng: np.random.Generator) -> None:
    array = rng.standard_normal((6, 6), dtype=np.float32)
    region = make(array).roi([1, 1], [6, 5]).roi([1, 0], [3, 2])
    gc.collect()
    np.testing.assert_array_equal(_read(region), array[2:4, 1:3])
    with pytest.raises(ClinferError, match="keep their shape"):
        region.set_shape([4])


def test_regions_that_are_none(context: ClContext) -> None:
    tensor = context.create_tensor(ov.Type.f32, [4, 6])
    for begin, end in (([0], [4]), ([0, 0], [5, 6]), ([-1, 0], [4, 6]), ([3, 0], [2, 6])):
        with pytest.raises(ClinferError, match=r"must lie within its tensor(.|\n)*begin"):
            RemoteTensor(tensor, begin, end)
    with pytest.raises(ClinferError, match="share bytes"):
        context.create_tensor(ov.Type.u4, [4, 6]).roi([0, 0], [4, 6])
    with pytest.raises(ClinferError, match="cut out of a remote tensor"):
        RemoteTensor(np.zeros(3), [0], [1])  # type: ignore[arg-type]


def test_classes(context: ClContext, make: Make) -> None:
    tensor = make(np.zeros((4, 3), np.float32))
    own, other = type(tensor), ClBufferTensor if isinstance(tensor, USMTensor) else USMTensor
    assert tensor.as_(own) is tensor and tensor.as_(RemoteTensor) is tensor
    with pytest.raises(ClinferError, match=rf"no {other.__name__}(.|\n)*it is: {own.__name__}"):
        tensor.as_(other)
    region = RemoteTensor(tensor, [0, 0], [4, 3])
    assert type(region.as_(own)) is own and region.as_(own).static_shape == (4, 3)
    with pytest.raises(ClinferError, match=rf"it is: {own.__name__}"):
        region.as_(ClImage2DTensor)


def test_shapes_change_within_the_memory(make: Make, rng: np.random.Generator) -> None:
    array = rng.standard_normal((4, 3), dtype=np.float32)
    tensor = make(array)
    tensor.shape = [3, 2]
    np.testing.assert_array_equal(_read(tensor), array.reshape(-1)[:6].reshape(3, 2))
    tensor.set_shape(ov.Shape([12]))
    np.testing.assert_array_equal(_read(tensor), array.reshape(-1))
    with pytest.raises(ClinferError, match=r"too small(.|\n)*bytes needed: 4000"):
        tensor.shape = [1000]
    assert tuple(tensor.shape) == (12,)


def test_a_user_buffer_is_retained_and_given_back_once(context: ClContext, user: User) -> None:
    whole = user.buffer(4096)
    for given in (user.buffer(64), whole.get_sub_region(0, 64), user.buffer(4096).get_sub_region(0, 64)):
        before = whole.reference_count
        tensor = context.create_tensor(ov.Type.f32, [4, 4], given)
        region = tensor.roi([2, 0], [3, 4])
        assert tensor.get() is given and given.reference_count == 2
        del tensor
        assert given.reference_count == 2, "the region needs it"
        del region
        assert given.reference_count == 1 and whole.reference_count == before


def test_a_buffer_outlives_its_owner(context: ClContext, user: User, rng: np.random.Generator) -> None:
    array = rng.standard_normal((4, 4), dtype=np.float32)
    given = user.buffer(array)
    tensor = context.create_tensor(ov.Type.f32, [4, 4], given)
    given.release()
    np.testing.assert_array_equal(_read(tensor), array)
    raw = user.buffer(array)
    tensor = context.create_tensor(ov.Type.f32, [4, 4], cl_mem=raw.int_ptr)
    taken = tensor.get()
    del raw, tensor
    np.testing.assert_array_equal(user.contents(taken, array), array)
    assert taken.reference_count == 1


def test_own_memory_goes_with_the_tensor(context: ClContext) -> None:
    held = context.engine.ledger.current
    tensor = context.create_tensor(ov.Type.f32, [1000])
    region = tensor.roi([0], [10])
    assert context.engine.ledger.current == held + 4000
    del tensor
    assert context.engine.ledger.current == held + 4000
    del region
    assert context.engine.ledger.current == held


def test_host_tensors_are_arrays(context: ClContext, rng: np.random.Generator) -> None:
    for element_type in ("f32", "bf16", "u4", "boolean"):
        tensor = context.create_host_tensor(getattr(ov.Type, element_type), [3, 5])
        assert isinstance(tensor, ov.Tensor) and tuple(tensor.shape) == (3, 5)
        assert tensor.element_type == getattr(ov.Type, element_type)
        values = rng.integers(0, 2, tensor.data.nbytes).astype(np.uint8)
        tensor.data.reshape(-1).view(np.uint8)[...] = values
        gc.collect()
        np.testing.assert_array_equal(tensor.data.reshape(-1).view(np.uint8), values)
    assert tuple(context.create_host_tensor(ov.Type.f32, [0, 5]).shape) == (0, 5)


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
        np.testing.assert_array_equal(_read(tensor), array)
        planar = context.create_tensor(dtype, shape)
        planar.copy_from(tensor)
        np.testing.assert_array_equal(_read(planar), array)
        raw = context.create_tensor(dtype, shape, cl_mem=image.int_ptr)
        np.testing.assert_array_equal(_read(raw), array)
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
    with pytest.raises(ClinferError, match="type string"):
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
    plain = cl.SVM(np.zeros(16, np.float32))
    if device.svm_capabilities & cl.device_svm_capabilities.FINE_GRAIN_SYSTEM:
        np.testing.assert_array_equal(_read(context.create_tensor(ov.Type.f32, [16], plain)), 0)
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
