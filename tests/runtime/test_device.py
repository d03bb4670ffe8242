"""Discovery and naming of devices."""
from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pyopencl as cl
import pytest

from clinfer.base.errors import ClinferError
from clinfer.runtime import device as devices
from clinfer.runtime import icds, platforms
from clinfer.runtime.device import DeviceInfo, available_devices, find_device
from clinfer.runtime.platforms import Candidate, Discovery, PlatformDevices


@pytest.fixture
def fresh_discovery() -> Iterator[None]:
    available_devices.cache_clear()
    yield
    available_devices.cache_clear()


def fake_device(name: str, kind: int, unified: bool = False) -> SimpleNamespace:
    return SimpleNamespace(name=f" {name} ", type=kind, host_unified_memory=unified, vendor="v",
                           driver_version="1", available=True, compiler_available=True)


def fake_platform(name: str, *units: SimpleNamespace) -> PlatformDevices:
    return PlatformDevices(None, name, "OpenCL 3.0", units, (name, *(u.name for u in units)))


def discovered(monkeypatch: pytest.MonkeyPatch, *found: PlatformDevices,
               failures: tuple[str, ...] = ()) -> None:
    monkeypatch.setattr(platforms, "discover", lambda: Discovery(found, failures))


def test_every_device_answers_to_its_name(device: DeviceInfo) -> None:
    assert find_device(device.name) == device
    assert device.full_name and device.driver_version and device.name.startswith(device.type)


def test_names_are_numbered_within_their_type() -> None:
    names = [device.name for device in available_devices()]
    for kind in {name.split(".")[0] for name in names}:
        of_kind = [name for name in names if name.startswith(f"{kind}.")]
        assert of_kind == [f"{kind}.{i}" for i in range(len(of_kind))]
        assert find_device(kind).name == f"{kind}.0"


@pytest.mark.usefixtures("fresh_discovery")
def test_order_and_names(monkeypatch: pytest.MonkeyPatch) -> None:
    kinds = cl.device_type
    discovered(monkeypatch,
               fake_platform("Alpha", fake_device("simulator", kinds.CPU | kinds.GPU)),
               fake_platform("Beta", fake_device("integrated", kinds.GPU, unified=True),
                             fake_device("card 1", kinds.GPU), fake_device("card 2", kinds.GPU)),
               fake_platform("Intel(R) OpenCL", fake_device("cpu", kinds.CPU)),
               fake_platform("Zeta", fake_device("board", kinds.ACCELERATOR),
                             fake_device("odd", kinds.CUSTOM)))
    assert [(d.name, d.full_name) for d in available_devices()] == [
        ("GPU.0", "card 1"), ("GPU.1", "card 2"), ("GPU.2", "integrated"),
        ("CPU.0", "cpu"), ("CPU.1", "simulator"), ("ACC.0", "board")]
    assert find_device().full_name == "card 1"
    assert find_device("CPU").full_name == "cpu"


@pytest.mark.usefixtures("fresh_discovery")
def test_auto_without_gpu_is_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    discovered(monkeypatch, fake_platform("A", fake_device("cpu", cl.device_type.CPU),
                                          fake_device("board", cl.device_type.ACCELERATOR)))
    assert find_device("AUTO").name == "CPU.0"


@pytest.mark.usefixtures("fresh_discovery")
def test_no_device_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    discovered(monkeypatch, failures=("libintelocl.so did not open: libsvml.so is missing",))
    with pytest.raises(ClinferError, match="no OpenCL device") as caught:
        find_device("GPU")
    assert "pip install clinfer[cpu]" in caught.value.hint
    assert "libsvml.so is missing" in str(caught.value)


@pytest.mark.usefixtures("fresh_discovery")
def test_a_missing_device_says_which_drivers_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    discovered(monkeypatch, fake_platform("A", fake_device("cpu", cl.device_type.CPU)), failures=("B has none",))
    with pytest.raises(ClinferError, match="there is no device") as caught:
        find_device("CPU.1")
    assert "B has none" in str(caught.value)


@pytest.mark.parametrize("name", ["GPU.77", "TPU", "CPU.x", ""])
def test_unknown_name_lists_what_exists(name: str) -> None:
    with pytest.raises(ClinferError, match="there is no device") as caught:
        find_device(name)
    for known in available_devices():
        assert known.name in str(caught.value) and known.full_name in str(caught.value)


def test_a_failing_platform_does_not_hide_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken:
        name = "Broken"
        version = "OpenCL 1.2"
        int_ptr = 1

        def get_devices(self) -> list[cl.Device]:
            raise cl.LogicError("broken driver")

    real = [p.platform for p in platforms.discover().platforms]
    monkeypatch.setattr(platforms, "_environment_platforms", lambda failures: [])
    monkeypatch.setattr(platforms, "_system_platforms",
                        lambda failures: [Candidate(p, "faked") for p in (Broken(), *real)])
    found = platforms.discover()
    assert {p.name for p in found.platforms} == {p.name for p in real}
    assert any("Broken" in failure for failure in found.failures)


def test_the_same_driver_registered_twice_is_one_platform(monkeypatch: pytest.MonkeyPatch) -> None:
    once = platforms.discover()
    twice = [Candidate(p.platform, "faked") for p in once.platforms] * 2
    monkeypatch.setattr(platforms, "_system_platforms", lambda failures: twice)
    assert [p.fingerprint for p in platforms.discover().platforms] == [p.fingerprint for p in once.platforms]


def test_a_runtime_that_does_not_open_is_reported(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    library = tmp_path / "libintelocl.so"
    library.write_bytes(b"not a library")
    monkeypatch.setattr(icds, "intel_library_candidates", lambda: [library])
    monkeypatch.setattr(platforms.driver, "api_is_preloaded", lambda: False)
    found = platforms.discover()
    assert any(str(library) in failure for failure in found.failures)


@pytest.mark.parametrize("record", ["lib/libintelocl.so,,", "../../lib/libintelocl.so,,", ""])
def test_a_runtime_installed_into_any_folder_is_looked_for(monkeypatch: pytest.MonkeyPatch, tmp_path: Path,
                                                           record: str) -> None:
    info = tmp_path / "intel_opencl_rt-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: intel-opencl-rt\nVersion: 1.0\n")
    (info / "RECORD").write_text(record)
    monkeypatch.syspath_prepend(str(tmp_path))
    candidates = icds.intel_library_candidates()
    assert tmp_path / "lib" / "libintelocl.so" in candidates
    assert len(set(candidates)) == len(candidates)


def test_custom_devices_have_no_type() -> None:
    assert devices.device_type(fake_device("odd", cl.device_type.CUSTOM)) == ""
