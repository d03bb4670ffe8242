"""Drivers that would crash, hang or end the process are left out; those that clash with a library are kept apart."""
from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from clinfer.runtime import icd_checks, icds
from clinfer.runtime.icd_checks import DriverRefused, IcdCheck, admit
from clinfer.runtime.icds import Icd

ROOT = Path(__file__).resolve().parents[2]
LIBRARY = next((path for path in icds.intel_library_candidates() if path.is_file()), None)
COMPILER = shutil.which("cc")
pytestmark = pytest.mark.skipif(LIBRARY is None or COMPILER is None, reason="needs pip's OpenCL runtime and a compiler")

REGISTRY = "_ZN4llvm2cl6Option11addArgumentEv"
DRIVER = f"""
#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>
void {REGISTRY}(void) {{}}
__attribute__((constructor)) static void begin(void) {{ WHEN_LOADED; }}
static void *real(const char *name) {{ return dlsym(dlopen("{LIBRARY}", RTLD_NOW), name); }}
void *clGetExtensionFunctionAddress(const char *name) {{
    return ((void *(*)(const char *))real("clGetExtensionFunctionAddress"))(name);
}}
int clGetPlatformInfo(void *platform, unsigned name, size_t size, void *value, size_t *needed) {{
    int (*get)(void *, unsigned, size_t, void *, size_t *) = real("clGetPlatformInfo");
    return get(platform, name, size, value, needed);
}}
"""
FRAMEWORK = f"#include <stdlib.h>\nvoid {REGISTRY}(void) {{ abort(); }}"

ASK = """
import ctypes, json, os, sys, warnings
from pathlib import Path
ctypes.CDLL(sys.argv[1], mode=ctypes.RTLD_GLOBAL) if len(sys.argv) > 1 else None
import pyopencl as cl
from clinfer.runtime import icd_checks, icds, platforms
icds.pip_icds = lambda: []
real_try = icd_checks._try
def try_driver(library):
    if os.environ.get("CLINFER_TEST_NO_TRIAL"):
        sys.exit(f"{library} was tried again")
    icd_checks._TIMEOUT_S = 2.0 if "libbad" in library else 60.0
    return real_try(library)
icd_checks._try = try_driver
before = dict(os.environ)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    found = [platforms.discover() for _ in range(2)][-1]
c = ctypes.CDLL(None)
c.getenv.restype = ctypes.c_char_p
assert dict(os.environ) == before
for name in ("OCL_ICD_VENDORS", "PYOPENCL_HOME"):
    assert c.getenv(name.encode()) == os.environ[name].encode(), name
try:
    seen = len(cl.get_platforms())
except cl.Error:
    seen = 0
print(json.dumps({"found": [p.found for p in found.platforms], "failures": found.failures,
                  "warnings": [str(w.message) for w in caught], "seen by the loader": seen}))
"""


@pytest.fixture
def make(tmp_path: Path) -> Callable[[str, str], Path]:
    def compile_library(name: str, source: str) -> Path:
        (tmp_path / "source.c").write_text(source, encoding="utf-8")
        subprocess.run([str(COMPILER), "-shared", "-fPIC", "-w", "-o", str(tmp_path / name), str(tmp_path / "source.c"),
                        "-ldl"], check=True)
        return tmp_path / name
    return compile_library


@pytest.fixture
def registrations(tmp_path: Path) -> Path:
    folder = tmp_path / "vendors"
    folder.mkdir()
    (folder / "good.icd").write_text(f"{LIBRARY}\n", encoding="utf-8")
    return folder


def ask(registrations: Path, *arguments: object, **environment: str) -> dict[str, list[str]]:
    """What a fresh process finds."""
    variables = {**os.environ, "OCL_ICD_VENDORS": str(registrations),
                 "CLINFER_CACHE_DIR": str(registrations.parent / "cache"), **environment}
    done = subprocess.run([sys.executable, "-c", ASK, *map(str, arguments)], cwd=ROOT, env=variables, text=True,
                          capture_output=True, timeout=120)
    assert done.returncode == 0, (done.returncode, done.stderr)
    return json.loads(done.stdout)


@pytest.mark.parametrize(("when_loaded", "told"), [
    ("abort()", "crashed the process in which it was tried (SIGABRT)"), ("*(volatile int *)0 = 1", "SIGSEGV"),
    ("sleep(600)", "did not answer within 2 s"), ("_exit(0)", "exit status 0"),
    ("exit(1)", "ended the process in which it was tried (exit status 1)"),
])
def test_a_driver_that_ends_the_process_is_left_out(make: Callable[[str, str], Path], registrations: Path,
                                                    when_loaded: str, told: str) -> None:
    bad = make("libbad.so", DRIVER.replace("WHEN_LOADED", when_loaded))
    (registrations / "bad.icd").write_text(f"{bad}\n", encoding="utf-8")
    answer = ask(registrations)
    assert answer["found"] == [f"registered in {registrations / 'good.icd'}"]
    assert answer["seen by the loader"] == 1
    assert len(answer["warnings"]) == 1 and told in answer["warnings"][0] and str(bad) in answer["warnings"][0]
    assert any(told in failure for failure in answer["failures"])
    again = ask(registrations, CLINFER_TEST_NO_TRIAL="1")
    assert again == answer


