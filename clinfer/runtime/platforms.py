"""OpenCL platforms: those of every driver that is found, without duplicates."""
from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass

import pyopencl as cl

from clinfer.base.tracing import log, warn_once
from clinfer.runtime import driver, icds
from clinfer.runtime.gpu_vendors import GPU_VENDORS
from clinfer.runtime.icd_checks import DriverRefused, admit
from clinfer.runtime.icd_library import open_icd
from clinfer.runtime.icd_loader import loader_sees
from clinfer.runtime.icds import Icd
from clinfer.runtime.signal_handlers import pythons_handlers_kept

_HINTS = {"Portable Computing Language": ": it has none where it cannot keep kernels; try POCL_CACHE_DIR, a folder "
                                         "that can be written to"}
"""By a platform's name, what to try where it shows no device."""


@dataclass(frozen=True)
class PlatformDevices:
    """One platform with its usable devices, in the driver's order; `found` says how its driver was found."""

    platform: cl.Platform
    name: str
    version: str
    devices: tuple[cl.Device, ...]
    fingerprint: tuple[str, ...]
    """Equal for two registrations of the same driver."""
    found: str = ""


@dataclass(frozen=True)
class Discovery:
    """The platforms that answered, without duplicates, and one line for each that failed."""

    platforms: tuple[PlatformDevices, ...]
    failures: tuple[str, ...]


@dataclass(frozen=True)
class Candidate:
    """A platform, and how its driver was found."""

    platform: cl.Platform
    found: str


def discover() -> Discovery:
    """Ask every platform for its devices; a failing one is reported and skipped.

    The environment's own runtime comes first, then the others by name and version.
    """
    failures: list[str] = []
    with pythons_handlers_kept():
        found = _found(failures)
    unique: dict[object, PlatformDevices] = {}
    for platform in found:
        if platform.devices:
            unique.setdefault(platform.fingerprint, platform)
    for failure in failures:
        log(1, f"OpenCL: {failure}")
    return Discovery(tuple(unique.values()), tuple(failures))


def _found(failures: list[str]) -> list[PlatformDevices]:
    """Those that answer, in order; a driver may be among them several times."""
    own = [] if driver.api_is_preloaded() else _environment_platforms(failures)
    # Before the first question to any platform, at which the OpenCL loader opens all that are registered.
    system = _system_platforms(failures)
    seen: set[int] = set()
    found = _asked(own, seen, failures)
    return found + sorted(_asked(system, seen, failures), key=lambda p: (p.name, p.version))


def _environment_platforms(failures: list[str]) -> list[Candidate]:
    """Those of the first runtime from pip that opens."""
    for icd in icds.pip_icds():
        if opened := _opened(_admitted([icd], failures), failures):
            return opened
    return []


def _system_platforms(failures: list[str]) -> list[Candidate]:
    """Those of the OpenCL loader, and of drivers that it does not know."""
    if driver.api_is_preloaded():
        return [Candidate(platform, "preloaded") for platform in _loaded(failures)]
    registered = icds.registered_icds()
    admitted = _admitted(registered, failures)
    known = _opened(admitted, failures)
    with nullcontext() if len(admitted) == len(registered) else loader_sees(admitted):
        loaded = _loaded(failures)
    others = [] if icds.drivers_are_chosen() else icds.unregistered_icds(registered, GPU_VENDORS)
    return [*known, *_opened(_admitted(others, failures), failures),
            *(Candidate(platform, "known to the OpenCL loader") for platform in loaded)]


def _loaded(failures: list[str]) -> list[cl.Platform]:
    """Those that the OpenCL loader opens."""
    try:
        return cl.get_platforms()
    except cl.Error as error:
        if error.code != cl.status_code.PLATFORM_NOT_FOUND_KHR:
            failures.append(f"the system's OpenCL loader failed: {error}")
        return []


def _admitted(found: Iterable[Icd], failures: list[str]) -> list[Icd]:
    """Those that may be loaded into this process; one warning for each other."""
    admitted = []
    for icd in found:
        try:
            admitted.append(admit(icd))
        except DriverRefused as refusal:
            failures.append(f"{icd.library} ({icd.found}): {refusal}")
            warn_once(f"clinfer does not use the OpenCL driver {failures[-1]}")
    return admitted


def _opened(found: Iterable[Icd], failures: list[str]) -> list[Candidate]:
    candidates = []
    for icd in found:
        try:
            handles = open_icd(icd.library, icd.is_apart)
            candidates += [Candidate(cl.Platform.from_int_ptr(handle, False), icd.found) for handle in handles]
        except OSError as error:
            failures.append(f"{icd.library} ({icd.found}): {error}")
    return candidates


def _asked(candidates: Iterable[Candidate], seen: set[int], failures: list[str]) -> list[PlatformDevices]:
    """Those that answer, each once; `seen` holds the handles of all that were asked."""
    answers = []
    for candidate in candidates:
        if candidate.platform.int_ptr not in seen:
            seen.add(candidate.platform.int_ptr)
            answers.append(_devices_of(candidate, failures))
    return [answer for answer in answers if answer]


def _devices_of(candidate: Candidate, failures: list[str]) -> PlatformDevices | None:
    platform, name = candidate.platform, "without a name"
    try:
        name, version = platform.name.strip(), platform.version.strip()
        devices = tuple(_usable(platform.get_devices(), name, failures))
        drivers = [text for d in devices for text in (d.name, d.driver_version)]
    except cl.Error as error:
        failures.append(f"platform {name}: {error}")
        return None
    if not devices:
        failures.append(f"platform {name} ({candidate.found}) shows no device that can be used{_HINTS.get(name, '')}")
    return PlatformDevices(platform, name, version, devices, (name, version, *drivers), candidate.found)


def _usable(devices: Iterable[cl.Device], platform_name: str, failures: list[str]) -> Iterator[cl.Device]:
    for device in devices:
        if device.available and device.compiler_available:
            yield device
        else:
            failures.append(f"platform {platform_name}: {device.name.strip()} is off or has no compiler")
