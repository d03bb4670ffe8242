"""Installable OpenCL drivers: which there are, and how each was found.

Found are, in this order: Intel's CPU runtime in the Python environment, what is registered with the OpenCL loader, and
GPU drivers under their usual names, because containers often have the driver and no registration.
"""
from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

import pyopencl as cl

from clinfer.runtime.gpu_vendors import GpuVendor
from clinfer.runtime.libraries import find_library

_INTEL_DISTRIBUTION = "intel-opencl-rt"
INTEL_LIBRARY = "libintelocl.so"
_VENDORS_FOLDER = "/etc/OpenCL/vendors"
_LARGEST_REGISTRATION = 4096


@dataclass(frozen=True)
class Icd:
    """A driver: its library, as the linker takes it (a path, or a name that it looks up), and how it was found.

    `is_apart`: it is kept apart from libraries of the process that it also brings.
    """

    library: str
    found: str
    is_apart: bool = False

    @property
    def file(self) -> Path | None:
        """The library's own file, behind links; None if it is not there."""
        path = find_library(self.library)
        return path.resolve() if path else None


def pip_icds() -> list[Icd]:
    """The places of Intel's CPU runtime, where pip installed it; the first that opens is enough."""
    return [Icd(str(path), "installed by pip") for path in intel_library_candidates() if path.is_file()]


def intel_library_candidates() -> list[Path]:
    """Where pip may have put Intel's OpenCL CPU runtime, most likely first, each path once."""
    paths = [Path(sys.prefix) / "lib" / INTEL_LIBRARY]
    try:
        distribution = metadata.distribution(_INTEL_DISTRIBUTION)
    except metadata.PackageNotFoundError:
        return paths
    files = distribution.files or []
    paths += [Path(str(f.locate())).resolve() for f in files if f.name == INTEL_LIBRARY]
    # `pip install --target DIR` puts data files below DIR but records them relative to another folder.
    paths.append(Path(str(distribution.locate_file("lib"))) / INTEL_LIBRARY)
    return list(dict.fromkeys(paths))


def registered_icds() -> list[Icd]:
    """What the OpenCL loader of pyopencl opens, read as it reads it: OCL_ICD_VENDORS (a folder, one registration or
    one library), OPENCL_VENDOR_PATH, the system's folder, and pyopencl's own."""
    system = os.environ.get("OPENCL_VENDOR_PATH") or _VENDORS_FOLDER
    chosen = os.environ.get("OCL_ICD_VENDORS") or system
    if chosen != system and not Path(chosen).is_dir():
        if not chosen.endswith(".icd"):
            return [Icd(chosen, "named by OCL_ICD_VENDORS")]
        return list(_read_registrations(p for p in (Path(system, chosen), Path(chosen)) if p.is_file()))[:1]
    folders = [Path(chosen), Path(str(cl.__file__)).parent / ".libs"]
    return list(_read_registrations(path for folder in folders for path in sorted(folder.glob("*.icd"))))


def _read_registrations(files: Iterable[Path]) -> Iterator[Icd]:
    for path in files:
        try:
            with path.open(encoding="utf-8", errors="surrogateescape") as file:
                library = file.readline(_LARGEST_REGISTRATION).rstrip("\n")
        except OSError:
            continue
        if library:
            yield Icd(library, f"registered in {path}")


def drivers_are_chosen() -> bool:
    """Whether the environment says which drivers there are, so that no others are looked for."""
    system = os.environ.get("OPENCL_VENDOR_PATH") or _VENDORS_FOLDER
    return (os.environ.get("OCL_ICD_VENDORS") or system) != _VENDORS_FOLDER


def unregistered_icds(registered: Iterable[Icd], vendors: Iterable[GpuVendor]) -> list[Icd]:
    """GPU drivers under their usual names, of vendors of which none is registered; one of each."""
    names = {Path(icd.library).name for icd in registered}
    files = {icd.file for icd in registered}
    found = []
    for vendor in vendors:
        if not names.isdisjoint(vendor.libraries):
            continue
        path = library_of(vendor)
        if path is not None and path.resolve() not in files:
            found.append(Icd(str(path), f"opened by name: {path}"))
    return found


def library_of(vendor: GpuVendor) -> Path | None:
    """The vendor's driver, if it is on this machine."""
    return next(filter(None, (find_library(name, vendor.folders) for name in vendor.libraries)), None)
