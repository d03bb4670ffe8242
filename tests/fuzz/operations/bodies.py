"""If, Loop and TensorIterator, with bodies that are drawn like graphs."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tests.fuzz.draft import Draft, Refused, Tensor
from tests.fuzz.graph import Graph, Input, Ref, Step, dtype_of
from tests.fuzz.operations.table import GROUPS, i64, operation, scalar
from tests.fuzz.operations.values import as_scalar, between, number

INNER = ("moving", "reducing", "elementwise", "elementwise", "values")
DEEPEST = 2


def grow(draft: Draft, most: int) -> None:
    """A few operations of a body."""
    wanted = draft.integer(1, most)
    for _ in range(4 * most):
        groups = (*INNER, "bodies") if draft.depth < DEEPEST and draft.chance(0.1) else INNER
        wanted -= draft.attempt(draft.one(GROUPS[draft.one(groups)]))
        if not wanted:
            return


def graph(draft: Draft, outputs: Sequence[Tensor]) -> Graph:
    return Graph(tuple(draft.inputs), tuple(draft.steps), tuple(t.ref for t in outputs))


def condition(draft: Draft) -> Tensor | np.ndarray:
    """Of a value, of data, of a shape, or known."""
    way = draft.integer(0, 3)
    if way == 0:
        return np.array(draft.chance(0.5))
    if way == 1:
        x = draft.pick(lambda t: t.exact and t.type in ("f32", "i64", "i32"))
        if x.rank:
            x = draft.op("ReduceSum", x, i64(*range(x.rank)), keep_dims=False)
    else:
        x = as_scalar(draft, number(draft))
    made = draft.op(draft.one(("Greater", "Less", "Equal")), x, np.array(draft.integer(0, 2), dtype_of(x.type)),
                    auto_broadcast="numpy")
    return draft.op("Unsqueeze", made, i64(0)) if draft.chance(0.3) else made


@operation("bodies", 3)
def either(draft: Draft) -> None:
    """If: two bodies on the same tensors, often with results of different shapes."""
    given = [draft.pick() for _ in range(draft.one([1, 1, 2]))]
    given = [t for n, t in enumerate(given) if t not in given[:n]]
    decision = condition(draft)
    then, other = draft.body(given), draft.body(given)
    grow(then, 3)
    grow(other, 2)
    first = then.tensors[-1]
    fitting = [t for t in other.tensors if t.type == first.type]
    same = [t for t in fitting if t.rank == first.rank]
    second = draft.one(same if same and draft.chance(0.9) else fitting)
    draft.step("If", decision, *given, bodies=(graph(then, [first]), graph(other, [second])))


@operation("bodies")
def never_taken(draft: Draft) -> None:
    """A branch that does not even fit the tensor's rank, behind a condition that is known beforehand."""
    x = draft.pick(lambda t: t.rank != 2)
    dims = None if draft.chance(0.8) else (-1, -1)
    bodies = []
    for op, more in (("Transpose", (i64(1, 0),)), (draft.one(("Relu", "Abs", "Negative")), ())):
        source, name = Input(draft.name("x"), x.type, dims if op == "Transpose" else None), draft.name("t")
        bodies.append(Graph((source,), (Step(name, op, (Ref(source.name), *more)),), (Ref(name),)))
    if draft.chance(0.6):
        rank = draft.op("ShapeOf", draft.op("ShapeOf", x, output_type="i64"), output_type="i64")
        decision: Tensor | np.ndarray = draft.op("Equal", rank, i64(2), auto_broadcast="numpy")
    else:
        decision = np.array(False)
    draft.step("If", decision, x, bodies=tuple(bodies), open_rank=True)


def trips(draft: Draft) -> Tensor | np.ndarray:
    """How often a Loop runs."""
    if draft.chance(0.4):
        return scalar(draft.one([1, 2, 3, 3, 0]))
    return as_scalar(draft, between(draft, number(draft), draft.one([0, 1]), 3))


