"""Cases of deconvolution."""
from __future__ import annotations

from typing import Any

import numpy as np

from clinfer.ops.operation import Case

Shape = tuple[int, ...]


def _attributes(rank: int, strides: Any, dilations: Any, pads: Any, auto_pad: str, more: Any) -> dict[str, Any]:
    """One value for all axes or one per axis; `pads` may be (begin, end) of such values."""
    def per_axis(value: Any) -> list[int]:
        return [value] * rank if isinstance(value, int) else list(value)
    begin, end = pads if isinstance(pads, tuple) else (pads, pads)
    return {"strides": per_axis(strides), "pads_begin": per_axis(begin), "pads_end": per_axis(end),
            "dilations": per_axis(dilations), "auto_pad": auto_pad, "output_padding": per_axis(more)}


def _case(id: str, data: Shape, weights: Shape, *others: Shape, strides: Any = 1, dilations: Any = 1, pads: Any = 0,
          auto_pad: str = "explicit", more: Any = 0, to: Shape = (), kind: str = "f32", grouped: bool = False) -> Case:
    """A row with weights as an input; `others` are further shapes of the data, `to` is the output shape."""
    op = "GroupConvolutionBackpropData" if grouped else "ConvolutionBackpropData"
    inputs = ((data, kind), (weights, kind), *((np.array(to, np.int64),) if to else ()))
    return Case(op, "opset1", inputs, id=id, sequence=tuple((o, weights) for o in others),
                attributes=_attributes(len(data) - 2, strides, dilations, pads, auto_pad, more))


def _constant_weights(case: Case) -> Case:
    """The same row with constant weights."""
    data, (shape, kind), *others = case.inputs
    weights = np.linspace(-1, 1, int(np.prod(shape)), dtype=np.float32).reshape(shape)
    weights = np.sin(weights * 1000).astype({"f16": np.float16}.get(kind, np.float32))
    return Case(case.op, case.opset, (data, weights, *others), case.attributes, tuple(s[:1] for s in case.sequence),
                id=f"{case.id}-constant")


_UPSAMPLING = (
    _case("2x2", (1, 24, 5, 20), (24, 40, 2, 2), (2, 24, 1, 1), (3, 24, 9, 33), strides=2),
    _case("2x2-one-output", (1, 24, 5, 20), (24, 1, 2, 2), (2, 24, 1, 1), (1, 24, 3, 130), strides=2),
    _case("3x3", (1, 17, 7, 19), (17, 33, 3, 3), (2, 17, 4, 40), strides=2, pads=1, more=1),
    _case("4x4", (2, 32, 4, 15), (32, 16, 4, 4), (1, 32, 9, 8), strides=2, pads=1),
    _case("4x4-three-outputs", (1, 20, 4, 15), (20, 3, 4, 4), (2, 20, 7, 3), strides=2, pads=1),
    _case("5x5-one-output", (2, 35, 4, 15), (35, 1, 5, 5), strides=(2, 3), pads=((1, 0), (2, 3))),
    _case("16x16-one-output", (1, 2, 4, 5), (2, 1, 16, 16), strides=8, pads=4),
    _case("2x2-f16", (1, 35, 5, 20), (35, 37, 2, 2), strides=2, kind="f16"),
    _case("2x2-f64", (1, 5, 5, 7), (5, 7, 2, 2), strides=2, kind="f64"),
)

_STEPS = (
    _case("stride-1", (1, 16, 7, 20), (16, 32, 3, 3), (2, 16, 1, 3), pads=1),
    _case("1x1", (2, 20, 5, 30), (20, 16, 1, 1)),
    _case("strides-over-filter", (1, 18, 5, 20), (18, 20, 2, 1), strides=3, more=2),
    _case("dilated", (1, 20, 7, 19), (20, 18, 3, 3), (1, 20, 3, 40), strides=(1, 2), dilations=(2, 3), pads=2),
    _case("dilated-few", (1, 20, 7, 19), (20, 2, 3, 3), strides=(2, 3), dilations=(3, 2), pads=((3, 2), (0, 4))),
    _case("pads-over-filter", (1, 20, 6, 8), (20, 16, 2, 2), strides=2, pads=3),
    _case("wide-filter", (1, 9, 3, 40), (9, 20, 1, 31), dilations=(1, 4), pads=((0, 20), (0, 30))),
)

