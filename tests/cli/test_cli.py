"""The commands: what they print for people, pipes and programs, and their exit status."""
from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from clinfer.base.errors import ClinferError
from clinfer.base.version import VERSION
from clinfer.cli import main, table
from clinfer.cli.devices import print_devices
from clinfer.cli.inputs import InputOrder
from clinfer.cli.run import run_model
from clinfer.cli.session import ModelOrder
from clinfer.frontend.openvino_import import openvino as ov
from clinfer.runtime.device import DeviceInfo, available_devices, find_device
from tests.api.models import assert_softmax, softmax_model

ROOT = Path(__file__).resolve().parents[2]


def call(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "clinfer", *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("models") / "two.xml"
    ov.save_model(softmax_model({"a": [2, 3], "b": [-1, ov.Dimension(1, 6)]}), path, compress_to_fp16=False)
    return path


WITHOUT_CLI = """
import sys
sys.modules["typer"] = sys.modules["rich"] = None
import numpy as np, clinfer
compiled = clinfer.Core().compile_model(sys.argv[1], "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
print(compiled([np.zeros((2, 3), np.float32), np.zeros((1, 4), np.float32)])[0].sum())
sys.argv = ["clinfer", "devices"]
from clinfer.__main__ import main
main()
"""


def test_the_library_works_without_the_command_lines_packages(model: Path) -> None:
    done = subprocess.run([sys.executable, "-c", WITHOUT_CLI, model], cwd=ROOT, capture_output=True, text=True,
                          timeout=120)
    assert float(done.stdout) == pytest.approx(2.0)
    assert done.returncode == 1 and "pip install clinfer[cli]" in done.stderr and "Traceback" not in done.stderr


def test_devices_in_a_pipe() -> None:
    done = call("devices")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].split()[:3] == ["name", "device", "platform"]
    assert [line.split()[0] for line in lines[1:]] == [device.name for device in available_devices()]
    for line, device in zip(lines[1:], available_devices(), strict=True):
        assert device.full_name in line
        assert device.driver_version in line
        assert device.found and device.found in line


def test_version() -> None:
    done = call("--version")
    assert (done.returncode, done.stdout) == (0, f"{VERSION}\n")


def test_devices_as_json() -> None:
    rows = json.loads(call("devices", "--json").stdout)
    assert [row["name"] for row in rows] == [device.name for device in available_devices()]
    assert all(row["capabilities"]["compute_units"] > 0 for row in rows)
    assert [row["found"] for row in rows] == [device.found for device in available_devices()]


