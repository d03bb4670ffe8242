"""Clients written for OpenVINO, as they are: on clinfer they find what they find on OpenVINO.

The clients are the scripts in `clients/`. Each runs twice, with the same seed, and keeps what it finds.
"""
from __future__ import annotations

import os
import pickle
import secrets
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from clinfer.runtime.device import available_devices
from tests.oracle import assert_close

ROOT = Path(__file__).resolve().parents[2]
CLIENTS = sorted(path.stem for path in (ROOT / "tests" / "api" / "clients").glob("*.py"))
CLIENTS.remove("run_clients")

needs_cpu = pytest.mark.skipif(not any(d.type == "CPU" for d in available_devices()),
                               reason="the clients ask for a device named CPU")


def python(*arguments: str, folder: Path = ROOT) -> subprocess.CompletedProcess[str]:
    """A fresh interpreter that finds the repository's packages."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run([sys.executable, *arguments], cwd=folder, env=environment, capture_output=True, text=True,
                          timeout=300)


@pytest.fixture(scope="module")
def found(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """What the clients found, by engine."""
    seed = request.config.getoption("--seed")
    seed = str(secrets.randbits(32) if seed is None else seed)
    print(f"random seed: {seed}")
    folder = tmp_path_factory.mktemp("clients")
    found = {}
    for engine, start in (("openvino", ["-m"]), ("clinfer", ["-m", "clinfer.drop_in", "-m"])):
        file = folder / engine
        done = python(*start, "tests.api.clients.run_clients", seed, str(file))
        assert done.returncode == 0, done.stderr
        found[engine] = pickle.loads(file.read_bytes())
        assert found[engine].pop("engine") == {"package": engine}
    return found


@needs_cpu
@pytest.mark.parametrize("client", CLIENTS)
def test_an_unmodified_client(found: dict[str, dict[str, Any]], client: str) -> None:
    expected, actual = found["openvino"][client], found["clinfer"][client]
    assert "error" not in expected, expected["error"]
    assert "error" not in actual, actual["error"]
    assert len(expected) > 3
    compare(actual, expected, client)


def compare(actual: Any, expected: Any, what: str) -> None:
    """Arrays within 1e-4 of their scale (f16: 2e-3), everything else equal."""
    if isinstance(expected, np.ndarray):
        assert actual.dtype == expected.dtype, what
        assert_close(actual, expected, 2e-3 if expected.dtype == np.float16 else 1e-4, what)
    elif isinstance(expected, dict):
        assert actual.keys() == expected.keys(), what
        for key, value in expected.items():
            compare(actual[key], value, f"{what} > {key}")
    elif isinstance(expected, list | tuple):
        assert len(actual) == len(expected), what
        for index, value in enumerate(expected):
            compare(actual[index], value, f"{what} > {index}")
    else:
        assert actual == expected, what


def test_the_comparison_finds_differences() -> None:
    x = np.ones(3, np.float32)
    compare({"a": [x, "b"]}, {"a": [x, "b"]}, "")
    for wrong in ({"a": [x, "c"]}, {"a": [x]}, {"a": [x + 1, "b"]}, {"a": [x.astype(np.float16), "b"]},
                  {"b": [x, "b"]}):
        with pytest.raises(AssertionError):
            compare(wrong, {"a": [x, "b"]}, "")


SCRIPT = "import sys, openvino, helper; print(openvino.Core.__module__, sys.argv[1:], __name__, helper.here)"


@pytest.mark.parametrize("start", [["client.py"], ["-m", "client"]])
def test_scripts_and_modules_run_as_under_python(tmp_path: Path, start: list[str]) -> None:
    (tmp_path / "helper.py").write_text("here = True")
    (tmp_path / "client.py").write_text(SCRIPT)
    done = python("-m", "clinfer.drop_in", *start, "-x", "y z", folder=tmp_path)
    assert done.stdout.strip() == "clinfer.api.core ['-x', 'y z'] __main__ True", done.stderr


def test_the_script_s_exit_code_is_handed_on(tmp_path: Path) -> None:
    (tmp_path / "client.py").write_text("raise SystemExit(7)")
    assert python("-m", "clinfer.drop_in", "client.py", folder=tmp_path).returncode == 7


@pytest.mark.parametrize("arguments", [[], ["-m"], ["nowhere.py"]])
def test_wrong_usage(tmp_path: Path, arguments: list[str]) -> None:
    done = python("-m", "clinfer.drop_in", *arguments, folder=tmp_path)
    assert done.returncode == 2
    assert "usage" in done.stderr or "nowhere.py" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("statements", [
    """
import clinfer.drop_in
from openvino import Core
assert Core is clinfer.Core
import openvino.runtime as former
assert former.Core is clinfer.Core and former.opset8.relu
import openvino.runtime.opset8 as a, openvino.opset8 as b
assert a is b
from openvino.runtime.passes import Manager
import openvino, sys
assert openvino.compile_model is clinfer.compile_model
assert openvino.Model is clinfer.Model
assert openvino.Core().available_devices
assert sys.modules['openvino_telemetry'] is None
try:
    import openvino.runtime.nothing
except ModuleNotFoundError:
    print('none')""",
    "import openvino, clinfer.drop_in; assert openvino.Core is clinfer.Core; print('none')",
    """
import clinfer, openvino
assert openvino.Core is not clinfer.Core
try:
    import openvino.runtime
except ModuleNotFoundError:
    print('none')""",
])
def test_openvino_s_place_is_taken_when_asked(statements: str) -> None:
    done = python("-c", statements)
    assert done.stdout.strip() == "none", done.stderr