def continuation(inner: Draft, new: Tensor) -> Tensor:
    """Whether a Loop goes on: always, or as data says."""
    if new.exact and new.type in ("f32", "i64") and inner.chance(0.3):
        total = inner.op("ReduceSum", new, i64(*range(new.rank)), keep_dims=False) if new.rank else new
        return inner.op("Less", total, np.array(inner.integer(-1, 4), dtype_of(new.type)), auto_broadcast="numpy")
    return inner.op("Constant", type="boolean", values=np.array(True))


def next_state(inner: Draft, state: Tensor) -> Tensor:
    """A tensor of the state's type and shape."""
    fitting = [t for t in inner.tensors[len(inner.inputs):] if t.type == state.type and t.shapes == state.shapes]
    if fitting:
        return fitting[-1]
    if state.type == "boolean":
        return inner.op("LogicalNot", state)
    return inner.op(inner.one(("Add", "Maximum")), state, np.array(1, dtype_of(state.type)), auto_broadcast="numpy")


@operation("bodies", 2)
def looped(draft: Draft) -> None:
    """Loop: a state, perhaps the counter and an invariant, the last state and perhaps what every run gave, joined."""
    state, count = draft.pick(), trips(draft)
    kept = draft.pick()
    inner = draft.body([state] if kept is state else [state, kept])
    wiring: list[tuple[Any, ...]] = [("merged", 2, 0, 1)]
    operands = [state]
    if kept is not state:
        wiring.append(("kept", 3, 1))
        operands.append(kept)
    counter = -1
    if draft.chance(0.3):
        counter = len(inner.inputs)
        inner.input("i64", (), [scalar(0)] * draft.settings)
    grow(inner, 3)
    new = next_state(inner, inner.tensors[0])
    outputs = [continuation(inner, new), new]
    wiring.append(("last", 1))
    part = inner.one(inner.tensors[len(inner.inputs):])
    if part.rank and draft.chance(0.6):
        outputs.append(inner.op("Unsqueeze", part, i64(0)))
        wiring.append(("joined", 2, 0, 1, -1, 0))
    body = graph(inner, outputs)
    draft.step("Loop", count, np.array(True), *operands, bodies=(body,),
               wiring=(*wiring, ("ports", counter, 0)))


@operation("bodies", 2)
def swept(draft: Draft) -> None:
    """TensorIterator over the slices of one axis, forwards or backwards, with a state."""
    x = draft.pick(lambda t: t.rank > 0 and t.type in ("f32", "i64", "i32") and all(v.size for v in t.values))
    axis = draft.integer(0, x.rank - 1)
    start = draft.op("ReduceMax", x, i64(axis), keep_dims=True)
    dims = list(dims_or_refuse(start))
    dims[axis] = 1
    inner = Draft(draft.rng, draft.settings, draft.depth + 1, names=draft.names)
    inner.input(x.type, tuple(dims), [v.take([0], axis) for v in x.values], x.exact)
    state = inner.input(x.type, tuple(dims), start.values, x.exact)
    if draft.chance(0.6):
        inner.attempt(lambda d: d.step("Add", *d.tensors[:2], auto_broadcast="numpy") and None)
    grow(inner, 3)
    new = next_state(inner, state)
    taken = (-1, -1, 0) if draft.chance(0.4) else (0, 1, -1)
    wiring = (("sliced", 0, 0, *taken, axis), ("merged", 1, 1, 0), ("last", 0), ("joined", 0, *taken, axis))
    draft.step("TensorIterator", x, start, bodies=(graph(inner, [new]),), wiring=wiring)


def dims_or_refuse(x: Tensor) -> tuple[Any, ...]:
    shape = x.port.get_partial_shape()
    if shape.rank.is_dynamic:
        raise Refused("an unknown rank")
    return tuple(shape[a].get_length() if shape[a].is_static else -1 for a in range(len(shape)))
