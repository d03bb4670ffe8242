"""Cases of convolution."""
from __future__ import annotations

from typing import Any

import numpy as np

from clinfer.ops.operation import Case

Shape = tuple[int, ...]


def _attributes(rank: int, strides: Any, dilations: Any, pads: Any, auto_pad: str) -> dict[str, Any]:
    """One value for all axes or one per axis; `pads` may be (begin, end) of such values."""
    def per_axis(value: Any) -> list[int]:
        return [value] * rank if isinstance(value, int) else list(value)
    begin, end = pads if isinstance(pads, tuple) else (pads, pads)
    return {"strides": per_axis(strides), "pads_begin": per_axis(begin), "pads_end": per_axis(end),
            "dilations": per_axis(dilations), "auto_pad": auto_pad}


def _case(id: str, data: Shape, weights: Shape, *others: Shape, strides: Any = 1, dilations: Any = 1, pads: Any = 0,
          auto_pad: str = "explicit", kind: str = "f32", grouped: bool = False) -> Case:
    """A row with weights as an input; `others` are further shapes of the data."""
    op = "GroupConvolution" if grouped else "Convolution"
    return Case(op, "opset1", ((data, kind), (weights, kind)), id=id, sequence=tuple((o, weights) for o in others),
                attributes=_attributes(len(data) - 2, strides, dilations, pads, auto_pad))


def _constant_weights(case: Case) -> Case:
    """The same row with constant weights."""
    data, (shape, kind) = case.inputs
    weights = np.linspace(-1, 1, int(np.prod(shape)), dtype=np.float32).reshape(shape)
    weights = np.sin(weights * 1000).astype({"f16": np.float16}.get(kind, np.float32))
    return Case(case.op, case.opset, (data, weights), case.attributes, tuple(s[:1] for s in case.sequence),
                id=f"{case.id}-constant")


_ANY = (
    _case("3x3", (1, 16, 8, 20), (32, 16, 3, 3), (1, 16, 3, 3), (3, 16, 9, 57), pads=1),
    _case("odd-channels", (2, 17, 9, 23), (33, 17, 3, 3), pads=1),
    _case("one-output", (1, 35, 6, 15), (1, 35, 3, 3), pads=1),
    _case("one-input", (1, 1, 9, 31), (5, 1, 5, 5), (2, 1, 12, 16), pads=2),
    _case("strides-dilations", (2, 40, 9, 23), (50, 40, 3, 5), (1, 40, 14, 31), strides=(2, 3), dilations=(2, 1),
          pads=((1, 0), (2, 3))),
    _case("dilated", (1, 24, 29, 33), (48, 24, 3, 3), (2, 24, 11, 40), strides=(1, 2), dilations=(2, 3), pads=2),
    _case("wide-dilation", (1, 9, 5, 90), (20, 9, 1, 3), dilations=(1, 30), pads=((0, 30), (0, 30))),
    _case("wider-dilation", (1, 20, 3, 700), (40, 20, 2, 3), (2, 20, 2, 530), dilations=(1, 260),
          pads=((0, 300), (0, 240))),
    _case("wider-dilation-stride", (1, 18, 900), (33, 18, 3), (2, 18, 11), strides=3, dilations=200, pads=(400, 300)),
    _case("wide-filter", (1, 17, 700), (20, 17, 300), (1, 17, 310), strides=7, pads=(5, 9)),
    _case("stride-over-filter", (1, 18, 10, 40), (20, 18, 1, 2), strides=3),
    _case("valid", (1, 20, 9, 20), (16, 20, 3, 2), auto_pad="valid"),
    _case("pads-over-filter", (1, 20, 4, 6), (16, 20, 2, 2), pads=3),
    _case("f16", (1, 35, 7, 19), (37, 35, 3, 3), (2, 35, 5, 14), pads=1, kind="f16"),
    _case("f64", (1, 6, 5, 9), (7, 6, 3, 3), pads=1, kind="f64"),
    _case("width-7", (1, 32, 7, 7), (80, 32, 3, 3), pads=1),
    _case("width-4", (1, 20, 4, 4), (64, 20, 3, 3), pads=1),
    _case("width-10", (1, 20, 5, 10), (30, 20, 3, 3), pads=1),
    _case("column", (1, 20, 40, 1), (33, 20, 5, 1), (3, 20, 17, 1), (1, 20, 90, 1), strides=(2, 3), dilations=(3, 1),
          pads=((1, 0), (4, 0))),
    _case("column-same", (2, 32, 30, 1), (32, 32, 3, 1), auto_pad="same_upper"),
    _case("column-padded", (2, 16, 30, 1), (32, 16, 3, 1), strides=(1, 3), pads=1),
    _case("perhaps-column", (2, 16, 30, 1), (32, 16, 3, 1), (1, 16, 9, 4), (1, 16, 20, 1), pads=(1, (0, 0))),
    _case("width-14", (1, 20, 14, 14), (32, 20, 3, 3), pads=1),
    _case("width-14-one-block", (1, 20, 3, 14), (16, 20, 3, 3), pads=1),
)

