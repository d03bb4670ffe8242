"""Operations on elements: of one tensor, of two that are stretched to each other, comparisons and types."""
from __future__ import annotations

import numpy as np

from tests.fuzz.draft import Draft, Refused, Tensor
from tests.fuzz.graph import dtype_of
from tests.fuzz.operations.table import operation

SMOOTH = ("Sigmoid", "Tanh", "Erf", "Gelu", "Swish", "HSwish", "HSigmoid", "Sin", "Cos", "SoftPlus", "Mish", "Atan",
          "SoftSign", "Sinh", "Elu", "Selu", "Asinh")
EXACT = ("Relu", "Abs", "Negative", "Floor", "Ceiling", "Sign", "Round", "Clamp")
TWO = ("Add", "Subtract", "Multiply", "Maximum", "Minimum", "SquaredDifference")
COMPARISONS = ("Greater", "GreaterEqual", "Less", "LessEqual", "Equal", "NotEqual")
_ATTRIBUTES = {"Clamp": {"min": -1.5, "max": 1.0}, "Gelu": {"approximation_mode": "ERF"}, "Elu": {"alpha": 0.5},
               "Round": {"mode": "half_to_even"}}


@operation("elementwise", 3)
def activation(draft: Draft) -> None:
    x = draft.pick(lambda t: t.is_real)
    tame(draft, x)
    name = draft.one(SMOOTH)
    if name == "Gelu" and any(value.size and value.max() < -2 for value in x.values):
        raise Refused("of 1 + erf little is left but what rounding made")
    more = [np.array(value, dtype_of(x.type)) for value in (1.6732632, 1.0507009)] if name == "Selu" else []
    draft.step(name, x, *more, **_ATTRIBUTES.get(name, {}))


def tame(draft: Draft, x: Tensor) -> None:
    """Refuse what exponentials would make large."""
    if any(value.size and np.abs(value.astype(np.float64)).max() > 20 for value in x.values):
        raise Refused("too large for exponentials")


@operation("elementwise", 2)
def exact_activation(draft: Draft) -> None:
    x = draft.pick(lambda t: t.type in ("f32", "f16", "i64", "i32"))
    name = draft.one(EXACT if x.is_real else ("Abs", "Negative", "Relu", "Sign"))
    draft.step(name, x, **_ATTRIBUTES.get(name, {}))


@operation("elementwise")
def root(draft: Draft) -> None:
    x = draft.pick(lambda t: t.is_real)
    positive = draft.op("Add", draft.op("Abs", x), np.array(0.25, dtype_of(x.type)), auto_broadcast="numpy")
    name = draft.one(("Sqrt", "Log", "Power"))
    if name == "Power":
        exponent = np.array(draft.one([0.5, -1.0, 2.0, 3.0, -0.5]), dtype_of(x.type))
        draft.step("Power", positive, exponent, auto_broadcast="numpy")
    else:
        draft.step(name, positive)


@operation("elementwise", 4)
def together(draft: Draft) -> None:
    """Two tensors of one type, the shape of one stretched to the other's or both to a common one."""
    x = draft.pick(lambda t: t.type != "boolean")
    y = draft.one([t for t in draft.tensors if t.type == x.type and stretches(t, x)])
    draft.step(draft.one(TWO), *((x, y) if draft.chance(0.5) else (y, x)), auto_broadcast="numpy")


def stretches(x: Tensor, y: Tensor) -> bool:
    """Whether both have a common shape in every setting."""
    return all(a in (1, b) or b == 1 for one, two in zip(x.shapes, y.shapes, strict=True)
               for a, b in zip(one[::-1], two[::-1], strict=False))


@operation("elementwise", 3)
def with_constant(draft: Draft) -> None:
    """A scalar, a vector along one axis, or a constant of a higher rank."""
    x = draft.pick(lambda t: t.type != "boolean")
    shape = [1] * draft.integer(0, x.rank + int(draft.chance(0.1)))
    for axis in range(1, min(len(shape), x.rank) + 1):
        if draft.chance(0.5):
            shape[-axis] = x.size(-axis) or 1
    values = draft.weights(*shape, kind=x.type) if x.is_real else draft.rng.integers(
        0 if x.type[0] == "u" else -2, 4, shape).astype(dtype_of(x.type))
    made = (x, values) if draft.chance(0.7) else (values, x)
    draft.step(draft.one(TWO), *made, auto_broadcast="numpy")


