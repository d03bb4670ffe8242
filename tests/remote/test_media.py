"""VA-API's and Direct3D's memory, against a driver that records what it is asked."""
from __future__ import annotations

import ctypes
import gc
import sys
from typing import Any

import numpy as np
import pyopencl as cl
import pytest

import clinfer
from clinfer.api.core import Core
from clinfer.base.errors import ClinferError
from clinfer.remote.media import (
    D3DBufferTensor,
    D3DContext,
    D3DSurface2DTensor,
    MediaContext,
    VAContext,
    VASurfaceTensor,
)
from clinfer.runtime import media_sharing
from clinfer.runtime.device import DeviceInfo
from clinfer.runtime.media_sharing import D3D11, VA_API
from tests.network.test_surfaces import PLANES, planes_of, surface_model
from tests.oracle import CpuPlugin, assert_close
from tests.remote.media_driver import ADAPTER, MediaDriver
from tests.remote.pipelines import F32, assert_softmax, softmax_model

NV12 = next(source for source in PLANES if len(PLANES[source]) == 2)
KINDS: dict[str, type[MediaContext]] = {"va": VAContext, "d3d": D3DContext}
SURFACE = 5


@pytest.fixture
def va(device: DeviceInfo, monkeypatch: pytest.MonkeyPatch) -> MediaDriver:
    return MediaDriver(VA_API, device, monkeypatch)


@pytest.fixture
def d3d(device: DeviceInfo, monkeypatch: pytest.MonkeyPatch) -> MediaDriver:
    return MediaDriver(D3D11, device, monkeypatch)


def _image(context: cl.Context, plane: np.ndarray) -> cl.Image:
    order = cl.channel_order.R if plane.shape[2] == 1 else cl.channel_order.RG
    return cl.create_image(context, cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR, cl.ImageFormat(
        order, cl.channel_type.UNORM_INT8), (plane.shape[1], plane.shape[0]), hostbuf=np.ascontiguousarray(plane))


def _with_nv12(driver: MediaDriver, context: MediaContext, planes: list[np.ndarray], surface: int = SURFACE) -> None:
    if context.engine.capabilities.image_channels < 2:
        pytest.skip("the device has no such images")
    for number, plane in enumerate(planes):
        driver.surfaces[surface, number] = _image(context.get(), plane[0])


