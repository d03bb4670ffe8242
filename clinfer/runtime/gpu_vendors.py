"""Makers of GPUs: what their OpenCL drivers are called, where installers put them, and which files they open.

The one place that knows names; nothing but the search for drivers and the advice on missing ones reads it.
"""
from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class GpuVendor:
    """`libraries`: file names of its installable drivers, `folders`: patterns of places that the system's linker does
    not search. `pci_id`: of its display controllers. `nodes`: patterns of the device files that its driver opens."""

    name: str
    libraries: tuple[str, ...]
    folders: tuple[str, ...]
    nodes: tuple[str, ...]
    install: str
    """What to install where the driver is missing."""
    share: str
    """How a container is given the GPU."""
    pci_id: int | None = None


_DRI = ("/dev/dri/renderD*", "/dev/dxg")
_ANDROID = ("/vendor/lib64", "/vendor/lib64/egl", "/system/vendor/lib64", "/system/vendor/lib64/egl")

GPU_VENDORS = (
    GpuVendor(
        "NVIDIA", ("libnvidia-opencl.so.1",),
        ("/usr/local/nvidia/lib64", "/usr/lib64-nvidia", "/usr/lib/wsl/lib", "/run/opengl-driver/lib",
         "/usr/lib/*-linux-gnu/nvidia/current"),
        ("/dev/nvidia[0-9]*", "/dev/nvidiactl"),
        "the driver's compute libraries (a container needs NVIDIA_DRIVER_CAPABILITIES=compute,utility or all)",
        "docker run --gpus all", 0x10DE),
    GpuVendor(
        "AMD", ("libamdocl64.so",),
        ("/opt/rocm/lib", "/opt/rocm/opencl/lib", "/opt/rocm-*/lib", "/opt/rocm-*/opencl/lib",
         "/opt/amdgpu-pro/lib/*-linux-gnu", "/opt/amdgpu/lib/*-linux-gnu", "/run/opengl-driver/lib"),
        ("/dev/kfd", *_DRI), "ROCm's OpenCL runtime (rocm-opencl-runtime)",
        "docker run --device /dev/kfd --device /dev/dri", 0x1002),
    GpuVendor(
        "Intel", ("libigdrcl.so", "libigdrcl_legacy1.so"),
        ("/usr/lib/*-linux-gnu/intel-opencl", "/usr/lib64/intel-opencl", "/usr/lib/intel-opencl",
         "/usr/local/lib/intel-opencl", "/usr/local/lib64/intel-opencl", "/run/opengl-driver/lib/intel-opencl"),
        _DRI, "Intel's compute runtime (intel-opencl-icd)", "docker run --device /dev/dri", 0x8086),
    GpuVendor(
        "Arm", ("libmali.so.1", "libmali.so", "libGLES_mali.so"), _ANDROID, ("/dev/mali*",),
        "the board's Mali library with OpenCL", "docker run --device /dev/mali0"),
    GpuVendor(
        "Qualcomm", ("libOpenCL_adreno.so",), _ANDROID, ("/dev/kgsl-3d0",),
        "the board's Adreno library with OpenCL", "docker run --device /dev/kgsl-3d0"),
    GpuVendor(
        "Imagination", ("libPVROCL.so.1", "libPVROCL.so"), _ANDROID, ("/dev/pvr*",),
        "the board's PowerVR library with OpenCL", "docker run --device /dev/pvrsrvkm"),
)