def test_a_driver_is_tried_again_when_its_file_changes(make: Callable[[str, str], Path], registrations: Path) -> None:
    source = DRIVER.replace("WHEN_LOADED", "abort()")
    driver = make("libdriver.so", source)
    (registrations / "good.icd").write_text(f"{driver}\n", encoding="utf-8")
    assert ask(registrations)["found"] == []
    make("libdriver.so", source.replace("abort()", ""))
    assert ask(registrations)["found"] == [f"registered in {registrations / 'good.icd'}"]


def test_a_no_counts_until_the_machine_is_started_anew(make: Callable[[str, str], Path], tmp_path: Path,
                                                       monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLINFER_CACHE_DIR", str(tmp_path / "cache"))
    tried = []
    monkeypatch.setattr(icd_checks, "_try", lambda library: tried.append(library) or IcdCheck(problem="broken"))
    monkeypatch.setattr(icd_checks, "_boot_id", lambda: "first")
    driver = make("libdriver.so", "int nothing;")
    for number in range(2):
        with pytest.raises(DriverRefused, match="broken"):
            admit(Icd(str(driver), f"found {number}"))
    assert len(tried) == 1
    monkeypatch.setattr(icd_checks, "_boot_id", lambda: "second")
    with pytest.raises(DriverRefused, match="broken"):
        admit(Icd(str(driver), "found anew"))
    assert len(tried) == 2


@pytest.mark.parametrize("content", [b"", b"[]", b"{}", b"null", b"[" * 4000, b'{"key": 1}', b"\xff"])
def test_a_damaged_check_is_none(make: Callable[[str, str], Path], tmp_path: Path,
                                         monkeypatch: pytest.MonkeyPatch, content: bytes) -> None:
    monkeypatch.setenv("CLINFER_CACHE_DIR", str(tmp_path / "cache"))
    driver = make("libdriver.so", "int nothing;")
    assert icd_checks._checked(Icd(str(driver), "one")) == IcdCheck()
    path, = (tmp_path / "cache" / "drivers").iterdir()
    path.write_bytes(content)
    assert icd_checks._checked(Icd(str(driver), "other")) == IcdCheck()
    assert json.loads(path.read_bytes())["problem"] == ""


def test_what_cannot_be_tried_is_admitted(make: Callable[[str, str], Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLINFER_CACHE", "0")
    missing = Icd("/nowhere/libdriver.so", "")
    assert admit(missing) == missing
    driver = Icd(str(make("libdriver.so", "int nothing;")), "")
    monkeypatch.setattr(icd_checks.sys, "executable", "/nowhere/python")
    assert admit(driver) == driver


def test_a_driver_is_kept_apart_from_a_library_that_it_brings_too(make: Callable[[str, str], Path],
                                                                  registrations: Path) -> None:
    """As TensorFlow and drivers with LLVM: the driver would use the functions of the library that came first."""
    framework = make("libframework.so", FRAMEWORK)
    driver = make("libdriver.so", DRIVER.replace("WHEN_LOADED", f"{REGISTRY}()"))
    (registrations / "good.icd").write_text(f"{driver}\n", encoding="utf-8")
    alone, behind = ask(registrations), ask(registrations, framework)
    assert alone == behind
    assert alone["found"] == [f"registered in {registrations / 'good.icd'}"] and alone["seen by the loader"] == 1
    # A preloaded library, as an allocator is, must be everybody's; so the driver is left out.
    preloaded = ask(registrations, LD_PRELOAD=str(framework), CLINFER_TEST_NO_TRIAL="1")
    assert preloaded["found"] == []
    assert len(preloaded["warnings"]) == 1 and "it brings LLVM" in preloaded["warnings"][0]


def test_the_drop_in_loads_drivers_before_the_script(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text("from clinfer.runtime.device import available_devices\n"
                      "print(available_devices.cache_info().currsize)\n", encoding="utf-8")
    done = subprocess.run([sys.executable, "-m", "clinfer.drop_in", str(script)], cwd=ROOT, text=True,
                          capture_output=True, timeout=120)
    assert (done.returncode, done.stdout) == (0, "1\n"), done.stderr
