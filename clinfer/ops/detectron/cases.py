"""Cases of detectron."""
from __future__ import annotations

from typing import Any

import numpy as np

from clinfer.ops.operation import Case

_Sequence = tuple[tuple[tuple[int, ...], ...], ...]
_ANCHORS = np.array([[-32.5, -12.5, 32.5, 12.5], [-16.0, -16.0, 16.0, 16.0], [-8.0, -24.0, 8.0, 24.0]], np.float32)


def _regions(count: int, size: float) -> np.ndarray:
    """Boxes x1, y1, x2, y2 from small to large; the second has no area."""
    first = np.linspace(-2, size / 2, count * 2, dtype=np.float32).reshape(count, 2)
    sides = np.geomspace(2, size * 3, count * 2, dtype=np.float32).reshape(count, 2)
    sides[1] = 0
    return np.concatenate([first, first + sides], 1)


def _detections(count: int, classes: int, most: int, per_class: int, threshold: float = 0.05,
                weights: tuple[float, ...] = (10.0, 10.0, 5.0, 5.0), constant: bool = True,
                sequence: _Sequence = ()) -> Case:
    regions: Any = _regions(count, 60.0) if constant else ((count, 4), "f32")
    return Case("ExperimentalDetectronDetectionOutput", "opset6", (
        regions, ((count, classes * 4), "f32"), ((count, classes), "f32"), np.array([[60.0, 60.0, 1.0]], np.float32)),
        {"score_threshold": threshold, "nms_threshold": 0.4, "num_classes": classes, "post_nms_count": per_class,
         "max_detections_per_image": most, "class_agnostic_box_regression": False, "max_delta_log_wh": 4.0,
         "deltas_weights": weights}, sequence, low=0.0, high=1.0, ordered=True,
        id=f"ExperimentalDetectronDetectionOutput-{count}-{classes}-{most}-{per_class}")


def _extractor(size: int, samples: int, aligned: bool, *maps: tuple[int, int], kind: str = "f32",
               regions: Any = None, sequence: _Sequence = ()) -> Case:
    given = _regions(9, 224.0).astype(np.float16 if kind == "f16" else np.float32) if regions is None else regions
    return Case("ExperimentalDetectronROIFeatureExtractor", "opset6",
                (given, *(((1, 3, *each), kind) for each in maps)),
                {"output_size": size, "sampling_ratio": samples, "aligned": aligned,
                 "pyramid_scales": [4 * 2 ** i for i in range(len(maps))]}, sequence, low=0.0, high=9.0,
                id=f"ExperimentalDetectronROIFeatureExtractor-{size}-{samples}-{aligned}-{len(maps)}{kind}")


def _grid(shape: tuple[int, ...], picture: tuple[int, ...], sequence: _Sequence = (), **attributes: Any) -> Case:
    return Case("ExperimentalDetectronPriorGridGenerator", "opset6", (_ANCHORS, (shape, "f32"), (picture, "f32")),
                {"flatten": True, "h": 0, "w": 0, "stride_x": 0.0, "stride_y": 0.0, **attributes}, sequence)


CASES = (
    _detections(12, 4, 30, 20),
    _detections(40, 5, 7, 6, 0.2, (1.0, 2.0, 1.0, 2.0)),
    _detections(20, 3, 40, -1, sequence=(((20, 12), (20, 3)),)),
    _detections(9, 2, 4, 3, constant=False, sequence=(((3, 4), (3, 8), (3, 2)), ((30, 4), (30, 8), (30, 2)))),
    _extractor(3, 2, False, (56, 56), (28, 28), (14, 14), (7, 7)),
    _extractor(2, 0, True, (20, 60)),
    _extractor(4, 1, True, (56, 40), (28, 20), kind="f16"),
    _extractor(2, 2, False, (16, 16), (8, 8), regions=((5, 4), "f32"), sequence=(
        ((9, 4), (1, 3, 7, 16), (1, 3, 4, 8)), ((0, 4), (1, 3, 4, 4), (1, 3, 2, 2)))),
    _grid((1, 4, 3, 5), (1, 3, 60, 70), (((1, 4, 1, 2), (1, 3, 9, 70)), ((1, 4, 7, 5), (1, 3, 60, 60)))),
    _grid((1, 4, 3, 5), (1, 3, 60, 70), h=3, w=5, stride_x=8.0, stride_y=4.0),
    _grid((1, 4, 3, 5), (1, 3, 60, 70), flatten=False),
    Case("ExperimentalDetectronTopKROIs", "opset6", (((9, 4), "f32"), ((9,), "f32")), {"max_rois": 5},
         (((20, 4), (20,)), ((5, 4), (5,))), ordered=True),
)