_POINTWISE = (
    _case("1x1", (3, 40, 5, 7), (20, 40, 1, 1), (1, 40, 1, 1), (2, 40, 9, 30)),
    _case("1x1-stride", (3, 40, 5, 7), (20, 40, 1, 1), (1, 40, 8, 8), strides=2),
    _case("1x1-pads", (1, 20, 5, 7), (33, 20, 1, 1), pads=((1, 0), (0, 2))),
    _case("1x1-one-pixel", (1, 96, 1, 1), (24, 96, 1, 1)),
    _case("1x1-one-pixel-wide", (2, 24, 1, 1), (70, 24, 1, 1)),
    _case("1x1-f16", (1, 17, 6, 11), (40, 17, 1, 1), kind="f16"),
)

_FEW_CHANNELS = (
    _case("stem-7x7", (2, 3, 40, 61), (40, 3, 7, 7), (1, 3, 64, 33), strides=2, pads=3),
    _case("stem-3x3", (1, 3, 48, 100), (16, 3, 3, 3), (1, 3, 48, 40), strides=2, pads=1),
    _case("stem-width-8", (1, 2, 8, 8), (32, 2, 3, 3), pads=1),
    _case("stem-width-14", (1, 2, 8, 14), (32, 2, 3, 3), pads=1),
    _case("stem-f16", (1, 3, 20, 45), (24, 3, 3, 3), strides=2, pads=1, kind="f16"),
)

_RANKS = (
    _case("1d-same-upper", (1, 20, 37), (48, 20, 5), (3, 20, 12), (1, 20, 13), strides=2, auto_pad="same_upper"),
    _case("2d-same-lower", (1, 20, 11, 18), (17, 20, 4, 3), (2, 20, 8, 9), strides=(2, 3), auto_pad="same_lower"),
    _case("3d-same-lower", (1, 20, 6, 7, 9), (48, 20, 2, 3, 3), (2, 20, 3, 4, 15), strides=2, auto_pad="same_lower"),
    _case("3d-stem", (1, 2, 5, 8, 17), (16, 2, 3, 3, 3), pads=1),
    _case("3d-1x1", (1, 20, 2, 3, 5), (16, 20, 1, 1, 1)),
    _case("3d-runs-of-tiles", (2, 16, 3, 17, 31), (40, 16, 1, 3, 3), (1, 16, 2, 3, 5), pads=((0, 1, 1), (0, 1, 1))),
)

_GROUPS = (
    _case("groups-of-16", (1, 32, 9, 9), (2, 16, 16, 3, 3), (2, 32, 5, 20), pads=1, grouped=True),
    _case("groups-of-48", (1, 64, 6, 9), (2, 48, 32, 3, 3), pads=1, grouped=True),
    _case("groups-of-24", (1, 72, 6, 19), (3, 24, 24, 3, 3), (2, 72, 4, 5), pads=1, grouped=True),
    _case("groups-of-12-f16", (1, 48, 6, 9), (4, 20, 12, 1, 1), grouped=True, kind="f16"),
    _case("odd-groups", (1, 6, 9, 9), (3, 5, 2, 3, 3), pads=1, grouped=True),
    _case("one-group", (1, 20, 6, 9), (1, 35, 20, 3, 3), pads=1, grouped=True),
    _case("groups-1d", (2, 32, 19), (2, 16, 16, 3), pads=1, grouped=True),
    _case("groups-3d", (1, 32, 3, 4, 9), (2, 16, 16, 2, 3, 3), pads=1, grouped=True),
    _case("groups-of-2", (1, 44, 9, 30), (22, 2, 2, 3, 3), (2, 44, 4, 7), (1, 44, 3, 3), pads=1, grouped=True),
    _case("groups-of-4-stride", (2, 36, 9, 30), (9, 4, 4, 5, 5), (1, 36, 12, 12), strides=2, pads=2, grouped=True),
    _case("groups-of-8", (1, 24, 9, 30), (3, 8, 8, 3, 3), (2, 24, 4, 7), pads=1, grouped=True),
    _case("groups-of-4-1d", (1, 20, 30), (5, 4, 4, 5), (1, 20, 9), auto_pad="same_upper", grouped=True),
    _case("groups-of-8-3d-f16", (1, 40, 4, 5, 11), (5, 8, 8, 3, 3, 3), pads=1, grouped=True, kind="f16"),
    _case("channel-multiplier", (1, 10, 7, 9), (10, 2, 1, 3, 3), pads=1, grouped=True),
)

