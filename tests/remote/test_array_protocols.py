"""Remote tensors as arrays: the memory itself, kept as long as it is seen, or an error."""
from __future__ import annotations

import gc
import threading
import weakref
from dataclasses import replace

import numpy as np
import pyopencl as cl
import pytest

from clinfer.api.core import Core
from clinfer.base.errors import ClinferError, HiddenMemoryError
from clinfer.remote.context import ClContext
from clinfer.remote.tensors import RemoteTensor
from clinfer.runtime.device import DeviceInfo
from clinfer.runtime.engine import Engine
from tests.remote.pipelines import User

SHAPE = (4, 3, 5)
KINDS = ("buffer", "buffer over an array", "sub-buffer", "own buffer", "usm host", "usm device", "svm")
CPU, OPENCL = 1, 4


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest, context: ClContext) -> str:
    natives = context.engine.native_types
    needed = {"usm host": "usm_host", "usm device": "usm_device"}.get(request.param)
    if needed and natives[needed] in ("cl_mem", "host_cl_mem"):  # type: ignore[index]
        pytest.skip("no pointers of this type")
    if request.param == "svm" and not context.engine.device.cl_device.svm_capabilities:
        pytest.skip("no shared virtual memory")
    return str(request.param)


@pytest.fixture
def tensor(kind: str, context: ClContext, user: User) -> RemoteTensor:
    """A tensor of f32 of each kind; an error of the tests if the host cannot see it although it should."""
    made = _make(kind, context, user)
    if not _is_seen(kind, context):
        assert made.__dlpack_device__()[0] == OPENCL
        pytest.skip("the host does not see this memory")
    return made


def _is_seen(kind: str, context: ClContext) -> bool:
    return context.engine.capabilities.buffers_in_place or kind == "usm host"


def _make(kind: str, context: ClContext, user: User) -> RemoteTensor:
    nbytes = 4 * int(np.prod(SHAPE))
    if kind == "own buffer":
        return context.create_tensor(np.float32, SHAPE)
    if kind in ("usm host", "usm device"):
        create = context.create_usm_host_tensor if kind == "usm host" else context.create_usm_device_tensor
        return create(np.float32, SHAPE)
    if kind == "svm":
        return context.create_tensor(np.float32, SHAPE, cl.SVM(cl.csvm_empty(user.context, SHAPE, np.float32)))
    if kind == "buffer over an array":
        array = np.empty(SHAPE, np.float32)
        flags = cl.mem_flags.READ_WRITE | cl.mem_flags.USE_HOST_PTR
        return context.create_tensor(np.float32, SHAPE, cl.Buffer(user.context, flags, hostbuf=array))
    unit = user.device.cl_device.mem_base_addr_align // 8
    whole = user.buffer(unit + nbytes)
    part = whole.get_sub_region(unit, nbytes)
    return context.create_tensor(np.float32, SHAPE, part if kind == "sub-buffer" else whole)


def _read(tensor: RemoteTensor) -> np.ndarray:
    found = np.full(tensor.static_shape, np.nan, tensor.kind.storage)
    tensor.copy_to(found)
    return found


def test_views_are_the_memory(tensor: RemoteTensor, user: User, context: ClContext, rng: np.random.Generator) -> None:
    views = [np.asarray(tensor), np.from_dlpack(tensor), np.array(tensor, copy=None), np.asarray(tensor)[...]]
    first = rng.standard_normal(SHAPE, dtype=np.float32)
    tensor.copy_from(first)
    for view in views:
        assert (view.shape, view.dtype) == (SHAPE, np.float32)
        assert view.ctypes.data == views[0].ctypes.data
        np.testing.assert_array_equal(view, first)
    second = rng.standard_normal(SHAPE, dtype=np.float32)
    views[1][...] = second
    np.testing.assert_array_equal(_read(tensor), second)
    assert tensor.__dlpack_device__() == (CPU, 0)


def test_kernels_see_what_is_written_to_a_view(context: ClContext, user: User, rng: np.random.Generator) -> None:
    if not context.engine.capabilities.buffers_in_place:
        pytest.skip("the host does not see buffers")
    given, halved = user.buffer(4000), user.buffer(4000)
    seen = np.asarray(context.create_tensor(np.float32, [1000], given))
    result = np.asarray(context.create_tensor(np.float32, [1000], halved))
    for _ in range(3):
        seen[...] = rng.standard_normal(1000, dtype=np.float32)
        user.halve(user.queue, (1000,), None, given, halved)
        user.queue.finish()
        np.testing.assert_array_equal(result, seen / 2)


def test_regions_are_views_with_gaps(tensor: RemoteTensor, rng: np.random.Generator) -> None:
    contents = rng.standard_normal(SHAPE, dtype=np.float32)
    tensor.copy_from(contents)
    region = tensor.roi([1, 1, 0], [3, 3, 4])
    for view in (np.asarray(region), np.from_dlpack(region)):
        np.testing.assert_array_equal(view, contents[1:3, 1:3, :4])
        view += 1
        contents[1:3, 1:3, :4] += 1
    np.testing.assert_array_equal(_read(tensor), contents)


