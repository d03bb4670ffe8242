"""Cases of reshape."""
import numpy as np

from clinfer.ops.operation import Case


def _i64(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


CASES = (
    Case("Reshape", "opset1", (((2, 3, 4), "f32"), _i64(6, 4)), {"special_zero": False}),
    Case("Reshape", "opset1", (((2, 3, 4), "f32"), _i64(0, -1)), {"special_zero": True},
         sequence=(((5, 3, 4),), ((1, 1, 4),))),
    Case("Reshape", "opset1", (((4, 18, 2, 3), "f32"), _i64(2, -1, 9)), {"special_zero": False}),
    Case("Reshape", "opset1", (((1,), "i32"), np.zeros(0, np.int64)), {"special_zero": False}, id="Reshape-to-scalar"),
    Case("Squeeze", "opset1", (((1, 3, 1, 2), "f16"), _i64(0, -2)), sequence=(((1, 5, 1, 7),),)),
    Case("Squeeze", "opset1", (((1, 3, 1, 2), "i64"),), id="Squeeze-all"),
    Case("Unsqueeze", "opset1", (((3, 2), "u8"), _i64(0, -1)), sequence=(((4, 5),),)),
    Case("Squeeze", "opset15", (((1, 3, 1, 2), "f32"), _i64(0, 1)), {"allow_axis_skip": True}),
    Case("Squeeze", "opset15", (((1, 3, 1, 2), "f32"), _i64(-4)), {"allow_axis_skip": False},
         sequence=(((1, 5, 1, 7),),)),
    Case("Identity", "opset16", (((2, 3, 4), "f16"),), sequence=(((1, 3, 9),),)),
    Case("Reshape", "opset1", (((), "f32"), _i64(1, 1)), {"special_zero": False}),
    Case("Reshape", "opset1", (((2, 16, 3, 5), "f32"), _i64(0, 0, -1)), {"special_zero": True},
         sequence=(((1, 16, 7, 5),), ((3, 16, 1, 5),))),
    Case("Reshape", "opset1", (((2, 0, 4), "f32"), _i64(4, 0)), {"special_zero": False}, id="Reshape-empty"),
)
