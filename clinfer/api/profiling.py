"""Measured executions as OpenVINO's clients read them."""
from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta

from clinfer.frontend.openvino_import import openvino as ov
from clinfer.network.reports.profiling import NodeProfile

_STATUS = {
    "executed": ov.ProfilingInfo.Status.EXECUTED,
    "optimized_out": ov.ProfilingInfo.Status.OPTIMIZED_OUT,
    "not_run": ov.ProfilingInfo.Status.NOT_RUN,
}


def profiling_info(profile: Iterable[NodeProfile]) -> list[ov.ProfilingInfo]:
    """One new object per row, in the order of execution; times are rounded to microseconds.

    `real_time` is the time on the device, `cpu_time` that on the host, `exec_type` the kernel.
    """
    return [_info(row) for row in profile]


def _info(row: NodeProfile) -> ov.ProfilingInfo:
    info = ov.ProfilingInfo()
    info.node_name = row.name
    info.node_type = row.primitive
    info.exec_type = row.kernel
    info.status = _STATUS[row.status]
    info.real_time = timedelta(microseconds=row.device_ns / 1e3)
    info.cpu_time = timedelta(microseconds=row.host_ns / 1e3)
    return info
