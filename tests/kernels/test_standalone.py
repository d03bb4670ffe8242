"""Every kernel file is real OpenCL C that compiles alone."""
from __future__ import annotations

import re
from pathlib import Path

import pytest

import clinfer
from clinfer.kernels.jitter import common_source
from clinfer.kernels.kernel_cache import device_macros
from clinfer.kernels.recipe import USUAL
from clinfer.kernels.standalone import FOLDER, OPERANDS, standalone_source
from clinfer.runtime.builder import build_in_processes
from clinfer.runtime.engine import Engine
from clinfer.runtime.program import BuildJob

ROOT = Path(clinfer.__file__).parent
FILES = sorted((ROOT / "ops").rglob("*.cl"))


@pytest.mark.parametrize("name", OPERANDS)
def test_default_operands_are_those_of_the_jitter(name: str) -> None:
    written = (FOLDER / name).read_text(encoding="utf-8")
    assert written == standalone_source(name), "run python -m clinfer.kernels.standalone"


@pytest.mark.parametrize("path", FILES, ids=[f.name for f in FILES])
def test_compiles_alone(engine: Engine, path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    include = ROOT / "kernels" / "include"
    for name in ("types.cl", "math.cl", "subgroup.cl", *OPERANDS):
        assert (include / name).exists()
    assert '#include "clinfer.cl"' in text
    if "for x86 CPUs" in " ".join(text.replace("//", "").split()) and not _is_x86(engine):
        pytest.skip("has assembly for x86")
    # Unoptimised: what the compiler makes of it is run elsewhere. Compilers keep memory, which here is a helper's.
    job = BuildJob(text, f"-cl-opt-disable -I {include} -I {path.parent} -I {ROOT / 'ops'}")
    (built,) = build_in_processes(engine.device, [job])
    assert built.binary is not None, built.error
    assert engine.load_binary(built.binary).kernel_names == ("standalone",)


def _is_x86(engine: Engine) -> bool:
    return engine.capabilities.hardware.architecture.startswith("x86_64")


def test_kernels_take_no_names_of_the_shared_headers() -> None:
    """Their constants would replace macros there, such as those that fused operations use."""
    shared = {name for path in FOLDER.glob("*.cl") if path.name not in OPERANDS for name in _DEFINED.findall(
        path.read_text(encoding="utf-8"))}
    taken = {f"{path.relative_to(ROOT)}: {name}" for path in (*FILES, *(ROOT / "ops").rglob("*.h"))
             for name in _DEFINED.findall(path.read_text(encoding="utf-8")) if name in shared}
    assert not taken, "\n".join(sorted(taken))


_DEFINED = re.compile(r"^\s*#\s*define (\w+)", re.MULTILINE)


def test_programs_hold_no_function_that_nothing_calls(engine: Engine) -> None:
    """Each program brings all headers: what no kernel of it uses is neither compiled nor kept on disk."""
    kernel = "kernel void twice(global float* x) { x[get_global_id(0)] *= 2; }"
    program = engine.build(USUAL.job("\n".join([device_macros(engine), common_source(), kernel])))
    assert set(re.findall(rb"clinfer_\w+", program.binary)) == set()
