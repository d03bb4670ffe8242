"""Rows of operations of OpenVINO's opsets beside those of `clinfer/ops/`: what OpenVINO runs on the host, and other
versions of what is native."""
from __future__ import annotations

import numpy as np

from clinfer.ops.operation import Case


def _ints(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


def _i32(*values: int) -> np.ndarray:
    return np.array(values, np.int32)


def _row(op: str, opset: int, *inputs: object, sequence: object = (), low: float = -2.0, high: float = 2.0,
         label: str = "", **attributes: object) -> Case:
    return Case(op, f"opset{opset}", inputs, attributes, sequence=sequence, low=low, high=high,  # type: ignore[arg-type]
                id=f"{op}-{opset}{label and '-' + label}", ordered=True)


def _f32(*shape: int) -> tuple[tuple[int, ...], str]:
    return shape, "f32"


def _boxes(count: int, size: float) -> np.ndarray:
    """Boxes x1, y1, x2, y2 on a picture of that size."""
    corners = np.linspace(0, size / 2, count * 2, dtype=np.float32).reshape(count, 2)
    return np.concatenate([corners, corners + np.float32(size / 3)], 1)


def _rois(count: int, size: float) -> np.ndarray:
    """Regions (picture 0, x1, y1, x2, y2)."""
    return np.concatenate([np.zeros((count, 1), np.float32), _boxes(count, size)], 1)


_DETECTRON = {"min_size": 0.0, "nms_threshold": 0.7, "post_nms_count": 6, "pre_nms_count": 20}
_PRIORS = {"aspect_ratio": [2.0], "clip": False, "flip": True, "step": 16.0, "offset": 0.5,
           "variance": [0.1, 0.1, 0.2, 0.2], "scale_all_sizes": True, "min_size": [4.0], "max_size": [9.0]}
_BUTTERFLY = np.array([[-32.5, -12.5, 32.5, 12.5], [-16.0, -16.0, 16.0, 16.0], [-8.0, -24.0, 8.0, 24.0]], np.float32)
_WINDOW = np.hanning(8).astype(np.float32)

HOST_ROWS = (
    _row("CTCLoss", 4, _f32(2, 6, 5), _i32(6, 5), np.array([[0, 1, 2, 2, 0, 0], [3, 1, 0, 0, 0, 0]], np.int32),
         _i32(4, 2), np.int32(4), preprocess_collapse_repeated=False, ctc_merge_repeated=True, unique=False),
    _row("ErfInv", 17, _f32(3, 5), low=-0.9, high=0.9, sequence=(((1, 5),), ((7, 2),))),
    _row("ExperimentalDetectronDetectionOutput", 6, _boxes(5, 60.0), _f32(5, 12), ((5, 3), "f32"),
         np.array([[60.0, 60.0, 1.0]], np.float32), score_threshold=0.05, nms_threshold=0.5, num_classes=3,
         post_nms_count=8, max_detections_per_image=6, class_agnostic_box_regression=False,
         max_delta_log_wh=4.0, deltas_weights=[10.0, 10.0, 5.0, 5.0], low=0.0, high=1.0),
    _row("ExperimentalDetectronGenerateProposalsSingleImage", 6, np.array([60.0, 60.0, 1.0], np.float32),
         np.tile(_boxes(3, 40.0), (12, 1)), _f32(12, 3, 4), _f32(3, 3, 4), **_DETECTRON),
    _row("ExperimentalDetectronPriorGridGenerator", 6, _BUTTERFLY, _f32(1, 4, 3, 5), _f32(1, 3, 60, 70),
         flatten=True, h=0, w=0, stride_x=0.0, stride_y=0.0),
    _row("ExperimentalDetectronROIFeatureExtractor", 6, _boxes(4, 60.0), _f32(1, 3, 16, 16), _f32(1, 3, 8, 8),
         output_size=3, sampling_ratio=2, pyramid_scales=[4, 8], aligned=False),
    _row("ExperimentalDetectronTopKROIs", 6, _f32(9, 4), _f32(9), max_rois=5),
    _row("GenerateProposals", 9, np.array([[60.0, 60.0, 1.0, 1.0]], np.float32),
         np.tile(_boxes(3, 40.0), (12, 1)).reshape(4, 3, 3, 4), _f32(1, 12, 4, 3), _f32(1, 3, 4, 3), roi_num_type="i32",
         normalized=True, nms_eta=1.0, **_DETECTRON),
    _row("Multinomial", 13, _f32(2, 5), np.int32(6), convert_type="i32", with_replacement=True, log_probs=True,
         global_seed=3, op_seed=5),
    _row("NMSRotated", 13, _f32(1, 6, 5), _f32(1, 2, 6), np.int32(4), np.float32(0.3), np.float32(0.1),
         sort_result_descending=True, output_type="i64", clockwise=True, low=0.1, high=3.0),
    *(_row("Proposal", opset, _f32(1, 6, 4, 5), _f32(1, 12, 4, 5), np.array([60.0, 70.0, 1.0], np.float32), low=0.0,
           high=1.0, base_size=16, pre_nms_topn=30, post_nms_topn=7, nms_thresh=0.7, feat_stride=16, min_size=4,
           ratio=[1.0], scale=[1.0, 2.0, 4.0], clip_before_nms=True, clip_after_nms=False, normalize=False,
           box_size_scale=1.0, box_coordinate_scale=1.0, framework="") for opset in (1, 4)),
    _row("SparseFillEmptyRows", 16, _f32(3), _ints(4, 5), np.array([[0, 1], [2, 0], [2, 3]], np.int64), np.float32(9)),
)

NATIVE_ROWS = (
    *(_row(op, 10, _f32(2, 5)) for op in ("IsFinite", "IsInf", "IsNaN")),
    _row("FakeQuantize", 13, _f32(2, 5), *map(np.float32, (-1, 1, -1, 1)), levels=16),
    _row("Gelu", 2, _f32(2, 5)),
    _row("LSTMCell", 1, _f32(2, 3), _f32(2, 4), _f32(2, 4), _f32(16, 3), _f32(16, 4), _f32(16), hidden_size=4),
    *(_row("NonMaxSuppression", opset, _boxes(9, 20.0)[None], _f32(1, 2, 9), np.int64(5), np.float32(0.4),
           np.float32(0.1), box_encoding="corner") for opset in (1, 3, 4)),
    _row("RNNCell", 3, _f32(2, 3), _f32(2, 4), _f32(4, 3), _f32(4, 4), _f32(4), hidden_size=4),
    _row("ScatterElementsUpdate", 3, _f32(3, 4), np.zeros((1, 4), np.int64), _f32(1, 4), np.int64(0)),
    _row("Softmax", 1, _f32(3, 4, 2), axis=1),
    _row("Xor", 1, ((3, 4), "boolean"), ((4,), "boolean")),
)
