"""What a device is, under the names by which measured times are kept."""
from __future__ import annotations

import platform
from dataclasses import dataclass

import pyopencl as cl

from clinfer.runtime.device import DeviceInfo


@dataclass(frozen=True)
class Hardware:
    """A device with its driver, from the closest name to the most general one."""

    type: str
    name: str
    architecture: str
    """What devices of other names share with it: sm_90, gfx1100, x86_64 with vectors of 16 floats; may be empty."""
    vendor: str
    platform: str
    """The OpenCL implementation: the same device under another one compiles to other code."""
    driver: tuple[str, ...]
    """What may change with an update: the versions of platform and driver."""


def hardware_of(device: DeviceInfo) -> Hardware:
    """The names of a device."""
    return Hardware(device.type, device.full_name, _architecture(device), device.vendor, device.platform_name,
                    (device.platform_version, device.driver_version))


def _architecture(device: DeviceInfo) -> str:
    unit = device.cl_device
    if device.type == "CPU":
        return f"{platform.machine()} with vectors of {unit.native_vector_width_float} floats"
    try:
        return f"sm_{unit.compute_capability_major_nv}{unit.compute_capability_minor_nv}"
    except (AttributeError, cl.Error):
        pass
    return device.full_name.partition(":")[0] if device.full_name.startswith("gfx") else ""
