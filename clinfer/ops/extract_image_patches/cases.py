"""Cases of extract_image_patches."""
from __future__ import annotations

from clinfer.ops.operation import Case

_Pair = tuple[int, int]


def _row(shape: tuple[int, ...], sizes: _Pair, strides: _Pair, rates: _Pair, pad: str, kind: str = "f32",
         sequence: tuple[tuple[tuple[int, ...], ...], ...] = ()) -> Case:
    return Case("ExtractImagePatches", "opset3", ((shape, kind),),
                {"sizes": list(sizes), "strides": list(strides), "rates": list(rates), "auto_pad": pad},
                sequence=sequence)


CASES = (
    _row((1, 2, 9, 9), (3, 3), (2, 2), (1, 1), "valid", sequence=(((2, 2, 7, 8),), ((1, 2, 5, 5),), ((1, 2, 3, 20),))),
    _row((2, 3, 10, 7), (3, 2), (2, 3), (1, 2), "same_upper", sequence=(((1, 3, 4, 4),), ((2, 3, 1, 9),))),
    _row((2, 3, 10, 7), (2, 4), (3, 1), (2, 1), "same_lower", "f16"),
    _row((1, 2, 6, 6), (2, 2), (4, 4), (1, 1), "same_lower", "i32"),
)
