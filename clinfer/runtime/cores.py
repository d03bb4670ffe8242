"""A part of a CPU's device, for computing in fewer threads than it has cores. OpenCL calls it a sub-device."""
from __future__ import annotations

import pyopencl as cl

from clinfer.base.tracing import log
from clinfer.runtime.device import DeviceInfo

_BY_COUNTS = cl.device_partition_property.BY_COUNTS
_END = cl.device_partition_property.BY_COUNTS_LIST_END


def bound_on_threads(device: DeviceInfo, threads: int) -> int:
    """In how many threads a device is to compute that may take so many (0: no matter); 0 where it has no more, and
    where the driver cannot be told."""
    is_divisible = device.type == "CPU" and _is_divisible(device.cl_device)
    return threads if is_divisible and threads < device.cl_device.max_compute_units else 0


def _is_divisible(device: cl.Device) -> bool:
    try:
        return _BY_COUNTS in device.partition_properties
    except cl.Error:
        return False


def open_bounded(device: DeviceInfo, threads: int) -> tuple[cl.Context, cl.Device]:
    """A new context, and what in it computes in so many threads: a part of the device, or all of it for 0 and if the
    driver refuses a part. cl.Error if it refuses that as well."""
    if threads:
        try:
            part = _part_of(device.cl_device, threads)
            return device.open(part), part
        except cl.Error as error:
            log(1, f"{device} computes on all of its cores: {error}")
    return device.open(), device.cl_device


def _part_of(device: cl.Device, cores: int) -> cl.Device:
    # Not the first cores: there, Intel's CPU runtime lets threads that wait for a queue compute along.
    counts = device.max_compute_units - cores, cores
    return device.create_sub_devices([_BY_COUNTS, *counts, _END])[-1]
