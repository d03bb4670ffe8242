"""Drivers: how they are found with and without a registration, and what is said about those that are missing."""
from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pyopencl as cl
import pytest

from clinfer.runtime import icds, libraries, missing, platforms
from clinfer.runtime.device import available_devices
from clinfer.runtime.gpu_vendors import GPU_VENDORS, GpuVendor
from clinfer.runtime.icds import Icd
from clinfer.runtime.libraries import find_library
from clinfer.runtime.missing import missing_gpus
from clinfer.runtime.platforms import Candidate, Discovery, PlatformDevices, discover

ROOT = Path(__file__).resolve().parents[2]
LIBRARY = next((path for path in icds.intel_library_candidates() if path.is_file()), None)
needs_library = pytest.mark.skipif(LIBRARY is None, reason="pip's OpenCL runtime is not installed")


def run_python(code: str, **environment: str) -> str:
    """What a fresh interpreter prints; its own errors fail the test."""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env={**os.environ, **environment}, text=True,
                          capture_output=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


UNREGISTERED = """
import os, sys
import pyopencl
from clinfer.runtime import icds, platforms
from clinfer.runtime.capabilities import probe_capabilities
from clinfer.runtime.device import available_devices
from clinfer.runtime.gpu_vendors import GpuVendor
from clinfer.runtime.icds import Icd

library, registration = sys.argv[1:]
before = dict(os.environ)
platforms.GPU_VENDORS = (GpuVendor("Maker", (os.path.basename(library),), (os.path.dirname(library),), (), "", ""),)
icds.pip_icds = lambda: []
icds.drivers_are_chosen = lambda: False
from clinfer.runtime.device import available_devices
for device in available_devices():
    assert probe_capabilities(device).compute_units > 0
    print(device.platform_name, "|", device.found)
assert dict(os.environ) == before
"""


@needs_library
@pytest.mark.parametrize("is_registered", [False, True])
def test_a_driver_is_found_by_its_name_unless_it_is_registered(tmp_path: Path, is_registered: bool) -> None:
    if is_registered:
        (tmp_path / "own.icd").write_text(f"{LIBRARY}\n", encoding="utf-8")
    done = subprocess.run([sys.executable, "-c", UNREGISTERED, str(LIBRARY), ""], cwd=ROOT, text=True, timeout=120,
                          capture_output=True, env={**os.environ, "OCL_ICD_VENDORS": str(tmp_path)})
    assert done.returncode == 0, done.stderr
    how = f"registered in {tmp_path / 'own.icd'}" if is_registered else f"opened by name: {LIBRARY}"
    assert done.stdout.splitlines() == [f"Intel(R) OpenCL | {how}"]


GPUS = """
from clinfer.runtime import icds
icds.drivers_are_chosen = lambda: False
from clinfer.runtime.device import available_devices
print(sorted((d.full_name, d.driver_version) for d in available_devices() if d.type == "GPU"))
print(all(d.found.startswith("opened by name: ") for d in available_devices() if d.type == "GPU"))
"""


def test_gpus_of_known_vendors_need_no_registration(tmp_path: Path) -> None:
    gpus = sorted((d.full_name, d.driver_version) for d in available_devices() if d.type == "GPU")
    if not gpus or not any(map(icds.library_of, GPU_VENDORS)):
        pytest.skip("no GPU whose driver has a usual name")
    assert run_python(GPUS, OCL_ICD_VENDORS=str(tmp_path)).splitlines() == [str(gpus), "True"]


SEEN = """
import pyopencl as cl
from clinfer.runtime import icds
from clinfer.runtime.icd_library import open_icd
from clinfer.runtime.icds import registered_icds
mine = {handle for icd in registered_icds() for handle in open_icd(icd.library)}
try:
    theirs = {platform.int_ptr for platform in cl.get_platforms()}
except cl.Error:
    theirs = set()
print(mine == theirs, len(mine))
"""


@needs_library
@pytest.mark.parametrize("form", ["folder", "file", "file in the system's folder", "library", "empty folder",
                                  "nothing"])
