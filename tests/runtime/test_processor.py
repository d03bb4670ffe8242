"""What the processor has decides which assembly is run on it: one that lacks an instruction ends the process."""
from __future__ import annotations

import json
import platform
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from clinfer.runtime import capabilities, processor
from clinfer.runtime.capabilities import probe_capabilities
from clinfer.runtime.device import DeviceInfo
from clinfer.runtime.engine import Engine
from clinfer.runtime.probes import NEEDS, PROBES
from clinfer.runtime.processor import ASSEMBLY, has_instructions, processor_key, wide_instructions

ALL = frozenset[str]().union(*ASSEMBLY.values())
_OF_AVX2 = {"float_products", "short_products"}
Has = Callable[[frozenset[str] | None], None]


@pytest.fixture
def has(monkeypatch: pytest.MonkeyPatch) -> Has:
    """Makes the processor one with these instructions alone."""
    return lambda names: monkeypatch.setattr(processor, "wide_instructions", lambda: names)


@pytest.fixture
def system(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[str, str, str | None], None]:
    """Makes the system another one: machine, platform, and what Linux tells of the processor."""
    def be(machine: str, name: str, told: str | None) -> None:
        monkeypatch.setattr(platform, "machine", lambda: machine)
        monkeypatch.setattr(sys, "platform", name)
        monkeypatch.setattr(processor, "_LINUX", tmp_path / "cpuinfo")
        if told is not None:
            (tmp_path / "cpuinfo").write_text(told)
        monkeypatch.setattr(processor, "wide_instructions", wide_instructions.__wrapped__)
    return be


class Answering:
    """A helper that answers yes to all, and notes what it was asked."""

    asked: list[str]

    def request(self, message: tuple[str, str], timeout: float) -> bool:
        self.asked.append(message[1])
        return True


def asked_here(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """The probes that run in this process, where each that runs says yes."""
    asked: list[str] = []
    monkeypatch.setattr(capabilities, "run_probe", lambda bench, name: asked.append(name) or True)
    capabilities._probe_here(engine.device, {})
    return set(asked)


def asked_in_helper() -> set[str]:
    helper = Answering()
    helper.asked = []
    capabilities._ask(helper, {})  # type: ignore[arg-type]
    return set(helper.asked)


def needing(*abilities: str) -> set[str]:
    """Abilities and the probes that need them."""
    return {*abilities, *(name for name, needed in NEEDS.items() if needed in abilities)}


@pytest.mark.parametrize(("names", "here", "in_helper"), [
    (ALL, set(), set()), (frozenset(), set(ASSEMBLY), set(ASSEMBLY)),
    (frozenset({"avx2", "fma", "avx512f", "avx512_vnni"}), {"bf16_products", "tile_registers"},
     {"bf16_products", "tile_registers"}),
    (frozenset({"avx2", "fma"}), set(ASSEMBLY) - _OF_AVX2, set(ASSEMBLY) - _OF_AVX2),
    (ALL - {"amx_int8"}, {"tile_registers"}, {"tile_registers"}), (None, set(ASSEMBLY), set())])
def test_assembly_runs_where_the_processor_has_it(engine: Engine, has: Has, monkeypatch: pytest.MonkeyPatch,
                                                  names: frozenset[str] | None, here: set[str],
                                                  in_helper: set[str]) -> None:
    """A helper may try what nothing tells of."""
    has(names)
    assert asked_here(engine, monkeypatch) == set(PROBES) - needing(*here)
    assert asked_in_helper() == set(PROBES) - needing(*in_helper)


def test_answers_that_another_processor_gave_are_not_believed(engine: Engine, has: Has, tmp_path: Path,
                                                              monkeypatch: pytest.MonkeyPatch) -> None:
    """Drivers give one name to processors that differ, and machines may share a home folder."""
    answers = {**capabilities._known[engine.device.identity], **dict.fromkeys(ASSEMBLY)}
    claimed = {**answers, "byte_products": True}
    monkeypatch.setenv("CLINFER_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(capabilities, "_known", {})
    monkeypatch.setattr(capabilities, "_probe_in_helper", lambda device, found: found.update(answers))
    has(frozenset())
    probe_capabilities(engine.device)
    file, = (tmp_path / "capabilities").iterdir()
    file.write_text(json.dumps({**json.loads(file.read_text()), "answers": claimed}))
    capabilities._known.clear()
    assert not probe_capabilities(engine.device).byte_products
    assert json.loads(file.read_text())["answers"] == answers


def test_what_is_kept_is_kept_by_processor(device: DeviceInfo, has: Has) -> None:
    gpu, cpu, keys = replace(device, type="GPU"), replace(device, type="CPU"), set()
    for names in (frozenset(), frozenset({"avx512f"}), ALL):
        has(names)
        keys.add(cpu.driver_key)
        assert gpu.driver_key == (device.full_name, device.platform_name, device.platform_version,
                                  device.driver_version)
    assert len(keys) == 3 and gpu.driver_key in keys


@pytest.mark.parametrize(("machine", "name", "told", "found"), [
    ("x86_64", "linux", "processor\t: 0\nflags\t\t: fpu avx2 avx512f avx512_vnni amx_tile\nflags\t: fpu\n",
     {"avx2", "avx512f", "avx512_vnni", "amx_tile"}),
    ("x86_64", "linux", "flags : fpu avx2 fma\n", {"avx2", "fma"}), ("x86_64", "linux", "flags : fpu avx\n", set()),
    ("x86_64", "linux", "nothing\n", None),
    ("x86_64", "linux", None, None), ("AMD64", "win32", None, None), ("x86_64", "darwin", None, None),
    ("aarch64", "linux", "Features : asimd\n", set()), ("arm64", "darwin", None, set())])
def test_what_a_system_tells(system: Callable[..., None], machine: str, name: str, told: str | None,
                             found: set[str] | None) -> None:
    system(machine, name, told)
    assert processor.wide_instructions() == found
    assert processor_key() == ((platform.processor(),) if found is None else tuple(sorted(found)))
    assert has_instructions("fp16") is True
    assert has_instructions("byte_products") is (None if found is None else "avx512_vnni" in found)


def test_this_processor_is_known_on_linux() -> None:
    if sys.platform != "linux":
        pytest.skip("nothing tells")
    assert wide_instructions() is not None
