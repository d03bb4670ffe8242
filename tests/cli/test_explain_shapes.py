"""`clinfer explain --shapes`: which sizes decide what, and what was planned by itself."""
from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from openvino import opset13 as ops

from clinfer.cli.explain_shapes import ShapesReport, explain_shapes, print_shapes
from clinfer.cli.inputs import InputOrder
from clinfer.cli.session import ModelOrder
from clinfer.frontend.openvino_import import openvino as ov
from clinfer.runtime.device import DeviceInfo
from tests.cli.test_cli import call


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    x = ops.parameter([-1, -1, 8], np.float32, name="tokens")
    rows = ops.reshape(x, np.array([-1, 8], np.int64), False)
    weights = np.linspace(-1, 1, 64, dtype=np.float32).reshape(8, 8)
    soft = ops.softmax(ops.matmul(rows, weights, False, False), 1)
    path = tmp_path_factory.mktemp("models") / "rows.xml"
    ov.save_model(ov.Model([ops.softmax(soft, 0)], [x]), path, compress_to_fp16=False)
    return path


def _report(model: Path, device: DeviceInfo, shape: str) -> ShapesReport:
    return explain_shapes(ModelOrder(model, device.name, "f32"), InputOrder(shapes=(shape,)))


def test_guards_are_told_by_sizes(model: Path, device: DeviceInfo, capsys: pytest.CaptureFixture[str]) -> None:
    report = _report(model, device, "[3,20,8]")
    assert report.inputs == {"tokens": "[3,20,8]"} and report.primitives >= 3
    assert report.planned_by_themselves == (), "traces were made for such shapes when the model was compiled"
    by_sizes = {node.sizes: node for node in report.nodes}
    reshaped = by_sizes["tokens[0]", "tokens[1]"]
    assert any({"tokens[0] > 0", "tokens[1] > 0"} <= {*conditions} for conditions in reshaped.traces)
    print_shapes(report, as_json=False)
    shown = capsys.readouterr().out
    assert "0 of " in shown and "tokens[0] > 0" in shown and "a trace holds while" in shown


def test_what_is_planned_by_itself_is_counted(model: Path, device: DeviceInfo) -> None:
    assert len(_report(model, device, "[3,0,8]").planned_by_themselves) > 0, "no trace is made for nothing"


def test_the_command_tells_it(model: Path, device: DeviceInfo) -> None:
    ran = call("explain", model, "--shapes", "--shape", "[2,9,8]", "--device", device.name, "--json")
    told = json.loads(ran.stdout)
    assert told["nodes"] and told["planned_by_themselves"] == []
    refused = call("explain", model, "--shapes", "--memory", "--device", device.name)
    assert refused.returncode and "--shapes stands alone" in refused.stderr