def test_registrations_are_read_as_the_loader_reads_them(tmp_path: Path, form: str) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "empty").mkdir()
    (tmp_path / "full" / "own.icd").write_text(f"{LIBRARY}\n", encoding="utf-8")
    (tmp_path / "full" / "ignored.txt").write_text("libnothing.so\n", encoding="utf-8")
    environment = {
        "folder": {"OCL_ICD_VENDORS": str(tmp_path / "full")},
        "file": {"OCL_ICD_VENDORS": str(tmp_path / "full" / "own.icd")},
        "file in the system's folder": {"OCL_ICD_VENDORS": "own.icd", "OPENCL_VENDOR_PATH": str(tmp_path / "full")},
        "library": {"OCL_ICD_VENDORS": str(LIBRARY)},
        "empty folder": {"OCL_ICD_VENDORS": "", "OPENCL_VENDOR_PATH": str(tmp_path / "empty")},
        "nothing": {"OCL_ICD_VENDORS": str(tmp_path / "missing.icd")},
    }[form]
    assert run_python(SEEN, **environment) == f"True {int(form not in ('empty folder', 'nothing'))}"


def test_a_registration_of_what_is_not_there_is_told(tmp_path: Path) -> None:
    (tmp_path / "gone.icd").write_text("libgone.so.1", encoding="utf-8")
    (tmp_path / "empty.icd").write_text("", encoding="utf-8")
    told = run_python("from clinfer.runtime.platforms import discover; print(discover().failures)",
                      OCL_ICD_VENDORS=str(tmp_path))
    assert "libgone.so.1" in told and f"registered in {tmp_path / 'gone.icd'}" in told and "empty.icd" not in told


@pytest.mark.parametrize(("name", "told"), [("Portable Computing Language", "try POCL_CACHE_DIR"), ("Maker", "")])
def test_a_platform_without_devices_is_told(monkeypatch: pytest.MonkeyPatch, name: str, told: str) -> None:
    platform = SimpleNamespace(name=name, version="OpenCL 3.0", int_ptr=1, get_devices=list)
    monkeypatch.setattr(platforms, "_environment_platforms", lambda failures: [])
    monkeypatch.setattr(platforms, "_system_platforms", lambda failures: [Candidate(platform, "registered somewhere")])
    found = discover()
    assert not found.platforms and len(found.failures) == 1
    assert f"platform {name} (registered somewhere) shows no device" in found.failures[0] and told in found.failures[0]


@pytest.mark.parametrize(("variables", "chosen"), [
    ({}, False), ({"OCL_ICD_VENDORS": ""}, False), ({"OCL_ICD_VENDORS": "/etc/OpenCL/vendors"}, False),
    ({"OCL_ICD_VENDORS": "pocl.icd"}, True), ({"OPENCL_VENDOR_PATH": "/opt/vendors"}, True),
])
def test_whoever_chooses_drivers_gets_no_others(monkeypatch: pytest.MonkeyPatch, variables: dict[str, str],
                                                chosen: bool) -> None:
    for name in ("OCL_ICD_VENDORS", "OPENCL_VENDOR_PATH"):
        monkeypatch.delenv(name, raising=False)
    for name, text in variables.items():
        monkeypatch.setenv(name, text)
    assert icds.drivers_are_chosen() == chosen


@pytest.fixture
def shared_library(tmp_path: Path) -> Path:
    """A file that begins as libraries of this process do."""
    path = tmp_path / "drivers" / "libmaker-opencl.so.1"
    path.parent.mkdir()
    path.write_bytes(Path(sys.executable).resolve().read_bytes()[:64])
    return path


def test_libraries_are_found_without_loading_them(monkeypatch: pytest.MonkeyPatch, shared_library: Path,
                                                  tmp_path: Path) -> None:
    name = shared_library.name
    assert find_library(name) is None
    assert find_library(str(shared_library)) == shared_library
    assert find_library(name, (f"{tmp_path}/dri*",)) == shared_library
    foreign = tmp_path / "foreign" / name
    foreign.parent.mkdir()
    foreign.write_bytes(b"\x7fELF\x01\x01" + bytes(12) + b"\x03\x00")
    os.mkfifo(tmp_path / name)
    assert find_library(name, (str(tmp_path), str(foreign.parent), str(shared_library.parent))) == shared_library
    cache = tmp_path / "cache"
    cache.write_bytes(b"\0".join([b"head", b"/x/libother.so", bytes(foreign), bytes(shared_library), b"/y/z.so", b""]))
    monkeypatch.setattr(libraries, "_LINKER_CACHE", cache)
    assert find_library(name) == shared_library
    assert find_library("maker-opencl.so.1") is None
    cache.write_bytes(b"")
    monkeypatch.setenv("LD_LIBRARY_PATH", f"/nowhere:{shared_library.parent}")
    assert find_library(name) == shared_library