_DEPTHWISE = (
    _case("depthwise-3x3", (1, 40, 9, 30), (40, 1, 1, 3, 3), (2, 40, 4, 7), (1, 40, 3, 3), pads=1, grouped=True),
    _case("depthwise-stride", (2, 19, 9, 30), (19, 1, 1, 5, 5), (1, 19, 12, 12), strides=2, pads=2, grouped=True),
    _case("depthwise-dilated", (1, 16, 12, 40), (16, 1, 1, 3, 3), strides=(1, 3), dilations=(2, 4),
          pads=((2, 4), (1, 0)), grouped=True),
    _case("depthwise-1d", (1, 20, 30), (20, 1, 1, 5), (1, 20, 9), auto_pad="same_upper", grouped=True),
    _case("depthwise-3d", (1, 20, 4, 5, 11), (20, 1, 1, 3, 3, 3), pads=1, grouped=True),
    _case("depthwise-f16", (1, 40, 9, 30), (40, 1, 1, 3, 3), pads=1, grouped=True, kind="f16"),
    _case("depthwise-bf16", (1, 40, 19, 30), (40, 1, 1, 5, 5), pads=2, grouped=True, kind="bf16"),
    _case("depthwise-7x7-stride", (1, 20, 31, 59), (20, 1, 1, 7, 7), (3, 20, 9, 4), strides=2, pads=3, grouped=True),
    _case("depthwise-9x1", (1, 20, 13, 30), (20, 1, 1, 1, 9), strides=(1, 3), pads=((0, 4), (0, 2)), grouped=True),
)

_BF16 = (
    _case("bf16", (1, 35, 7, 19), (37, 35, 3, 3), (2, 35, 5, 34), pads=1, kind="bf16"),
    _case("bf16-inside", (1, 32, 9, 40), (48, 32, 3, 3), (2, 32, 8, 33), strides=(1, 2), dilations=(2, 1),
          kind="bf16"),
    _case("bf16-stem", (2, 3, 20, 41), (40, 3, 7, 7), strides=2, pads=3, kind="bf16"),
    _case("bf16-1x1", (1, 48, 6, 14), (64, 48, 1, 1), (2, 48, 7, 7), kind="bf16"),
    _case("bf16-1x1-stride", (1, 48, 6, 30), (20, 48, 1, 1), strides=2, kind="bf16"),
    _case("bf16-groups-3d", (1, 32, 3, 4, 16), (2, 32, 16, 2, 3, 3), grouped=True, kind="bf16"),
    _case("bf16-column", (1, 32, 70, 1), (33, 32, 5, 1), (3, 32, 17, 1), strides=(2, 3), dilations=(3, 1),
          pads=((2, 0), (3, 0)), kind="bf16"),
    _case("bf16-perhaps-column", (2, 16, 30, 1), (32, 16, 3, 1), (1, 16, 9, 4), (1, 16, 20, 1), pads=(1, (0, 0)),
          kind="bf16"),
    _case("bf16-runs-of-tiles", (2, 32, 23, 61), (70, 32, 1, 1), (1, 32, 5, 5), kind="bf16"),
)

_CONSTANT = tuple(_constant_weights(case) for case in (
    _ANY[0], _ANY[1], _ANY[10], _POINTWISE[0], _FEW_CHANNELS[0], _RANKS[0], _RANKS[2], _GROUPS[0], _GROUPS[4],
    _DEPTHWISE[0], _DEPTHWISE[4]))

CASES = (*_ANY, *_POINTWISE, *_FEW_CHANNELS, *_RANKS, *_GROUPS, *_DEPTHWISE, *_BF16, *_CONSTANT)
