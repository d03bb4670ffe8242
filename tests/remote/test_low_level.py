"""Contexts and tensors from OpenVINO's properties, row by row, and what wrong entries are told."""
from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pyopencl as cl
import pytest

import clinfer
from clinfer.api.core import Core
from clinfer.base.errors import ClinferError
from clinfer.remote.context import ClContext
from clinfer.remote.descriptors import TENSORS
from clinfer.remote.tensors import RemoteTensor
from clinfer.runtime.device import DeviceInfo, available_devices
from tests.remote.pipelines import F32, User, assert_softmax, softmax_model

SHAPE = [6, 5]


@pytest.mark.parametrize("form", [int, ctypes.c_void_p, lambda handle: handle])
@pytest.mark.parametrize("with_queue", [False, True])
def test_contexts(core: Core, device: DeviceInfo, user: User, with_queue: bool, form: Any) -> None:
    def handle(owner: Any) -> Any:
        return form(owner) if form not in (int, ctypes.c_void_p) else form(owner.int_ptr)

    entries = {"CONTEXT_TYPE": "OCL", "OCL_CONTEXT": handle(user.context),
               **({"OCL_QUEUE": handle(user.queue)} if with_queue else {})}
    context = core.create_context(device.name, entries)
    assert isinstance(context, ClContext) and context.get() == user.context
    expected = {"CONTEXT_TYPE": "OCL", "OCL_CONTEXT": user.context.int_ptr}
    assert context.get_params() == expected | ({"OCL_QUEUE": user.queue.int_ptr} if with_queue else {})
    again = core.create_context(device.type, context.get_params())
    assert (again.engine, again.get_params()) == (context.engine, context.get_params())
    x = np.ones((2, 5), np.float32)
    assert_softmax(core.compile_model(softmax_model(), again, F32)(x)[0], x)


def test_contexts_of_several_devices(core: Core, device: DeviceInfo) -> None:
    try:
        devices = device.cl_device.create_sub_devices([cl.device_partition_property.EQUALLY, 1])
    except cl.Error:
        pytest.skip("the device has no parts")
    shared = cl.Context(devices)
    entries = {"CONTEXT_TYPE": "OCL", "OCL_CONTEXT": shared.int_ptr}
    if len(shared.devices) > 1:
        with pytest.raises(ClinferError, match="several devices"):
            core.create_context(device.name, entries)
    number = len(shared.devices) - 1
    context = core.create_context(device.name, {**entries, "OCL_CONTEXT_DEVICE_ID": number, "TILE_ID": -1})
    assert context.device_name == device.name


def test_no_properties_are_the_default(core: Core, device: DeviceInfo) -> None:
    assert core.create_context(device.name, {}) is core.get_default_context(device.name)


def test_contexts_of_another_device(core: Core, device: DeviceInfo, user: User) -> None:
    others = [other for other in available_devices() if other != device]
    if not others:
        pytest.skip("there is one device")
    with pytest.raises(ClinferError, match="of another device"):
        core.create_context(others[0].name, {"CONTEXT_TYPE": "OCL", "OCL_CONTEXT": user.context.int_ptr})


EXPECTED_CONTEXTS = "OCL with OCL_CONTEXT, .OCL_QUEUE., .OCL_CONTEXT_DEVICE_ID., .TILE_ID.; or VA_SHARED with VA_DEVICE"


@pytest.mark.parametrize(("entries", "told"), [
    ({"OCL_CONTEXT": 1}, f"CONTEXT_TYPE is missing(.|\n)*{EXPECTED_CONTEXTS}"),
    ({"CONTEXT_TYPE": "ZE", "OCL_CONTEXT": 1}, f"another value than expected(.|\n)*'ZE'(.|\n)*{EXPECTED_CONTEXTS}"),
    ({"CONTEXT_TYPE": "OCL"}, "missing: OCL_CONTEXT(.|\n)*expected CONTEXT_TYPE: OCL with OCL_CONTEXT"),
    ({"CONTEXT_TYPE": "OCL", "OCL_CONTEXT": None}, "missing: OCL_CONTEXT"),
    ({"CONTEXT_TYPE": "OCL", "OCL_CONTEXT": 1, "MEM_HANDLE": 2}, "not known: MEM_HANDLE"),
    ({"CONTEXT_TYPE": "OCL", "OCL_CONTEXT": "one"}, "OCL_CONTEXT is no handle(.|\n)*'one'"),
    ({"CONTEXT_TYPE": "OCL", "OCL_CONTEXT": 0}, "OCL_CONTEXT is no handle"),
    ({"CONTEXT_TYPE": "OCL", "OCL_CONTEXT": 1, "TILE_ID": 0}, "not on their tiles"),
    ({"CONTEXT_TYPE": "OCL", "OCL_CONTEXT": 1, "TILE_ID": "0"}, "TILE_ID is no number"),
    ({"CONTEXT_TYPE": "VA_SHARED"}, "missing: VA_DEVICE(.|\n)*expected CONTEXT_TYPE: VA_SHARED with VA_DEVICE"),
    ({"CONTEXT_TYPE": "VA_SHARED", "VA_DEVICE": 3}, "missing extension: cl_"),
])
def test_wrong_contexts(core: Core, device: DeviceInfo, entries: dict[str, Any], told: str) -> None:
    with pytest.raises(ClinferError, match=told):
        core.create_context(device.name, entries)


