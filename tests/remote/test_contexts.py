"""Remote contexts: whose they are, what they tell, and what they refuse."""
from __future__ import annotations

import gc

import numpy as np
import pyopencl as cl
import pytest

import clinfer
from clinfer.api.core import Core
from clinfer.base.errors import ClinferError
from clinfer.frontend.openvino_import import openvino
from clinfer.remote.context import ClContext, RemoteContext
from clinfer.runtime.device import DeviceInfo, available_devices
from tests.remote.pipelines import F32, User, assert_softmax, is_alone, softmax_model


def test_a_context_is_made_from_each_kind_of_handle(core: Core, user: User, x: np.ndarray) -> None:
    for context, queue in ((ClContext(core, user.context), None), (ClContext(core, user.queue), user.queue),
                           (ClContext(core, cl_context=user.context.int_ptr), None),
                           (ClContext(core, queue=user.queue.int_ptr), user.queue),
                           (ClContext(core, user.context, queue=user.queue), user.queue)):
        assert context.get() == user.context and context.handle == user.context.int_ptr
        assert context.device_name == context.get_device_name() == user.device.name
        expected = {"CONTEXT_TYPE": "OCL", "OCL_CONTEXT": user.context.int_ptr}
        assert context.get_params() == expected | ({"OCL_QUEUE": queue.int_ptr} if queue else {})
        assert user.device.name in repr(context)
        assert context.as_(RemoteContext) is context
        compiled = core.compile_model(softmax_model(), context, F32)
        assert compiled.get_context() is context
        assert_softmax(compiled(x)[0], x)


def test_one_engine_for_one_context(core: Core, user: User, device: DeviceInfo) -> None:
    assert ClContext(core, user.context).engine is ClContext(Core(), user.queue).engine
    assert ClContext(core, cl.Context([device.cl_device])).engine is not ClContext(core, user.context).engine


def test_the_users_objects_are_given_back(core: Core, device: DeviceInfo, x: np.ndarray) -> None:
    given = cl.Context([device.cl_device])
    queue = cl.CommandQueue(given)
    assert queue.reference_count == 1
    before = given.reference_count
    compiled = core.compile_model(softmax_model(), ClContext(core, queue), F32)
    assert_softmax(compiled(x)[0], x)
    assert queue.reference_count > 1
    del compiled
    gc.collect()
    assert given.reference_count == before and is_alone(queue, device)


def test_what_a_context_wraps_outlives_the_users_object(core: Core, device: DeviceInfo, x: np.ndarray) -> None:
    given = cl.Context([device.cl_device])
    context = ClContext(core, cl.CommandQueue(given))
    del given
    gc.collect()
    assert_softmax(core.compile_model(softmax_model(), context, F32)(x)[0], x)


def test_the_default_context_lasts_until_settings_change(device: DeviceInfo) -> None:
    core = Core()
    context = core.get_default_context(device.name)
    assert core.get_default_context(device.name) is context
    assert core.compile_model(softmax_model(), device.name).get_context() is context
    assert isinstance(context.get(), cl.Context) and context.get().int_ptr == context.handle
    core.set_property(device.name, {"PERFORMANCE_HINT": "THROUGHPUT"})
    changed = core.get_default_context(device.name)
    assert changed is not context and core.get_default_context(device.name) is changed
    other = core.compile_model(softmax_model(), device.name, F32).get_context()
    assert other is not changed and core.get_default_context(device.name) is changed
    assert other.handle == changed.handle, "tensors of one are good for the other"


def test_a_context_with_several_devices_asks_for_one(core: Core, device: DeviceInfo, x: np.ndarray) -> None:
    parts = [d.cl_device for d in available_devices() if d.platform_name == device.platform_name]
    context = cl.Context(parts if len(parts) > 1 else [device.cl_device, *_parts_of(device)])
    if len(context.devices) == 1:
        pytest.skip("the platform has no context with several devices")
    with pytest.raises(ClinferError, match=r"several devices(.|\n)*ctx_device_id"):
        ClContext(core, context)
    for number in (-1, 7):
        with pytest.raises(ClinferError, match="no device of that number"):
            ClContext(core, context, number)
    for number in (1, 0):
        chosen = ClContext(core, context, number)
        assert_softmax(core.compile_model(softmax_model(), chosen, F32)(x)[0], x)
    assert ClContext(core, cl.CommandQueue(context, device.cl_device)).get_device_name() == device.name


def _parts_of(device: DeviceInfo) -> list[cl.Device]:
    try:
        return device.cl_device.create_sub_devices([cl.device_partition_property.EQUALLY, 1])
    except cl.Error:
        return []


def test_a_part_of_a_device_is_one(core: Core, device: DeviceInfo, x: np.ndarray) -> None:
    parts = _parts_of(device)
    if not parts:
        pytest.skip("the device has no parts")
    given = cl.Context(parts[:1])
    context = ClContext(core, given)
    assert context.get_device_name() == device.name
    assert_softmax(core.compile_model(softmax_model(), context, F32)(x)[0], x)


def test_what_is_no_context_is_refused(core: Core, user: User, device: DeviceInfo) -> None:
    for given in ("GPU", 5, device, np.zeros(3)):
        with pytest.raises(ClinferError, match=f"given: {type(given).__name__}(.|\n)*cl_context="):
            ClContext(core, given)
    with pytest.raises(ClinferError, match="needs a context or a queue"):
        ClContext(core)
    with pytest.raises(ClinferError, match=r"belongs to a clinfer.Core(.|\n)*openvino"):
        ClContext(openvino.Core(), user.context)  # type: ignore[arg-type]
    for name in ("cl_context", "queue"):
        for handle in (0, -1, "text", True, None.__class__):
            with pytest.raises(ClinferError, match=f"{name} is no handle"):
                ClContext(core, **{name: handle})
    another = cl.Context([device.cl_device])
    foreign = cl.CommandQueue(another)
    before = foreign.reference_count
    with pytest.raises(ClinferError, match="the queue belongs to another OpenCL context"):
        ClContext(core, user.context, queue=foreign)
    gc.collect()
    assert foreign.reference_count == before
    with pytest.raises(ClinferError, match="this context is no int"):
        ClContext(core, user.context).as_(int)


def test_names_are_where_users_look() -> None:
    for name in ("ClContext", "ClBufferTensor", "ClImage2DTensor", "USMTensor", "VAContext", "VASurfaceTensor",
                 "D3DContext", "D3DBufferTensor", "D3DSurface2DTensor"):
        assert getattr(clinfer, name) is getattr(clinfer.intel_gpu.ocl, name)
    assert issubclass(clinfer.ClContext, clinfer.RemoteContext)
    assert issubclass(clinfer.USMTensor, clinfer.RemoteTensor)
