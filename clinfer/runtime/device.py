"""The devices of this process under the names that users write: CPU.0, GPU.1, AUTO."""
from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass, field
from functools import lru_cache

import pyopencl as cl

from clinfer.base.errors import ClinferError
from clinfer.runtime import platforms
from clinfer.runtime.missing import missing_gpus
from clinfer.runtime.platforms import PlatformDevices
from clinfer.runtime.processor import processor_key
from clinfer.runtime.signal_handlers import pythons_handlers_kept

_INSTALL_HINT = "`pip install clinfer[cpu]` for a CPU device, or your GPU vendor's OpenCL driver"
_COMPILER_VARIABLES = ("POCL_EXTRA_BUILD_FLAGS",)


@dataclass(frozen=True)
class DeviceInfo:
    """One OpenCL device; `name` is unique in this process and the same in every run on this machine."""

    name: str
    type: str
    full_name: str
    platform_name: str
    platform_version: str
    vendor: str
    driver_version: str
    cl_device: cl.Device = field(repr=False, compare=False)
    found: str = field(default="", compare=False)
    """How the driver was found."""

    @property
    def driver_key(self) -> tuple[str, ...]:
        """What builds and capabilities kept on disk depend on: the same model of device, the same driver."""
        return (self.full_name, self.platform_name, self.platform_version, self.driver_version, *self.processor)

    @property
    def processor(self) -> tuple[str, ...]:
        """What else tells CPUs apart; empty for other devices."""
        return processor_key() if self.type == "CPU" else ()

    @property
    def identity(self) -> tuple[str, ...]:
        """What another process compares to be sure that it opened the very same device."""
        return (self.name, *self.driver_key)

    def open(self, *parts: cl.Device) -> cl.Context:
        """A new context, of parts of the device as well; cl.Error if the driver refuses."""
        with pythons_handlers_kept():
            return cl.Context([self.cl_device, *parts])

    def __str__(self) -> str:
        return f"{self.name} ({self.full_name}, {self.platform_name} {self.driver_version})"


@lru_cache(maxsize=1)
def available_devices() -> tuple[DeviceInfo, ...]:
    """Every usable device: GPUs, then CPUs, then accelerators, numbered within their type.

    Within a type: Intel's CPU runtime first, GPUs with memory of their own before those that share the
    host's, then by platform name and version, then in the driver's order.
    """
    ranked = []
    for position, platform in enumerate(platforms.discover().platforms):
        for device in platform.devices:
            kind = device_type(device)
            if kind:
                ranked.append((_rank(kind, platform, device), position, kind, platform, device))
    ranked.sort(key=lambda entry: entry[:2])
    count: Counter[str] = Counter()
    devices = []
    for _, _, kind, platform, device in ranked:
        devices.append(_describe(f"{kind}.{count[kind]}", kind, platform, device))
        count[kind] += 1
    return tuple(devices)


def device_type(device: cl.Device) -> str:
    """CPU, GPU or ACC; empty for custom devices, which compile no OpenCL C."""
    # Simulators set every bit at once: they compute on the host.
    for bit, kind in ((cl.device_type.CPU, "CPU"), (cl.device_type.GPU, "GPU"),
                      (cl.device_type.ACCELERATOR, "ACC")):
        if device.type & bit:
            return kind
    return ""


def _rank(kind: str, platform: PlatformDevices, device: cl.Device) -> tuple[int, bool, bool]:
    intel = kind == "CPU" and platform.name.startswith("Intel")
    return ("GPU", "CPU", "ACC").index(kind), not intel, kind == "GPU" and shares_host_memory(device)


def compiler_settings() -> tuple[tuple[str, str], ...]:
    """What the environment tells drivers' compilers: what they built, or was measured with it, is kept apart."""
    return tuple((name, os.environ[name]) for name in _COMPILER_VARIABLES if name in os.environ)


def shares_host_memory(device: cl.Device) -> bool:
    """Whether a device computes in the host's memory."""
    try:
        return bool(device.host_unified_memory)
    except cl.Error:
        return False


def _describe(name: str, kind: str, platform: PlatformDevices, device: cl.Device) -> DeviceInfo:
    return DeviceInfo(name, kind, device.name.strip(), platform.name, platform.version, device.vendor.strip(),
                      device.driver_version.strip(), device, platform.found)


def find_device(name: str = "AUTO") -> DeviceInfo:
    """The device of a name: `GPU.1`, `GPU` (the first of that type) or `AUTO` (the first GPU, else CPU)."""
    devices = available_devices()
    if not devices:
        found = platforms.discover()
        reasons = [*found.failures, *map(str, missing_gpus(found))] or ["no OpenCL driver is installed"]
        raise ClinferError("there is no OpenCL device on this machine", where=f"device {name}",
                           values={"because": "; ".join(reasons)}, hint=_INSTALL_HINT)
    if name == "AUTO":
        return devices[0]
    wanted = name if "." in name else f"{name}.0"
    for device in devices:
        if device.name == wanted:
            return device
    found = platforms.discover()
    missing = [*found.failures, *(map(str, missing_gpus(found)) if wanted.startswith("GPU.") else ())]
    raise ClinferError(f"there is no device {name or repr(name)}",
                       values={**devices_by_name(), **({"missing": "; ".join(missing)} if missing else {})},
                       hint=f"one of {', '.join(devices_by_name())}, or AUTO")


def devices_by_name() -> dict[str, str]:
    """What each device is, for errors about the choice of one."""
    return {device.name: f"{device.full_name}, {device.platform_name}" for device in available_devices()}
