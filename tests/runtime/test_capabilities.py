"""Capabilities: probed, kept on disk, robust against a bad cache and a crashing probe."""
from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from clinfer.base.errors import ClinferError
from clinfer.runtime import capabilities
from clinfer.runtime.capabilities import probe_capabilities
from clinfer.runtime.device import DeviceInfo
from clinfer.runtime.engine import Engine
from clinfer.runtime.helper import Helper, HelperFailure
from clinfer.runtime.probes import PROBES

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def empty_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("CLINFER_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("CLINFER_CACHE", "1")
    monkeypatch.setattr(capabilities, "_known", {})
    return tmp_path / "capabilities"


@pytest.fixture
def answers(engine: Engine) -> dict[str, object]:
    """What the device answered before; asked for ahead of `empty_cache`."""
    return dict(capabilities._known[engine.device.identity])


@pytest.fixture
def quick_answers(monkeypatch: pytest.MonkeyPatch, answers: dict[str, object]) -> dict[str, object]:
    """The same, handed out without a helper process."""
    monkeypatch.setattr(capabilities, "_probe_in_helper", lambda device, found: found.update(answers))
    return answers


def test_limits_are_plausible(engine: Engine) -> None:
    found = engine.capabilities
    assert found.device_type == engine.device.type
    assert found.opencl_c_version >= (1, 1)
    assert found.compute_units > 0 and found.buffer_alignment > 0
    assert len(found.max_work_item_sizes) >= 3 and found.max_work_group_size > 0
    assert 0 < found.max_alloc_size <= found.global_mem_size
    assert found.usable_local_mem >= found.local_mem_size > 0
    assert found.large_local_mem == (found.usable_local_mem > found.local_mem_size)
    assert found.struct_argument


def test_subgroup_answers_agree(engine: Engine) -> None:
    found = engine.capabilities
    assert bool(found.subgroup_size) == bool(found.subgroup_sizes) == bool(found.subgroup_builtins)
    assert not found.subgroup_size or found.subgroup_size in found.subgroup_sizes


def test_probed_once_then_read_from_disk(empty_cache: Path, engine: Engine, monkeypatch: pytest.MonkeyPatch,
                                         ) -> None:
    first = probe_capabilities(engine.device)
    assert replace(first, ceilings=engine.capabilities.ceilings) == engine.capabilities
    assert len(list(empty_cache.iterdir())) == 1
    capabilities._known.clear()
    monkeypatch.setattr(capabilities, "_probe_and_store", lambda device: pytest.fail("probed again"))
    assert probe_capabilities(engine.device) == first


def test_what_the_environment_tells_a_compiler_has_its_own_file(
        quick_answers: dict[str, object], empty_cache: Path, engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    probe_capabilities(engine.device)
    capabilities._known.clear()
    monkeypatch.setenv("POCL_EXTRA_BUILD_FLAGS", "-DSOMETHING_ELSE")
    probe_capabilities(engine.device)
    assert len(list(empty_cache.iterdir())) == 2


@pytest.mark.parametrize("damage", ["", "{", "[]", '{"key": 1}', "\x00\xff"])
def test_a_corrupt_file_is_rewritten(damage: str, quick_answers: dict[str, object], empty_cache: Path,
                                     engine: Engine) -> None:
    expected = probe_capabilities(engine.device)
    (file,) = empty_cache.iterdir()
    good = json.loads(file.read_text())
    file.write_text(damage)
    capabilities._known.clear()
    assert probe_capabilities(engine.device) == expected
    assert json.loads(file.read_text()) == {**good, "measured": [pytest.approx(good["measured"][0], abs=600)]}


def test_answers_of_the_wrong_kind_are_probed_again(quick_answers: dict[str, object], empty_cache: Path,
                                                    engine: Engine) -> None:
    expected = probe_capabilities(engine.device)
    (file,) = empty_cache.iterdir()
    stored = json.loads(file.read_text())
    stored["answers"]["subgroups"] = ["nonsense"]
    file.write_text(json.dumps(stored))
    capabilities._known.clear()
    assert probe_capabilities(engine.device) == expected


def test_no_file_when_caches_are_off(quick_answers: dict[str, object], empty_cache: Path, engine: Engine,
                                     monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLINFER_CACHE", "0")
    assert probe_capabilities(engine.device) == engine.capabilities
    assert not empty_cache.exists()


def test_a_cache_that_cannot_be_written_does_no_harm(quick_answers: dict[str, object], empty_cache: Path,
                                                     engine: Engine) -> None:
    empty_cache.parent.joinpath("capabilities").write_text("a file where the folder should be")
    assert probe_capabilities(engine.device) == engine.capabilities


def test_a_probe_that_kills_its_process_means_no(engine: Engine, answers: dict[str, object], empty_cache: Path,
                                                 monkeypatch: pytest.MonkeyPatch) -> None:
    killed = []

    class Fragile:
        """A helper that dies on one probe and knows every other answer."""

        def __init__(self, device: DeviceInfo) -> None:
            pass

        def __enter__(self) -> Fragile:
            return self

        def __exit__(self, *ignored: object) -> None:
            pass

        def request(self, message: tuple[str, str], timeout: float) -> object:
            if message[1] == "builtin_prefetch":
                killed.append(message)
                raise HelperFailure("died")
            return answers[message[1]]

    monkeypatch.setattr(capabilities, "Helper", Fragile)
    found = probe_capabilities(engine.device)
    assert killed == [("probe", "builtin_prefetch")]
    assert not found.builtin_prefetch
    assert found.fp64 == engine.capabilities.fp64


HERE = """
import sys
from dataclasses import replace
from clinfer.runtime import rates
from clinfer.runtime.capabilities import probe_capabilities
from clinfer.runtime.device import find_device
sys.executable = "/does/not/exist"
rates._MOST_MEMORY = 64 << 20
print(replace(probe_capabilities(find_device(sys.argv[1])), ceilings=None))
"""


def test_without_helper_processes_probes_run_here(engine: Engine, empty_cache: Path, overlapping: None) -> None:
    """One of the probes ends the process where buffers may not overlap. How fast the device is differs, and is not
    found out with a buffer of three times the cache. It is a process of its own, since probes leave 140 MB."""
    done = subprocess.run([sys.executable, "-c", HERE, engine.device.name], cwd=ROOT, text=True, timeout=120,
                          check=True, capture_output=True)
    assert done.stdout.strip() == str(replace(engine.capabilities, ceilings=None))  # type: ignore[arg-type]


def test_a_device_that_runs_nothing_is_refused(engine: Engine, empty_cache: Path,
                                               monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capabilities, "_probe_in_helper", lambda device, found: found.update(dict.fromkeys(PROBES)))
    monkeypatch.setattr(capabilities, "run_probe", lambda bench, name: None)
    with pytest.raises(ClinferError, match="trivial kernel"):
        probe_capabilities(engine.device)
    assert not empty_cache.exists()


def test_a_helper_refuses_another_device(device: DeviceInfo) -> None:
    with pytest.raises(HelperFailure, match="does not see"):
        Helper(replace(device, driver_version="another"))
