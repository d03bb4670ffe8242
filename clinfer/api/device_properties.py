"""What a device tells about itself, under OpenVINO's property names."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from clinfer.frontend.openvino_import import openvino as ov
from clinfer.runtime.capabilities import probe_capabilities
from clinfer.runtime.device import DeviceInfo, available_devices


def _optimization_capabilities(device: DeviceInfo) -> list[str]:
    """The types in which the device computes floats."""
    return ["FP32", "FP16"] if probe_capabilities(device).fp16 else ["FP32"]


def _device_type(device: DeviceInfo) -> ov.properties.device.Type:
    kind = ov.properties.device.Type
    own_memory = device.type == "GPU" and not device.cl_device.host_unified_memory
    return kind.DISCRETE if own_memory else kind.INTEGRATED


def _numbers_of_type(device: DeviceInfo) -> list[str]:
    return [d.name.partition(".")[2] for d in available_devices() if d.type == device.type]


READERS: dict[str, Callable[[DeviceInfo], Any]] = {
    "AVAILABLE_DEVICES": _numbers_of_type,
    "FULL_DEVICE_NAME": lambda device: device.full_name,
    "DEVICE_TYPE": _device_type,
    "OPTIMIZATION_CAPABILITIES": _optimization_capabilities,
    "EXECUTION_DEVICES": lambda device: [device.name],
}
