"""Remote tensors: over the user's memory and over new memory, what they tell, regions, copies, lifetimes."""
from __future__ import annotations

import gc
import math
from collections.abc import Callable

import numpy as np
import pytest

from clinfer.api.core import Core
from clinfer.base.errors import ClinferError
from clinfer.frontend.openvino_import import openvino as ov
from clinfer.remote.context import ClContext
from clinfer.remote.tensors import ClBufferTensor, ClImage2DTensor, RemoteTensor, USMTensor
from clinfer.runtime.device import DeviceInfo
from tests.remote.pipelines import User, made, read

Make = Callable[[np.ndarray], RemoteTensor]


@pytest.fixture(params=["buffer", "sub-buffer", "cl_mem", "own buffer", "svm", "usm", "usm host", "usm device"])
def make(request: pytest.FixtureRequest, context: ClContext, user: User) -> Make:
    """Makes a tensor of each kind with an array's contents."""
    return lambda array: made(request.param, context, user, array)


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
    assert list(params) == ["MEM_HANDLE", "OCL_CONTEXT", "SHARED_MEM_TYPE"]
    if isinstance(tensor, USMTensor):
        region = tensor.roi([1, 0, 2], [2, 3, 5])
        assert region.get() == region.get_params()["MEM_HANDLE"] == tensor.get() + 4 * (15 + 2)
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
    np.testing.assert_array_equal(read(tensor), array)
    host = ov.Tensor(ov.Type.f32, [4, 3, 5])
    tensor.copy_to(host)
    np.testing.assert_array_equal(host.data, array)
    tensor.copy_from(ov.Tensor(2 * array))
    np.testing.assert_array_equal(read(tensor), 2 * array)
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
        other = made(kind, context, user, np.zeros_like(array))
        tensor.copy_to(other)
        np.testing.assert_array_equal(read(other), array)
        other.copy_from(make(array + 1))
        np.testing.assert_array_equal(read(other), array + 1)
        other.copy_to(tensor)
        np.testing.assert_array_equal(read(tensor), array + 1)
        tensor.copy_from(array)


def test_shared_virtual_memory_and_buffers_without_memory_for_both(context: ClContext, user: User,
                                                                   monkeypatch: pytest.MonkeyPatch,
                                                                   rng: np.random.Generator) -> None:
    """As on devices whose shared virtual memory is coarse-grained."""
    array = rng.standard_normal((6, 7), dtype=np.float32)
    shared, buffer = (made(kind, context, user, array) for kind in ("svm", "buffer"))
    monkeypatch.setattr(context.engine, "native_types", dict.fromkeys(context.engine.native_types, "host_cl_mem"))
    for source, target in ((shared, buffer), (buffer, shared)):
        source.copy_from(array * 2)
        source.roi([1, 2], [4, 6]).copy_to(target.roi([3, 1], [6, 5]))
        expected = read(target)
        np.testing.assert_array_equal(expected[3:6, 1:5], 2 * array[1:4, 2:6])
        source.copy_to(target)
        np.testing.assert_array_equal(read(target), 2 * array)


def test_tensors_of_two_contexts_are_copied_through_the_host(make: Make, core: Core, device: DeviceInfo,
                                                             rng: np.random.Generator) -> None:
    array = rng.standard_normal((4, 3)).astype(np.float16)
    other = core.get_default_context(device.name).create_tensor(ov.Type.f16, [4, 3])
    make(array).copy_to(other)
    np.testing.assert_array_equal(read(other), array)
    back = make(np.zeros_like(array))
    back.copy_from(other)
    np.testing.assert_array_equal(read(back), array)


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
        np.testing.assert_array_equal(read(region), array[cut])
        expected = array.copy()
        expected[cut] *= 3
        region.copy_from(expected[cut])
        np.testing.assert_array_equal(read(tensor), expected)
        apart = context.create_tensor(np.float32, array[cut].shape)
        region.copy_to(apart)
        np.testing.assert_array_equal(read(apart), expected[cut])
        other = make(np.zeros_like(array))
        region.copy_to(other.roi(begin, end))
        np.testing.assert_array_equal(read(other)[cut], expected[cut])
        assert math.prod(array[cut].shape) == np.count_nonzero(read(other)), "nothing else was written"


def test_regions_of_regions(make: Make, rng: np.random.Generator) -> None:
    array = rng.standard_normal((6, 6), dtype=np.float32)
    region = make(array).roi([1, 1], [6, 5]).roi([1, 0], [3, 2])
    gc.collect()
    np.testing.assert_array_equal(read(region), array[2:4, 1:3])
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
    np.testing.assert_array_equal(read(tensor), array.reshape(-1)[:6].reshape(3, 2))
    tensor.set_shape(ov.Shape([12]))
    np.testing.assert_array_equal(read(tensor), array.reshape(-1))
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
    np.testing.assert_array_equal(read(tensor), array)
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
