"""The table of element-wise operations, by OpenVINO's type names.

An expression computes on operands `a`, `b`, `c` of type T (a scalar or a vector of the arithmetic type)
and on parameters P0, P1, which are constants. Comparisons yield 0 or non-zero.
"""
from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from clinfer.base.element_type import ElementType


@dataclass(frozen=True)
class Mode:
    """One operation. An empty expression: the operation is not defined on such types. `on_half`, where there is one,
    is a quicker expression for operands and results of f16, computed in T all the same.

    `boolean`: the result is boolean. `int_singly`: `on_int` is for scalars only. `parameters`: names of
    attributes that become P0, P1. `parameter_inputs`: how many trailing inputs are scalars that become
    P0, P1; `defaults` stand in for absent ones. `evaluate` computes the operation with NumPy from operands
    and parameters, where shape arithmetic may use it.
    """

    on_float: str = ""
    on_int: str = ""
    boolean: bool = False
    int_singly: bool = False
    parameters: tuple[str, ...] = ()
    parameter_inputs: int = 0
    defaults: tuple[float, ...] = ()
    evaluate: Callable[..., Any] | None = None
    on_half: str = ""

    def on(self, kind: ElementType) -> str:
        """The expression for operands and results of a type."""
        if kind.name == "f16" and self.on_half:
            return self.on_half
        return self.on_float if kind.is_float else self.on_int


