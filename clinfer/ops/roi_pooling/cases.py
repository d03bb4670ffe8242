"""Cases of roi_pooling."""
from __future__ import annotations

import numpy as np

from clinfer.ops.operation import Case

_PIXELS = np.array([[0, 1, 2, 9, 7], [1, 0, 0, 3, 3], [1, -4, -3, 2, 5], [0, 7, 6, 30, 20], [1, 5, 5, 4, 9]],
                   np.float32)
_PARTS = np.array([[0, 0.1, 0.2, 0.9, 0.7], [1, 0, 0, 1, 1], [1, -0.4, 0.3, 0.2, 0.5], [0, 0.7, 0.6, 1.2, 0.8]],
                  np.float32)
_Sequence = tuple[tuple[tuple[int, ...], ...], ...]


def _row(size: tuple[int, int], method: str, scale: float = 1.0, kind: str = "f32", sequence: _Sequence = ()) -> Case:
    rois = (_PIXELS if method == "max" else _PARTS).astype({"f32": np.float32, "f16": np.float16}[kind])
    return Case("ROIPooling", "opset2", (((2, 3, 12, 15), kind), rois),
                {"output_roi": list(size), "spatial_scale": scale, "method": method}, sequence=sequence,
                id=f"ROIPooling-{size}-{method}-{scale}-{kind}".replace(" ", ""))


CASES = (
    _row((2, 3), "max", sequence=(((2, 3, 14, 13),), ((2, 3, 31, 7),))),
    _row((3, 2), "max", 0.5, "f16"),
    _row((2, 3), "bilinear", sequence=(((2, 3, 14, 13),), ((2, 3, 2, 40),))),
    _row((1, 1), "bilinear"),
)
