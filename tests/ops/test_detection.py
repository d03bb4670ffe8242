"""Detection on boxes that overlap as those of detectors do, compared with OpenVINO's CPU plugin."""
from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from openvino.utils.node_factory import NodeFactory

from clinfer.ops.non_max_suppression import SelectBoxes
from clinfer.runtime.engine import Engine
from tests.network.running import network_of
from tests.ops.case_runner import execute
from tests.oracle import CpuPlugin, assert_close, ov

SORTS = ("score", "classid")
MATRIX = ({}, {"decay_function": "gaussian", "gaussian_sigma": 1.5}, {"nms_top_k": 9, "keep_top_k": 11},
          {"background_class": 1, "post_threshold": 0.3}, {"normalized": False})
MULTICLASS = ({}, {"nms_eta": 0.9, "iou_threshold": 0.8}, {"nms_top_k": 9, "keep_top_k": 11}, {"background_class": 0},
              {"normalized": False})
SIZES = ((2, 3, 30), (2, 3, 1), (2, 3, 0), (1, 3, 100), (2, 3, 30))


def boxes_around_centres(rng: np.random.Generator, *shape: int, scale: float = 1.0) -> np.ndarray:
    """Boxes around few centres."""
    centres = rng.integers(1, 4, (*shape, 2)) / 4 + rng.normal(0, 0.03, (*shape, 2))
    sides = rng.uniform(0.1, 0.3, (*shape, 2))
    return (np.concatenate([centres - sides / 2, centres + sides / 2], -1) * scale).astype(np.float32)