def divide(a: np.ndarray, b: np.ndarray, rounds_down: float) -> np.ndarray:
    """Rounds integers towards minus infinity or else towards 0; an integer divided by 0 is 0."""
    if np.issubdtype(a.dtype, np.floating):
        return a / b
    down = np.where(b == 0, a.dtype.type(0), a // np.where(b == 0, b.dtype.type(1), b))
    return down if rounds_down else down + ((down < 0) & (down * b != a))


def remainder(compute: Callable[..., Any]) -> Callable[..., Any]:
    """What `compute` leaves of a division; a where an integer is divided by 0."""
    def run(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        if np.issubdtype(a.dtype, np.floating):
            return compute(a, b)
        return np.where(b == 0, a, compute(a, np.where(b == 0, b.dtype.type(1), b)))
    return run


def power(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The quotient is truncated where an integer has a negative exponent."""
    if np.issubdtype(a.dtype, np.floating):
        return np.power(a, b)
    inverse = np.where(a == 1, 1, np.where(a == -1, 1 - 2 * (b % 2), 0))
    return np.where(b < 0, inverse, np.power(a, np.maximum(b, 0)))


def _round(a: np.ndarray, away_from_zero: float) -> np.ndarray:
    return np.trunc(a + np.copysign(a.dtype.type(0.5), a)) if away_from_zero else np.rint(a)


def whole_number(value: float, dtype: np.dtype, rounds_up: bool) -> int:
    """A bound as a number of an integer type."""
    limits = (0, 1) if dtype == np.bool_ else (int(np.iinfo(dtype).min), int(np.iinfo(dtype).max))
    if math.isinf(value):
        return limits[value > 0]
    return min(max(math.ceil(value) if rounds_up else math.floor(value), limits[0]), limits[1])


def _at_least(a: str, bound: str) -> str:
    """The larger of two; a where that is not a number, unlike fmax."""
    return f"({a} < {bound} ? {bound} : {a})"


def _at_most(a: str, bound: str) -> str:
    """The smaller of two; a where that is not a number, unlike fmin."""
    return f"({a} > {bound} ? {bound} : {a})"


def _within(a: str, low: str, high: str) -> str:
    return _at_most(_at_least(a, low), high)


def _polynomial(t: str, *factors: float) -> str:
    """factors[0] * t + factors[1] * t^2 + ... by Horner's rule."""
    text = "(T)(0)"
    for factor in reversed(factors):
        text = f"{t} * ((T)({factor}f) + {text})"
    return text


_ERF_FACTORS = (0.254829592, -0.284496736, 1.421413741, -1.453152027, 1.061405429)
_TANH_OF_GELU = "tanh((T)(0.7978845608f) * (a + (T)(0.044715f) * a * a * a))"

# Abramowitz and Stegun 7.1.26: within 1.5e-7 of erf(a / sqrt(2)), and several times faster than erf. What is taken from
# max(a, 0) is the same for a and -a.
_T = "QUICK_RECIPROCAL((T)(1) + (T)(0.2316418971f) * fabs(a))"
_TAKEN_BY_GELU = (f"fmin(fabs(a), (T)(1e30f)) * (QUICK_EXP((T)(-0.5f) * a * a) "
                  f"* {_polynomial(_T, *(factor / 2 for factor in _ERF_FACTORS))})")

# The same without reciprocal and exponential, within 7e-5 * (0.2 + |a|), less than rounding to f16 takes in all: what
# the normal distribution has left of 1/2 beyond |a| is taken for an odd polynomial of |a|, the best one under that
# weight up to 3.8 that is 1/2 there. What is not a number stays that.
_NEAR = "(fabs(a) > (T)(3.8f) ? (T)(3.8f) : fabs(a))"
_HALVES_FACTORS = (-6.55154242e-2, 9.20517479e-3, -9.04457811e-4, 5.74492865e-5, -2.08675933e-6, 3.25693474e-8)
_GELU_OF_HALVES = (f"fmax(a, (T)(0)) - {_NEAR} * ((T)(0.5f) - {_NEAR} * ((T)(0.39855345f) "
                   f"+ {_polynomial(f'({_NEAR} * {_NEAR})', *_HALVES_FACTORS)}))")

# Giles, Approximating the erfinv function (GPU Computing Gems, Jade Edition, 2011): two polynomials, of a logarithm and
# of its root.
_W = "(-log(((T)(1) - a) * ((T)(1) + a)))"
_CENTRAL = (0.246640727, -0.00417768164, -0.00125372503, 0.00021858087, -4.39150654e-06, -3.5233877e-06, 3.43273939e-07,
            2.81022636e-08)
_TAIL = (1.00167406, -0.00943887047, -0.0076224613, 0.00573950773, -0.00367342844, 0.00134934322, 0.000100950558,
         -0.000200214257)
_ERF_INVERSE = (f"(fabs(a) < (T)(1) ? a * ({_W} < (T)(5) "
                f"? (T)(1.50140941f) + {_polynomial(f'({_W} - (T)(2.5f))', *_CENTRAL)} "
                f": (T)(2.83297682f) + {_polynomial(f'(sqrt({_W}) - (T)(3))', *_TAIL)}) "
                ": a / sqrt((T)(1) - fabs(a)))")


def _gelu(by_erf: str) -> str:
    return f"((int)P0 ? (T)(0.5f) * a * ((T)(1) + {_TANH_OF_GELU}) : {by_erf})"


_SOFTPLUS = "(fmax(a, (T)(0)) + log1p(exp(-fabs(a))))"

ARITHMETIC = {
    "Add": Mode("a + b", "a + b", evaluate=np.add),
    "Subtract": Mode("a - b", "a - b", evaluate=np.subtract),
    "Multiply": Mode("a * b", "a * b", evaluate=np.multiply),
    "Divide": Mode("QUOTIENT(a, b)", "(P0 ? FLOOR_DIVIDE(a, b) : DIVIDE(a, b))", int_singly=True,
                   parameters=("m_pythondiv",), defaults=(1,), evaluate=divide),
    "Maximum": Mode(f"(a != a ? a : {_at_least('b', 'a')})", "max(a, b)", evaluate=np.maximum),
    "Minimum": Mode(f"(a != a ? a : {_at_most('b', 'a')})", "min(a, b)", evaluate=np.minimum),
    "Power": Mode("POWER(a, b)", "INTEGER_POWER(a, b)", int_singly=True, evaluate=power),
    "Mod": Mode("fmod(a, b)", "(a - DIVIDE(a, b) * b)", int_singly=True, evaluate=remainder(np.fmod)),
    "FloorMod": Mode("(sign(fmod(a, b)) * b < (T)(0) ? fmod(a, b) + b : fmod(a, b))", "(a - FLOOR_DIVIDE(a, b) * b)",
                     int_singly=True, evaluate=remainder(np.mod)),
    "SquaredDifference": Mode("(a - b) * (a - b)", "(a - b) * (a - b)", evaluate=lambda a, b: np.square(a - b)),
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
    "LogicalNot": Mode("a == (T)(0)", "a == (T)(0)", True, evaluate=np.logical_not),
    "IsNaN": Mode("isnan(a)", "a != a", boolean=True),
    "IsFinite": Mode("isfinite(a)", "a == a", boolean=True),
    "IsInf": Mode("(((a == (T)(-INFINITY)) & (int)P0) | ((a == (T)(INFINITY)) & (int)P1))", "a != a", boolean=True,
                  parameters=("detect_negative", "detect_positive"), defaults=(1, 1)),
}

SELECTION = {"Select": Mode("(c != (C)(0) ? a : b)", "(c != (C)(0) ? a : b)", evaluate=np.where)}

BITWISE = {
    "BitwiseAnd": Mode(on_int="a & b", evaluate=np.bitwise_and),
    "BitwiseOr": Mode(on_int="a | b", evaluate=np.bitwise_or),
    "BitwiseXor": Mode(on_int="a ^ b", evaluate=np.bitwise_xor),
    "BitwiseNot": Mode(on_int="~a", evaluate=np.bitwise_not),
    "BitwiseLeftShift": Mode(on_int="a << b", evaluate=np.left_shift),
    "BitwiseRightShift": Mode(on_int="a >> b", evaluate=np.right_shift),
}

ACTIVATIONS = {
    "Relu": Mode(_at_least("a", "(T)(0)"), "max(a, (T)(0))", evaluate=lambda a: np.maximum(a, 0)),
    "Sigmoid": Mode("(T)(1) / ((T)(1) + exp(-a))"),
    "HSwish": Mode("a * fmin(fmax(a + (T)(3), (T)(0)), (T)(6)) / (T)(6)"),
    "HSigmoid": Mode(f"{_within('(a + (T)(3))', '(T)(0)', '(T)(6)')} / (T)(6)"),
    "HardSigmoid": Mode(_within("(a * (T)(P0) + (T)(P1))", "(T)(0)", "(T)(1)"), parameter_inputs=2),
    "Swish": Mode("a / ((T)(1) + exp(-a * (T)(P0)))", parameter_inputs=1, defaults=(1.0,)),
    "Gelu": Mode(_gelu(f"fmax(a, (T)(0)) - {_TAKEN_BY_GELU}"), parameters=("approximation_mode",),
                 on_half=_gelu(_GELU_OF_HALVES)),
    "Clamp": Mode(_within("a", "(T)(P0)", "(T)(P1)"), "min(max(a, (T)(P0)), (T)(P1))", parameters=("min", "max"),
                  evaluate=np.clip),
    "Elu": Mode("(a < (T)(0) ? (T)(P0) * expm1(a) : a)", parameters=("alpha",)),
    "Selu": Mode("(T)(P1) * (a < (T)(0) ? (T)(P0) * expm1(a) : a)", parameter_inputs=2),
    "SoftPlus": Mode(_SOFTPLUS),
    "Mish": Mode(f"a * tanh({_SOFTPLUS})"),
    "SoftSign": Mode("a / ((T)(1) + fabs(a))"),
    "Exp": Mode("exp(a)", evaluate=np.exp),
    "Log": Mode("log(a)", evaluate=np.log),
    "Sqrt": Mode("sqrt(a)", evaluate=np.sqrt),
    "Abs": Mode("fabs(a)", "(a < (T)(0) ? -a : a)", evaluate=np.abs),
    "Negative": Mode("-a", "-a", evaluate=np.negative),
    "Floor": Mode("floor(a)", "a", evaluate=np.floor),
    "Ceiling": Mode("ceil(a)", "a", evaluate=np.ceil),
    "Round": Mode("((int)P0 ? round(a) : rint(a))", "a", parameters=("mode",), evaluate=_round),
    "Sign": Mode("(a > (T)(0) ? (T)(1) : a < (T)(0) ? (T)(-1) : a)",
                 "((a > (T)(0) ? (T)(1) : (T)(0)) - (a < (T)(0) ? (T)(1) : (T)(0)))", evaluate=np.sign),
    "Erf": Mode("erf(a)"),
    "ErfInv": Mode(_ERF_INVERSE),
    "Tanh": Mode("tanh(a)"), "Sin": Mode("sin(a)"), "Cos": Mode("cos(a)"), "Tan": Mode("tan(a)"),
    "Asin": Mode("asin(a)"), "Acos": Mode("acos(a)"), "Atan": Mode("atan(a)"),
    "Sinh": Mode("sinh(a)"), "Cosh": Mode("cosh(a)"),
    "Asinh": Mode("asinh(a)"), "Acosh": Mode("acosh(a)"), "Atanh": Mode("atanh(a)"),
}

MODES = {**ARITHMETIC, **COMPARISON, **SELECTION, **BITWISE, **ACTIVATIONS}

FLAGS = {"tanh": 1.0, "erf": 0.0, "half_away_from_zero": 1.0, "half_to_even": 0.0}
