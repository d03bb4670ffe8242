"""Cases of proposal."""
from __future__ import annotations

from typing import Any

import numpy as np

from clinfer.ops.operation import Case

_Sequence = tuple[tuple[tuple[int, ...], ...], ...]
_USUAL: dict[str, Any] = {
    "base_size": 16, "pre_nms_topn": 60, "post_nms_topn": 12, "nms_thresh": 0.6, "feat_stride": 16, "min_size": 24,
    "ratio": [0.5, 2.0], "scale": [1.0, 2.5], "clip_before_nms": True, "clip_after_nms": False, "normalize": False,
    "box_size_scale": 1.0, "box_coordinate_scale": 1.0, "framework": ""}
_GENERATED: dict[str, Any] = {"nms_threshold": 0.5, "post_nms_count": 9, "pre_nms_count": 30}


_SCORES = (np.random.default_rng(1).permutation(2 * 8 * 4 * 5).reshape(2, 8, 4, 5) / 512).astype(np.float16)
"""No two are the same."""


def _proposal(opset: int, picture: tuple[float, ...], sequence: _Sequence = (), low: float = 0,
              **attributes: object) -> Case:
    named = "-".join(f"{name}={value}" for name, value in attributes.items())
    return Case("Proposal", f"opset{opset}", (((2, 8, 4, 5), "f32"), ((2, 16, 4, 5), "f32"),
                                              np.array(picture, np.float32)),
                {**_USUAL, **attributes}, sequence, low, 1.0, id=f"Proposal-{opset}{named and '-' + named}",
                ordered=True)


def _anchors(height: int, width: int, count: int) -> np.ndarray:
    """Boxes [height, width, count, 4] around the places of a map whose places are 8 pixels apart."""
    y, x = np.mgrid[:height, :width] * 8.0
    sides = np.linspace(6, 40, count)
    boxes = [np.stack([x - side, y - side / 2, x + side, y + side / 2], -1) for side in sides]
    return np.stack(boxes, 2).astype(np.float32)


def _generated(picture: np.ndarray, sequence: _Sequence = (), **attributes: object) -> Case:
    return Case("GenerateProposals", "opset9", (picture, _anchors(4, 5, 3), ((2, 12, 4, 5), "f32"),
                                                ((2, 3, 4, 5), "f32")),
                {**_GENERATED, "normalized": True, "nms_eta": 1.0, "min_size": 4.0, "roi_num_type": "i64",
                 **attributes}, sequence, 0.0, 1.0, ordered=True,
                id=f"GenerateProposals-{'-'.join(map(str, attributes.values()))}")


_PICTURES = np.array([[40, 60, 1.0, 1.0], [30, 50, 1.5, 2.0]], np.float32)
_KIN = "ExperimentalDetectronGenerateProposalsSingleImage"

CASES = (
    _proposal(4, (70, 90, 1)),
    _proposal(1, (70, 90, 1), min_size=1, sequence=(((2, 8, 1, 2), (2, 16, 1, 2)), ((3, 8, 6, 3), (3, 16, 6, 3)))),
    _proposal(4, (70, 90, 1, 0.5), framework="tensorflow", box_coordinate_scale=10.0, box_size_scale=5.0,
              normalize=True),
    _proposal(1, (50, 60, 1), low=-1, min_size=1, clip_before_nms=False, clip_after_nms=True, post_nms_topn=100),
    Case("Proposal", "opset4", (_SCORES, ((2, 16, 4, 5), "f16"), np.array([70, 90, 1], np.float16)),
         {**_USUAL, "pre_nms_topn": 500}, low=0.0, high=1.0, ordered=True, id="Proposal-4-f16"),
    _generated(_PICTURES, min_size=0.5),
    _generated(_PICTURES[:, :3], normalized=False, roi_num_type="i32", pre_nms_count=100),
    Case("GenerateProposals", "opset9", (((1, 3), "f32"), ((6, 5, 2, 4), "f32"), ((1, 8, 6, 5), "f32"),
                                         ((1, 2, 6, 5), "f32")),
         {**_GENERATED, "normalized": True, "nms_eta": 1.0, "min_size": 0.0, "roi_num_type": "i64"},
         (((1, 3), (2, 9, 2, 4), (1, 8, 2, 9), (1, 2, 2, 9)), ((2, 3), (1, 1, 2, 4), (2, 8, 1, 1), (2, 2, 1, 1))),
         0.0, 30.0, ordered=True, id="GenerateProposals-dynamic"),
    Case(_KIN, "opset6", (np.array([40, 60, 1], np.float32), _anchors(4, 5, 3).reshape(-1, 4), ((12, 4, 5), "f32"),
                          ((3, 4, 5), "f32")),
         {**_GENERATED, "min_size": 5.0}, low=0.0, high=1.0, ordered=True, id=_KIN),
    Case(_KIN, "opset6", (((3,), "f32"), _anchors(2, 5, 3).reshape(-1, 4), ((12, 2, 5), "f32"), ((3, 2, 5), "f32")),
         {**_GENERATED, "min_size": 0.0, "post_nms_count": 40}, low=0.0, high=30.0, ordered=True, id=f"{_KIN}-few"),
    Case(_KIN, "opset6", (((3,), "f32"), _anchors(1, 5, 6).reshape(-1, 4), ((12, 2, 5), "f32"), ((3, 2, 5), "f32")),
         {**_GENERATED, "min_size": 0.0, "pre_nms_count": 25}, (((3,), (24, 1, 5), (6, 1, 5)),), 30.0, 60.0,
         ordered=True, id=f"{_KIN}-dynamic"),
)