@operation("elementwise")
def divided(draft: Draft) -> None:
    x = draft.pick(lambda t: t.is_real)
    y = draft.one([t for t in draft.tensors if t.type == x.type and stretches(t, x)])
    least = np.array(0.5, dtype_of(x.type))
    below = draft.op("Add", draft.op("Abs", y), least, auto_broadcast="numpy")
    draft.step("Divide", x, below, auto_broadcast="numpy", m_pythondiv=True)


@operation("elementwise")
def divided_integers(draft: Draft) -> None:
    x = draft.pick(lambda t: t.is_integer)
    by = np.array(draft.one([1, 2, 3, 4]), dtype_of(x.type))
    name = draft.one(("Divide", "Mod", "FloorMod"))
    more = {"m_pythondiv": True} if name == "Divide" else {}
    draft.step(name, x, by, auto_broadcast="numpy", **more)


@operation("elementwise", 2)
def compared(draft: Draft) -> None:
    x = draft.pick(lambda t: t.exact and t.type != "boolean")
    y = draft.one([t for t in draft.tensors if t.type == x.type and t.exact and stretches(t, x)])
    limit = np.array(draft.integer(0, 2), dtype_of(x.type))
    draft.step(draft.one(COMPARISONS), x, limit if draft.chance(0.6) else y, auto_broadcast="numpy")


@operation("elementwise")
def logical(draft: Draft) -> None:
    x = draft.pick(lambda t: t.type == "boolean")
    y = draft.one([t for t in draft.tensors if t.type == "boolean" and stretches(t, x)])
    if draft.chance(0.3):
        draft.step("LogicalNot", x)
    else:
        draft.step(draft.one(("LogicalAnd", "LogicalOr", "LogicalXor")), x, y, auto_broadcast="numpy")


@operation("elementwise", 2)
def selected(draft: Draft) -> None:
    mask = draft.pick(lambda t: t.type == "boolean")
    x = draft.one([t for t in draft.tensors if stretches(t, mask)])
    y = draft.one([t for t in draft.tensors if t.type == x.type and stretches(t, mask) and stretches(t, x)])
    other = y if draft.chance(0.6) else np.array(draft.integer(0, 1), dtype_of(x.type))
    draft.step("Select", mask, *((x, other) if draft.chance(0.5) else (other, x)), auto_broadcast="numpy")


@operation("elementwise", 2)
def converted(draft: Draft) -> None:
    x = draft.pick()
    draft.step("Convert", x, destination_type=draft.one(("f32", "f32", "f16", "i64", "i32", "boolean", "u8", "i8")))


@operation("elementwise", 2)
def residual(draft: Draft) -> None:
    """A chain of element-wise operations that ends in a sum with where it began."""
    x = draft.pick(lambda t: t.is_real)
    tame(draft, x)
    scale = draft.weights(*([x.size(-1) or 1] if x.rank else []), kind=x.type)
    y = draft.op("Multiply", x, scale, auto_broadcast="numpy")
    y = draft.op(draft.one(("Swish", "HSwish", "Tanh", "Relu", "Sigmoid")), y)
    draft.step("Add", *((x, y) if draft.chance(0.5) else (y, x)), auto_broadcast="numpy")


@operation("elementwise")
def bitwise(draft: Draft) -> None:
    x = draft.pick(lambda t: t.type in ("i32", "i64", "u8"))
    y = draft.one([t for t in draft.tensors if t.type == x.type and stretches(t, x)])
    draft.step(draft.one(("BitwiseAnd", "BitwiseOr", "BitwiseXor")), x, y, auto_broadcast="numpy")


@operation("elementwise")
def leaking(draft: Draft) -> None:
    """PRelu with a slope per channel."""
    x = draft.pick(lambda t: t.is_real and t.rank >= 2)
    channels = x.size(1)
    slope = draft.weights(channels if channels and draft.chance(0.7) else 1, kind=x.type)
    draft.step("PRelu", x, slope)


@operation("elementwise")
def quantized(draft: Draft) -> None:
    """FakeQuantize with limits between the multiples that exact data has, of nothing that rounding could put on either
    side of a border between two steps."""
    x = draft.pick(lambda t: t.type == "f32" and t.exact)
    low, high, levels = np.array(-1.3, np.float32), np.array(1.23, np.float32), draft.one([16, 256])
    places = [(value.astype(np.float64) - low) / (float(high) - low) * (levels - 1) for value in x.values]
    if any((np.abs(place % 1 - 0.5) < 1e-6 * levels).any() for place in places):
        raise Refused("between two steps")
    draft.step("FakeQuantize", x, low, high, low, high, levels=levels, auto_broadcast="numpy")