@pytest.mark.parametrize("protocol", [np.asarray, np.from_dlpack])
def test_a_view_keeps_the_tensor(kind: str, context: ClContext, user: User, protocol: object) -> None:
    if not _is_seen(kind, context):
        pytest.skip("the host does not see this memory")
    tensor = _make(kind, context, user)
    gone = weakref.ref(tensor)
    view = protocol(tensor.roi([1, 0, 0], [2, 3, 5]))[0, 1:]  # type: ignore[operator]
    del tensor
    gc.collect()
    assert gone() is not None
    view[...] = 7
    assert (_read(gone())[1, 1:] == 7).all()
    del view
    gc.collect()
    assert gone() is None


def test_copies_are_made_where_they_are_asked_for(context: ClContext) -> None:
    if not context.engine.capabilities.buffers_in_place:
        pytest.skip("the host does not see buffers")
    tensor = context.create_tensor(np.float32, SHAPE)
    tensor.copy_from(np.ones(SHAPE, np.float32))
    copies = [np.array(tensor, copy=True), np.asarray(tensor, np.float64), np.from_dlpack(tensor, copy=True)]
    np.asarray(tensor)[...] = 2
    assert [copy.dtype for copy in copies] == [np.float32, np.float64, np.float32]
    assert all((copy == 1).all() for copy in copies)
    with pytest.raises(ValueError, match="without a copy"):
        tensor.__array__(np.float64, copy=False)
    for wrong in ({"stream": 1}, {"dl_device": (2, 0)}):
        with pytest.raises(BufferError, match="handed to the CPU alone"):
            tensor.__dlpack__(**wrong)  # type: ignore[arg-type]


def test_empty_tensors_are_empty_arrays(context: ClContext) -> None:
    if not context.engine.capabilities.buffers_in_place:
        pytest.skip("the host does not see buffers")
    for protocol in (np.asarray, np.from_dlpack):
        assert protocol(context.create_tensor(np.int32, [3, 0, 2])).shape == (3, 0, 2)  # type: ignore[operator]


def _assert_hidden(tensor: RemoteTensor, why: str) -> None:
    assert not hasattr(tensor, "__array_interface__")
    for protocol in (np.asarray, np.from_dlpack):
        with pytest.raises(HiddenMemoryError, match=why) as caught:
            protocol(tensor)  # type: ignore[operator]
        assert isinstance(caught.value, BufferError) and isinstance(caught.value, ClinferError)
        assert "copy_to" in str(caught.value)


def test_memory_of_a_device_of_its_own_is_no_array(device: DeviceInfo, engine: Engine) -> None:
    """As on a GPU: only what the host sees by its address is seen."""
    hiding = ClContext.over(Engine(device, replace(engine.capabilities, buffers_in_place=False)))
    tensor = hiding.create_tensor(np.float32, SHAPE)
    _assert_hidden(tensor, f"cl_mem memory of {device.name}")
    assert tensor.__dlpack_device__() == (OPENCL, int(device.name.split(".")[1]))
    if engine.native_types["usm_host"] in ("usm_host", "svm"):
        assert hiding.create_usm_host_tensor(np.float32, SHAPE).__dlpack_device__() == (CPU, 0)


@pytest.mark.parametrize("element_type", ["bf16", "u4", "i4"])
def test_types_that_numpy_lacks(context: ClContext, element_type: str) -> None:
    _assert_hidden(context.create_tensor(element_type, [4]), "NumPy has no type for" if
                   context.engine.capabilities.buffers_in_place else element_type)


def test_what_the_host_must_not_touch(context: ClContext, user: User) -> None:
    flags = cl.mem_flags.READ_WRITE | cl.mem_flags.HOST_NO_ACCESS
    closed = context.create_tensor(np.float32, [4], cl.Buffer(user.context, flags, 16))
    _assert_hidden(closed, "flags" if context.engine.capabilities.buffers_in_place else "does not see")
    if user.device.cl_device.image_support:
        form = cl.ImageFormat(cl.channel_order.R, cl.channel_type.UNORM_INT8)
        image = cl.create_image(user.context, cl.mem_flags.READ_ONLY, form, (4, 2))
        _assert_hidden(context.create_tensor(np.uint8, [1, 2, 4, 1], image), "texels")


def test_a_view_waits_for_the_users_queue(core: Core, user: User, rng: np.random.Generator) -> None:
    """What was enqueued before is there when the view is."""
    queue = cl.CommandQueue(user.context)
    context = ClContext(core, queue)
    if not context.engine.capabilities.buffers_in_place:
        pytest.skip("the host does not see buffers")
    array = rng.standard_normal(100, dtype=np.float32)
    result = user.buffer(400)
    gate = cl.UserEvent(user.context)
    user.halve(queue, (100,), None, user.buffer(array), result, wait_for=[gate])
    queue.flush()
    opened = threading.Timer(0.2, gate.set_status, [cl.command_execution_status.COMPLETE])
    opened.start()
    seen = np.asarray(context.create_tensor(np.float32, [100], result)).copy()
    opened.join()
    np.testing.assert_array_equal(seen, array / 2)
