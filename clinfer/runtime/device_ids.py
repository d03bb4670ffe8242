"""Numbers by which other interfaces (Vulkan, Direct3D, CUDA) know a device: the extension cl_khr_device_uuid."""
from __future__ import annotations

import ctypes

from clinfer.runtime import driver
from clinfer.runtime.device import DeviceInfo

_EXTENSION = "cl_khr_device_uuid"
_UUID, _LUID_IS_VALID, _LUID = 0x106A, 0x106C, 0x106D


def uuid_of(device: DeviceInfo) -> bytes | None:
    """The 16 bytes that are unique to the device; None where the driver does not tell."""
    return _info(device, _UUID, 16)


def luid_of(device: DeviceInfo) -> bytes | None:
    """The 8 bytes by which Windows knows the device while it runs; None elsewhere."""
    valid = _info(device, _LUID_IS_VALID, 4)
    return _info(device, _LUID, 8) if valid and any(valid) else None


def _info(device: DeviceInfo, key: int, size: int) -> bytes | None:
    if _EXTENSION not in device.cl_device.extensions.split():
        return None
    buffer = ctypes.create_string_buffer(size)
    status = driver.get_device_info(device.cl_device.int_ptr, key, size, buffer, None)
    return None if status else buffer.raw
