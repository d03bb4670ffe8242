"""Cases of reorg_yolo."""
from clinfer.ops.operation import Case

CASES = (
    Case("ReorgYolo", "opset2", (((1, 4, 6, 8), "f32"),), {"stride": [2]},
         sequence=(((2, 4, 4, 4),), ((1, 8, 2, 6),), ((0, 4, 4, 4),))),
    Case("ReorgYolo", "opset2", (((2, 18, 3, 9), "f16"),), {"stride": [3]}),
    Case("ReorgYolo", "opset2", (((1, 5, 3, 2), "f32"),), {"stride": [1]}),
)
