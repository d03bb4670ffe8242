"""The devices that kernels are made for."""
from __future__ import annotations

from clinfer.runtime.capabilities import Capabilities


def cpu_only(device: Capabilities) -> str | None:
    """Kernels whose work-items hold whole vectors are for CPUs."""
    return None if device.device_type == "CPU" else "made for CPUs"


def has_wide_vectors(device: Capabilities) -> bool:
    """Whether a core's vector registers hold 32 vectors of 16 floats, as AVX-512's do: those of AVX2 and of Arm's NEON
    hold 8."""
    return device.vector_floats >= 16
