"""One row per operation: how OpenVINO makes it, and random inputs that it accepts."""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Rng = np.random.Generator
# A tensor of unknown values is (type, shape), a known value an array.
Tensor = tuple[str, tuple[int, ...]]
Inputs = list["Tensor | np.ndarray"]


@dataclass(frozen=True)
class Operation:
    """An operation with `attributes`, made by the node factory of `opset`; `inputs` draws its inputs."""

    type_name: str
    inputs: Callable[[Rng], Inputs]
    attributes: dict[str, Any] = field(default_factory=dict)
    opset: str = "opset15"
    label: str = ""

    def __str__(self) -> str:
        return f"{self.type_name}-{self.opset}{self.label and '-' + self.label}"


def words(text: str) -> list[str]:
    return text.split()


def dims(rng: Rng, count: int, low: int = 1, high: int = 9) -> tuple[int, ...]:
    return tuple(int(d) for d in rng.integers(low, high, count))


def ints(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


def one(kind: str = "f32") -> Callable[[Rng], Inputs]:
    return lambda rng: [(kind, dims(rng, 4))]


def broadcast_pair(kind: str) -> Callable[[Rng], Inputs]:
    def draw(rng: Rng) -> Inputs:
        shape = dims(rng, 4)
        return [(kind, tuple(d if rng.random() < 0.7 else 1 for d in shape)), (kind, shape[1:])]
    return draw


UNARY = words("Relu Sigmoid HSwish HSigmoid Gelu Exp Log Sqrt Abs Negative Floor Ceiling Round Sign Tanh Sin Cos Tan "
              "Asin Acos Atan Sinh Cosh Asinh Acosh Atanh Erf Mish SoftPlus SoftSign IsNaN IsInf IsFinite")
ARITHMETIC = words("Add Subtract Multiply Divide Power Maximum Minimum Mod FloorMod SquaredDifference")
COMPARISONS = words("Equal NotEqual Less LessEqual Greater GreaterEqual")
LOGICAL = words("LogicalAnd LogicalOr LogicalXor")
REDUCTIONS = words("ReduceMean ReduceSum ReduceMax ReduceMin ReduceProd ReduceL1 ReduceL2")
SCALAR = ("f32", ())


def image(rng: Rng, channels: int = 4) -> Tensor:
    return ("f32", (int(rng.integers(1, 4)), channels, *dims(rng, 2, 9, 40)))


def window(auto_pad: str, **more: Any) -> dict[str, Any]:
    return {"strides": [2, 1], "pads_begin": [1, 0], "pads_end": [0, 1], "auto_pad": auto_pad, **more}


def window_rows(auto_pad: str) -> list[Operation]:
    dilated = window(auto_pad, dilations=[1, 2])
    pooled = window(auto_pad, kernel=[3, 2], rounding_type="ceil")
    with_indices = {**pooled, "dilations": [1, 2], "index_element_type": "i32", "axis": 1}
    return [
        Operation("Convolution", lambda r: [image(r), ("f32", (6, 4, 3, 2))], dilated, "opset1", auto_pad),
        Operation("GroupConvolution", lambda r: [image(r), ("f32", (2, 3, 2, 3, 3))], dilated, "opset1", auto_pad),
        Operation("MaxPool", lambda r: [image(r)], pooled, "opset1", auto_pad),
        Operation("MaxPool", lambda r: [image(r)], with_indices, "opset8", auto_pad),
        Operation("MaxPool", lambda r: [image(r)], {**with_indices, "rounding_type": "ceil_torch"}, "opset14",
                  auto_pad),
        Operation("AvgPool", lambda r: [image(r)], {**pooled, "exclude-pad": True}, "opset1", auto_pad),
        Operation("AvgPool", lambda r: [image(r)], {**pooled, "exclude-pad": False}, "opset14", auto_pad),
    ]


def reshape_inputs(rng: Rng) -> Inputs:
    a, b, c = dims(rng, 3, 2, 6)
    pattern = [ints(0, -1), ints(b, a * c), ints(-1, c), ints(0, b, c)][int(rng.integers(4))]
    return [("f32", (a, b, c)), pattern]


def slice_inputs(rng: Rng) -> Inputs:
    start, stop = ints(*rng.integers(-3, 2, 2)), ints(*rng.integers(2, 9, 2))
    return [("f32", dims(rng, 3)), start, stop, ints(*rng.integers(1, 3, 2)), ints(2, 0)]


def strided_slice_inputs(rng: Rng) -> Inputs:
    return [("f32", dims(rng, 4, 3)), ints(0, int(rng.integers(0, 3)), 0), ints(0, -1, 3), ints(1, 1, 2)]


def variadic_split_inputs(rng: Rng) -> Inputs:
    lengths = dims(rng, 3)
    return [("f32", (2, sum(lengths), 5)), np.array(1), ints(*lengths[:2], -1)]


def split_inputs(rng: Rng) -> Inputs:
    axis = int(rng.integers(-1, 2))
    shape = list(dims(rng, 3))
    shape[axis] *= 3
    return [("f32", tuple(shape)), np.array(axis)]


def concat_inputs(rng: Rng) -> Inputs:
    n, h = dims(rng, 2)
    return [("f32", (n, int(rng.integers(1, 9)), h)) for _ in range(3)]


def matmul_inputs(rng: Rng) -> Inputs:
    m, k, n, b = dims(rng, 4)
    return [("f32", (b, 1, k, m)), ("f32", (3, n, k))]


def attention_inputs(rng: Rng) -> Inputs:
    b, h, q, k, e = dims(rng, 5)
    return [("f32", (b, h, q, e)), ("f32", (b, h, k, e)), ("f32", (b, h, k, e + 1)), ("f32", (q, k)), SCALAR]


def gather_inputs(rng: Rng) -> Inputs:
    return [("f32", dims(rng, 3)), ("i64", dims(rng, 2)), np.array(int(rng.integers(-3, 3)))]


def batched_gather_inputs(rng: Rng) -> Inputs:
    b = int(rng.integers(1, 5))
    return [("f32", (b, *dims(rng, 2))), ("i32", (b, *dims(rng, 1))), np.array(2)]


def interpolate_attributes(mode: str) -> dict[str, Any]:
    return {"mode": "linear_onnx", "shape_calculation_mode": mode, "coordinate_transformation_mode": "half_pixel",
            "nearest_mode": "round_prefer_floor", "antialias": False, "pads_begin": [0, 0, 0, 0],
            "pads_end": [0, 0, 1, 0], "cube_coeff": -0.75}


def interpolate_scales(rng: Rng, opset: str) -> Inputs:
    scales, axes = rng.uniform(0.5, 3, 2).astype(np.float32), ints(2, 3)
    sizes = [np.array([7, 9])] if opset == "opset4" else []
    return [image(rng), *sizes, scales, axes]


def select_inputs(rng: Rng) -> Inputs:
    shape = dims(rng, 3)
    return [("boolean", shape), ("f32", shape[1:]), ("f32", (shape[0], 1, shape[2]))]


def range_inputs(rng: Rng) -> Inputs:
    start = int(rng.integers(-5, 5))
    return [np.array(start), np.array(start + int(rng.integers(0, 20))), np.array(int(rng.integers(1, 4)))]


def axes(rng: Rng) -> np.ndarray:
    return ints(*sorted(int(a) for a in rng.choice(4, int(rng.integers(1, 4)), replace=False)))


def pads(rng: Rng) -> np.ndarray:
    return ints(*rng.integers(0, 3, 4))


def permutation(rng: Rng) -> np.ndarray:
    return ints(*(int(a) for a in rng.permutation(4)))


NUMPY = {"auto_broadcast": "numpy"}
OPERATIONS = [
    *(Operation(name, one()) for name in UNARY),
    Operation("LogicalNot", one("boolean")),
    Operation("Swish", lambda r: [("f32", dims(r, 4)), SCALAR]),
    Operation("Clamp", one(), {"min": -1.5, "max": 2.5}),
    Operation("Elu", one(), {"alpha": 0.3}),
    Operation("HardSigmoid", lambda r: [("f32", dims(r, 4)), SCALAR, SCALAR]),
    Operation("Selu", lambda r: [("f32", dims(r, 4)), ("f32", (1,)), ("f32", (1,))]),
    Operation("PRelu", lambda r: [image(r), ("f32", (4,))]),
    *(Operation(name, broadcast_pair("f32"), NUMPY) for name in ARITHMETIC + COMPARISONS),
    *(Operation(name, broadcast_pair("boolean"), NUMPY) for name in LOGICAL),
    *(Operation(name, lambda r: [("f32", dims(r, 4)), axes(r)], {"keep_dims": keep}, label=f"keep={keep}")
      for name in REDUCTIONS for keep in (True, False)),
    Operation("ReduceLogicalAnd", lambda r: [("boolean", dims(r, 4)), axes(r)], {"keep_dims": False}),
    Operation("ReduceLogicalOr", lambda r: [("boolean", dims(r, 4)), axes(r)], {"keep_dims": True}),
    *(row for auto_pad in ("explicit", "same_upper", "same_lower", "valid") for row in window_rows(auto_pad)),
    Operation("Reshape", reshape_inputs, {"special_zero": True}),
    Operation("Transpose", lambda r: [("f32", dims(r, 4)), permutation(r)]),
    Operation("MVN", lambda r: [("f32", dims(r, 4)), ints(2, 3)],
              {"eps": 1e-5, "normalize_variance": True, "eps_mode": "INSIDE_SQRT"}),
    Operation("MatMul", matmul_inputs, {"transpose_a": True, "transpose_b": True}),
    Operation("Slice", slice_inputs),
    Operation("StridedSlice", strided_slice_inputs,
              {"begin_mask": [1, 0, 1], "end_mask": [1, 0, 0], "new_axis_mask": [0, 0, 0],
               "shrink_axis_mask": [0, 0, 0], "ellipsis_mask": [0, 0, 0]}),
    Operation("StridedSlice", strided_slice_inputs,
              {"begin_mask": [1, 0, 1], "end_mask": [1, 0, 0], "new_axis_mask": [1, 0, 0],
               "shrink_axis_mask": [0, 1, 0], "ellipsis_mask": [0, 0, 0]}, label="masks"),
    Operation("Squeeze", lambda r: [("f32", (dims(r, 1)[0], 1, 1)), ints(*r.choice([1, 2, -1], 1))]),
    Operation("Unsqueeze", lambda r: [("f32", dims(r, 3)), ints(0, *r.integers(1, 5, 1))]),
    *(Operation("ScaledDotProductAttention", attention_inputs, {"causal": causal}, label=f"causal={causal}")
      for causal in (True, False)),
    Operation("Concat", concat_inputs, {"axis": -2}),
    Operation("Softmax", one(), {"axis": -1}),
    Operation("LogSoftmax", one(), {"axis": 2}),
    Operation("Split", split_inputs, {"num_splits": 3}),
    Operation("VariadicSplit", variadic_split_inputs),
    Operation("Gather", gather_inputs, {"batch_dims": 0}),
    Operation("Gather", batched_gather_inputs, {"batch_dims": 1}, "opset8", "batched"),
    Operation("Gather", gather_inputs, {}, "opset1"),
    Operation("Broadcast", lambda r: [("f32", (dims(r, 1)[0], 1)), ints(3, *(dims(r, 1) * 0), 1, 7)],
              {"mode": "bidirectional"}),
    Operation("Tile", lambda r: [("f32", dims(r, 3)), ints(*dims(r, 3))]),
    Operation("ShapeOf", one(), {"output_type": "i32"}),
    Operation("Convert", one(), {"destination_type": "boolean"}),
    Operation("Convert", one("i4"), {"destination_type": "f16"}, label="i4"),
    Operation("Select", select_inputs, NUMPY),
    Operation("Range", range_inputs, {"output_type": "f32"}),
    *(Operation("Pad", lambda r: [("f32", dims(r, 4, 4)), pads(r), pads(r), np.float32(1)],
                {"pad_mode": "constant"}, opset) for opset in ("opset1", "opset12")),
    Operation("Pad", lambda r: [("f32", dims(r, 4, 4)), pads(r), pads(r)], {"pad_mode": "reflect"}, "opset12"),
    Operation("Interpolate", lambda r: interpolate_scales(r, "opset4"), interpolate_attributes("scales"), "opset4"),
    Operation("Interpolate", lambda r: interpolate_scales(r, "opset11"), interpolate_attributes("scales"), "opset11"),
    Operation("Interpolate", lambda r: [image(r), ints(*dims(r, 2)), ints(2, 3)], interpolate_attributes("sizes"),
              "opset11", "sizes"),
]
