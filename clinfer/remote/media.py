"""Contexts and tensors of video and graphics APIs: VA-API's surfaces, Direct3D 11's buffers and textures."""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import pyopencl as cl

from clinfer.base.element_type import ElementType
from clinfer.base.errors import ClinferError
from clinfer.base.shape import StaticShape
from clinfer.frontend.host_tensors import read_element_type, read_shape
from clinfer.remote.context import WHERE, ClContext, Settings
from clinfer.remote.images import check_image
from clinfer.remote.lent import Lent
from clinfer.remote.memories import wrap_buffer, wrap_image
from clinfer.remote.objects import read_handle
from clinfer.remote.tensors import ClBufferTensor, ClImage2DTensor, RemoteTensor
from clinfer.runtime.device import available_devices, devices_by_name
from clinfer.runtime.media_sharing import D3D11, VA_API, MediaApi, MediaCalls, has_extension


class _LentTensor(RemoteTensor):
    """A tensor in an object of another API, which the other API owns."""

    @property
    def lent(self) -> Lent:
        """The object: its handle in the other API, the plane, and the cl_mem."""
        assert isinstance(self.given, Lent)
        return self.given

    @classmethod
    def _params(cls, tensor: RemoteTensor, kind: str, *, with_plane: bool) -> dict[str, Any]:
        lent = tensor.given
        assert isinstance(lent, Lent)
        return {"SHARED_MEM_TYPE": kind, "VA_DEVICE": tensor.context.get_params()["VA_DEVICE"],
                "MEM_HANDLE": lent.cl_mem, "DEV_OBJECT_HANDLE": lent.handle,
                **({"VA_PLANE": lent.plane} if with_plane else {})}


class _SurfaceTensor(_LentTensor, ClImage2DTensor):
    """A plane of a surface, which OpenCL sees as an image."""

    def get(self) -> cl.Image:
        """The image, another reference to it."""
        return cl.Image.from_int_ptr(self.image.int_ptr, True)

    @property
    def plane_id(self) -> int:
        """Which plane of the surface it is."""
        return self.lent.plane

    @classmethod
    def params_of(cls, tensor: RemoteTensor) -> dict[str, Any]:
        return cls._params(tensor, "VA_SURFACE", with_plane=True)


class VASurfaceTensor(_SurfaceTensor):
    """A tensor in a plane of a VASurfaceID."""

    @property
    def surface_id(self) -> int:
        """The VASurfaceID."""
        return self.lent.handle


class D3DSurface2DTensor(_SurfaceTensor):
    """A tensor in a plane of an ID3D11Texture2D."""

    @property
    def texture(self) -> int:
        """The ID3D11Texture2D."""
        return self.lent.handle


class D3DBufferTensor(_LentTensor, ClBufferTensor):
    """A tensor in an ID3D11Buffer."""

    def get(self) -> cl.Buffer:
        """The buffer, another reference to it."""
        return cl.Buffer.from_int_ptr(self.whole.cl_buffer.int_ptr, True)

    @property
    def buffer(self) -> int:
        """The ID3D11Buffer."""
        return self.lent.handle

    @classmethod
    def params_of(cls, tensor: RemoteTensor) -> dict[str, Any]:
        return cls._params(tensor, "DX_BUFFER", with_plane=False)


