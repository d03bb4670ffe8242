"""The kernel cache: warm starts, damaged files, and errors that name the kernel."""
from __future__ import annotations

import gc
import os
import threading
import weakref
from dataclasses import replace
from pathlib import Path

import pytest

from clinfer.base.element_type import ElementType
from clinfer.base.errors import ClinferError
from clinfer.base.layout import Layout
from clinfer.base.shape import ANY
from clinfer.kernels import kernel_cache
from clinfer.kernels.implementation import generate
from clinfer.kernels.jitter import StageCode
from clinfer.kernels.kernel_cache import KernelCache, LoadedKernels
from clinfer.ops import kernels_of
from clinfer.ops.softmax import Softmax
from clinfer.runtime.engine import Engine


@pytest.fixture
def codes(engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[StageCode]:
    """The code of two kernels, with an empty cache folder."""
    monkeypatch.setenv("CLINFER_CACHE_DIR", str(tmp_path))
    made = []
    for rank in (2, 3):
        primitive = Softmax("s", ("x",), axis=1)
        layout = Layout.planar((ANY,) * rank, ElementType.of("f32"))
        kernels = kernels_of(primitive)
        problem = kernels.problem(primitive, (layout,), (layout,), engine.capabilities)
        made.append(generate(kernels.candidates(problem)[-1], problem).stages[0].code)
    return made


@pytest.fixture
def no_builds(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a kernel was built")
    monkeypatch.setattr(kernel_cache, "build_in_processes", refuse)


def _files(folder: Path, part: str) -> list[Path]:
    return [p for p in folder.rglob("*") if p.is_file() and p.parent.name == part]


def test_a_second_process_builds_nothing(engine: Engine, codes: list[StageCode], tmp_path: Path,
                                         request: pytest.FixtureRequest) -> None:
    KernelCache(engine).prepare(codes)
    assert _files(tmp_path, "batches")
    request.getfixturevalue("no_builds")
    for kernel_id, program in KernelCache(engine).prepare(codes).items():
        engine.create_kernel(program, kernel_id)


@pytest.mark.parametrize("part", ["batches", "index"])
@pytest.mark.parametrize("damage", [b"", b"\xff\x00garbage"])
def test_damaged_files_are_built_anew(engine: Engine, codes: list[StageCode], tmp_path: Path, part: str,
                                      damage: bytes, request: pytest.FixtureRequest) -> None:
    KernelCache(engine).prepare(codes)
    for path in _files(tmp_path, part):
        path.write_bytes(damage)
    for kernel_id, program in KernelCache(engine).prepare(codes).items():
        engine.create_kernel(program, kernel_id)
    request.getfixturevalue("no_builds")
    KernelCache(engine).prepare(codes)


def test_a_flipped_bit_is_noticed(engine: Engine, codes: list[StageCode], tmp_path: Path) -> None:
    KernelCache(engine).prepare(codes)
    for path in _files(tmp_path, "batches"):
        content = bytearray(path.read_bytes())
        content[len(content) // 2] ^= 1
        path.write_bytes(bytes(content))
    assert KernelCache(engine).prepare(codes)[codes[0].kernel_id].kernel_names


@pytest.mark.parametrize("form", ["absolute", "relative", "beside"])
def test_an_index_names_nothing_outside(engine: Engine, codes: list[StageCode], tmp_path: Path, form: str) -> None:
    KernelCache(engine).prepare(codes)
    batches = _files(tmp_path, "batches")[0].parent
    victim = batches / "victim" if form == "beside" else tmp_path / "victim"
    victim.write_bytes(b"precious")
    named = {"absolute": str(victim), "relative": os.path.relpath(victim, batches), "beside": "victim"}[form]
    for path in _files(tmp_path, "index"):
        path.write_text(named, encoding="ascii")
    KernelCache(engine).prepare(codes)
    assert victim.read_bytes() == b"precious"


@pytest.mark.parametrize("part", ["index", "batches"])
@pytest.mark.parametrize("kind", ["fifo", "link", "huge"])
def test_what_is_no_file_of_the_cache_is_made_anew(engine: Engine, codes: list[StageCode], tmp_path: Path, part: str,
                                                   kind: str, request: pytest.FixtureRequest) -> None:
    KernelCache(engine).prepare(codes)
    victim = tmp_path / "victim"
    victim.write_bytes(b"precious")
    for path in _files(tmp_path, part):
        path.unlink()
        if kind == "fifo":
            os.mkfifo(path)
        elif kind == "link":
            path.symlink_to(victim)
        else:
            path.touch(0o600)
            os.truncate(path, 1 << 40)
    KernelCache(engine).prepare(codes)
    assert victim.read_bytes() == b"precious"
    request.getfixturevalue("no_builds")
    KernelCache(engine).prepare(codes)


def test_a_folder_that_others_may_write_is_not_used(engine: Engine, codes: list[StageCode], tmp_path: Path,
                                                    monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "open"
    folder.mkdir()
    folder.chmod(0o777)
    monkeypatch.setenv("CLINFER_CACHE_DIR", str(folder))
    with pytest.warns(RuntimeWarning, match="other users may write") as caught:
        for _ in range(2):
            programs = KernelCache(engine).prepare(codes)
            engine.create_kernel(programs[codes[0].kernel_id], codes[0].kernel_id)
    assert len(caught) == 1 and not list(folder.iterdir())


def test_without_cache_nothing_is_written(engine: Engine, codes: list[StageCode], tmp_path: Path,
                                          monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLINFER_CACHE", "0")
    KernelCache(engine).prepare(codes)
    assert not _files(tmp_path, "batches") and not _files(tmp_path, "index")


def test_a_folder_that_cannot_be_written_is_no_error(engine: Engine, codes: list[StageCode], tmp_path: Path,
                                                     monkeypatch: pytest.MonkeyPatch) -> None:
    obstacle = tmp_path / "file"
    obstacle.write_text("in the way", encoding="utf-8")
    monkeypatch.setenv("CLINFER_CACHE_DIR", str(obstacle))
    KernelCache(engine).prepare(codes)


def test_a_kernel_that_does_not_build_is_named(engine: Engine, codes: list[StageCode]) -> None:
    broken = replace(codes[0], kernel_id="broken_1", head="",
                     body="kernel void broken_1(global float* x) { x = nonsense; }")
    cache = KernelCache(engine)
    with pytest.raises(ClinferError, match="broken_1") as raised:
        cache.prepare([broken, codes[1]])
    assert "nonsense" in str(raised.value)
    cache.prepare([codes[1]])


def test_kernels_that_cannot_share_a_program_are_told_of(engine: Engine, codes: list[StageCode],
                                                         monkeypatch: pytest.MonkeyPatch,
                                                         capfd: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("CLINFER_DEBUG", "1")
    both = [replace(code, body=f"typedef struct {{ int {field}; }} pair;\n{code.body}")
            for code, field in zip(codes, ("one", "other"), strict=True)]
    assert KernelCache(engine).prepare(both).keys() == {code.kernel_id for code in codes}
    assert "kernels that can be built were refused together" in "".join(capfd.readouterr())


def test_sources_are_dumped(engine: Engine, codes: list[StageCode], tmp_path: Path,
                            monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLINFER_DUMP", str(tmp_path / "dump"))
    KernelCache(engine).prepare(codes)
    text = (tmp_path / "dump" / "kernels" / f"{codes[0].kernel_id}.cl").read_text(encoding="utf-8")
    assert f"#define KERNEL_ID {codes[0].kernel_id}" in text


def test_kernels_are_found_without_their_sources(engine: Engine, codes: list[StageCode],
                                                 monkeypatch: pytest.MonkeyPatch) -> None:
    KernelCache(engine).prepare(codes)

    def refuse(_: StageCode) -> str:
        raise AssertionError("a source was put together")
    monkeypatch.setattr(StageCode, "source", property(refuse))
    assert KernelCache(engine).prepare(codes).keys() == {code.kernel_id for code in codes}


def test_other_capabilities_have_another_cache(engine: Engine, codes: list[StageCode],
                                               monkeypatch: pytest.MonkeyPatch) -> None:
    KernelCache(engine).prepare(codes)
    able = engine.capabilities
    other = Engine(engine.device, replace(able, builtin_prefetch=not able.builtin_prefetch))

    def refuse(*_: object, **__: object) -> None:
        raise ClinferError("asked to build")
    monkeypatch.setattr(kernel_cache, "build_in_processes", refuse)
    KernelCache(engine).prepare(codes)
    with pytest.raises(ClinferError, match="asked to build"):
        KernelCache(other).prepare(codes)


def test_what_the_environment_tells_a_compiler_has_another_cache(engine: Engine, codes: list[StageCode],
                                                                 monkeypatch: pytest.MonkeyPatch) -> None:
    KernelCache(engine).prepare(codes)
    monkeypatch.setenv("POCL_EXTRA_BUILD_FLAGS", "-DSOMETHING_ELSE")
    assert not KernelCache(engine).find(codes)


def test_programs_stay_with_those_that_use_them(engine: Engine, codes: list[StageCode],
                                                monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel_cache, "MOST_IDLE", 0)
    cache = KernelCache(engine)
    one, other = LoadedKernels(cache), LoadedKernels(cache)
    one.prepare(codes)
    other.prepare(codes)
    used = weakref.ref(one.program(codes[0].kernel_id))
    assert used() is other.program(codes[0].kernel_id), "loaded once"
    del one
    assert used() is other.program(codes[0].kernel_id)
    del other
    gc.collect()
    assert used() is None


def test_the_last_that_were_used_stay_loaded(engine: Engine, codes: list[StageCode],
                                             monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel_cache, "MOST_IDLE", 1)
    monkeypatch.setattr(kernel_cache, "BATCH_KERNELS", 1)
    cache = KernelCache(engine)
    first, second = (weakref.ref(cache.prepare([code])[code.kernel_id]) for code in codes)
    gc.collect()
    assert first() is None and second() is not None
    cache.prepare(codes[:1])
    gc.collect()
    assert second() is None


def test_a_binary_that_the_driver_refuses_is_built_here(engine: Engine, codes: list[StageCode],
                                                        monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise ClinferError("not this one")
    monkeypatch.setattr(engine, "load_binary", refuse)
    for kernel_id, program in KernelCache(engine).prepare(codes).items():
        engine.create_kernel(program, kernel_id)


def test_progress_is_told_while_kernels_are_built(engine: Engine, codes: list[StageCode],
                                                  monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel_cache, "BATCH_KERNELS", 1)
    told: list[tuple[int, int]] = []
    KernelCache(engine).prepare(codes, lambda *counts: told.append(counts))
    assert told == [(0, 2), (1, 2), (2, 2)]
    KernelCache(engine).prepare(codes, lambda *counts: told.append(counts))
    assert len(told) == 3, "nothing was built"


def test_who_is_told_of_progress_may_ask_for_kernels(engine: Engine, codes: list[StageCode],
                                                     monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel_cache, "BATCH_KERNELS", 1)
    cache, found = KernelCache(engine), list[int]()
    building = threading.Thread(daemon=True, target=lambda: cache.prepare(
        codes, lambda built, wanted: found.append(len(cache.find(codes)))))
    building.start()
    building.join(60)
    assert found == [0, 1, 2]


@pytest.mark.parametrize("error", [KeyboardInterrupt, ClinferError])
def test_an_interrupted_build_loses_nothing_that_was_built(engine: Engine, codes: list[StageCode],
                                                           monkeypatch: pytest.MonkeyPatch,
                                                           error: type[BaseException]) -> None:
    monkeypatch.setattr(kernel_cache, "BATCH_KERNELS", 1)

    def stop(built: int, _: int) -> None:
        if built:
            raise error("enough")

    with pytest.raises(error):
        KernelCache(engine).prepare(codes, stop)
    assert len(KernelCache(engine).find(codes)) == 1
    told: list[tuple[int, int]] = []
    KernelCache(engine).prepare(codes, lambda *counts: told.append(counts))
    assert told == [(0, 1), (1, 1)]


def test_helpers_start_ahead_only_where_nothing_is_cached(engine: Engine, codes: list[StageCode],
                                                          monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []

    class Noted:
        def __init__(self, device: object, workers: int) -> None:
            told.append("start")

        def take(self, device: object) -> None:
            return None

        def close(self) -> None:
            told.append("close")

    monkeypatch.setattr(kernel_cache, "HelpersAhead", Noted)
    with KernelCache(engine).expecting_builds():
        KernelCache(engine).prepare(codes)
        assert told == ["start"]
    assert told == ["start", "close"]
    with KernelCache(engine).expecting_builds():
        assert told == ["start", "close"]
