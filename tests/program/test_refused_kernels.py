"""Kernels that the driver cannot build: others run, one warning tells of it, and nobody tries again."""
from __future__ import annotations

import os
import subprocess
import sys
import warnings
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest
from openvino import opset13 as op

from clinfer.base import knobs, tracing
from clinfer.base.errors import ClinferError
from clinfer.base.trusted_folder import TrustedFolder
from clinfer.frontend.reader import to_topology
from clinfer.frontend.shape_inference import OpenVinoShapeInference
from clinfer.kernels import begun_builds, kernel_cache
from clinfer.kernels.recipe import Recipe, Rewrite
from clinfer.kernels.refused_kernels import in_files
from clinfer.network.compile import compile_topology
from clinfer.network.network import Network
from clinfer.ops.softmax import Softmax
from clinfer.program.blobs.programs import load_program, save_program
from clinfer.program.options import BuildOptions
from clinfer.program.program import Program
from clinfer.runtime import builder
from clinfer.runtime import program as runtime_program
from clinfer.runtime.engine import Engine
from clinfer.runtime.helper import Helper
from tests.network.running import check
from tests.oracle import CpuPlugin, ov
from tests.program.refusing import NONSENSE, add_source, add_twin
from tests.runtime.fragile import use_fragile_workers

RECIPES = {
    "option": Recipe(("-cl-no-such-option",)),
    "rewrite": Recipe(rewrites=(Rewrite("no driver writes this", ""),)),
    "capability": Recipe(requires=("fp16", "tensor_cores")),
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache on disk and warnings of the test's own, and a kernel file that does not compile."""
    monkeypatch.setenv("CLINFER_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(tracing, "_warned", set())
    add_source(monkeypatch, tmp_path, "broken.cl", NONSENSE)
    return tmp_path


def model() -> ov.Model:
    """Two softmaxes behind one another, and a sum."""
    x = op.parameter([-1, -1], np.float32)
    first = op.softmax(x, 1, name="first")
    return ov.Model([op.softmax(op.add(first, op.cum_sum(x, 0)), 0)], [x])


def built(engine: Engine, options: BuildOptions | None = None) -> Program:
    return compile_topology(engine, to_topology(model()).topology, OpenVinoShapeInference(), options)


def names(program: Program) -> set[str]:
    return {each.name for node in program.nodes for each in node.implementations}


def runs(program: Program, rng: np.random.Generator) -> None:
    network, oracle = Network(program, program.engine.create_stream(), OpenVinoShapeInference()), CpuPlugin(model())
    for shape in ((3, 40), (1, 1), (17, 8)):
        check(network, oracle, [rng.standard_normal(shape).astype(np.float32)])


def again(engine: Engine) -> Engine:
    """The device as another process sees it."""
    return Engine(engine.device, engine.capabilities)


def files_of_refused() -> list[Path]:
    return [path for path in knobs.cache_dir().rglob("*") if path.is_file() and path.parent.name == "refused"]


@pytest.mark.parametrize("is_cached", [True, False], ids=["cached", "uncached"])
def test_the_next_kernel_runs_and_nobody_tries_again(engine: Engine, rng: np.random.Generator, is_cached: bool,
                                                     monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLINFER_CACHE", str(int(is_cached)))
    add_twin(monkeypatch, Softmax, "softmax_broken", source="broken.cl")
    own = again(engine)
    with pytest.warns(RuntimeWarning) as told:
        program = built(own)
    text, = (str(each.message) for each in told)
    assert "softmax_broken of Softmax" in text and "nonsense" in text and "softmax_ref" in text
    assert "softmax_broken" not in names(program) and "softmax_ref" in names(program)
    reasons = [reason for node in program.nodes for name, reason in node.rejected if name == "softmax_broken"]
    assert len(reasons) == 2 and all("the driver could not build it" in reason for reason in reasons)
    runs(program, rng)
    tried: list[str] = []
    build = kernel_cache.build_in_processes
    monkeypatch.setattr(kernel_cache, "build_in_processes",
                        lambda device, jobs, **how: tried.extend(j.source for j in jobs) or build(device, jobs, **how))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        runs(built(own), rng)
        assert not tried
        if is_cached:
            runs(built(again(engine)), rng)
            assert not tried
    if not is_cached:
        monkeypatch.setattr(tracing, "_warned", set())
        with pytest.warns(RuntimeWarning, match="softmax_broken"):
            built(again(engine))
        assert tried


@pytest.mark.parametrize("recipe", RECIPES.values(), ids=RECIPES)
def test_recipes_that_a_device_refuses(engine: Engine, rng: np.random.Generator, recipe: Recipe,
                                       monkeypatch: pytest.MonkeyPatch) -> None:
    if recipe.requires and not recipe.refusal(engine.capabilities):
        pytest.skip("the device has what the recipe requires")
    add_twin(monkeypatch, Softmax, "softmax_special", recipe)
    with pytest.warns(RuntimeWarning, match="softmax_special"):
        program = built(again(engine))
    assert "softmax_special" not in names(program)
    runs(program, rng)


@pytest.mark.parametrize("recipe", [Recipe(("-cl-denorms-are-zero",)), Recipe(rewrites=(Rewrite(r"\Z", ""),))],
                         ids=["option", "rewrite"])
def test_recipes_that_work_are_cached_and_part_of_blobs(engine: Engine, rng: np.random.Generator, recipe: Recipe,
                                                        monkeypatch: pytest.MonkeyPatch) -> None:
    usual = built(again(engine))
    add_twin(monkeypatch, Softmax, "softmax_special", recipe)
    program = built(again(engine))
    assert "softmax_special" in names(program) and "softmax_special" not in names(usual)
    runs(program, rng)
    monkeypatch.setattr(kernel_cache, "build_in_processes", lambda *_, **how: pytest.fail("a kernel was built"))
    runs(built(again(engine)), rng)
    monkeypatch.setenv("CLINFER_CACHE", "0")
    loaded, _ = load_program(memoryview(save_program(program, None, {}).to_bytes()), again(engine), {})
    runs(loaded, rng)


def test_a_recipe_is_part_of_what_a_kernel_is(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    ids = set()
    for recipe in (Recipe(), Recipe(("-cl-denorms-are-zero",)), Recipe(rewrites=(Rewrite(r"\Z", ""),))):
        with monkeypatch.context() as patch:
            add_twin(patch, Softmax, "softmax_special", recipe)
            ids.add(next(s.code.kernel_id for node in built(engine).nodes for each in node.implementations
                         if each.name == "softmax_special" for s in each.stages))
    assert len(ids) == 3


@pytest.mark.parametrize("action, is_kept", [("os.abort()", True), ("os.kill(os.getpid(), 9)", False)],
                         ids=["crash", "kill"])
def test_a_kernel_that_ends_the_helper(engine: Engine, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch,
                                       folder: Path, action: str, is_kept: bool) -> None:
    """It is alone to be built. What the system ends, for want of memory, other processes try again."""
    runs(built(again(engine)), rng)
    use_fragile_workers(monkeypatch, folder, action)
    add_twin(monkeypatch, Softmax, "softmax_crash", Recipe(("-DMISBEHAVE",)))
    with pytest.warns(RuntimeWarning, match="softmax_crash.*died"):
        program = built(again(engine))
    runs(program, rng)
    assert bool(files_of_refused()) == is_kept


@pytest.mark.parametrize("lives", [False, True], ids=["ended", "alive"])
def test_a_kernel_that_ended_a_process_without_helpers(engine: Engine, rng: np.random.Generator, lives: bool,
                                                       monkeypatch: pytest.MonkeyPatch) -> None:
    """The note of what it was about to build is left. Where the process is still there, it may well succeed."""
    other = subprocess.Popen([sys.executable, "-c", ""])
    other.wait()
    monkeypatch.setattr(builder, "KeptHelper", Helper)
    monkeypatch.setattr(sys, "executable", "/does/not/exist")
    add_twin(monkeypatch, Softmax, "softmax_crash", Recipe(("-cl-denorms-are-zero",)))

    build = Engine.build

    def crash(engine: Engine, job: runtime_program.BuildJob) -> runtime_program.Program:
        if "denorms" in job.options:
            raise SystemExit
        return build(engine, job)

    with monkeypatch.context() as patch:
        patch.setattr(Engine, "build", crash)
        patch.setattr(TrustedFolder, "remove", lambda self, name: None)
        patch.setattr(begun_builds.os, "getpid", lambda: os.getppid() if lives else other.pid)
        with pytest.raises(SystemExit):
            built(again(engine))
    told = nullcontext() if lives else pytest.warns(RuntimeWarning, match="softmax_crash.*a process ended")
    with told:
        program = built(again(engine))
    runs(program, rng)
    assert not files_of_refused()


def test_where_nothing_is_left_the_error_tells_every_reason(engine: Engine, rng: np.random.Generator,
                                                            monkeypatch: pytest.MonkeyPatch) -> None:
    own = again(engine)
    with monkeypatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("error")
        add_twin(patch, Softmax, "softmax_ref", source="broken.cl", alone=True)
        for _ in range(2):
            with pytest.raises(ClinferError) as raised:
                built(own)
            assert "softmax_ref" in str(raised.value) and "nonsense" in str(raised.value)
            assert "Softmax" in raised.value.where
    assert not files_of_refused()
    runs(built(own), rng)


def test_a_forced_kernel_that_cannot_be_built_is_an_error(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    add_twin(monkeypatch, Softmax, "softmax_broken", source="broken.cl")
    options = BuildOptions(force_implementations={"first": ("", "softmax_broken")})
    with pytest.raises(ClinferError, match=r"(?s)forced kernel .softmax_broken.*nonsense"):
        built(again(engine), options)


def test_a_damaged_list_of_refused_kernels_is_none(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    add_twin(monkeypatch, Softmax, "softmax_broken", source="broken.cl")
    with pytest.warns(RuntimeWarning):
        built(again(engine))
    path, = files_of_refused()
    for damage in (b"", b"[1]", b"\xff{", b'{"a": 1}', b"{" * 5000):
        monkeypatch.setattr(tracing, "_warned", set())
        path.write_bytes(damage)
        with pytest.warns(RuntimeWarning, match="softmax_broken"):
            built(again(engine))
        assert b"nonsense" in path.read_bytes(), damage


def test_lines_are_those_of_the_file_that_was_written() -> None:
    source = 'a\nb\n#line 1 "row_norms.cl"\nc\nd\n#line 7 "more.cl"\ne\n'
    log = "<kernel>:2:1: error: of ours\n<kernel>:5:25: error: of theirs\n<kernel>:7:3: error"
    assert in_files(log, source) == (
        "<kernel>:2:1: error: of ours\nrow_norms.cl:2:25: error: of theirs\nmore.cl:7:3: error")
