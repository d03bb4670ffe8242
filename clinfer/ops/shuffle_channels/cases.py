"""Cases of shuffle_channels."""
from __future__ import annotations

from clinfer.ops.operation import Case

_Sequence = tuple[tuple[tuple[int, ...], ...], ...]


def _row(shape: tuple[int, ...], axis: int, group: int, kind: str = "f32", sequence: _Sequence = ()) -> Case:
    return Case("ShuffleChannels", "opset3", ((shape, kind),), {"axis": axis, "group": group}, sequence=sequence)


CASES = (
    _row((2, 6, 3, 3), 1, 3, sequence=(((1, 9, 2, 2),), ((4, 3, 1, 5),), ((0, 6, 3, 3),))),
    _row((2, 116, 4, 7), 1, 2, "f16"),
    _row((3, 5, 40), -1, 4, sequence=(((1, 7, 8),),)),
    _row((6,), 0, 2, "i64"),
    _row((4, 3, 2, 5), 0, 4, "u8"),
    _row((1, 2, 3, 1, 6, 2, 1, 2), 4, 3, "i32"),
)
