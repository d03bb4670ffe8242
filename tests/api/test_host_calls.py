"""Primitives that the host computes whenever they run: in blobs, profiles, bodies, and behind and before others."""
from __future__ import annotations

import numpy as np
import pytest
from openvino import opset13 as op

from clinfer.api.core import Core
from clinfer.base.errors import ClinferError
from clinfer.frontend.openvino_import import openvino as ov
from clinfer.runtime.device import DeviceInfo
from tests.api.models import F32


def _boxes(rng: np.random.Generator, count: int) -> np.ndarray:
    return np.sort(rng.random((1, count, 2, 2), np.float32), axis=2).reshape(1, count, 4)


def _select(boxes: ov.Node, scores: ov.Node) -> ov.Node:
    """Every box whose score is above 0.5: none overlaps another by more than all."""
    return op.multiclass_nms(boxes, scores, sort_result_type="score", score_threshold=0.5, iou_threshold=2.0)


def _model() -> ov.Model:
    """Scores are halved before and boxes scaled behind."""
    boxes, scores = op.parameter([1, -1, 4], np.float32), op.parameter([1, 1, -1], np.float32)
    found = _select(boxes, op.multiply(scores, np.float32(0.5)))
    places = op.squeeze(found.output(1), np.array([1]))
    scaled = op.multiply(op.gather(boxes, places, np.int64(1)), np.float32(10))
    results = [op.result(node) for node in (scaled, op.shape_of(scaled), found.output(2))]
    return ov.Model(results, [boxes, scores], "keep")


def _check(found: object, boxes: np.ndarray, scores: np.ndarray) -> None:
    above = np.flatnonzero(scores[0, 0] * np.float32(0.5) >= 0.5)
    order = above[np.argsort(-scores[0, 0, above], kind="stable")]
    assert np.allclose(found[0], boxes[:, order] * 10)  # type: ignore[index]
    assert found[1].tolist() == [1, len(order), 4]  # type: ignore[index]
    assert found[2].tolist() == [len(order)]  # type: ignore[index]


def _inputs(rng: np.random.Generator, count: int, best: float) -> tuple[np.ndarray, np.ndarray]:
    return _boxes(rng, count), rng.random((1, 1, count), np.float32) * np.float32(best)


def test_many_one_and_none(core: Core, device: DeviceInfo, rng: np.random.Generator) -> None:
    compiled = core.compile_model(_model(), device.name, F32)
    for count, best in ((20, 2), (1, 2), (20, 0.5), (0, 1), (33, 2), (20, 2)):
        given = _inputs(rng, count, best)
        _check(compiled(given), *given)


def test_blobs_and_profiles(core: Core, device: DeviceInfo, rng: np.random.Generator) -> None:
    blob = core.compile_model(_model(), device.name, F32 | {"PERF_COUNT": True}).export_model()
    compiled = core.import_model(blob, device.name)
    request = compiled.create_infer_request()
    given = _inputs(rng, 20, 2)
    _check(request.infer(given), *given)
    row = next(row for row in request.get_profiling_info() if row.node_type == "MulticlassNms")
    assert row.status == ov.ProfilingInfo.Status.EXECUTED
    assert row.exec_type == "host"
    assert row.cpu_time.total_seconds() > 0


def test_in_a_branch(core: Core, device: DeviceInfo, rng: np.random.Generator) -> None:
    boxes, scores = op.parameter([1, -1, 4], np.float32), op.parameter([1, 1, -1], np.float32)
    inner = op.parameter([1, -1, 4], np.float32), op.parameter([1, 1, -1], np.float32)
    kept = op.negative(_select(*inner).output(0))
    wanted = op.parameter([], bool)
    branch = op.if_op(wanted)
    then_body = ov.Model([op.result(kept)], list(inner))
    else_body = ov.Model([op.result(op.constant(np.zeros((1, 6), np.float32)))], [])
    branch.set_then_body(then_body)
    branch.set_else_body(else_body)
    branch.set_input(boxes.output(0), inner[0], None)
    branch.set_input(scores.output(0), inner[1], None)
    result = branch.set_output(then_body.get_results()[0], else_body.get_results()[0])
    model = ov.Model([op.result(result)], [wanted, boxes, scores])
    compiled = core.compile_model(model, device.name, F32)
    for count, choice in ((20, True), (5, True), (5, False), (0, True), (20, True)):
        given = _inputs(rng, count, 1)
        rows = compiled([np.array(choice), *given])[0]
        kept_scores = -np.sort(-given[1][given[1] >= 0.5]) if choice else np.zeros(1)
        assert np.allclose(-rows[:, 1], kept_scores)


def test_half_precision(core: Core, device: DeviceInfo, rng: np.random.Generator) -> None:
    if not core.engine(device.name).capabilities.fp16:
        pytest.skip("the device does not compute in f16")
    compiled = core.compile_model(_model(), device.name, {"INFERENCE_PRECISION_HINT": "f16"})
    boxes, scores = _boxes(rng, 20), (rng.permutation(20) / 10).astype(np.float32).reshape(1, 1, 20)
    found = compiled([boxes, scores])
    order = [i for i in np.argsort(-scores[0, 0]) if scores[0, 0, i] >= 1]
    assert np.allclose(found[0], boxes[:, order] * 10, atol=2e-2)


def test_inputs_that_do_not_fit(core: Core, device: DeviceInfo, rng: np.random.Generator) -> None:
    compiled = core.compile_model(_model(), device.name, F32)
    with pytest.raises(ClinferError, match="MulticlassNms"):
        compiled([_boxes(rng, 20), rng.random((1, 1, 7), np.float32)])
    given = _inputs(rng, 20, 2)
    _check(compiled(given), *given)
