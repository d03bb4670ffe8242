"""Cases of eltwise."""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from clinfer.ops.eltwise.modes import ACTIVATIONS, ARITHMETIC, COMPARISON
from clinfer.ops.operation import Case

Shape = tuple[int, ...]
_NUMPY = {"auto_broadcast": "numpy"}
_LOGICAL = ("LogicalAnd", "LogicalOr", "LogicalXor")
_SPECIAL = ("LogicalNot", "IsNaN", "IsFinite", "IsInf", "PRelu", "Power", "Divide", "Mod", "FloorMod")
_PLAIN = tuple(mode for mode in (*ARITHMETIC, *COMPARISON) if mode not in (*_LOGICAL, *_SPECIAL))
_PARAMETERS: Mapping[str, Mapping[str, Any]] = {
    "Clamp": {"min": -0.5, "max": 1.25}, "Elu": {"alpha": 0.7}, "Gelu": {"approximation_mode": "erf"},
    "Round": {"mode": "half_to_even"}}
_SCALARS = {"HardSigmoid": (0.2, 0.5), "Swish": (1.5,), "Selu": (1.67, 1.05)}
_DOMAIN = {"Log": (0.1, 4), "Sqrt": (0, 4), "Acosh": (1.1, 4), "Asin": (-0.9, 0.9), "Acos": (-0.9, 0.9),
           "Atanh": (-0.9, 0.9), "ErfInv": (-1, 1), "Tan": (-1, 1)}
_OPSETS = {"HSwish": "opset4", "HSigmoid": "opset5", "Swish": "opset4", "Gelu": "opset7", "SoftPlus": "opset4",
           "Mish": "opset4", "SoftSign": "opset9", "Round": "opset5", "Asinh": "opset4", "Acosh": "opset4",
           "Atanh": "opset4", "ErfInv": "opset17", "LogicalXor": "opset2"}


def _activation(mode: str) -> Case:
    low, high = _DOMAIN.get(mode, (-3, 3))
    scalars = tuple(np.array(value, np.float32) for value in _SCALARS.get(mode, ()))
    return Case(mode, _OPSETS.get(mode, "opset1"), (((2, 17, 3, 5), "f32"), *scalars), _PARAMETERS.get(mode, {}),
                low=low, high=high, id=mode)


def _binary(mode: str, shapes: tuple[Shape, Shape], kind: str = "f32", *, opset: str = "", low: float = -2,
            high: float = 2, sequence: tuple[tuple[Shape, Shape], ...] = (), **attributes: Any) -> Case:
    return Case(mode, opset or _OPSETS.get(mode, "opset1"), tuple((shape, kind) for shape in shapes),
                {**_NUMPY, **attributes}, sequence=sequence, low=low, high=high)


def _same(mode: str, shape: Shape, kind: str, **more: Any) -> Case:
    return _binary(mode, (shape, shape), kind, **more)


_MODES = (
    *(_binary(mode, ((2, 3, 4, 5), (3, 1, 5))) for mode in _PLAIN),
    *(_binary(mode, ((2, 3, 40), (3, 40)), "i32", low=-9, high=9) for mode in _PLAIN),
    *(_binary(mode, ((2, 3, 5), (5,)), "boolean") for mode in _LOGICAL),
    *(_activation(mode) for mode in ACTIVATIONS),
    Case("LogicalNot", "opset1", (((3, 33), "boolean"),)),
    *(Case("LogicalNot", "opset1", (((3, 33), kind),), sequence=(((2, 7),), ((0, 3),)), step=1.0)
      for kind in ("f32", "i64", "u8")),
    Case("BitwiseNot", "opset13", (((3, 33), "boolean"),)),
    Case("BitwiseNot", "opset13", (((3, 33), "i32"),), low=-99, high=99),
    *(_same(mode, (3, 33), kind, opset="opset13", low=low, high=99)
      for mode in ("BitwiseAnd", "BitwiseOr", "BitwiseXor") for kind, low in (("i32", -99), ("u8", 0))),
    *(_same(mode, (3, 33), "i32", opset="opset15", low=0, high=9)
      for mode in ("BitwiseLeftShift", "BitwiseRightShift")),
    _binary("Power", ((2, 3, 5), (5,)), low=0.1),
    Case("Power", "opset1", (((3, 70), "f32"), np.array(2, np.float32)), _NUMPY, id="Power-square"),
    Case("Power", "opset1", (((3, 40), "i32"), np.array(3, np.int32)), _NUMPY, low=-5, high=5),
    _same("Divide", (2, 30), "f32", low=0.5, m_pythondiv=True),
    _same("Divide", (2, 30), "i32", low=1, high=40, m_pythondiv=True),
    _same("Divide", (2, 30), "u8", low=1, high=40, m_pythondiv=False),
    Case("Divide", "opset1", (((50,), "i32"), np.array([-3], np.int32)), {**_NUMPY, "m_pythondiv": False}, low=-20,
         high=20),
    Case("FloorMod", "opset1", (((50,), "f32"), np.array([1.5], np.float32)), _NUMPY, low=-9, high=9),
    Case("FloorMod", "opset1", (((50,), "i32"), np.array([-4], np.int32)), _NUMPY, low=-20, high=20),
    Case("Mod", "opset1", (((50,), "f32"), np.array([1.5], np.float32)), _NUMPY, low=-9, high=9),
    Case("Mod", "opset1", (((50,), "i32"), np.array([4], np.int32)), _NUMPY, low=-20, high=20),
    Case("Gelu", "opset7", (((3, 40), "f32"),), {"approximation_mode": "tanh"}),
    Case("Gelu", "opset7", (((3, 40), "f32"),), {"approximation_mode": "erf"}, low=-9, high=9, id="Gelu-wide"),
    Case("SoftPlus", "opset4", (((3, 40), "f32"),), low=-90, high=90, id="SoftPlus-wide"),
    Case("Mish", "opset4", (((3, 40), "f32"),), low=-90, high=90, id="Mish-wide"),
    Case("Sigmoid", "opset1", (((3, 40), "f32"),), low=-90, high=90, id="Sigmoid-wide"),
    Case("Round", "opset5", (((3, 40), "f32"),), {"mode": "half_away_from_zero"}),
    Case("Clamp", "opset1", (((3, 40), "i32"),), {"min": -1.5, "max": 1.5}, low=-5, high=5),
    Case("Clamp", "opset1", (((3, 40), "u8"),), {"min": 1.0, "max": 3.9}, low=0, high=9),
    Case("PRelu", "opset1", (((2, 19, 4, 4), "f32"), ((1, 19, 1, 1), "f32"))),
    Case("PRelu", "opset1", (((2, 19, 4, 19), "f32"), ((19,), "f32")), sequence=(((1, 19, 3, 19), (19,)),)),
    Case("PRelu", "opset1", (((2, 3, 4), "f32"), ((4,), "f32"))),
    Case("PRelu", "opset1", (((), "f32"), ((1,), "f32"))),
)

