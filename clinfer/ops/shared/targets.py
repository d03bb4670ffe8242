"""The devices that kernels are made for."""
from __future__ import annotations

from clinfer.runtime.capabilities import Capabilities


def cpu_only(device: Capabilities) -> str | None:
    """Kernels whose work-items hold whole vectors are for CPUs."""
    return None if device.device_type == "CPU" else "made for CPUs"
