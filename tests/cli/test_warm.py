"""`clinfer warm`: what it builds is there for those that compile later."""
from __future__ import annotations

import json
from pathlib import Path

import pytest

from clinfer.api.core import Core
from clinfer.cli import main
from clinfer.cli.usage import UsageError
from clinfer.frontend.openvino_import import openvino as ov
from clinfer.runtime.device import DeviceInfo
from tests.api.models import softmax_model


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A model in a file, with an empty cache folder."""
    monkeypatch.setenv("CLINFER_CACHE_DIR", str(tmp_path / "cache"))
    path = tmp_path / "two.xml"
    ov.save_model(softmax_model({"a": [2, 3], "b": [-1, 6]}), path, compress_to_fp16=False)
    return path


def warm(capsys: pytest.CaptureFixture[str], *arguments: object) -> list[dict[str, object]]:
    main.app(["warm", *map(str, arguments), "--json"], standalone_mode=False)
    return list(json.loads(capsys.readouterr().out)["models"])


def test_what_is_warm_builds_nothing(device: DeviceInfo, model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first, second = warm(capsys, model, model, "--device", device.name)
    assert int(str(first["kernels"])) > 0 and second["kernels"] == 0
    told: list[tuple[int, int]] = []
    Core().compile_model(model, device.name, {"build_progress": lambda *counts: told.append(counts)})
    assert not told


def test_progress_of_a_compilation(device: DeviceInfo, model: Path) -> None:
    told: list[tuple[int, int]] = []
    compiled = Core().compile_model(model, device.name, {"build_progress": lambda *counts: told.append(counts)})
    assert told[0][0] == 0 and told[-1][0] == told[-1][1] > 0
    assert told == sorted(told) and all(built <= wanted for built, wanted in told)
    assert callable(compiled.get_property("build_progress"))


def test_an_error_of_the_callback_ends_the_compilation(device: DeviceInfo, model: Path) -> None:
    def refuse(built: int, wanted: int) -> None:
        raise ValueError(f"{wanted - built} are too many")

    with pytest.raises(ValueError, match="too many"):
        Core().compile_model(model, device.name, {"build_progress": refuse})


def test_without_caches_nothing_is_warmed(device: DeviceInfo, model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLINFER_CACHE", "0")
    with pytest.raises(UsageError, match="nothing would be kept"):
        main.app(["warm", str(model), "--device", device.name], standalone_mode=False)