_TYPES = (
    *(_binary("Add", ((2, 5), (5,)), kind) for kind in ("f16", "bf16", "f64", "i64", "i16", "i8", "u8")),
    *(_same("Less", (40,), kind) for kind in ("f16", "i64", "u8")),
    _same("Equal", (40,), "i64"),
    _same("Multiply", (2, 5), "i64", low=-99, high=99),
    _same("Subtract", (40,), "i8", low=-50, high=50),
    *(Case("Relu", "opset1", (((3, 40), kind),), low=-9, high=9) for kind in ("f16", "i32", "i64")),
    *(Case("Abs", "opset1", (((3, 40), kind),), low=-9, high=9) for kind in ("i8", "i32")),
    *(Case("Negative", "opset1", (((3, 40), kind),), low=-9, high=9) for kind in ("i64", "f16")),
    *(Case("Sign", "opset1", (((3, 40), kind),), low=-2, high=2) for kind in ("i32", "f32")),
    *(Case("Exp", "opset1", (((3, 40), kind),)) for kind in ("f16", "bf16", "f64")),
    *(Case("Floor", "opset1", (((3, 40), kind),), low=-9, high=9) for kind in ("i32", "f16")),
    Case("Select", "opset1", (((2, 3, 20), "boolean"), ((20,), "f32"), ((2, 1, 20), "f32")), _NUMPY),
    *(Case("Select", "opset1", (((40,), "boolean"), ((40,), kind), ((1,), kind)), _NUMPY)
      for kind in ("i64", "f16", "u8", "boolean")),
)

_SHAPES = (
    _binary("Add", ((), ())),
    _binary("Add", ((), (3, 4))),
    _binary("Subtract", ((3, 4), (1, 1))),
    _binary("Subtract", ((1,), (70,))),
    _binary("Add", ((2, 20, 5, 7), (1, 20, 1, 1)),
            sequence=(((2, 20, 1, 9), (1, 20, 1, 1)), ((5, 20, 3, 3), (1, 20, 1, 1)))),
    _binary("Multiply", ((2, 32, 6, 6), (2, 32, 1, 1)), sequence=(((1, 32, 3, 9), (1, 32, 1, 1)),)),
    _binary("Multiply", ((2, 32, 6, 7), (2, 1, 6, 7)), sequence=(((1, 32, 3, 9), (1, 1, 3, 9)),)),
    _binary("Multiply", ((1, 1, 6, 7), (2, 19, 1, 1)), sequence=(((3, 1, 1, 17), (3, 19, 1, 1)),)),
    _binary("Subtract", ((2, 1, 6, 7), (2, 1, 1, 7)), sequence=(((1, 1, 3, 1), (1, 1, 1, 1)),)),
    _binary("Add", ((4, 7, 33), (33,)), sequence=(((1, 2, 33), (33,)), ((200, 30, 33), (33,)))),
    _binary("Add", ((4, 7), (4, 7)), sequence=(((1, 7), (5, 7)), ((5, 1), (1, 9)), ((3, 3), (1, 1)), ((0, 3), (1, 3)))),
    _binary("Multiply", ((2, 3, 2, 2, 4, 5), (3, 1, 2, 1, 5))),
    _binary("Multiply", ((2, 1, 2, 2, 1, 2, 3, 2), (2, 2, 3, 1, 3, 1))),
    _binary("Add", ((2, 20, 3, 4, 5), (20, 1, 1, 1))),
    _binary("Add", ((2, 16, 3, 4, 5), (2, 16, 3, 4, 5)), sequence=(((1, 16, 1, 4, 9), (1, 16, 1, 4, 9)),)),
    _binary("Maximum", ((5, 1, 3, 1), (1, 6, 1, 70))),
    _same("Add", (1, 40, 60, 60), "f32"),
    Case("Relu", "opset1", (((1, 64, 14, 14), "f32"),), sequence=(((1, 64, 7, 21),), ((3, 64, 1, 1),))),
    Case("Relu", "opset1", (((2, 17, 70, 70), "f32"),)),
    Case("Tanh", "opset1", (((), "f32"),)),
    Case("Sigmoid", "opset1", (((2, 2, 2, 2, 2, 2, 2, 3), "f32"),)),
    Case("Select", "opset1", (((2, 1, 4, 5), "boolean"), ((2, 19, 4, 5), "f32"), ((), "f32")), _NUMPY,
         sequence=(((1, 1, 9, 5), (1, 19, 9, 5), ()),)),
)

CASES: tuple[Case, ...] = (*_MODES, *_TYPES, *_SHAPES)
