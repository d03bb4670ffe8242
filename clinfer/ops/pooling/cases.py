"""Cases of pooling."""
from __future__ import annotations

from typing import Any

import numpy as np

from clinfer.ops.operation import Case


def _pool(op: str, opset: str, shape: tuple[int, ...], kernel: tuple[int, ...], kind: str = "f32",
          sequence: tuple[tuple[tuple[int, ...], ...], ...] = (), low: float = -2.0, high: float = 2.0,
          **more: Any) -> Case:
    zeros, ones = (0,) * len(kernel), (1,) * len(kernel)
    attributes = {"kernel": kernel, "strides": ones, "pads_begin": zeros, "pads_end": zeros,
                  "rounding_type": "floor", "auto_pad": "explicit", **more}
    attributes = {k: list(v) if isinstance(v, tuple) else v for k, v in attributes.items()}
    shown = "-".join(f"{k}{v}" for k, v in more.items())
    return Case(op, opset, ((shape, kind),), attributes, sequence=sequence, low=low, high=high,
                id=f"{op}-{opset}-{shape}{kind}{kernel}-{shown}".replace(" ", "").replace("'", ""))


def _max(shape: tuple[int, ...], kernel: tuple[int, ...], kind: str = "f32", **more: Any) -> Case:
    return _pool("MaxPool", "opset1", shape, kernel, kind, **more)


def _max_index(shape: tuple[int, ...], kernel: tuple[int, ...], kind: str = "f32", opset: str = "opset8",
               index: str = "i64", axis: int = 0, **more: Any) -> Case:
    more.setdefault("dilations", (1,) * len(kernel))
    return _pool("MaxPool", opset, shape, kernel, kind, index_element_type=index, axis=axis, **more)


def _avg(shape: tuple[int, ...], kernel: tuple[int, ...], kind: str = "f32", exclude: bool = True,
         opset: str = "opset1", **more: Any) -> Case:
    return _pool("AvgPool", opset, shape, kernel, kind, **{"exclude-pad": exclude, **more})


def _adaptive(op: str, shape: tuple[int, ...], windows: tuple[int, ...], *others: tuple[int, ...], kind: str = "f32",
              low: float = -2.0, high: float = 2.0, **attributes: Any) -> Case:
    return Case(op, "opset8", ((shape, kind), np.array(windows, np.int64)), attributes,
                sequence=tuple((s,) for s in others), low=low, high=high,
                id=f"{op}-{shape}{kind}{windows}{attributes}".replace(" ", "").replace("'", ""))


_ADAPTIVE = (
    _adaptive("AdaptiveAvgPool", (2, 20, 7, 9), (3, 4), (1, 20, 3, 4), (3, 20, 16, 5)),
    _adaptive("AdaptiveAvgPool", (2, 5, 30), (7,), kind="f16"),
    _adaptive("AdaptiveAvgPool", (1, 18, 5, 6, 7), (2, 3, 7)),
    _adaptive("AdaptiveMaxPool", (2, 20, 7, 9), (3, 4), (1, 20, 3, 4), (3, 20, 16, 5), index_element_type="i32"),
    _adaptive("AdaptiveMaxPool", (2, 5, 30), (7,), index_element_type="i32"),
    _adaptive("AdaptiveMaxPool", (1, 18, 5, 6, 7), (2, 3, 7), index_element_type="i32"),
)

