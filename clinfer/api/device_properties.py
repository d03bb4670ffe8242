"""What a device tells about itself, under OpenVINO's property names and in its types."""
from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from clinfer.api.property_values import MAX_STREAMS
from clinfer.frontend.openvino_import import openvino as ov
from clinfer.runtime.capabilities import probe_capabilities
from clinfer.runtime.device import DeviceInfo, available_devices
from clinfer.runtime.device_ids import luid_of, uuid_of


def _optimization_capabilities(device: DeviceInfo) -> list[str]:
    """The types in which the device computes floats, and that compiled models can be exported."""
    able = probe_capabilities(device)
    return ["FP32", *(["FP16"] if able.fp16 else []), *(["BF16"] if able.bf16_products else []), "EXPORT_IMPORT"]


def _device_type(device: DeviceInfo) -> ov.properties.device.Type:
    kind = ov.properties.device.Type
    own_memory = device.type == "GPU" and not device.cl_device.host_unified_memory
    return kind.DISCRETE if own_memory else kind.INTEGRATED


def _numbers_of_type(device: DeviceInfo) -> list[str]:
    return [_number(d) for d in available_devices() if d.type == device.type]


def _number(device: DeviceInfo) -> str:
    return device.name.partition(".")[2]


def _architecture(device: DeviceInfo) -> str:
    return f"{device.type}: vendor=0x{device.cl_device.vendor_id:04x} {device.full_name}, {device.cl_device.version}"


_ALWAYS: dict[str, Callable[[DeviceInfo], Any]] = {
    "AVAILABLE_DEVICES": _numbers_of_type,
    "DEVICE_ID": _number,
    "FULL_DEVICE_NAME": lambda device: device.full_name,
    "DEVICE_ARCHITECTURE": _architecture,
    "DEVICE_TYPE": _device_type,
    "OPTIMIZATION_CAPABILITIES": _optimization_capabilities,
    "EXECUTION_DEVICES": lambda device: [device.name],
    "RANGE_FOR_STREAMS": lambda _: (1, MAX_STREAMS),
    "RANGE_FOR_ASYNC_INFER_REQUESTS": lambda _: (1, MAX_STREAMS, 1),
    "GPU_DEVICE_TOTAL_MEM_SIZE": lambda device: probe_capabilities(device).global_mem_size,
    "GPU_DEVICE_MAX_ALLOC_MEM_SIZE": lambda device: probe_capabilities(device).max_alloc_size,
    "native_memory_types": lambda device: dict(probe_capabilities(device).native_types),
    "GPU_EXECUTION_UNITS_COUNT": lambda device: probe_capabilities(device).compute_units,
}

_WHERE_KNOWN: dict[str, Callable[[DeviceInfo], bytes | None]] = {
    "DEVICE_UUID": uuid_of,
    "DEVICE_LUID": luid_of,
}


def properties_of(device: DeviceInfo) -> dict[str, Callable[[], Any]]:
    """The properties that this device has, each with a function that reads it."""
    always: dict[str, Callable[[], Any]] = {name: partial(read, device) for name, read in _ALWAYS.items()}
    known = {name: read(device) for name, read in _WHERE_KNOWN.items()}
    return always | {name: value.hex for name, value in known.items() if value is not None}
