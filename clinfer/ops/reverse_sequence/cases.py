"""Cases of reverse_sequence."""
from __future__ import annotations

import numpy as np

from clinfer.ops.operation import Case

CASES = (
    Case("ReverseSequence", "opset1", (((3, 5, 4), "f32"), np.array([2, 5, 1])), {"batch_axis": 0, "seq_axis": 1},
         sequence=(((3, 7, 1),), ((3, 5, 0),), ((3, 40, 9),))),
    Case("ReverseSequence", "opset1", (((4, 5, 2, 3), "f32"), np.array([2, 1, 4, 3, 4], np.int32)),
         {"batch_axis": 1, "seq_axis": 0}),
    Case("ReverseSequence", "opset1", (((4, 18, 5, 3), "f32"), np.array([2, 0, 5], np.int64)),
         {"batch_axis": -1, "seq_axis": 2}),
    Case("ReverseSequence", "opset1", (((2, 6), "i8"), ((2,), "i32")), {"batch_axis": 0, "seq_axis": 1}, low=1, high=6,
         sequence=(((5, 9), (5,)), ((1, 6), (1,)))),
)