class MediaContext(ClContext):
    """A context that shares memory with a video or graphics API.

    Around every inference and copy its tensors are taken over and given back by commands in the queue. The adapter,
    surfaces and buffers are raw handles; that they are valid, and stay as long as tensors over them, is the caller's
    promise.
    """

    api: ClassVar[MediaApi]
    surface_tensor: ClassVar[type[_SurfaceTensor]]

    def __init__(self, core: Settings, adapter: Any, target_tile_id: int = -1) -> None:
        if target_tile_id != -1:
            raise ClinferError("clinfer works on whole devices, not on their tiles", where=WHERE,
                               values={"target_tile_id": target_tile_id}, hint="leave it out, or give -1")
        self._adapter = adapter
        self._handle = read_handle(self.api.adapter, adapter)
        self._calls, device = _find(self.api, self._handle)
        super().__init__(core, self._calls.open_context(device, self._handle))

    def get_params(self) -> dict[str, Any]:
        """See RemoteContext."""
        return {**super().get_params(), "CONTEXT_TYPE": "VA_SHARED", "VA_DEVICE": self._handle}

    def create_tensor_nv12(self, y: Any = None, uv: Any = None, nv12_surface: Any = None, *,
                           height: int | None = None, width: int | None = None) -> tuple[RemoteTensor, RemoteTensor]:
        """`create_tensor_nv12(height, width, nv12_surface)`: both planes of a surface in NV12, as tensors
        [1, height, width, 1] and [1, height/2, width/2, 2] of u8; or of two images or buffers, see ClContext."""
        if nv12_surface is None:
            return super().create_tensor_nv12(y, uv, height=height, width=width)
        tall, wide = y if height is None else height, uv if width is None else width
        if not (isinstance(tall, int) and isinstance(wide, int)) or tall % 2 or wide % 2 or min(tall, wide) <= 0:
            raise ClinferError("a surface in NV12 has an even height and width", where=WHERE,
                               values={"height": tall, "width": wide})
        kind = read_element_type("u8", WHERE)
        return (self.over_surface(kind, (1, tall, wide, 1), nv12_surface, 0),
                self.over_surface(kind, (1, tall // 2, wide // 2, 2), nv12_surface, 1))

    def over_surface(self, kind: ElementType, shape: StaticShape, surface: Any, plane: int) -> RemoteTensor:
        """A tensor in a plane of a surface."""
        extension, device = self.api.plane_extension, self.engine.device.cl_device
        if plane and extension and not has_extension(device, extension):
            raise ClinferError("the driver does not share planes of textures", where=WHERE, values={
                "missing extension": extension, "device": self.engine.device})
        handle = read_handle("surface", surface, least=0)
        image = self._calls.open_surface(self.engine.cl_context, handle, plane)
        memory = wrap_image(self.engine, image)
        check_image(image, kind, shape)
        return self.surface_tensor.over(self, memory, kind, shape, Lent(self._calls, handle, plane, image.int_ptr))

    def over_media_buffer(self, kind: ElementType, shape: StaticShape, buffer: Any) -> RemoteTensor:
        """A tensor in a buffer of the other API."""
        if not self.api.create_buffer:
            return super().over_media_buffer(kind, shape, buffer)
        handle = read_handle("buffer", buffer)
        shared = self._calls.open_buffer(self.engine.cl_context, handle)
        return D3DBufferTensor.over(self, wrap_buffer(self.engine, shared), kind, shape,
                                    Lent(self._calls, handle, 0, shared.int_ptr))


class VAContext(MediaContext):
    """`VAContext(core, display)` over a VADisplay: an integer, a ctypes pointer, or a capsule.

    `create_tensor(type, shape, surface, plane)` makes a tensor over a plane of a VASurfaceID.
    """

    api = VA_API
    surface_tensor = VASurfaceTensor

    def __init__(self, core: Settings, display: Any, target_tile_id: int = -1) -> None:
        super().__init__(core, display, target_tile_id)

    def create_tensor(self, type: Any, shape: Any, handle: Any = None, plane: int = 0, *,
                      properties: Mapping[str, Any] | None = None, cl_mem: Any = None, usm: Any = None,
                      surface: Any = None) -> RemoteTensor:
        """Over a surface, by an integer or as `surface=`; otherwise see RemoteContext."""
        if isinstance(handle, int):
            handle, surface = None, handle
        if surface is None:
            return super().create_tensor(type, shape, handle, properties=properties, cl_mem=cl_mem, usm=usm)
        _check_alone(handle, properties, cl_mem, usm)
        return self.over_surface(read_element_type(type, WHERE), read_shape(shape, WHERE), surface, plane)


class D3DContext(MediaContext):
    """`D3DContext(core, device)` over an ID3D11Device: an integer or a ctypes pointer.

    `create_tensor(type, shape, buffer=...)` and `(type, shape, texture=..., plane=...)` make tensors in an ID3D11Buffer
    and a plane of an ID3D11Texture2D.
    """

    api = D3D11
    surface_tensor = D3DSurface2DTensor

    def __init__(self, core: Settings, device: Any, target_tile_id: int = -1) -> None:
        super().__init__(core, device, target_tile_id)

    def create_tensor(self, type: Any, shape: Any, handle: Any = None, *, properties: Mapping[str, Any] | None = None,
                      cl_mem: Any = None, usm: Any = None, buffer: Any = None, texture: Any = None,
                      plane: int = 0) -> RemoteTensor:
        """Over a `buffer` or a plane of a `texture`; otherwise see RemoteContext."""
        if buffer is None and texture is None:
            return super().create_tensor(type, shape, handle, properties=properties, cl_mem=cl_mem, usm=usm)
        _check_alone(handle, properties, cl_mem, usm, None if buffer is None else texture)
        kind, sizes = read_element_type(type, WHERE), read_shape(shape, WHERE)
        if texture is None:
            return self.over_media_buffer(kind, sizes, buffer)
        return self.over_surface(kind, sizes, texture, plane)


def _check_alone(*others: object) -> None:
    if any(other is not None for other in others):
        raise ClinferError("a tensor is made over one object", where=WHERE)


def _find(api: MediaApi, adapter: int) -> tuple[MediaCalls, int]:
    """The functions of the platform that has a device for the adapter, and that device's handle."""
    platforms = {device.cl_device.platform.int_ptr: device.cl_device.platform for device in available_devices()
                 if has_extension(device.cl_device, api.extension)}
    if not platforms:
        raise ClinferError(f"no OpenCL device here shares memory with {api.name}", where=WHERE, values={
            "missing extension": api.extension, **devices_by_name()},
            hint="install a driver that has it; without one, copy the picture into a pyopencl.Image or Buffer and make "
                 "a ClContext")
    for platform in platforms.values():
        calls = MediaCalls(api, platform)
        device = calls.find_device(adapter)
        if device is not None:
            return calls, device
    raise ClinferError(f"no OpenCL device here works with this {api.adapter}", where=WHERE, values={
        api.adapter: f"{adapter:#x}", "platforms asked": ", ".join(p.name.strip() for p in platforms.values())})
