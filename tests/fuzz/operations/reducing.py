"""Reductions, sums along an axis, softmax, normalisation and sorting."""
from __future__ import annotations

import numpy as np

from tests.fuzz.draft import Draft, Refused, Tensor
from tests.fuzz.graph import dtype_of
from tests.fuzz.operations.elementwise import tame
from tests.fuzz.operations.table import i64, operation, scalar

REDUCTIONS = ("ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceL1", "ReduceL2", "ReduceProd")


def some_axes(draft: Draft, rank: int, most: int = 3) -> list[int]:
    """Different axes, counted from either end, in any order."""
    count = draft.one([1, 1, 1, 2, 2, most])
    axes = draft.rng.permutation(rank)[:count].tolist()
    return [draft.signed(axis, rank) for axis in axes]


@operation("reducing", 6)
def reduced(draft: Draft) -> None:
    x = draft.pick(lambda t: t.type in ("f32", "f16", "i64", "i32", "boolean") and t.rank > 0)
    axes: np.ndarray = i64(*some_axes(draft, x.rank)) if draft.chance(0.95) else i64()
    name = draft.one(("ReduceLogicalAnd", "ReduceLogicalOr") if x.type == "boolean"
                     else REDUCTIONS if x.is_real else ("ReduceSum", "ReduceMax", "ReduceMin"))
    if name in ("ReduceMean", "ReduceMax", "ReduceMin") and any(x.least(axis) == 0 for axis in axes.tolist()):
        name = "ReduceSum"
    if axes.size == 1 and draft.chance(0.2):
        axes = scalar(int(axes[0]))
    if name == "ReduceProd" and not fits_in_any_order(x, tuple(axes.ravel().tolist())):
        raise Refused("a product whose value depends on the order of its factors")
    draft.step(name, x, axes.astype(draft.one([np.int64, np.int32])), keep_dims=draft.chance(0.5))


def fits_in_any_order(x: Tensor, axes: tuple[int, ...]) -> bool:
    """Whether no part of a product overflows: kernels multiply in orders of their own, and infinity times 0 is not a
    number."""
    most = np.finfo(dtype_of(x.type)).maxexp
    return all(np.log2(np.fmax(np.abs(value.astype(np.float64)), 1)).sum(axis=axes).max(initial=0) < most
               for value in x.values)


def pick_axis(draft: Draft, x: Tensor) -> int:
    if not x.rank:
        raise Refused("no axis")
    return draft.signed(draft.integer(0, x.rank - 1), x.rank)


@operation("reducing")
def running_sum(draft: Draft) -> None:
    x = draft.pick(lambda t: t.type in ("f32", "i64", "i32") and t.rank > 0)
    draft.step("CumSum", x, scalar(pick_axis(draft, x)), exclusive=draft.chance(0.5), reverse=draft.chance(0.5))


@operation("reducing", 2)
def softmax(draft: Draft) -> None:
    x = draft.pick(lambda t: t.is_real and t.rank > 0)
    tame(draft, x)
    draft.step(draft.one(("Softmax", "Softmax", "LogSoftmax")), x, axis=pick_axis(draft, x))


@operation("reducing")
def normalized(draft: Draft) -> None:
    """MVN, in one operation or spelled out, with a scale and a shift."""
    x = draft.pick(lambda t: t.type == "f32" and t.rank > 1)
    axis = pick_axis(draft, x)
    if x.least(axis) == 0:
        raise Refused("a mean of nothing")
    if draft.chance(0.5):
        made = draft.op("MVN", x, i64(axis), normalize_variance=draft.chance(0.8), eps=1e-2, eps_mode="inside_sqrt")
    else:
        less = draft.op("Subtract", x, draft.op("ReduceMean", x, i64(axis), keep_dims=True), auto_broadcast="numpy")
        square = draft.op("Power", less, np.array(2, np.float32), auto_broadcast="numpy")
        variance = draft.op("ReduceMean", square, i64(axis), keep_dims=True)
        safe = draft.op("Add", variance, np.array(0.01, np.float32), auto_broadcast="numpy")
        made = draft.op("Divide", less, draft.op("Sqrt", safe), auto_broadcast="numpy", m_pythondiv=True)
    last = x.size(-1)
    if last and draft.chance(0.6):
        made = draft.op("Multiply", made, draft.weights(last), auto_broadcast="numpy")
        draft.step("Add", made, draft.weights(last), auto_broadcast="numpy")


@operation("reducing", 2)
def sorted_out(draft: Draft) -> None:
    """TopK with a constant number."""
    x = draft.pick(lambda t: t.exact and t.rank > 0 and t.type in ("f32", "i64", "i32"))
    axis = pick_axis(draft, x)
    if not x.least(axis):
        raise Refused("nothing to sort")
    draft.step("TopK", x, scalar(draft.integer(1, min(x.least(axis), 6))), axis=axis, mode=draft.one(("max", "min")),
               sort="value", stable=True, index_element_type=draft.one(("i64", "i32")))


@operation("reducing")
def length_normalized(draft: Draft) -> None:
    x = draft.pick(lambda t: t.type == "f32" and 1 < t.rank < 5)
    draft.step("NormalizeL2", x, i64(pick_axis(draft, x) % x.rank), eps=0.1, eps_mode=draft.one(("add", "max")))


@operation("reducing")
def batch_normalized(draft: Draft) -> None:
    x = draft.pick(lambda t: t.type == "f32" and t.rank > 1)
    channels = x.size(1)
    if not channels:
        raise Refused("no static channels")
    gamma, beta, mean = (draft.weights(channels) for _ in range(3))
    draft.step("BatchNormInference", x, gamma, beta, mean, np.abs(draft.weights(channels)) + np.float32(0.5),
               epsilon=1e-3)


@operation("reducing")
def grouped_norm(draft: Draft) -> None:
    x = draft.pick(lambda t: t.type == "f32" and t.rank > 2)
    channels = x.size(1)
    if not channels or not all(value.size for value in x.values):
        raise Refused("no static channels")
    groups = draft.one([g for g in (1, 2, 4) if channels % g == 0])
    draft.step("GroupNormalization", x, draft.weights(channels).astype(dtype_of(x.type)), draft.weights(channels),
               num_groups=groups, epsilon=1e-2)
