"""Cases of roi_align."""
from __future__ import annotations

import numpy as np

from clinfer.ops.operation import Case

_ROIS = np.array([[1, 2, 9, 7], [0, 0, 3, 3], [-4, -3, 2, 5], [7, 6, 30, 20], [5, 5, 6, 9]], np.float32)
_BATCHES = np.array([0, 1, 1, 0, 1])
_Sequence = tuple[tuple[tuple[int, ...], ...], ...]


def _row(shape: tuple[int, ...], size: tuple[int, int], mode: str, aligned: str = "asymmetric", samples: int = 0,
         scale: float = 1.0, kind: str = "f32", opset: str = "opset9", sequence: _Sequence = (),
         low: float = -2.0) -> Case:
    attributes = {"pooled_h": size[0], "pooled_w": size[1], "sampling_ratio": samples, "spatial_scale": scale,
                  "mode": mode, **({"aligned_mode": aligned} if opset == "opset9" else {})}
    return Case("ROIAlign", opset, ((shape, kind), _ROIS.astype({"f32": np.float32, "f16": np.float16}[kind]),
                                    _BATCHES), attributes, sequence=sequence, low=low,
                id=f"ROIAlign-{shape}{kind}-{size}-{mode}-{aligned}-{samples}-{scale}-{opset}".replace(" ", ""))


def _rotated(size: tuple[int, int], clockwise: bool, samples: int = 0, scale: float = 1.0, kind: str = "f32",
             sequence: _Sequence = ()) -> Case:
    rois = np.array([[4, 4, 3, 2, 0.3], [5, 3, 9, 4, -0.6], [1, 9, 6, 6, 2.5]],
                    {"f32": np.float32, "f16": np.float16}[kind])
    return Case("ROIAlignRotated", "opset15", (((2, 3, 12, 15), kind), rois, np.array([0, 1, 1])),
                {"pooled_h": size[0], "pooled_w": size[1], "sampling_ratio": samples, "spatial_scale": scale,
                 "clockwise_mode": clockwise}, sequence=sequence,
                id=f"ROIAlignRotated-{size}-{clockwise}-{samples}-{scale}-{kind}".replace(" ", ""))


CASES = (
    _row((2, 3, 12, 15), (2, 3), "avg", sequence=(((2, 3, 5, 4),), ((2, 3, 40, 33),))),
    _row((2, 18, 12, 15), (3, 3), "avg", "half_pixel", 2),
    _row((2, 3, 12, 15), (2, 2), "avg", "half_pixel_for_nn", 0, 0.5),
    _row((2, 3, 12, 15), (2, 3), "max", samples=2, low=0.1),
    _row((2, 3, 12, 15), (2, 3), "max", "half_pixel", samples=3),
    _row((2, 3, 12, 15), (1, 4), "avg", samples=1, scale=0.25, opset="opset3"),
    _row((2, 3, 12, 15), (2, 2), "avg", kind="f16"),
    _rotated((2, 3), False, 2, sequence=(((2, 3, 5, 4),), ((2, 3, 40, 33),))),
    _rotated((3, 1), True, 0, 0.5),
    _rotated((2, 2), True, kind="f16"),
)
