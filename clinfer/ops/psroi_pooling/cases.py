"""Cases of psroi_pooling; of shapes that are open OpenVINO does not compute it."""
from __future__ import annotations

import numpy as np

from clinfer.ops.operation import Case

_PIXELS = np.array([[0, 1, 2, 9, 7], [1, 0, 0, 3, 3], [1, 2, 1, 4, 5], [0, 3, 2, 11, 9]], np.float32)
_PARTS = np.array([[0, 0.1, 0.2, 0.9, 0.7], [1, 0, 0, 1, 1], [1, 0.4, 0.3, 0.6, 0.5]], np.float32)


def _row(mode: str, dim: int, size: int, bins: tuple[int, int] = (1, 1), scale: float = 1.0, kind: str = "f32") -> Case:
    channels = dim * size * size if mode == "average" else dim * bins[0] * bins[1]
    rois = (_PIXELS if mode == "average" else _PARTS).astype({"f32": np.float32, "f16": np.float16}[kind])
    attributes = {"output_dim": dim, "group_size": size, "spatial_scale": scale, "mode": mode,
                  "spatial_bins_x": bins[0], "spatial_bins_y": bins[1]}
    return Case("PSROIPooling", "opset1", (((2, channels, 12, 15), kind), rois), attributes,
                id=f"PSROIPooling-{mode}-{dim}x{size}-{bins}-{scale}-{kind}".replace(" ", ""))


def _deformable(moves: bool, dim: int, size: int, bins: tuple[int, int], scale: float = 1.0) -> Case:
    attributes = {"output_dim": dim, "group_size": size, "spatial_scale": scale, "mode": "bilinear_deformable",
                  "spatial_bins_x": bins[0], "spatial_bins_y": bins[1], "trans_std": 0.1, "part_size": size}
    offsets = (((len(_PIXELS), 2, size, size), "f32"),) if moves else ()
    return Case("DeformablePSROIPooling", "opset1", (((2, dim * size * size, 12, 15), "f32"), _PIXELS, *offsets),
                attributes, id=f"DeformablePSROIPooling-{moves}-{dim}x{size}-{bins}-{scale}".replace(" ", ""))


CASES = (
    _row("average", 2, 2),
    _row("average", 3, 3, scale=0.5, kind="f16"),
    _row("bilinear", 2, 3, (2, 2)),
    _row("bilinear", 5, 1, (3, 1)),
    _deformable(False, 2, 2, (2, 2)),
    _deformable(True, 2, 3, (2, 3)),
    _deformable(True, 1, 2, (1, 2), 0.5),
)
