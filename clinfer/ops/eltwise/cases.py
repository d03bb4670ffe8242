"""Test rows of the eltwise room."""
import numpy as np

from clinfer.ops.eltwise.modes import ACTIVATIONS, ARITHMETIC, COMPARISON
from clinfer.ops.room import Case

_NUMPY = {"auto_broadcast": "numpy"}
_ONLY_BOOLEAN = ("LogicalAnd", "LogicalOr", "LogicalXor")
_SPECIAL = ("LogicalNot", "IsNaN", "IsFinite", "PRelu", "Power", "Divide", "Mod", "FloorMod")
_PARAMETERS = {"Clamp": {"min": -0.5, "max": 1.25}, "Elu": {"alpha": 0.7}, "Gelu": {"approximation_mode": "erf"},
               "Round": {"mode": "half_to_even"}}
_SCALARS = {"HardSigmoid": (0.2, 0.5), "Swish": (1.5,), "Selu": (1.67, 1.05)}
_DOMAIN = {"Log": (0.1, 4), "Sqrt": (0, 4), "Acosh": (1.1, 4), "Asin": (-0.9, 0.9), "Acos": (-0.9, 0.9),
           "Atanh": (-0.9, 0.9), "Tan": (-1, 1)}
_OPSETS = {"HSwish": "opset4", "HSigmoid": "opset5", "Swish": "opset4", "Gelu": "opset7", "SoftPlus": "opset4",
           "Mish": "opset4", "SoftSign": "opset9", "Round": "opset5", "Asinh": "opset4", "Acosh": "opset4",
           "Atanh": "opset4"}


def _scalar(value: float) -> np.ndarray:
    return np.array(value, np.float32)


def _activation(mode: str) -> Case:
    low, high = _DOMAIN.get(mode, (-3, 3))
    scalars = tuple(_scalar(v) for v in _SCALARS.get(mode, ()))
    return Case(mode, _OPSETS.get(mode, "opset1"), (((2, 17, 3, 5), "f32"), *scalars), _PARAMETERS.get(mode, {}),
                low=low, high=high, id=mode)


CASES = (
    *(Case(mode, "opset1", (((2, 3, 4, 5), "f32"), ((3, 1, 5), "f32")), _NUMPY, id=mode)
      for mode in (*ARITHMETIC, *COMPARISON) if mode not in (*_ONLY_BOOLEAN, *_SPECIAL)),
    *(Case(mode, "opset1", (((2, 3, 40), "i32"), ((3, 40), "i32")), _NUMPY, low=-9, high=9, id=f"{mode}-i32")
      for mode in (*ARITHMETIC, *COMPARISON) if mode not in (*_ONLY_BOOLEAN, *_SPECIAL)),
    *(Case(mode, "opset1", (((2, 3, 5), "boolean"), ((5,), "boolean")), _NUMPY, id=mode) for mode in _ONLY_BOOLEAN),
    *(_activation(mode) for mode in ACTIVATIONS),
    Case("LogicalNot", "opset1", (((3, 33), "boolean"),)),
    Case("PRelu", "opset1", (((2, 19, 4, 4), "f32"), ((1, 19, 1, 1), "f32"))),
    Case("Power", "opset1", (((2, 3, 5), "f32"), ((5,), "f32")), _NUMPY, low=0.1),
    Case("Power", "opset1", (((3, 40), "i32"), np.array(3, np.int32)), _NUMPY, low=-5, high=5),
    Case("Divide", "opset1", (((2, 30), "f32"), ((2, 30), "f32")), {**_NUMPY, "m_pythondiv": True}, low=0.5),
    Case("Divide", "opset1", (((50,), "i32"), np.array([3], np.int32)), {**_NUMPY, "m_pythondiv": True}, low=0,
         high=20),
    Case("FloorMod", "opset1", (((50,), "f32"), np.array([1.5], np.float32)), _NUMPY, low=-9, high=9),
    Case("Mod", "opset1", (((50,), "i32"), np.array([4], np.int32)), _NUMPY, low=-20, high=20),
    Case("Gelu", "opset7", (((3, 40), "f32"),), {"approximation_mode": "tanh"}),
    Case("Round", "opset5", (((3, 40), "f32"),), {"mode": "half_away_from_zero"}),
    Case("Relu", "opset1", (((1, 64, 14, 14), "f32"),), sequence=(((1, 64, 7, 21),), ((3, 64, 1, 1),))),
    Case("Relu", "opset1", (((3, 40), "f16"),)),
    Case("Abs", "opset1", (((3, 40), "i32"),)),
    Case("Negative", "opset1", (((3, 40), "i64"),)),
    Case("Clamp", "opset1", (((3, 40), "i32"),), {"min": -1.0, "max": 1.0}),
    Case("Add", "opset1", (((2, 5), "f16"), ((5,), "f16")), _NUMPY),
    Case("Add", "opset1", (((2, 5), "bf16"), ((5,), "bf16")), _NUMPY),
    Case("Add", "opset1", (((2, 5), "f64"), ((2, 1), "f64")), _NUMPY),
    Case("Multiply", "opset1", (((2, 5), "i64"), ((5,), "i64")), _NUMPY, low=-99, high=99),
    Case("Add", "opset1", (((40,), "u8"), ((40,), "u8")), _NUMPY, low=50, high=60),
    Case("Add", "opset1", (((), "f32"), ((3, 4), "f32")), _NUMPY),
    Case("Add", "opset1", (((2, 20, 5, 7), "f32"), ((1, 20, 1, 1), "f32")), _NUMPY,
         sequence=(((2, 20, 1, 9), (1, 20, 1, 1)), ((5, 20, 3, 3), (1, 20, 1, 1)))),
    Case("Multiply", "opset1", (((2, 32, 6, 6), "f32"), ((2, 32, 1, 1), "f32")), _NUMPY,
         sequence=(((1, 32, 3, 9), (1, 32, 1, 1)),)),
    Case("Add", "opset1", (((4, 7, 33), "f32"), ((33,), "f32")), _NUMPY, sequence=(((1, 2, 33), (33,)),)),
    Case("Add", "opset1", (((4, 7), "f32"), ((4, 7), "f32")), _NUMPY,
         sequence=(((1, 7), (5, 7)), ((5, 1), (1, 9)), ((3, 3), (1, 1)))),
    Case("Multiply", "opset1", (((2, 3, 2, 2, 4, 5), "f32"), ((3, 1, 2, 1, 5), "f32")), _NUMPY),
    Case("Add", "opset1", (((2, 20, 3, 4, 5), "f32"), ((20, 1, 1, 1), "f32")), _NUMPY),
    Case("Select", "opset1", (((2, 3, 20), "boolean"), ((20,), "f32"), ((2, 1, 20), "f32")), _NUMPY),
    Case("Select", "opset1", (((40,), "boolean"), ((40,), "i64"), ((1,), "i64")), _NUMPY),
    Case("Less", "opset1", (((40,), "f16"), ((40,), "f16")), _NUMPY),
    Case("Equal", "opset1", (((40,), "i64"), ((40,), "i64")), _NUMPY),
)
