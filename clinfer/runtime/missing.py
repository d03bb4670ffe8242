"""GPUs of this machine that no OpenCL driver answers for: what is missing, and what to do about it."""
from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from glob import glob
from pathlib import Path

import pyopencl as cl

from clinfer.runtime.gpu_vendors import GPU_VENDORS, GpuVendor
from clinfer.runtime.icds import library_of
from clinfer.runtime.platforms import Discovery

_PCI_DEVICES = "/sys/bus/pci/devices/*"
_DISPLAY_CONTROLLER = 0x03


@dataclass(frozen=True)
class Missing:
    """What a GPU lacks, and what to try."""

    what: str
    hint: str

    def __str__(self) -> str:
        return f"{self.what}; try {self.hint}"


def missing_gpus(found: Discovery, vendors: Iterable[GpuVendor] = GPU_VENDORS) -> list[Missing]:
    """One entry for each vendor whose GPU is in this machine, and that none of the platforms is of."""
    return [_lack(vendor, found.failures) for vendor in vendors
            if _is_present(vendor) and not any(_is_of(vendor, d) for p in found.platforms for d in p.devices)]


def _is_present(vendor: GpuVendor) -> bool:
    """Whether its GPU is on the PCI bus (also of the host of a container), or its own device files are there."""
    if vendor.pci_id is None:
        return bool(_nodes(vendor))
    return any(_number(Path(place, "vendor")) == vendor.pci_id
               and _number(Path(place, "class")) >> 16 == _DISPLAY_CONTROLLER for place in glob(_PCI_DEVICES))


def _number(file: Path) -> int:
    try:
        return int(file.read_text(encoding="ascii"), 16)
    except (OSError, ValueError):
        return 0


def _nodes(vendor: GpuVendor) -> list[str]:
    return sorted({node for pattern in vendor.nodes for node in glob(pattern)})


def _is_of(vendor: GpuVendor, device: cl.Device) -> bool:
    return bool(device.type & cl.device_type.GPU) and (
        device.vendor_id == vendor.pci_id or vendor.name.lower() in device.vendor.lower())


def _lack(vendor: GpuVendor, failures: Iterable[str]) -> Missing:
    gpu, nodes, library = f"{vendor.name}'s GPU", _nodes(vendor), library_of(vendor)
    closed = [node for node in nodes if not os.access(node, os.R_OK | os.W_OK)]
    if not nodes:
        return Missing(f"{gpu} is on the PCI bus, but {' or '.join(vendor.nodes)} is not there: its kernel driver is "
                       "not loaded, or this container was not given the GPU", f"`{vendor.share}`")
    if closed:
        return Missing(f"{gpu} may not be used: no permission to open {', '.join(closed)}",
                       f"to join the group that owns it ({_group_of(closed[0])})")
    if library is None:
        return Missing(f"{gpu} is there, but its OpenCL driver is not: no {' or '.join(vendor.libraries)}",
                       f"to install {vendor.install}")
    because = [failure for failure in failures if library.name in failure] or ["it shows no GPU"]
    return Missing(f"{gpu} is there, but its OpenCL driver {library} does not serve it: {'; '.join(because)}",
                   "the version of the driver that fits the kernel's")


def _group_of(node: str) -> str:
    group = os.stat(node).st_gid
    try:
        import grp
        return grp.getgrgid(group).gr_name
    except (ImportError, KeyError):
        return str(group)
