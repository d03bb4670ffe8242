"""Cases of slice."""
from __future__ import annotations

from typing import Any

import numpy as np

from clinfer.ops.operation import Case

_END = 2**31 - 1


def _i64(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


def _slice(shape: tuple[int, ...], start: tuple[int, ...], stop: tuple[int, ...], step: tuple[int, ...],
           axes: tuple[int, ...] | None = None, kind: str = "f32",
           sequence: tuple[tuple[tuple[int, ...], ...], ...] = ()) -> Case:
    inputs = ((shape, kind), _i64(*start), _i64(*stop), _i64(*step))
    name = f"Slice-{shape}{kind}{start}{stop}{step}{axes}".replace(" ", "")
    return Case("Slice", "opset8", inputs if axes is None else (*inputs, _i64(*axes)), sequence=sequence, id=name)


def _strided(shape: tuple[int, ...], begin: tuple[int, ...], end: tuple[int, ...],
             strides: tuple[int, ...] | None = None, kind: str = "f32",
             sequence: tuple[tuple[tuple[int, ...], ...], ...] = (), **masks: tuple[int, ...]) -> Case:
    attributes: dict[str, Any] = {name: list(masks.get(name, (0,) * len(begin))) for name in (
        "begin_mask", "end_mask", "new_axis_mask", "shrink_axis_mask", "ellipsis_mask")}
    inputs = ((shape, kind), _i64(*begin), _i64(*end))
    shown = "-".join(f"{k}{v}" for k, v in masks.items())
    name = f"StridedSlice-{shape}{kind}{begin}{end}{strides}{shown}".replace(" ", "")
    return Case("StridedSlice", "opset1", inputs if strides is None else (*inputs, _i64(*strides)), attributes,
                sequence=sequence, id=name)


CASES = (
    _slice((2, 3, 20, 17), (1, 2), (_END, 9), (1, 3), (1, 3), sequence=(((2, 3, 4, 17),), ((2, 5, 1, 17),))),
    _slice((1, 40, 5, 6), (16,), (32,), (1,), (1,), sequence=(((1, 40, 2, 3),), ((3, 40, 9, 1),))),
    _slice((1, 40, 5, 6), (5,), (-2,), (1,), (1,), "f16"),
    _slice((1, 40, 5, 6), (2,), (33,), (2,), (1,)),
    _slice((1, 20, 8, 9), (1, 0), (-1, 5), (1, 1), (2, 3), "f16"),
    _slice((2, 32, 3, 8, 9), (16, 1), (_END, 5), (1, 2), (1, 4)),
    _slice((2, 40, 9), (20,), (37,), (1,), (1,), sequence=(((1, 40, 3),), ((3, 40, 40),))),
    _slice((2, 40, 9), (-1,), (-_END,), (-1,), (1,), sequence=(((1, 40, 3),), ((3, 40, 40),))),
    _slice((3, 40), (20,), (37,), (1,), (1,), sequence=(((1, 40),), ((5, 40),))),
    _slice((50,), (-1,), (-_END,), (-1,), kind="i64", sequence=(((7,),), ((1,),), ((64,),))),
    _slice((4, 30), (3, 25), (0, 2), (-1, -4), kind="i8"),
    _slice((4, 40), (1,), (_END,), (2,), (1,), sequence=(((3, 9),), ((2, 600),))),
    _slice((6, 32), (2,), (100,), (1,), (0,), "boolean"),
    _slice((2, 7), (-9, -100), (-100, -_END), (-1, -2), (0, 1), sequence=(((1, 3),), ((5, 1),))),
    _slice((6, 32), (4,), (2,), (1,), (0,), "i32"),
    _slice((3, 4, 5, 2, 3, 2), (1, 0, 1), (3, 2, 2), (1, 1, 1), (1, 4, 5), "u8"),
    _strided((2, 3, 20, 17), (0, 1, 2), (2, 3, -1), (1, 1, 2), sequence=(((2, 3, 9, 4),), ((2, 4, 5, 6),))),
    _strided((2, 40, 9), (0, 7), (0, 39), (1, 1), begin_mask=(1, 0), end_mask=(1, 0),
             sequence=(((1, 40, 3),), ((3, 40, 40),))),
    _strided((2, 30, 20), (1, 9, 9), (2, 10, 12), begin_mask=(0, 0, 1), end_mask=(0, 1, 0)),
    _strided((2, 30, 20), (1, 0, 3), (2, 0, 12), (1, 1, 1), shrink_axis_mask=(1, 0, 0), end_mask=(0, 1, 0)),
    _strided((4, 30, 20), (-1, 0), (0, 0), (1, 1), shrink_axis_mask=(1, 0), end_mask=(0, 1), kind="f16",
             sequence=(((3, 30, 20),), ((1, 2, 20),))),
    _strided((4, 30, 20), (0, 0, 5), (0, 0, 16), (1, 1, 1), new_axis_mask=(1, 0, 0), ellipsis_mask=(0, 1, 0)),
    _strided((4, 3, 20), (0, 2), (0, 3), (1, 1), ellipsis_mask=(1, 0), shrink_axis_mask=(0, 1)),
    _strided((2, 16, 5, 6), (0, 0, 0), (0, 0, 0), (1, 1, 1), new_axis_mask=(0, 1, 0), begin_mask=(1, 1, 1),
             end_mask=(1, 1, 1)),
    _strided((9,), (7,), (1,), (-2,), "i32"),
    _strided((9,), (7,), (1,), (-2,), "i64", begin_mask=(1,), end_mask=(1,)),
    _strided((9,), (-12,), (-100,), (-2,), sequence=(((1,),), ((14,),))),
    _strided((9,), (3,), (4,), (1,), shrink_axis_mask=(1,)),
    Case("Slice", "opset8", (((6, 20), "f32"), ((1,), "i64"), _i64(9), _i64(1), _i64(1)), low=0, high=4,
         sequence=(((6, 10), (1,)), ((1, 33), (1,))), id="Slice-start-from-input"),
    Case("StridedSlice", "opset1", (((6, 20), "f32"), ((2,), "i64"), _i64(5, 19)),
         {"begin_mask": [0, 0], "end_mask": [0, 0], "new_axis_mask": [], "shrink_axis_mask": [], "ellipsis_mask": []},
         low=0, high=3, id="StridedSlice-begin-from-input"),
)
