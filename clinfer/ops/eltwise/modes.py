"""The table of element-wise operations, by OpenVINO's type names.

An expression computes on operands `a`, `b`, `c` of type T (a scalar or a vector of the arithmetic type)
and on parameters P0, P1, which are constants. Comparisons yield 0 or non-zero.
"""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Mode:
    """One operation. An empty expression: the operation is not defined on such types.

    `boolean`: the result is boolean. `parameters`: names of attributes that become P0, P1.
    `parameter_inputs`: how many trailing inputs are scalars that become P0, P1; `defaults` stand in for
    absent ones. `evaluate` computes it with NumPy, where shape arithmetic uses the operation.
    """

    on_float: str = ""
    on_int: str = ""
    boolean: bool = False
    parameters: tuple[str, ...] = ()
    parameter_inputs: int = 0
    defaults: tuple[float, ...] = ()
    evaluate: Callable[..., Any] | None = None


def _floor_divide(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return a // b if np.issubdtype(a.dtype, np.integer) else a / b


_FLOOR_DIVISION = "(a / b - ((a % b != 0 && ((a < 0) != (b < 0))) ? (T)(1) : (T)(0)))"
_SOFTPLUS = "(fmax(a, (T)(0)) + log1p(exp(-fabs(a))))"

ARITHMETIC = {
    "Add": Mode("a + b", "a + b", evaluate=np.add),
    "Subtract": Mode("a - b", "a - b", evaluate=np.subtract),
    "Multiply": Mode("a * b", "a * b", evaluate=np.multiply),
    "Divide": Mode("a / b", f"(P0 ? {_FLOOR_DIVISION} : a / b)", parameters=("m_pythondiv",), defaults=(1,),
                   evaluate=_floor_divide),
    "Maximum": Mode("fmax(a, b)", "max(a, b)", evaluate=np.maximum),
    "Minimum": Mode("fmin(a, b)", "min(a, b)", evaluate=np.minimum),
    "Power": Mode("pow(a, b)", "INTEGER_POWER(a, b)", evaluate=np.power),
    "Mod": Mode("fmod(a, b)", "a % b", evaluate=np.fmod),
    "FloorMod": Mode("(a - floor(a / b) * b)", f"(a - {_FLOOR_DIVISION} * b)", evaluate=np.mod),
    "SquaredDifference": Mode("(a - b) * (a - b)", "(a - b) * (a - b)"),
    "PRelu": Mode("(a < (T)(0) ? a * b : a)", "(a < (T)(0) ? a * b : a)"),
}

COMPARISON = {
    "Equal": Mode("a == b", "a == b", True, evaluate=np.equal),
    "NotEqual": Mode("a != b", "a != b", True, evaluate=np.not_equal),
    "Less": Mode("a < b", "a < b", True, evaluate=np.less),
    "LessEqual": Mode("a <= b", "a <= b", True, evaluate=np.less_equal),
    "Greater": Mode("a > b", "a > b", True, evaluate=np.greater),
    "GreaterEqual": Mode("a >= b", "a >= b", True, evaluate=np.greater_equal),
    "LogicalAnd": Mode(on_int="a && b", boolean=True, evaluate=np.logical_and),
    "LogicalOr": Mode(on_int="a || b", boolean=True, evaluate=np.logical_or),
    "LogicalXor": Mode(on_int="(a != (T)(0)) != (b != (T)(0))", boolean=True, evaluate=np.logical_xor),
    "LogicalNot": Mode(on_int="a == (T)(0)", boolean=True, evaluate=np.logical_not),
    "IsNaN": Mode("isnan(a)", boolean=True),
    "IsFinite": Mode("isfinite(a)", boolean=True),
}

SELECTION = {"Select": Mode("(c != (C)(0) ? a : b)", "(c != (C)(0) ? a : b)", evaluate=np.where)}

BITWISE = {
    "BitwiseAnd": Mode(on_int="a & b"),
    "BitwiseOr": Mode(on_int="a | b"),
    "BitwiseXor": Mode(on_int="a ^ b"),
}

ACTIVATIONS = {
    "Relu": Mode("fmax(a, (T)(0))", "max(a, (T)(0))"),
    "Sigmoid": Mode("(T)(1) / ((T)(1) + exp(-a))"),
    "HSwish": Mode("a * fmin(fmax(a + (T)(3), (T)(0)), (T)(6)) / (T)(6)"),
    "HSigmoid": Mode("fmin(fmax(a + (T)(3), (T)(0)), (T)(6)) / (T)(6)"),
    "HardSigmoid": Mode("fmin(fmax(a * (T)(P0) + (T)(P1), (T)(0)), (T)(1))", parameter_inputs=2),
    "Swish": Mode("a / ((T)(1) + exp(-a * (T)(P0)))", parameter_inputs=1, defaults=(1.0,)),
    "Gelu": Mode("(T)(0.5f) * a * ((T)(1) + ((int)P0 ? tanh((T)(0.7978845608f) * (a + (T)(0.044715f) * a * a * a))"
                 " : erf(a * (T)(0.7071067812f))))", parameters=("approximation_mode",)),
    "Clamp": Mode("fmin(fmax(a, (T)(P0)), (T)(P1))", "min(max(a, (T)(P0)), (T)(P1))", parameters=("min", "max")),
    "Elu": Mode("(a < (T)(0) ? (T)(P0) * expm1(a) : a)", parameters=("alpha",)),
    "Selu": Mode("(T)(P1) * (a < (T)(0) ? (T)(P0) * expm1(a) : a)", parameter_inputs=2),
    "SoftPlus": Mode(_SOFTPLUS),
    "Mish": Mode(f"a * tanh({_SOFTPLUS})"),
    "SoftSign": Mode("a / ((T)(1) + fabs(a))"),
    "Exp": Mode("exp(a)"),
    "Log": Mode("log(a)"),
    "Sqrt": Mode("sqrt(a)", evaluate=np.sqrt),
    "Abs": Mode("fabs(a)", "(a < (T)(0) ? -a : a)", evaluate=np.abs),
    "Negative": Mode("-a", "-a", evaluate=np.negative),
    "Floor": Mode("floor(a)", "a", evaluate=np.floor),
    "Ceiling": Mode("ceil(a)", "a", evaluate=np.ceil),
    "Round": Mode("((int)P0 ? round(a) : rint(a))", "a", parameters=("mode",)),
    "Sign": Mode("sign(a)", "((a > (T)(0) ? (T)(1) : (T)(0)) - (a < (T)(0) ? (T)(1) : (T)(0)))"),
    "Erf": Mode("erf(a)"),
    "Tanh": Mode("tanh(a)"), "Sin": Mode("sin(a)"), "Cos": Mode("cos(a)"), "Tan": Mode("tan(a)"),
    "Asin": Mode("asin(a)"), "Acos": Mode("acos(a)"), "Atan": Mode("atan(a)"),
    "Sinh": Mode("sinh(a)"), "Cosh": Mode("cosh(a)"),
    "Asinh": Mode("asinh(a)"), "Acosh": Mode("acosh(a)"), "Atanh": Mode("atanh(a)"),
}

MODES = {**ARITHMETIC, **COMPARISON, **SELECTION, **BITWISE, **ACTIVATIONS}

FLAGS = {"tanh": 1.0, "erf": 0.0, "half_away_from_zero": 1.0, "half_to_even": 0.0}