def vendor(folder: Path, **changes: object) -> GpuVendor:
    made = GpuVendor("Maker", ("libmaker-opencl.so.1",), (str(folder / "drivers"),), (f"{folder}/dev/gpu[0-9]*",),
                     "the maker's driver", "run --gpu", 0x1234)
    return replace(made, **changes)  # type: ignore[arg-type]


def test_one_driver_of_a_vendor_is_enough(shared_library: Path, tmp_path: Path) -> None:
    maker = vendor(tmp_path)
    assert [icd.library for icd in icds.unregistered_icds([], [maker])] == [str(shared_library)]
    for registered in (str(shared_library), shared_library.name, f"/elsewhere/{shared_library.name}"):
        assert icds.unregistered_icds([Icd(registered, "")], [maker]) == []
    link = tmp_path / "libversioned.so.1.2"
    link.symlink_to(shared_library)
    assert icds.unregistered_icds([Icd(str(link), "")], [maker]) == []


def served_by(vendor_id: int, kind: int) -> Discovery:
    unit = SimpleNamespace(type=kind, vendor_id=vendor_id, vendor="somebody")
    return Discovery((PlatformDevices(None, "p", "1", (unit,), ()),), ())


def test_what_a_gpu_lacks_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    maker, nothing = vendor(tmp_path), Discovery((), ())
    monkeypatch.setattr(missing, "_PCI_DEVICES", f"{tmp_path}/bus/*")
    assert missing_gpus(nothing, [maker]) == []
    for name, kind in (("1", "0x020000"), ("2", "0x030000")):
        (tmp_path / "bus" / name).mkdir(parents=True)
        (tmp_path / "bus" / name / "class").write_text(f"{kind}\n", encoding="ascii")
        (tmp_path / "bus" / name / "vendor").write_text("0x1234\n", encoding="ascii")
    assert missing_gpus(nothing, [vendor(tmp_path, pci_id=0x4321)]) == []
    told, = missing_gpus(nothing, [maker])
    assert "was not given the GPU" in told.what and told.hint == "`run --gpu`"
    (tmp_path / "dev").mkdir()
    (tmp_path / "dev" / "gpu0").touch()
    with monkeypatch.context() as patch:
        patch.setattr(missing.os, "access", lambda path, mode: False)
        told, = missing_gpus(nothing, [maker])
        assert f"no permission to open {tmp_path}/dev/gpu0" in str(told) and "group" in told.hint
    told, = missing_gpus(nothing, [maker])
    assert "no libmaker-opencl.so.1" in told.what and "the maker's driver" in told.hint
    (tmp_path / "drivers").mkdir()
    library = tmp_path / "drivers" / "libmaker-opencl.so.1"
    library.write_bytes(Path(sys.executable).resolve().read_bytes()[:64])
    told, = missing_gpus(Discovery((), (f"{library}: too short", "another: broken")), [maker])
    assert "too short" in told.what and "broken" not in told.what
    assert missing_gpus(served_by(0x1234, cl.device_type.GPU), [maker]) == []
    for other in (served_by(0x1234, cl.device_type.CPU), served_by(0x9, cl.device_type.GPU)):
        assert len(missing_gpus(other, [maker])) == 1


def test_a_gpu_without_a_place_on_the_bus_is_known_by_its_files(tmp_path: Path) -> None:
    board = vendor(tmp_path, pci_id=None)
    assert missing_gpus(Discovery((), ()), [board]) == []
    (tmp_path / "dev").mkdir()
    (tmp_path / "dev" / "gpu7").touch()
    assert "libmaker-opencl.so.1" in str(missing_gpus(Discovery((), ()), [board])[0])


def test_vendors_are_told_apart() -> None:
    libraries_of = [name for entry in GPU_VENDORS for name in entry.libraries]
    assert len(set(libraries_of)) == len(libraries_of)
    assert all(entry.nodes and entry.install and entry.share for entry in GPU_VENDORS)
