"""The types of memory: what may be asked for, what stands behind it on a device, and which one is taken."""
from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Literal, get_args

from clinfer.base.errors import ClinferError

AllocationType = Literal["cl_mem", "usm_host", "usm_shared", "usm_device"]
"""What is asked for.

cl_mem: an OpenCL buffer. usm_host: host memory that the device reaches. usm_shared: moves between host and device.
usm_device: device memory that the host does not see. The last three are pointers where the device has them.
"""
NativeType = Literal["cl_mem", "host_cl_mem", "svm", "usm_host", "usm_shared", "usm_device", "coarse_svm", "image"]
"""What stands behind it: besides the above, a buffer in host memory and OpenCL's fine-grain shared virtual memory.
Only users bring coarse-grain shared virtual memory, which the host sees while it is mapped, and images.
"""

ALLOCATION_TYPES: tuple[AllocationType, ...] = get_args(AllocationType)
HOST_TYPE: AllocationType = "usm_host"
DEVICE_TYPE: AllocationType = "cl_mem"
HOST_VISIBLE: frozenset[NativeType] = frozenset({"svm", "usm_host", "usm_shared"})
"""The host sees them at their address at any time."""

IN_PLACE_ALIGNMENT = 16
"""An array begins at a multiple of so many bytes if a buffer is made over it; see `Capabilities.buffers_in_place`."""


def check_allocation_type(name: str) -> None:
    """Raise unless memory of that type can be asked for."""
    if name not in ALLOCATION_TYPES:
        raise ClinferError(f"there is no allocation type {name}", where="memory",
                           values={"types": ", ".join(ALLOCATION_TYPES)})


def native_types(usm: Collection[str], svm: bool, is_unified: bool) -> Mapping[AllocationType, NativeType]:
    """What stands behind each type on a device, given which USM types work, and whether fine-grain SVM does."""
    seen: list[NativeType] = [kind for kind in ("usm_host", "usm_shared") if kind in usm]
    if seen:
        return {"cl_mem": "cl_mem", "usm_host": seen[0], "usm_shared": seen[-1],
                "usm_device": "usm_device" if "usm_device" in usm else "cl_mem"}
    if svm:
        return {"cl_mem": "cl_mem", "usm_host": "svm", "usm_shared": "svm", "usm_device": "cl_mem"}
    return {"cl_mem": "cl_mem", "usm_host": "host_cl_mem", "usm_shared": "host_cl_mem" if is_unified else "cl_mem",
            "usm_device": "cl_mem"}


@dataclass(frozen=True)
class MemoryLimits:
    """Bytes that an engine may hold: on the device, on the host, in one allocation, and of all types together.

    `is_unified`: the device computes in the host's memory, so that all types share the device's limit.
    """

    device: int
    host: int
    single: int
    is_unified: bool
    total: int | None = None

    def is_on_host(self, allocation_type: AllocationType) -> bool:
        """Whether memory of a type counts for the host's limit, not the device's."""
        return allocation_type == HOST_TYPE and not self.is_unified


def choose_allocation_type(nbytes: int, on_device: int, limits: MemoryLimits) -> AllocationType:
    """Where a new memory object goes: to the device where it fits beside all that is held there (`on_device`
    bytes), else to the host.

    All that a kernel needs is among what is held or about to be asked for, so that the sum of its memory objects
    stays within the device's memory. Where the device computes in the host's memory there is no choice.
    """
    if limits.is_unified:
        return DEVICE_TYPE
    return DEVICE_TYPE if on_device + nbytes <= limits.device else HOST_TYPE


def physical_memory() -> int | None:
    """Bytes of the host's memory, where the system tells."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return None
