"""Cases of softmax."""
from clinfer.ops.operation import Case

CASES = (
    Case("Softmax", "opset8", (((2, 3, 5, 7), "f32"),), {"axis": 1}, sequence=(((3, 3, 2, 1),), ((1, 3, 9, 4),))),
    Case("Softmax", "opset8", (((2, 3, 4, 8), "f32"),), {"axis": 1}, sequence=(((3, 20, 4, 4),), ((1, 3, 9, 4),))),
    Case("Softmax", "opset8", (((4, 33), "f32"),), {"axis": -1}, sequence=(((4, 1),), ((2, 16),), ((1, 300),))),
    Case("Softmax", "opset8", (((2, 17, 3), "f16"),), {"axis": 1}),
    Case("Softmax", "opset8", (((2, 3, 100), "f16"),), {"axis": 2}),
    Case("Softmax", "opset8", (((2, 40, 5, 6), "f32"),), {"axis": 3}),
    Case("Softmax", "opset8", (((3, 32, 5, 6), "f16"),), {"axis": 1}),
    Case("Softmax", "opset8", (((3, 32, 2, 3, 4), "f32"),), {"axis": 2}),
    Case("Softmax", "opset8", (((40,), "f32"),), {"axis": 0}, low=-80, high=80),
    Case("Softmax", "opset8", (((3, 2, 2, 2, 3, 4), "f32"),), {"axis": 3}),
    Case("LogSoftmax", "opset5", (((3, 70), "f32"),), {"axis": 1}, low=-50, high=50),
    Case("LogSoftmax", "opset5", (((2, 5, 32), "f16"),), {"axis": 1}),
    Case("LogSoftmax", "opset5", (((2, 5, 3), "f32"),), {"axis": -2}),
    Case("Softmax", "opset8", (((3, 40), "f64"),), {"axis": 1}),
    Case("Softmax", "opset8", (((3, 5, 32), "f64"),), {"axis": 1}),
    Case("Softmax", "opset8", (((3, 40), "bf16"),), {"axis": 1}),
)
