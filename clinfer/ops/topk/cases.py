"""Cases of topk. Wide ranges of integers have equal elements still: those rows ask for a stable order."""
from __future__ import annotations

import numpy as np

from clinfer.ops.operation import Case

_Sequence = tuple[tuple[tuple[int, ...], ...], ...]


def _row(shape: tuple[int, ...], k: int, axis: int, mode: str = "max", sort: str = "value", kind: str = "f32",
         index_type: str = "i32", opset: str = "opset11", sequence: _Sequence = ()) -> Case:
    attributes = {"axis": axis, "mode": mode, "sort": sort, "index_element_type": index_type}
    if opset == "opset11":
        attributes["stable"] = sort != "none"
    return Case("TopK", opset, ((shape, kind), np.array(k, np.int64)), attributes, sequence=sequence, ordered=True,
                low=-100, high=100,
                id=f"TopK-{opset}-{shape}{kind}-{k}-{axis}-{mode}-{sort}".replace(" ", ""))


CASES = (
    _row((3, 4, 5), 2, 1, sequence=(((1, 9, 2),), ((7, 2, 5),), ((3, 2, 0),), ((2, 300, 3),))),
    _row((2, 1000), 7, -1, "min", sequence=(((5, 65),), ((1, 4000),), ((2, 9),))),
    _row((2, 18, 5, 3), 4, 1, "max", "index", "f16", "i64"),
    _row((2, 3, 4, 6), 1, 0, "min", "index", "i64"),
    _row((90,), 90, 0, "max", "value", "i32", "i64", sequence=(((120,),), ((400,),))),
    _row((2, 3, 2, 200, 2), 60, 3, "min", kind="i8"),
    _row((4, 70), 70, 1, "max", kind="u8"),
    _row((40, 7), 20, 0, opset="opset3"),
    _row((40, 7), 3, 1, "min", opset="opset1"),
    _row((3, 600), 1, 1, index_type="i64"),
    _row((1, 20, 16, 9), 5, 2, "max"),
)
