"""Cases of col2im."""
import numpy as np

from clinfer.ops.operation import Case

PLAIN = {"strides": [1, 1], "dilations": [1, 1], "pads_begin": [0, 0], "pads_end": [0, 0]}

CASES = (
    Case("Col2Im", "opset15", (((2, 12, 9), "f32"), np.array([4, 4]), np.array([2, 2])), PLAIN,
         sequence=(((5, 12, 9),), ((1, 4, 9),), ((0, 12, 9),))),
    Case("Col2Im", "opset15", (((8, 6), "f32"), np.array([5, 6]), np.array([2, 2])),
         {"strides": [2, 2], "dilations": [1, 2], "pads_begin": [0, 1], "pads_end": [0, 0]},
         sequence=(((4, 6),),)),
    Case("Col2Im", "opset15", (((1, 12, 12), "i32"), np.array([3, 4]), np.array([3, 2])),
         {"strides": [1, 2], "dilations": [2, 1], "pads_begin": [2, 1], "pads_end": [3, 2]}),
    Case("Col2Im", "opset15", (((2, 6, 12), "f16"), np.array([4, 6], np.int32), np.array([2, 3], np.int32)), PLAIN),
)
