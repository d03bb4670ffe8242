"""DetectionOutput on boxes as detectors have them, compared with OpenVINO's CPU plugin."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from openvino.utils.node_factory import NodeFactory

from clinfer.runtime.engine import Engine
from tests.network.running import network_of
from tests.ops.case_runner import execute
from tests.ops.test_detection import boxes_around_centres
from tests.oracle import CpuPlugin, assert_close, ov

CENTER = "caffe.PriorBoxParameter.CENTER_SIZE"
ROWS: tuple[dict[str, Any], ...] = (
    {}, {"code_type": CENTER}, {"keep_top_k": [-1], "top_k": 9}, {"keep_top_k": [5]}, {"share_location": False},
    {"share_location": False, "background_label_id": 2}, {"variance_encoded_in_target": True},
    {"clip_before_nms": True}, {"clip_after_nms": True}, {"decrease_label_id": True},
    {"normalized": False, "input_width": 300, "input_height": 200, "code_type": CENTER},
    {"refined": True, "objectness_score": 0.4}, {"refined": True, "objectness_score": 0.4, "code_type": CENTER},
    {"opset": "opset1"}, {"background_label_id": -1, "keep_top_k": [11]},
)
CLASSES = 3


def _given(rng: np.random.Generator, row: dict[str, Any], pictures: int, count: int) -> list[np.ndarray]:
    locations = 1 if row.get("share_location", True) else CLASSES
    corners = boxes_around_centres(rng, count)
    if not row.get("normalized", True):
        corners *= np.array([300, 200, 300, 200], np.float32)
        corners = np.concatenate([np.zeros((count, 1), np.float32), corners], 1)
    variances = np.full((count, corners.shape[1]), 0.1, np.float32)
    parts = [corners] if row.get("variance_encoded_in_target") else [corners, variances]
    step = 0.02 if row.get("variance_encoded_in_target") else 0.3
    arrays = [rng.normal(0, step, (pictures, count * locations * 4)), rng.random((pictures, count * CLASSES)),
              np.stack([part.reshape(-1) for part in parts])[None]]
    if row.get("refined"):
        arrays += [rng.random((pictures, count * 2)), rng.normal(0, step, (pictures, count * locations * 4))]
    return [np.asarray(array, np.float32) for array in arrays]


def _model(row: dict[str, Any], given: list[np.ndarray]) -> ov.Model:
    attributes = {"keep_top_k": [40], "nms_threshold": 0.4, "confidence_threshold": 0.3, "normalized": True, **row}
    opset = attributes.pop("opset", "opset8")
    attributes.pop("refined", None)
    if opset == "opset1":
        attributes["num_classes"] = CLASSES
    inputs = [ov.op.Parameter(ov.Type.f32, ov.PartialShape([-1] * array.ndim)) for array in given]
    node = NodeFactory(opset).create("DetectionOutput", [p.output(0) for p in inputs], attributes)
    return ov.Model([ov.op.Result(node.output(0))], inputs)


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_detection_output(engine: Engine, rng: np.random.Generator, row: dict[str, Any]) -> None:
    inputs = [_given(rng, row, pictures, count) for pictures, count in ((2, 30), (1, 1), (1, 100), (2, 30))]
    network = network_of(engine, _model(row, inputs[0]))
    for given in inputs:
        model = _model(row, given)
        model.reshape({i: list(array.shape) for i, array in enumerate(given)})
        actual, expected = execute(network, given)[0], CpuPlugin(model)(given)[0]
        ends = np.flatnonzero(expected[0, 0, :, 0] < 0)
        # OpenVINO leaves what stands behind the end as it was.
        most = int(ends[0]) + 1 if len(ends) else expected.shape[2]
        assert actual.shape == expected.shape
        assert_close(actual[0, 0, :most, :3], expected[0, 0, :most, :3], 1e-4)
        assert_close(actual[0, 0, :most], expected[0, 0, :most], 1e-4)


def test_nothing_found(engine: Engine, rng: np.random.Generator) -> None:
    row = {"confidence_threshold": 2.0}
    given = _given(rng, row, 1, 5)
    result, = execute(network_of(engine, _model(row, given)), given)
    assert result[0, 0, 0].tolist() == [-1, 0, 0, 0, 0, 0, 0]
    assert not result[0, 0, 1:].any()