def test_devices_says_what_is_missing(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("clinfer.cli.devices.missing_gpus", lambda found: ["the maker's GPU lacks its driver"])
    monkeypatch.setattr("clinfer.cli.devices.discover", lambda: SimpleNamespace(failures=["libgone.so: not there"]))
    print_devices(as_json=True)
    told = capsys.readouterr()
    assert json.loads(told.out) and "lacks its driver" not in told.out
    assert told.err.splitlines() == ["clinfer: libgone.so: not there", "clinfer: the maker's GPU lacks its driver"]


def test_a_gpu_that_is_not_there_is_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clinfer.runtime.device.missing_gpus", lambda found: ["the maker's GPU lacks its driver"])
    with pytest.raises(ClinferError, match="the maker's GPU lacks its driver"):
        find_device("GPU.77")
    with pytest.raises(ClinferError) as caught:
        find_device("CPU.77")
    assert "maker" not in str(caught.value)


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
    runs = [run_model(ModelOrder(model, device.name), InputOrder(shapes=("b=[3,4]",), seed=seed)) for seed in (1, 1, 2)]
    assert runs[0].outputs == runs[1].outputs
    assert runs[0].outputs != runs[2].outputs


def exits(monkeypatch: pytest.MonkeyPatch, *arguments: object) -> int:
    """The exit status of a command, in this process."""
    monkeypatch.setattr(sys, "argv", ["clinfer", *map(str, arguments)])
    with pytest.raises(SystemExit) as caught:
        main.main()
    assert isinstance(caught.value.code, int)
    return caught.value.code


@pytest.mark.parametrize(("arguments", "words"), [
    (["--shape", "c=[1,2]"], ["no input 'c'", "'a' f32[2,3]"]),
    (["--shape", "b=[1,7]"], ["input 'b'", "[1,7]"]),
    (["--shape", "b=[1,?]"], ["[1,3,48,320]", "[1,?]"]),
    (["--shape", "b=[1,2"], ["[1,3,48,320]", "[1,2"]),
    (["--shape", "b=[1,-2]"], ["[1,3,48,320]"]),
    (["--shape", "[1,2]"], ["NAME=VALUE", "[1,2]", "'a' f32[2,3]"]),
    (["--shape", "=[1,2]"], ["NAME=VALUE"]),
    (["--input", "b=nowhere.npy"], ["nowhere.npy"]),
    (["--input", f"b={Path(__file__)}"], ["test_cli.py", "numpy.save"]),
    (["--input", "nowhere.npz"], ["nowhere.npz", "numpy.save"]),
    (["--input", "b="], ["NAME=VALUE"]),
])
@pytest.mark.parametrize("command", ["run", "benchmark", "explain"])
def test_what_cannot_be_meant_ends_with_2(model: Path, command: str, arguments: list[str], words: list[str],
                                          monkeypatch: pytest.MonkeyPatch,
                                          capsys: pytest.CaptureFixture[str]) -> None:
    assert exits(monkeypatch, command, model, *arguments) == 2
    told = capsys.readouterr()
    assert told.out == "" and told.err.startswith("clinfer: ")
    for word in words:
        assert word in told.err


@pytest.mark.parametrize("command", ["run", "benchmark", "explain"])
def test_what_fails_ends_with_1(model: Path, command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                capsys: pytest.CaptureFixture[str]) -> None:
    broken = tmp_path / "broken.onnx"
    broken.write_bytes(b"no model")
    for arguments, word in (([model, "--device", "GPU.77"], "no device GPU.77"), ([broken], "broken.onnx"),
                            ([tmp_path / "nowhere.xml"], "nowhere.xml")):
        assert exits(monkeypatch, command, *arguments) == 1
        told = capsys.readouterr()
        assert told.out == "" and told.err.startswith("clinfer: ") and word in told.err


@pytest.mark.parametrize("command", [["run"], ["explain", "--all"]])
def test_names_that_the_encoding_of_the_output_lacks(command: list[str], tmp_path: Path) -> None:
    x = ov.opset13.parameter([2, 3], np.float32)
    x.output(0).set_names({"語"})
    x.set_friendly_name("語")
    ov.save_model(ov.Model([ov.opset13.relu(x)], [x]), tmp_path / "model.xml")
    done = subprocess.run([sys.executable, "-m", "clinfer", *command, tmp_path / "model.xml"], cwd=ROOT, text=True,
                          capture_output=True, timeout=120, env={**os.environ, "PYTHONIOENCODING": "ascii"})
    assert done.returncode == 0, done.stderr
    assert "\\u8a9e" in done.stdout


def test_shapes_are_written_in_either_way(model: Path, monkeypatch: pytest.MonkeyPatch,
                                          capsys: pytest.CaptureFixture[str]) -> None:
    for shape in ("b=[4,5]", "b=4,5", "b=4x5"):
        assert exits(monkeypatch, "run", model, "--shape", shape, "--json") == 0
        assert json.loads(capsys.readouterr().out)["inputs"][1]["shape"] == [4, 5]


def test_where_nothing_can_be_written_is_told_before_anything_is_compiled(
        model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def compiled(*arguments: object, **named: object) -> None:
        raise AssertionError("something was compiled")

    monkeypatch.setattr("clinfer.api.core.Core.compile_model", compiled)
    (tmp_path / "a.npz").mkdir()
    for arguments in (["run", model, "--output", model], ["run", model, "--output", model / "below" / "it"],
                      ["run", model, "--output", tmp_path / "a.npz"], ["explain", model, "--html", tmp_path],
                      ["explain", model, "--memory", "--html", model / "page.html"]):
        assert exits(monkeypatch, *arguments) == 1
        told = capsys.readouterr()
        assert told.out == "" and told.err.startswith("clinfer: the output cannot be written\n")


def test_an_unset_variable_in_place_of_a_path(model: Path) -> None:
    for arguments in (["run", ""], ["run", model, "--output", ""], ["explain", model, "--html", ""]):
        done = call(*arguments)
        assert done.returncode == 2 and done.stdout == ""
        assert "the path is empty" in done.stderr and "Traceback" not in done.stderr


def test_a_damaged_graph_of_tensorflow_is_told_in_our_words_alone(tmp_path: Path) -> None:
    """Its frame is whole, so OpenVINO has to try it; the parser prints to standard error."""
    (tmp_path / "damaged.pb").write_bytes(b"\x0a\x05\xff\xff\xff\xff\xff")
    done = call("run", tmp_path / "damaged.pb")
    assert done.returncode == 1
    assert done.stderr.startswith("clinfer: OpenVINO cannot read the model\n") and "text-format" not in done.stderr


def test_a_missing_model_is_an_error_without_a_traceback() -> None:
    done = call("run", "nowhere.onnx")
    assert done.returncode == 1
    assert "nowhere.onnx" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("arguments", [
    ["run"], ["fly"], ["run", "m.onnx", "--speed", "9"], ["devices", "--seed"], ["run", "m.onnx", "--precision", "f8"],
    ["benchmark", "m.onnx", "--iterations", "0"], ["benchmark", "m.onnx", "--seconds", "x"],
])
def test_wrong_usage(arguments: list[str]) -> None:
    done = call(*arguments)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr and not set(done.stderr) & set("╭│─\x1b")


@pytest.mark.parametrize("command", ["devices", "run", "benchmark", "explain", "knobs", "operations"])
def test_commands_explain_themselves(command: str) -> None:
    done = call(command, "--help")
    assert done.returncode == 0
    assert "--json" in done.stdout


def test_knobs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLINFER_DEBGU", "1")
    monkeypatch.setenv("CLINFER_DUMP", "")
    plain = call("knobs").stdout
    assert "CLINFER_DUMP" in plain and "CLINFER_DEBGU is set, but no knob" in plain
    rows = {row["variable"]: row for row in json.loads(call("knobs", "--json").stdout)}
    assert rows["CLINFER_DUMP"]["value"] == ""
    assert call("knobs", "--markdown").stdout == (ROOT / "docs" / "knobs.md").read_text(encoding="utf-8")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no full device")
@pytest.mark.parametrize("arguments", [("knobs",), ("knobs", "--json"), ("--help",)])
def test_an_output_that_cannot_be_written_is_an_error(arguments: tuple[str, ...]) -> None:
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = subprocess.run([sys.executable, "-m", "clinfer", *arguments], cwd=ROOT, stdout=full,
                              stderr=subprocess.PIPE, text=True, timeout=120)
    assert done.returncode == 1
    assert done.stderr.startswith("clinfer: the output cannot be written") and "Traceback" not in done.stderr


def test_a_reader_that_leaves_is_no_error() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run([sys.executable, "-m", "clinfer", "knobs"], cwd=ROOT, stdout=writing,
                          stderr=subprocess.PIPE, text=True, timeout=120)
    os.close(writing)
    assert (done.returncode, done.stderr) == (1, "")
