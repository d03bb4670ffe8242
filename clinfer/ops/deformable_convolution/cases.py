"""Cases of deformable_convolution."""
from __future__ import annotations

from typing import Any

import numpy as np

from clinfer.ops.operation import Case

_Shape = tuple[int, ...]
_RNG = np.random.default_rng(17)


def _row(data: _Shape, filters: _Shape, places: _Shape, group: int = 1, moved: int = 1, mask: bool = False,
         fades: bool = False, kind: str = "f32", pad: str = "explicit", step: int = 1, dilation: int = 1,
         opset: int = 8, sequence: tuple[_Shape, ...] = ()) -> Case:
    """`places`: rows and columns; `sequence`: other batches, rows and columns of data and output."""
    taps = moved * filters[2] * filters[3]
    attributes: dict[str, Any] = {
        "strides": [step] * 2, "dilations": [dilation] * 2, "pads_begin": [1, 0], "pads_end": [0, 1], "auto_pad": pad,
        "group": group, "deformable_group": moved, **({"bilinear_interpolation_pad": fades} if opset == 8 else {})}
    weights = _RNG.uniform(-1, 1, filters).astype({"f32": np.float32, "f16": np.float16}[kind])
    inputs = ((data, kind), ((data[0], 2 * taps, *places), kind), weights,
              *([((data[0], taps, *places), kind)] if mask else []))
    others = tuple(((b, data[1], h, w), (b, 2 * taps, oh, ow), *([(b, taps, oh, ow)] if mask else []))
                   for b, h, w, oh, ow in sequence)
    return Case("DeformableConvolution", f"opset{opset}", inputs, attributes, others,
                id=f"DeformableConvolution-{opset}-{data}{kind}{filters}-{group}-{moved}-{mask}-{fades}-{pad}-{step}-"
                   f"{dilation}".replace(" ", ""))


CASES = (
    _row((1, 4, 7, 7), (6, 4, 3, 3), (6, 6), sequence=((2, 5, 6, 4, 5), (1, 8, 3, 7, 2))),
    _row((2, 4, 7, 6), (6, 2, 3, 2), (3, 3), group=2, moved=2, mask=True, step=2),
    _row((2, 4, 7, 6), (3, 4, 3, 3), (7, 6), fades=True, mask=True, pad="same_upper",
         sequence=((1, 5, 6, 5, 6), (2, 2, 9, 2, 9))),
    _row((1, 4, 9, 8), (3, 4, 2, 3), (7, 4), moved=4, dilation=2, pad="valid", opset=1),
    _row((2, 4, 6, 6), (4, 4, 3, 3), (5, 5), kind="f16"),
)
