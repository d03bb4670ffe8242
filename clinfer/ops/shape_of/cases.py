"""Cases of shape_of."""
from clinfer.ops.operation import Case

CASES = (
    Case("ShapeOf", "opset3", (((2, 3, 5), "f32"),), {"output_type": "i64"}, sequence=(((4, 3, 1),), ((1, 3, 9),))),
    Case("ShapeOf", "opset3", (((7,), "i32"),), {"output_type": "i32"}),
    Case("ShapeOf", "opset1", (((0, 4), "f32"),)),
)