@pytest.mark.parametrize("kind", KINDS)
def test_contexts(core: Core, device: DeviceInfo, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    driver = MediaDriver(KINDS[kind].api, device, monkeypatch)
    context = KINDS[kind](core, ctypes.c_void_p(ADAPTER))
    platform, api = device.cl_device.platform.int_ptr, driver.api
    numbers = {"va": (0x4094, 0x4095, 0x4097), "d3d": (0x4019, 0x401B, 0x401D)}[kind]
    assert driver.told("find") == 2 * [(platform, numbers[0], ADAPTER, numbers[1])]
    assert driver.told("context") == [([0x1084, platform, numbers[2], ADAPTER, 0], 1, device.cl_device.int_ptr)]
    assert isinstance(context, clinfer.ClContext) and context.device_name == device.name
    assert context.get_params() == {"CONTEXT_TYPE": "VA_SHARED", "OCL_CONTEXT": context.get().int_ptr,
                                    "VA_DEVICE": ADAPTER}
    assert api.adapter in ("VADisplay", "ID3D11Device")
    x = np.ones((2, 5), np.float32)
    assert_softmax(core.compile_model(softmax_model(), context, F32)(x)[0], x)


def test_a_display_in_a_capsule(core: Core, va: MediaDriver) -> None:
    make = ctypes.pythonapi.PyCapsule_New
    make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    assert VAContext(core, make(ADAPTER, b"VADisplay", None)).get_params()["VA_DEVICE"] == ADAPTER


@pytest.mark.parametrize("kind", KINDS)
def test_pictures_of_a_decoder(core: Core, device: DeviceInfo, kind: str, monkeypatch: pytest.MonkeyPatch,
                               rng: np.random.Generator) -> None:
    driver = MediaDriver(KINDS[kind].api, device, monkeypatch)
    context = KINDS[kind](core, ADAPTER)
    planes = planes_of(NV12, 1, 4, 6, rng)
    _with_nv12(driver, context, planes)
    luma, chroma = context.create_tensor_nv12(4, 6, SURFACE)
    handles = [driver.surfaces[SURFACE, plane].int_ptr for plane in (0, 1)]
    where, flags = context.get().int_ptr, cl.mem_flags.READ_WRITE
    assert driver.told("surface") == [(where, flags, SURFACE, 0), (where, flags, SURFACE, 1)]
    for number, tensor in enumerate((luma, chroma)):
        assert isinstance(tensor, VASurfaceTensor if kind == "va" else D3DSurface2DTensor)
        assert tensor.plane_id == number and tensor.get().int_ptr == tensor.handle == handles[number]
        assert tensor.get_params() == {
            "OCL_CONTEXT": where, "SHARED_MEM_TYPE": "VA_SURFACE", "VA_DEVICE": ADAPTER, "MEM_HANDLE": handles[number],
            "DEV_OBJECT_HANDLE": SURFACE, "VA_PLANE": number}
        assert (tensor.surface_id if isinstance(tensor, VASurfaceTensor) else tensor.texture) == SURFACE
    assert [tuple(tensor.shape) for tensor in (luma, chroma)] == [(1, 4, 6, 1), (1, 2, 3, 2)]
    again = context.create_tensor("u8", [1, 2, 3, 2], chroma.get_params())
    assert again.get_params() == chroma.get_params()
    request = core.compile_model(surface_model(NV12, (1, 3, 4, 6)), context, F32).create_infer_request()
    for name, tensor in zip(PLANES[NV12], (luma, chroma), strict=True):
        request.set_tensor(name, tensor)
    for _ in range(2):
        driver.calls.clear()
        actual = request.infer()[0]
        assert [name for name, _ in driver.calls] == ["acquire", "release"]
        (queue, taken), released = driver.told("acquire", "release")
        assert (queue, taken) == released and taken == sorted(handles)
        assert_close(actual, CpuPlugin(surface_model(NV12, (1, 3, 4, 6), ""))(planes)[0], 1e-5)
    found = np.zeros((1, 2, 3, 2), np.uint8)
    driver.calls.clear()
    chroma.copy_to(found)
    np.testing.assert_array_equal(found, planes[1])
    assert [name for name, _ in driver.calls] == ["acquire", "release"]


def test_one_plane(core: Core, va: MediaDriver, rng: np.random.Generator) -> None:
    context = VAContext(core, ADAPTER)
    planes = planes_of(NV12, 1, 4, 6, rng)
    _with_nv12(va, context, planes, surface=0)
    for tensor in (context.create_tensor("u8", [1, 2, 3, 2], 0, 1),
                   context.create_tensor("u8", [1, 2, 3, 2], surface=0, plane=1),
                   context.create_tensor("u8", [1, 2, 3, 2], {
                       "SHARED_MEM_TYPE": "VA_SURFACE", "DEV_OBJECT_HANDLE": 0, "VA_PLANE": 1})):
        assert isinstance(tensor, VASurfaceTensor) and (tensor.surface_id, tensor.plane_id) == (0, 1)
        assert tensor.as_(clinfer.ClImage2DTensor) is tensor
    before = va.surfaces[0, 1].reference_count
    del tensor
    gc.collect()
    assert va.surfaces[0, 1].reference_count == before - 1


@pytest.mark.parametrize("out_of_order", [False, True])
def test_buffers_of_direct3d(core: Core, d3d: MediaDriver, out_of_order: bool, rng: np.random.Generator) -> None:
    context = D3DContext(core, ADAPTER)
    given, taken = (cl.Buffer(context.get(), cl.mem_flags.READ_WRITE, 120) for _ in range(2))
    d3d.buffers = {0x10: given, 0x20: taken}
    x = context.create_tensor(np.float32, [6, 5], buffer=0x10)
    y = context.create_tensor(np.float32, [6, 5], {"SHARED_MEM_TYPE": "DX_BUFFER", "DEV_OBJECT_HANDLE": 0x20})
    assert isinstance(x, D3DBufferTensor) and isinstance(y, D3DBufferTensor)
    assert (x.buffer, y.buffer, x.get().int_ptr) == (0x10, 0x20, given.int_ptr)
    assert x.get_params() == {"OCL_CONTEXT": context.handle, "SHARED_MEM_TYPE": "DX_BUFFER", "VA_DEVICE": ADAPTER,
                              "MEM_HANDLE": given.int_ptr, "DEV_OBJECT_HANDLE": 0x10}
    settings: dict[str, Any] = {**F32, **({"execution_order": "out_of_order"} if out_of_order else {})}
    request = core.compile_model(softmax_model(), context, settings).create_infer_request()
    request.set_tensor("x", x)
    request.set_tensor("y", y)
    for _ in range(2):
        values = rng.standard_normal((6, 5), dtype=np.float32)
        d3d.calls.clear()
        x.copy_from(values)
        assert [(name, handles) for name, (_, handles) in d3d.calls] == [
            ("acquire", [given.int_ptr]), ("release", [given.int_ptr])]
        d3d.calls.clear()
        request.start_async()
        request.wait()
        both = sorted([given.int_ptr, taken.int_ptr])
        assert [(name, handles) for name, (_, handles) in d3d.calls] == [("acquire", both), ("release", both)]
        found = np.empty((6, 5), np.float32)
        y.roi([2, 0], [6, 5]).copy_to(found[2:])
        assert_softmax(found[2:], values[2:])
        assert [name for name, _ in d3d.calls[2:]] == ["acquire", "release"]


def test_what_fails_is_given_back(core: Core, d3d: MediaDriver) -> None:
    context = D3DContext(core, ADAPTER)
    d3d.buffers = {0x10: cl.Buffer(context.get(), cl.mem_flags.READ_WRITE, 120)}
    x = context.create_tensor(np.float32, [6, 5], buffer=0x10)
    request = core.compile_model(softmax_model(), context, F32).create_infer_request()
    request.set_tensor("x", x)
    request.set_tensor("y", context.create_tensor(np.float32, [2, 5]))
    with pytest.raises(ClinferError, match="too small"):
        request.infer()
    assert [name for name, _ in d3d.calls[-2:]] == ["acquire", "release"]
    d3d.statuses["acquire"] = -1006
    with pytest.raises(ClinferError, match="acquire memory of Direct3D 11") as caught:
        request.infer()
    assert "cl_khr_d3d11_sharing" in str(caught.value)
    assert d3d.calls[-1][0] == "acquire"


@pytest.mark.parametrize("kind", KINDS)
def test_devices_without_the_extension(core: Core, kind: str) -> None:
    with pytest.raises(ClinferError, match="shares memory with") as caught:
        KINDS[kind](core, ADAPTER)
    assert f"missing extension: {KINDS[kind].api.extension}" in str(caught.value)
    names = {"va": "cl_intel_va_api_media_sharing", "d3d": "cl_khr_d3d11_sharing"}
    assert KINDS[kind].api.extension == names[kind]


def test_adapters_without_a_device(core: Core, va: MediaDriver) -> None:
    va.statuses["find"] = -1
    with pytest.raises(ClinferError, match="no OpenCL device here works with this VADisplay"):
        VAContext(core, ADAPTER)
    va.statuses["find"] = -1098
    with pytest.raises(ClinferError, match="find the devices of the VADisplay"):
        VAContext(core, ADAPTER)
    va.statuses = {"context": -1098}
    with pytest.raises(ClinferError, match="open a context for the VADisplay"):
        VAContext(core, ADAPTER)
    del va.functions[VA_API.acquire]
    with pytest.raises(ClinferError, match="lacks a function of the extension cl_intel_va") as caught:
        VAContext(core, ADAPTER)
    assert VA_API.acquire in str(caught.value)


def test_surfaces_that_do_not_fit(core: Core, va: MediaDriver, rng: np.random.Generator) -> None:
    context = VAContext(core, ADAPTER)
    _with_nv12(va, context, planes_of(NV12, 1, 4, 6, rng))
    for size in ((3, 6), (4, 5), (0, 0), (None, 6)):
        with pytest.raises(ClinferError, match="even height and width"):
            context.create_tensor_nv12(*size, SURFACE)
    before = va.surfaces[SURFACE, 0].reference_count
    with pytest.raises(ClinferError, match="another size"):
        context.create_tensor_nv12(8, 6, SURFACE)
    with pytest.raises(ClinferError, match="another type"):
        context.create_tensor("f32", [1, 4, 6, 1], SURFACE)
    gc.collect()
    assert va.surfaces[SURFACE, 0].reference_count == before
    va.statuses["surface"] = -1099
    with pytest.raises(ClinferError, match="share plane 0 of a surface"):
        context.create_tensor_nv12(4, 6, SURFACE)
    with pytest.raises(ClinferError, match="surface is no handle"):
        context.create_tensor("u8", [1, 4, 6, 1], surface=-3)
    with pytest.raises(ClinferError, match="made over one object"):
        context.create_tensor("u8", [1, 4, 6, 1], surface=3, cl_mem=4)
    with pytest.raises(ClinferError, match="tiles"):
        VAContext(core, ADAPTER, 1)
    with pytest.raises(ClinferError, match="no Direct3D's buffers"):
        context.create_tensor("u8", [4], {"SHARED_MEM_TYPE": "DX_BUFFER", "DEV_OBJECT_HANDLE": 7})


def test_planes_of_textures_need_an_extension(core: Core, d3d: MediaDriver, rng: np.random.Generator) -> None:
    context = D3DContext(core, ADAPTER)
    _with_nv12(d3d, context, planes_of(NV12, 1, 4, 6, rng))
    assert isinstance(context.create_tensor("u8", [4, 6], texture=SURFACE), D3DSurface2DTensor)
    d3d.extensions.remove("cl_intel_d3d11_nv12_media_sharing")
    with pytest.raises(ClinferError, match="missing extension: cl_intel_d3d11_nv12_media_sharing"):
        context.create_tensor_nv12(4, 6, SURFACE)


@pytest.mark.parametrize("windows", [False, True])
def test_contexts_from_properties(core: Core, device: DeviceInfo, windows: bool,
                                  monkeypatch: pytest.MonkeyPatch) -> None:
    MediaDriver(D3D11 if windows else VA_API, device, monkeypatch)
    monkeypatch.setattr(sys, "platform", "win32" if windows else "linux")
    context = core.create_context(device.name, {"CONTEXT_TYPE": "VA_SHARED", "VA_DEVICE": ADAPTER, "TILE_ID": -1})
    assert type(context) is (D3DContext if windows else VAContext)
    assert context.get_params()["VA_DEVICE"] == ADAPTER


def test_extensions_are_words(device: DeviceInfo) -> None:
    name = device.cl_device.extensions.split()[0]
    assert media_sharing.has_extension(device.cl_device, name)
    assert not media_sharing.has_extension(device.cl_device, name[:-1])