def _entries(kind: str, context: ClContext, user: User) -> tuple[dict[str, Any], object]:
    """Properties of each kind, and what must stay while the tensor does."""
    if kind == "OCL_BUFFER":
        buffer = user.buffer(120)
        return {"MEM_HANDLE": buffer.int_ptr}, buffer
    if kind == "OCL_IMAGE2D":
        if context.engine.capabilities.image_channels < 1:
            pytest.skip("the device has no such images")
        image = cl.create_image(user.context, cl.mem_flags.READ_WRITE, cl.ImageFormat(
            cl.channel_order.R, cl.channel_type.UNORM_INT8), (5, 6))
        return {"MEM_HANDLE": image.int_ptr}, image
    needed = "usm_device" if kind == "USM_DEVICE_BUFFER" else "usm_host"
    if context.engine.native_types[needed] in ("cl_mem", "host_cl_mem"):  # type: ignore[index]
        pytest.skip("no pointers of this type")
    if kind == "USM_USER_BUFFER":
        if not context.engine.capabilities.usm:
            pytest.skip("no unified shared memory")
        owner = context.create_usm_host_tensor(np.float32, SHAPE)
        return {"MEM_HANDLE": owner.get()}, owner
    return {}, None


CLASSES = {"OCL_BUFFER": "ClBufferTensor", "OCL_IMAGE2D": "ClImage2DTensor", "USM_USER_BUFFER": "USMTensor",
           "USM_HOST_BUFFER": "USMTensor", "USM_DEVICE_BUFFER": "USMTensor"}


@pytest.mark.parametrize("kind", CLASSES)
def test_tensors(context: ClContext, user: User, kind: str, rng: np.random.Generator) -> None:
    entries, owner = _entries(kind, context, user)
    element_type = "u8" if kind == "OCL_IMAGE2D" else "f32"
    made = context.create_tensor(element_type, SHAPE, {"SHARED_MEM_TYPE": kind, **entries})
    assert type(made).__name__ == CLASSES[kind]
    if context.engine.native_types["usm_host"] != "svm":
        assert made.get_params()["SHARED_MEM_TYPE"] == kind
    for name, value in entries.items():
        assert made.get_params()[name] == value
    array = rng.integers(0, 99, SHAPE).astype(made.kind.storage)
    made.copy_from(array)
    found = _again(context, made) if kind in ("OCL_BUFFER", "OCL_IMAGE2D") else made
    seen = np.empty_like(array)
    found.copy_to(seen)
    np.testing.assert_array_equal(seen, array)
    del owner


def _again(context: ClContext, tensor: RemoteTensor) -> RemoteTensor:
    """The tensor that its own properties describe."""
    return context.create_tensor(tensor.element_type, tensor.shape, tensor.get_params())


def test_no_properties_are_new_memory(context: ClContext) -> None:
    assert isinstance(context.create_tensor("f32", SHAPE, {}), clinfer.ClBufferTensor)


def test_every_kind_is_told(context: ClContext) -> None:
    with pytest.raises(ClinferError, match="SHARED_MEM_TYPE is missing") as caught:
        context.create_tensor("f32", SHAPE, {"MEM_HANDLE": 4})
    for row in TENSORS:
        assert str(row) in str(caught.value)
    assert {row.value for row in TENSORS} == {*CLASSES, "VA_SURFACE", "DX_BUFFER"}


@pytest.mark.parametrize(("entries", "told"), [
    ({"SHARED_MEM_TYPE": "CPU_VA"}, "another value than expected(.|\n)*'CPU_VA'(.|\n)*OCL_BUFFER with MEM_HANDLE"),
    ({"SHARED_MEM_TYPE": "OCL_BUFFER"}, "missing: MEM_HANDLE(.|\n)*expected SHARED_MEM_TYPE: OCL_BUFFER with"),
    ({"SHARED_MEM_TYPE": "OCL_BUFFER", "MEM_HANDLE": 0}, "MEM_HANDLE is no handle"),
    ({"SHARED_MEM_TYPE": "USM_HOST_BUFFER", "MEM_HANDLE": 4}, "not known: MEM_HANDLE"),
    ({"SHARED_MEM_TYPE": "VA_SURFACE", "DEV_OBJECT_HANDLE": 4}, "missing: VA_PLANE"),
    ({"SHARED_MEM_TYPE": "VA_SURFACE", "DEV_OBJECT_HANDLE": 4, "VA_PLANE": "0"}, "VA_PLANE is no number"),
    ({"SHARED_MEM_TYPE": "VA_SURFACE", "DEV_OBJECT_HANDLE": 4, "VA_PLANE": 0}, "has no surfaces(.|\n)*VAContext"),
    ({"SHARED_MEM_TYPE": "DX_BUFFER", "DEV_OBJECT_HANDLE": 4}, "this context has no Direct3D's buffers"),
    ({"SHARED_MEM_TYPE": "USM_HOST_BUFFER", "OCL_CONTEXT": 4}, "OCL_CONTEXT is not that of this context"),
])
def test_wrong_tensors(context: ClContext, entries: dict[str, Any], told: str) -> None:
    with pytest.raises(ClinferError, match=told):
        context.create_tensor("f32", SHAPE, entries)


def test_a_handle_of_another_kind(context: ClContext, user: User) -> None:
    buffer = user.buffer(120)
    before = buffer.reference_count
    with pytest.raises(ClinferError, match="OCL_IMAGE2D was given another kind of memory"):
        context.create_tensor("f32", SHAPE, {"SHARED_MEM_TYPE": "OCL_IMAGE2D", "MEM_HANDLE": buffer})
    assert buffer.reference_count == before