_OUTPUT_SHAPES = (
    _case("same-upper", (1, 20, 5, 18), (20, 17, 3, 4), (1, 20, 3, 20), strides=2, auto_pad="same_upper", to=(9, 37)),
    _case("same-lower", (1, 20, 5, 18), (20, 17, 3, 4), strides=2, auto_pad="same_lower", to=(10, 35), more=1),
    _case("same-lower-one-output", (1, 20, 5, 18), (20, 1, 3, 4), strides=2, auto_pad="same_lower", to=(10, 35)),
    _case("explicit-cut", (2, 20, 5, 18), (20, 17, 4, 4), strides=2, pads=1, to=(8, 30)),
    _case("explicit-beyond", (2, 20, 5, 18), (20, 1, 4, 4), strides=2, pads=1, to=(14, 43)),
    _case("beyond", (2, 20, 5, 18), (20, 17, 4, 4), strides=2, auto_pad="same_upper", to=(15, 50)),
    _case("valid-to", (1, 20, 5, 18), (20, 17, 4, 4), strides=2, auto_pad="valid", to=(12, 38)),
    _case("same-without", (1, 20, 5, 18), (20, 17, 3, 4), strides=2, auto_pad="same_upper", more=1),
    _case("valid", (1, 20, 5, 18), (20, 17, 3, 4), strides=2, pads=1, auto_pad="valid"),
)

_RANKS = (
    _case("1d", (2, 20, 17), (20, 33, 4), (1, 20, 40), strides=2, pads=1),
    _case("1d-one-output", (2, 20, 17), (20, 1, 4), (1, 20, 140), strides=4),
    _case("3d", (1, 20, 3, 4, 17), (20, 33, 2, 3, 3), (2, 20, 2, 2, 5), strides=2, pads=1, more=1),
    _case("3d-two-outputs", (1, 20, 3, 4, 17), (20, 2, 2, 2, 2), (2, 20, 2, 2, 5), strides=2),
    _case("3d-to", (1, 20, 3, 4, 7), (20, 16, 3, 3, 3), strides=2, auto_pad="same_lower", to=(5, 8, 13)),
)

_GROUPS = (
    _case("groups-of-16", (1, 32, 5, 9), (2, 16, 16, 2, 2), (2, 32, 3, 20), strides=2, grouped=True),
    _case("groups-of-48", (1, 64, 5, 9), (2, 32, 48, 3, 3), strides=2, pads=1, grouped=True),
    _case("odd-groups", (1, 6, 5, 9), (3, 2, 5, 3, 3), strides=2, pads=1, grouped=True),
    _case("depthwise", (1, 20, 5, 9), (20, 1, 1, 4, 4), (2, 20, 2, 30), strides=2, pads=1, grouped=True),
    _case("groups-1d", (2, 32, 19), (2, 16, 16, 3), strides=3, grouped=True),
    _case("groups-3d", (1, 32, 3, 4, 9), (2, 16, 16, 2, 2, 2), strides=2, grouped=True),
    _case("groups-to", (1, 6, 5, 9), (3, 2, 5, 3, 3), strides=2, auto_pad="same_upper", to=(9, 18), grouped=True),
)

_CONSTANT = tuple(_constant_weights(case) for case in (
    _UPSAMPLING[0], _UPSAMPLING[1], _UPSAMPLING[2], _UPSAMPLING[7], _OUTPUT_SHAPES[0], _RANKS[0], _RANKS[2],
    _GROUPS[0], _GROUPS[6]))

CASES = (*_UPSAMPLING, *_STEPS, *_OUTPUT_SHAPES, *_RANKS, *_GROUPS, *_CONSTANT)
