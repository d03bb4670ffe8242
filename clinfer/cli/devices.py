"""`clinfer devices`: the OpenCL devices of this machine."""
from __future__ import annotations

import sys
from dataclasses import asdict
from typing import Any

from clinfer.cli.table import print_json, print_table
from clinfer.runtime.capabilities import Capabilities, probe_capabilities
from clinfer.runtime.ceilings import Ceilings
from clinfer.runtime.device import DeviceInfo, available_devices, find_device
from clinfer.runtime.missing import missing_gpus
from clinfer.runtime.platforms import discover

_ABILITIES = ("fp16", "fp64", "usm", "svm", "integer_dot_product", "byte_products", "short_products",
              "int64_atomics", "tensor_cores", "warp_group_products", "bulk_copies", "megakernels", "float_products",
              "bf16_products", "tile_registers")


def print_devices(as_json: bool) -> None:
    """Print every device, and on standard error what did not answer; without any, ClinferError says what to install."""
    find_device("AUTO")
    found = [(device, probe_capabilities(device)) for device in available_devices()]
    if as_json:
        print_json([_describe(device, able) for device, able in found])
    else:
        print_table("OpenCL devices", ("name", "device", "platform", "driver", "memory", "units", "found",
                                       "capabilities", "ceilings"), [_row(device, able) for device, able in found])
    asked = discover()
    for line in (*asked.failures, *missing_gpus(asked)):
        print(f"clinfer: {line}", file=sys.stderr)


def _describe(device: DeviceInfo, able: Capabilities) -> dict[str, Any]:
    return {"name": device.name, "type": device.type, "full_name": device.full_name,
            "platform": device.platform_name, "platform_version": device.platform_version,
            "vendor": device.vendor, "driver_version": device.driver_version, "found": device.found,
            "native_memory_types": dict(able.native_types), "capabilities": asdict(able)}


def _row(device: DeviceInfo, able: Capabilities) -> tuple[str, ...]:
    abilities = [name.replace("_", " ") for name in _ABILITIES if getattr(able, name)]
    if able.subgroup_sizes:
        abilities.append("sub-groups " + "/".join(map(str, able.subgroup_sizes)))
    return (device.name, device.full_name, device.platform_name, device.driver_version,
            f"{able.global_mem_size / 2**30:.1f} GiB", str(able.compute_units), device.found,
            ", ".join(abilities) or "none", _speed(able.ceilings))


def _speed(most: Ceilings) -> str:
    rates = {"f32": most.f32, "f16": most.f16, "tensor": most.tensor, "bf16": most.bf16,
             "tiles": most.tiles}
    return (", ".join(f"{name} {rate:g}" for name, rate in rates.items() if rate)
            + f" GFLOP/s, memory {most.memory:g}, cache {most.cache:g} GB/s, launch {most.launch / 1000:g} us")
