"""The commands: what they print for people, pipes and programs, and their exit status."""
from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from clinfer.cli import main, table
from clinfer.cli.run import Order, run_model
from clinfer.frontend.openvino_import import openvino as ov
from clinfer.runtime.device import DeviceInfo, available_devices
from tests.api.models import assert_softmax, softmax_model

ROOT = Path(__file__).resolve().parents[2]


def call(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "clinfer.cli.main", *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("models") / "two.xml"
    ov.save_model(softmax_model({"a": [2, 3], "b": [-1, ov.Dimension(1, 6)]}), path, compress_to_fp16=False)
    return path


def test_devices_in_a_pipe() -> None:
    done = call("devices")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].split()[:3] == ["name", "device", "platform"]
    assert [line.split()[0] for line in lines[1:]] == [device.name for device in available_devices()]
    for line, device in zip(lines[1:], available_devices(), strict=True):
        assert device.full_name in line
        assert device.driver_version in line


def test_devices_as_json() -> None:
    rows = json.loads(call("devices", "--json").stdout)
    assert [row["name"] for row in rows] == [device.name for device in available_devices()]
    assert all(row["capabilities"]["compute_units"] > 0 for row in rows)


def test_devices_without_any(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("clinfer.runtime.device.available_devices", lambda: ())
    monkeypatch.setattr(sys, "argv", ["clinfer", "devices"])
    with pytest.raises(SystemExit) as caught:
        main.main()
    assert caught.value.code == 1
    assert "no OpenCL device" in capsys.readouterr().err


def test_a_table_on_a_terminal(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    table.print_table("title", ("one", "two"), [("[2,3]", "[bold]")])
    shown = capsys.readouterr().out
    assert all(word in shown for word in ("title", "[2,3]", "[bold]"))


def test_run_in_a_pipe(model: Path, device: DeviceInfo) -> None:
    done = call("run", model, "--device", device.name)
    assert done.returncode == 0, done.stderr
    assert f"on {device.name} ({device.full_name})" in done.stdout
    shown = [line.split()[:3] for line in done.stdout.splitlines()]
    for row in (["a", "f32", "[2,3]"], ["b", "f32", "[1,6]"], ["a_out", "f32", "[2,3]"], ["b_out", "f32", "[1,6]"]):
        assert row in shown
    assert "compiled in" in done.stdout


def test_run_as_json_with_files(model: Path, device: DeviceInfo, tmp_path: Path, rng: np.random.Generator) -> None:
    b = rng.standard_normal((4, 5), dtype=np.float32)
    np.save(tmp_path / "b.npy", b)
    done = call("run", model, "--device", device.name, "--input", f"b={tmp_path / 'b.npy'}", "--shape", "a=[2,3]",
                "--precision", "f32", "--output", tmp_path / "out", "--json")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["device"] == device.name
    assert report["precision"] == "f32"
    assert [t["shape"] for t in report["outputs"]] == [[2, 3], [4, 5]]
    result = np.load(tmp_path / "out" / "1_b_out.npy")
    assert_softmax(result, b)
    assert report["outputs"][1]["max"] == pytest.approx(float(result.max()))
    assert report["inputs"][1]["mean"] == pytest.approx(float(b.mean()), abs=1e-6)
    assert min(report["compile_s"], report["first_ms"], report["again_ms"]) > 0


def test_random_inputs_follow_the_seed(model: Path, device: DeviceInfo) -> None:
    runs = [run_model(Order(model, device.name, shapes=("b=[3,4]",), seed=seed)) for seed in (1, 1, 2)]
    assert runs[0].outputs == runs[1].outputs
    assert runs[0].outputs != runs[2].outputs


@pytest.mark.parametrize(("arguments", "words"), [
    (["--device", "GPU.77"], ["no device GPU.77"]),
    (["--shape", "c=[1,2]"], ["no input 'c'", "'a' f32[2,3]"]),
    (["--shape", "b=[1,7]"], ["input 'b'", "[1,7]"]),
    (["--shape", "b=[1,?]"], ["[1,3,48,320]", "[1,?]"]),
    (["--shape", "[1,2]"], ["NAME=VALUE", "[1,2]"]),
    (["--input", "b=nowhere.npy"], ["nowhere.npy"]),
    (["--input", f"b={Path(__file__)}"], ["test_cli.py", "numpy.save"]),
    (["--precision", "f8"], ["INFERENCE_PRECISION_HINT", "'f8'"]),
])
def test_errors_are_told_on_stderr(model: Path, arguments: list[str], words: list[str],
                                   monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["clinfer", "run", str(model), *arguments])
    with pytest.raises(SystemExit) as caught:
        main.main()
    assert caught.value.code == 1
    told = capsys.readouterr().err
    assert told.startswith("clinfer: ")
    for word in words:
        assert word in told


def test_a_missing_model_is_an_error_without_a_traceback() -> None:
    done = call("run", "nowhere.onnx")
    assert done.returncode == 1
    assert "nowhere.onnx" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("arguments", [["run"], ["fly"], ["run", "m.onnx", "--speed", "9"], ["devices", "--seed"]])
def test_wrong_usage(arguments: list[str]) -> None:
    assert call(*arguments).returncode == 2


@pytest.mark.parametrize("command", ["devices", "run"])
def test_commands_explain_themselves(command: str) -> None:
    done = call(command, "--help")
    assert done.returncode == 0
    assert "--json" in done.stdout