CASES = (
    *_ADAPTIVE,
    _max((2, 20, 11, 12), (3, 3), strides=(2, 2), pads_begin=(1, 1), pads_end=(1, 1),
         sequence=(((1, 20, 7, 8),), ((3, 20, 3, 30),))),
    _max((2, 32, 9, 8), (2, 3), "f16", strides=(1, 2), auto_pad="same_upper"),
    _max((2, 16, 9, 8), (3, 2), strides=(2, 1), auto_pad="same_lower",
         sequence=(((2, 16, 4, 5),), ((2, 16, 1, 1),))),
    _max((1, 3, 10, 10), (3, 3), strides=(2, 2), rounding_type="ceil"),
    _max((1, 16, 10, 10), (3, 3), strides=(2, 2), auto_pad="valid", rounding_type="ceil"),
    _max((1, 3, 10, 10), (2, 2), "i8", strides=(2, 2), low=-100, high=100),
    _max((2, 40, 6, 7), (2, 2), "u8", low=0, high=200),
    _max((2, 35, 9, 21), (3, 3), "u8", low=0, high=255, strides=(2, 2), pads_begin=(1, 1), pads_end=(1, 1),
         rounding_type="ceil", sequence=(((1, 35, 40, 5),), ((3, 35, 3, 2),))),
    _max((1, 16, 7, 33), (2, 5), "u8", low=0, high=255, pads_begin=(1, 2), pads_end=(0, 2)),
    _max((1, 3, 6, 7), (3, 2), "i32", low=-99, high=99),
    _max((2, 5, 30), (4,), strides=(3,), pads_begin=(1,), pads_end=(2,), sequence=(((2, 5, 9),), ((1, 5, 64),))),
    _max((2, 18, 5, 6, 7), (2, 3, 2), strides=(2, 1, 2), pads_begin=(0, 1, 0), pads_end=(1, 1, 1)),
    _max_index((2, 5, 9, 8), (3, 2), strides=(2, 1), pads_begin=(1, 0), pads_end=(1, 1), dilations=(2, 1),
               sequence=(((1, 5, 7, 6),), ((2, 5, 20, 3),))),
    _max_index((2, 5, 9, 8), (2, 2), "f16", index="i32", axis=2, strides=(2, 2)),
    _max_index((2, 3, 12), (3,), opset="opset14", rounding_type="ceil_torch", strides=(2,), pads_begin=(1,),
               pads_end=(1,)),
    _max_index((1, 16, 7, 9), (2, 2), opset="opset14", rounding_type="ceil_torch", strides=(2, 2), pads_begin=(1, 1),
               pads_end=(1, 1), axis=2),
    _max_index((1, 3, 4, 5, 6), (2, 2, 2), "f32", axis=1),
    _max_index((1, 3, 6, 6), (2, 2), "i8", low=-100, high=100),
    _avg((2, 20, 11, 12), (3, 3), strides=(2, 2), pads_begin=(1, 1), pads_end=(1, 1),
         sequence=(((1, 20, 7, 8),), ((3, 20, 3, 30),))),
    _avg((2, 20, 11, 12), (3, 3), exclude=False, strides=(2, 2), pads_begin=(1, 1), pads_end=(1, 1),
         sequence=(((1, 20, 7, 8),), ((3, 20, 3, 30),))),
    _avg((2, 32, 9, 8), (2, 3), "f16", strides=(1, 2), auto_pad="same_upper"),
    _avg((1, 3, 10, 11), (3, 3), strides=(2, 2), rounding_type="ceil", pads_begin=(1, 0), pads_end=(0, 1)),
    _avg((2, 5, 30), (4,), strides=(3,), pads_begin=(1,), pads_end=(2,)),
    _avg((2, 18, 5, 6, 7), (2, 3, 2), strides=(2, 1, 2), pads_begin=(0, 1, 0), pads_end=(1, 1, 1)),
    _avg((2, 16, 5, 6, 7), (2, 3, 2), exclude=False, pads_begin=(0, 1, 0), pads_end=(1, 1, 1)),
    _avg((2, 40, 7, 7), (7, 7)),
    _avg((2, 5, 30), (4,), opset="opset14", rounding_type="ceil_torch", strides=(3,), pads_begin=(1,),
         pads_end=(1,)),
    _avg((1, 16, 9, 12), (2, 3), opset="opset14", rounding_type="ceil_torch", strides=(2, 3), pads_begin=(1, 0),
         pads_end=(1, 1), sequence=(((1, 16, 6, 7),), ((2, 16, 5, 8),))),
    _avg((1, 3, 9, 8), (3, 2), exclude=False, strides=(2, 1), auto_pad="same_lower"),
    _avg((1, 4, 9, 8), (3, 2), strides=(2, 1), auto_pad="valid", rounding_type="ceil"),
    _max((1, 3, 9, 150), (3, 3), strides=(1, 2), pads_begin=(1, 1), pads_end=(1, 1)),
    _avg((1, 3, 9, 150), (3, 5), "f16", pads_begin=(1, 2), pads_end=(1, 2)),
    _avg((1, 3, 9, 15), (3, 5), opset="opset16", dilations=(2, 1)),
    _max((1, 16, 9, 8), (2, 2), "bf16"),
    _avg((1, 16, 9, 8), (2, 2), "f64"),
    _max((1, 3, 9, 8), (2, 2), "i64", low=-99, high=99),
)
