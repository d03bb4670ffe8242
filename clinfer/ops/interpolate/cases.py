"""Cases of interpolate."""
from __future__ import annotations

from typing import Any

import numpy as np

from clinfer.ops.interpolate.op import COORDINATES, NEAREST
from clinfer.ops.operation import Case

Shape = tuple[int, ...]


def _sizes(shape: Shape, sizes: Shape, axes: Shape = (2, 3), kind: str = "f32", opset: str = "opset11",
           sequence: tuple[tuple[Shape, ...], ...] = (), **more: Any) -> Case:
    target = np.array(sizes, np.int64)
    between = (np.ones(len(sizes), np.float32),) if opset == "opset4" else ()
    return _row(shape, kind, (target, *between, np.array(axes, np.int64)), opset, sequence,
                {"shape_calculation_mode": "sizes", **more}, sizes)


def _scales(shape: Shape, scales: tuple[float, ...], axes: Shape = (2, 3), kind: str = "f32", opset: str = "opset11",
            sequence: tuple[tuple[Shape, ...], ...] = (), **more: Any) -> Case:
    between = (np.ones(len(scales), np.int64),) if opset == "opset4" else ()
    return _row(shape, kind, (*between, np.array(scales, np.float32), np.array(axes, np.int64)), opset, sequence,
                {"shape_calculation_mode": "scales", **more}, scales)


def _row(shape: Shape, kind: str, rest: tuple[np.ndarray, ...], opset: str,
         sequence: tuple[tuple[Shape, ...], ...], attributes: dict[str, Any], target: tuple[float, ...]) -> Case:
    attributes = {"mode": "nearest", **attributes}
    shown = "-".join(str(v) for v in attributes.values())
    return Case("Interpolate", opset, ((shape, kind), *rest), attributes, sequence=sequence,
                id=f"Interpolate-{opset}-{shape}{kind}-{target}-{shown}".replace(" ", ""))


CASES = (
    _scales((2, 18, 5, 6), (2.0, 2.0), coordinate_transformation_mode="asymmetric", nearest_mode="floor",
            sequence=(((1, 18, 3, 40),), ((2, 18, 1, 1),))),
    _scales((2, 18, 5, 6), (1.0, 1.0, 2.0, 1.5), (0, 1, 2, 3), coordinate_transformation_mode="asymmetric",
            nearest_mode="floor", sequence=(((1, 18, 3, 40),), ((3, 18, 1, 1),))),
    _scales((1, 16, 5, 6), (1.0, 2.0, 2.0, 1.0), (0, 1, 2, 3), nearest_mode="floor"),
    _sizes((2, 16, 5, 6), (2, 16, 11, 9), (0, 1, 2, 3), mode="linear_onnx",
           sequence=(((2, 16, 3, 4),), ((2, 16, 20, 9),))),
    _sizes((2, 16, 5, 6), (2, 20, 11, 9), (0, 1, 2, 3), nearest_mode="floor",
           sequence=(((2, 20, 3, 4),), ((2, 7, 20, 9),))),
    _sizes((3, 4, 5, 6), (3, 4, 9, 6), (0, 1, 2, 3), coordinate_transformation_mode="tf_half_pixel_for_nn",
           nearest_mode="ceil"),
    *(_sizes((1, 3, 5, 6), (11, 13), coordinate_transformation_mode=c, nearest_mode=n)
      for c, n in zip(COORDINATES, NEAREST, strict=True)),
    *(_sizes((1, 16, 7, 9), (3, 4), coordinate_transformation_mode=c, nearest_mode=n)
      for c, n in zip(COORDINATES[1:] + COORDINATES[:1], NEAREST, strict=True)),
    *(_sizes((1, 3, 5, 6), (11, 3), mode="linear_onnx", coordinate_transformation_mode=c) for c in COORDINATES),
    _sizes((2, 20, 5, 6), (10, 12), mode="linear_onnx", sequence=(((1, 20, 4, 4),), ((2, 20, 20, 90),))),
    _scales((2, 20, 5, 6), (1.5, 2.2), mode="linear_onnx", opset="opset4", kind="f16"),
    _sizes((1, 3, 5, 6), (11, 13), mode="linear"),
    _sizes((1, 3, 5, 6), (11, 13), mode="cubic"),
    _sizes((1, 16, 9, 8), (5, 20), mode="cubic", cube_coeff=-0.5, coordinate_transformation_mode="align_corners"),
    _sizes((1, 3, 5, 6), (11, 4), mode="bilinear_pillow"),
    _sizes((1, 3, 9, 6), (4, 13), mode="bicubic_pillow", cube_coeff=-0.5),
    _sizes((2, 3, 5, 16), (12, 7), mode="bicubic_pillow", sequence=(((2, 3, 20, 3),), ((2, 3, 1, 40),))),
    _sizes((1, 3, 5, 6), (12, 13), opset="opset4", pads_begin=[0, 0, 1, 0], pads_end=[0, 0, 0, 2],
           coordinate_transformation_mode="asymmetric", nearest_mode="floor"),
    _sizes((1, 2, 3, 4, 5), (6, 4, 11), (2, 3, 4), mode="linear_onnx"),
    _sizes((2, 18, 3, 4, 5), (5, 9, 70), (2, 3, 4), mode="linear_onnx", coordinate_transformation_mode="align_corners",
           sequence=(((1, 18, 1, 7, 300),), ((2, 18, 6, 1, 1),), ((1, 18, 2, 3, 400),))),
    _scales((1, 20, 4, 4, 6), (1.5, 0.5, 2.0), (2, 3, 4), mode="linear_onnx",
            coordinate_transformation_mode="asymmetric"),
    _sizes((1, 5, 3, 4, 5), (1, 5, 2, 9, 11), (0, 1, 2, 3, 4), mode="linear"),
    _sizes((2, 3, 5, 20), (7, 33), mode="linear_onnx", sequence=(((1, 3, 3, 300),), ((1, 3, 2, 1),))),
    _sizes((1, 16, 3, 4, 5), (6, 4, 11), (2, 3, 4), coordinate_transformation_mode="asymmetric",
           sequence=(((2, 7, 2, 9, 3),), ((1, 33, 7, 1, 20),))),
    _sizes((2, 3, 10), (25,), (2,), mode="nearest"),
    _sizes((2, 3, 4, 10), (5, 25), (1, 3), coordinate_transformation_mode="asymmetric", nearest_mode="floor"),
    _sizes((1, 3, 5, 6), (10, 12), kind="u8", coordinate_transformation_mode="asymmetric", nearest_mode="floor"),
    Case("Interpolate", "opset1", (((1, 3, 5, 6), "f32"), np.array([10, 9], np.int64)),
         {"axes": [2, 3], "mode": "nearest", "align_corners": False}),
    Case("Interpolate", "opset1", (((1, 3, 5, 6), "f32"), np.array([10, 9], np.int64)),
         {"axes": [2, 3], "mode": "linear", "align_corners": True, "antialias": False}),
)
