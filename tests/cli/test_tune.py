"""`clinfer tune`: what it times, keeps, passes over, exports and refuses."""
from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from openvino import opset13 as ops

from clinfer.base.errors import ClinferError
from clinfer.cli import main
from clinfer.cli.usage import UsageError
from clinfer.frontend.openvino_import import openvino as ov
from clinfer.runtime.device import DeviceInfo
from clinfer.tuning import database
from clinfer.tuning.table import read_table

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLINFER_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("CLINFER_TUNING", "1")
    monkeypatch.setattr(database, "_all_shipped", lambda: ())


def tune(capsys: pytest.CaptureFixture[str], *arguments: object) -> dict[str, object]:
    database._opened.cache_clear()
    main.app(["tune", *map(str, arguments), "--json"], standalone_mode=False)
    return dict(json.loads(capsys.readouterr().out))


def test_a_model_is_tuned_once(device: DeviceInfo, cache: None, tmp_path: Path,
                               capsys: pytest.CaptureFixture[str]) -> None:
    x = ops.parameter([-1, 32], np.float32)
    path = tmp_path / "model.xml"
    ov.save_model(ov.Model([ops.matmul(x, ops.constant(np.ones((32, 48), np.float32)), False, False)], [x]), path)
    first = tune(capsys, path, "--device", device.name, "--shapes", "9x32", "--precision", "f32")
    problem, = first["problems"]  # type: ignore[misc]
    assert problem["sizes"]["rows"] == 9 and not problem["failure"] and problem["found"]["times"]
    again = tune(capsys, path, "--device", device.name, "--shapes", "9x32", "--precision", "f32")
    assert again["problems"] == [] and again["known"] == 1
    forced = tune(capsys, path, "--device", device.name, "--shapes", "9x32", "--precision", "f32", "--force")
    assert len(forced["problems"]) == 1  # type: ignore[arg-type]


def test_an_operation_is_tuned_and_exported(device: DeviceInfo, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "clinfer", "tune", "--device", device.name, "--kernel", "matmul", "--sizes",
               "rows=1,9", "columns=32", "depth=16", "--export", str(tmp_path / "table.json")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300,
                          env={**os.environ, "CLINFER_CACHE_DIR": str(tmp_path / "cache")})
    assert done.returncode == 0 and "2 problems timed on" in done.stdout, done.stdout + done.stderr
    table = read_table((tmp_path / "table.json").read_bytes(), "here")
    assert table is not None and {dict(entry.sizes)["rows"] for entry in table.entries} == {1, 9}


@pytest.mark.parametrize(("arguments", "told"), [
    ((), "nothing to tune"), (("--kernel", "nothing"), "without a model"),
    (("model.xml", "--sizes", "rows=1"), "belong to --kernel"),
    (("--kernel", "matmul", "--sizes", "rows=x"), "written as"),
    (("--kernel", "matmul", "--sizes", "odd=1"), "no such"),
    (("--kernel", "matmul", "--type", "f33"), "unknown element type"), (("a", "b"), "one model")])
def test_what_cannot_be_meant(arguments: tuple[str, ...], told: str, cache: None) -> None:
    with pytest.raises((UsageError, ClinferError), match=told):
        main.app(["tune", "--device", "CPU", *arguments], standalone_mode=False)