def scores_apart(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """Scores in (0, 1), no two within 1e-6 of each other: OpenVINO's plugin takes such two for equal."""
    size = math.prod(shape)
    return ((rng.permutation(size) + rng.uniform(0.1, 0.9, size)) / max(size, 1)).astype(np.float32).reshape(shape)


def _model(op: str, opset: str, **attributes: object) -> ov.Model:
    inputs = [ov.op.Parameter(ov.Type.f32, ov.PartialShape(shape)) for shape in ([-1, -1, 4], [-1, 3, -1])]
    node = NodeFactory(opset).create(op, [p.output(0) for p in inputs], attributes)
    return ov.Model([ov.op.Result(node.output(i)) for i in range(3)], inputs)


def _compare(engine: Engine, model: ov.Model, rng: np.random.Generator, scale: float) -> None:
    network, oracle = network_of(engine, model), CpuPlugin(model)
    for pictures, classes, boxes in SIZES:
        given = [boxes_around_centres(rng, pictures, boxes, scale=scale),
                 scores_apart(rng, pictures, classes, boxes)]
        found = execute(network, given)
        if not boxes:
            assert [a.shape for a in found] == [(0, 6), (0, 1), (pictures,)]
            assert not found[2].any()
            continue
        for number, (actual, expected) in enumerate(zip(found, oracle(given), strict=True)):
            assert_close(actual, expected, 1e-4, f"output {number} of {boxes} boxes")


@pytest.mark.parametrize("attributes", MATRIX, ids=str)
@pytest.mark.parametrize("sort, across", [*itertools.product(SORTS, (False, True))])
def test_matrix_nms(engine: Engine, rng: np.random.Generator, attributes: dict[str, object], sort: str,
                    across: bool) -> None:
    model = _model("MatrixNms", "opset8", sort_result_type=sort, sort_result_across_batch=across, score_threshold=0.2,
                   **attributes)
    _compare(engine, model, rng, 1.0 if attributes.get("normalized", True) else 100.0)


@pytest.mark.parametrize("attributes", MULTICLASS, ids=str)
@pytest.mark.parametrize("sort, across", [*itertools.product(SORTS, (False, True))])
def test_multiclass_nms(engine: Engine, rng: np.random.Generator, attributes: dict[str, object], sort: str,
                        across: bool) -> None:
    options = {"iou_threshold": 0.4, "score_threshold": 0.2, **attributes}
    model = _model("MulticlassNms", "opset9", sort_result_type=sort, sort_result_across_batch=across, **options)
    _compare(engine, model, rng, 1.0 if attributes.get("normalized", True) else 100.0)


@pytest.mark.parametrize("scale", [1.0, 3.0, 8.0])
@pytest.mark.parametrize("op", ["MatrixNms", "MulticlassNms"])
def test_boxes_of_few_pixels(engine: Engine, rng: np.random.Generator, op: str, scale: float) -> None:
    """Many are less than a pixel apart."""
    more = {"iou_threshold": 0.43} if op == "MulticlassNms" else {}
    model = _model(op, "opset8", sort_result_type="score", score_threshold=0.2, normalized=False, **more)
    _compare(engine, model, rng, scale)


def test_multiclass_nms_of_pictures_behind_each_other(engine: Engine, rng: np.random.Generator) -> None:
    inputs = [ov.op.Parameter(kind, ov.PartialShape(shape)) for kind, shape in (
        (ov.Type.f32, [3, -1, 4]), (ov.Type.f32, [3, -1]), (ov.Type.i64, [-1]))]
    node = NodeFactory("opset9").create("MulticlassNms", [p.output(0) for p in inputs], {
        "iou_threshold": 0.4, "score_threshold": 0.2, "sort_result_type": "classid", "keep_top_k": 9})
    model = ov.Model([ov.op.Result(node.output(i)) for i in range(3)], inputs)
    network, oracle = network_of(engine, model), CpuPlugin(model)
    for counts in ((20, 30), (7,), (1, 40, 9)):
        total = sum(counts)
        given = [boxes_around_centres(rng, 3, total), scores_apart(rng, 3, total), np.array(counts)]
        for number, (actual, expected) in enumerate(zip(execute(network, given), oracle(given), strict=True)):
            assert_close(actual, expected, 1e-4, f"output {number} of {counts} boxes")


def _chosen(boxes: np.ndarray, scores: np.ndarray, overlap: float) -> list[int]:
    """The boxes [b, 4] that are left, best first, of equal scores the first first."""
    low, high = (f(boxes[:, :2], boxes[:, 2:]) for f in (np.minimum, np.maximum))
    areas, left = np.prod(high - low, 1), []
    for i in np.argsort(-scores, kind="stable"):
        sides = np.maximum(np.minimum(high[left], high[i]) - np.maximum(low[left], low[i]), 0)
        shared = np.prod(sides, 1)
        if not (shared / (areas[left] + areas[i] - shared) > overlap).any():
            left.append(i)
    return left


@pytest.mark.parametrize("sigma, kernel", [(0.0, "select_boxes_ordered"), (0.5, "select_boxes_ref")])
def test_boxes_are_sorted_once_on_a_cpu(engine: Engine, rng: np.random.Generator, sigma: float, kernel: str) -> None:
    op = ov.opset13
    boxes, scores = op.parameter([1, -1, 4], np.float32), op.parameter([1, 1, -1], np.float32)
    bounds = [np.float32(x) for x in (0.5, -3, sigma)]
    node = op.non_max_suppression(boxes, scores, np.int64(1000), *bounds, output_type="i64")
    network = network_of(engine, ov.Model([node.output(0)], [boxes, scores], "boxes"))
    select, = (node for node in network.program.nodes if isinstance(node.primitive, SelectBoxes))
    for count in (100, 7, 0, 33):
        given = [boxes_around_centres(rng, 1, count), rng.integers(-2, 3, (1, 1, count)).astype(np.float32)]
        given[1][given[1] == 0] *= rng.choice([-1, 1], (given[1] == 0).sum())
        found, = execute(network, given)
        if not sigma:
            assert found[:, 2].tolist() == _chosen(given[0][0], given[1][0, 0], 0.5)
    is_cpu = engine.capabilities.device_type == "CPU"
    assert {x.name for x in select.implementations} == {kernel if is_cpu else "select_boxes_ref"}
