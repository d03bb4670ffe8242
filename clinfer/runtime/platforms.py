"""OpenCL platforms: Intel's CPU runtime from the Python environment, then those registered on the system."""
from __future__ import annotations

import ctypes
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from pathlib import Path

import pyopencl as cl

from clinfer.base.tracing import log
from clinfer.runtime import driver

_INTEL_DISTRIBUTION = "intel-opencl-rt"
_INTEL_LIBRARY = "libintelocl.so"
_INTEL_THREADING = "libtbb.so.12"


@dataclass(frozen=True)
class PlatformDevices:
    """One platform with its usable devices, in the driver's order."""

    platform: cl.Platform
    name: str
    version: str
    devices: tuple[cl.Device, ...]
    fingerprint: tuple[str, ...]
    """Equal for two registrations of the same driver."""


@dataclass(frozen=True)
class Discovery:
    """The platforms that answered, without duplicates, and one line for each that failed."""

    platforms: tuple[PlatformDevices, ...]
    failures: tuple[str, ...]


def discover() -> Discovery:
    """Ask every platform for its devices; a failing one is reported and skipped.

    The environment's own runtime comes first, then the system's platforms by name and version.
    """
    failures: list[str] = []
    found = [_devices_of(p, failures) for p in _environment_platforms(failures)]
    system = [p for p in (_devices_of(p, failures) for p in _system_platforms(failures)) if p]
    unique: dict[object, PlatformDevices] = {}
    for platform in [*found, *sorted(system, key=lambda p: (p.name, p.version))]:
        if platform and platform.devices:
            unique.setdefault(platform.fingerprint, platform)
    for failure in failures:
        log(1, f"OpenCL: {failure}")
    return Discovery(tuple(unique.values()), tuple(failures))


def _system_platforms(failures: list[str]) -> list[cl.Platform]:
    try:
        return cl.get_platforms()
    except cl.Error as error:
        if error.code != cl.status_code.PLATFORM_NOT_FOUND_KHR:
            failures.append(f"the system's OpenCL loader failed: {error}")
        return []


def _environment_platforms(failures: list[str]) -> list[cl.Platform]:
    if driver.api_is_preloaded():
        return []
    for library in intel_library_candidates():
        if library.is_file():
            try:
                return _open_icd(str(library))
            except (OSError, AttributeError, cl.Error) as error:
                failures.append(f"{library} did not open: {error}")
    return []


def intel_library_candidates() -> list[Path]:
    """Where pip may have put Intel's OpenCL CPU runtime, most likely first, each path once."""
    paths = [Path(sys.prefix) / "lib" / _INTEL_LIBRARY]
    try:
        distribution = metadata.distribution(_INTEL_DISTRIBUTION)
    except metadata.PackageNotFoundError:
        return paths
    files = distribution.files or []
    paths += [Path(str(f.locate())).resolve() for f in files if f.name == _INTEL_LIBRARY]
    # `pip install --target DIR` puts data files below DIR but records them relative to another folder.
    paths.append(Path(str(distribution.locate_file("lib"))) / _INTEL_LIBRARY)
    return list(dict.fromkeys(paths))


@cache
def _open_icd(library: str) -> list[cl.Platform]:
    """The platforms of a driver library that is not registered with the system's loader.

    Every OpenCL object carries its driver's own function table, so pyopencl can use them as they are.
    """
    driver = _load(Path(library))
    find = driver.clGetExtensionFunctionAddress
    find.restype, find.argtypes = ctypes.c_void_p, [ctypes.c_char_p]
    address = find(b"clIcdGetPlatformIDsKHR")
    if not address:
        raise OSError("not an installable OpenCL driver")
    prototype = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_uint, ctypes.POINTER(ctypes.c_void_p),
                                 ctypes.POINTER(ctypes.c_uint))
    get_ids = prototype(address)
    count = ctypes.c_uint()
    status = get_ids(0, None, ctypes.byref(count))
    ids = (ctypes.c_void_p * count.value)()
    if status or not count.value or get_ids(count.value, ids, None):
        raise OSError(f"the driver offers no platform (status {status})")
    return [cl.Platform.from_int_ptr(handle, False) for handle in ids if handle]


def _load(library: Path) -> ctypes.CDLL:
    try:
        return ctypes.CDLL(str(library))
    except OSError:
        # OpenVINO brings an older TBB of the same name. If that was loaded first, the driver finds its own
        # TBB only among the process's global symbols.
        threading_library = library.with_name(_INTEL_THREADING)
        if not threading_library.is_file():
            raise
        ctypes.CDLL(str(threading_library), ctypes.RTLD_GLOBAL)
        return ctypes.CDLL(str(library))


def _devices_of(platform: cl.Platform, failures: list[str]) -> PlatformDevices | None:
    name = "without a name"
    try:
        name, version = platform.name.strip(), platform.version.strip()
        devices = tuple(_usable(platform.get_devices(), name, failures))
        drivers = [text for d in devices for text in (d.name, d.driver_version)]
    except cl.Error as error:
        failures.append(f"platform {name}: {error}")
        return None
    return PlatformDevices(platform, name, version, devices, (name, version, *drivers))


def _usable(devices: Iterable[cl.Device], platform_name: str, failures: list[str]) -> Iterator[cl.Device]:
    for device in devices:
        if device.available and device.compiler_available:
            yield device
        else:
            failures.append(f"platform {platform_name}: {device.name.strip()} is off or has no compiler")
