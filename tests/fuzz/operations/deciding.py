"""Operations whose output sizes data decides, and writes at places that data decides."""
from __future__ import annotations

import numpy as np

from tests.fuzz.draft import Draft, Refused, Tensor
from tests.fuzz.graph import dtype_of
from tests.fuzz.operations.table import i64, operation, scalar


def mask_of(draft: Draft, x: Tensor) -> Tensor:
    """Which elements are above a limit."""
    if x.type == "boolean":
        return x
    limit = np.array(draft.integer(-1, 1), dtype_of(x.type))
    return draft.op(draft.one(("Greater", "NotEqual", "Less")), x, limit, auto_broadcast="numpy")


def comparable(t: Tensor) -> bool:
    return t.exact and t.type in ("f32", "i64", "i32", "boolean")


@operation("deciding", 3)
def places(draft: Draft) -> None:
    """NonZero [rank, n], often transposed to [n, rank]. (Of a scalar its shape depends on whom one asks.)"""
    x = draft.pick(lambda t: comparable(t) and t.rank > 0)
    found = draft.op("NonZero", mask_of(draft, x), output_type=draft.one(("i64", "i64", "i32")))
    if draft.chance(0.6):
        draft.step("Transpose", found, i64(1, 0))


@operation("deciding", 3)
def kept(draft: Draft) -> None:
    """The elements above a limit: of the flattened tensor, or by GatherND."""
    x = draft.pick(lambda t: comparable(t) and t.rank > 0)
    if draft.chance(0.5):
        x = draft.op("Reshape", x, i64(-1), special_zero=False)
        found = draft.op("NonZero", mask_of(draft, x), output_type="i64")
        found = draft.op("Squeeze", found, i64(0)) if draft.chance(0.5) else draft.op(
            "Reshape", found, i64(-1), special_zero=False)
        draft.step("Gather", x, found, scalar(0), batch_dims=0)
    else:
        found = draft.op("NonZero", mask_of(draft, x), output_type="i64")
        draft.step("GatherND", x, draft.op("Transpose", found, i64(1, 0)), batch_dims=0)


@operation("deciding", 2)
def written(draft: Draft) -> None:
    """ScatterNDUpdate of elements or rows, to places that NonZero found or that come as an input."""
    x = draft.pick(lambda t: t.rank > 0 and comparable(t) and t.type != "boolean")
    if draft.chance(0.6):
        found = draft.op("Transpose", draft.op("NonZero", mask_of(draft, x), output_type="i64"), i64(1, 0))
    else:
        found = _given_places(draft, x)
    count = draft.op("Slice", draft.op("ShapeOf", found, output_type="i64"), i64(0), i64(1), i64(1), i64(0))
    inner = [draft.op("Slice", draft.op("ShapeOf", x, output_type="i64"), i64(size), i64(100), i64(1), i64(0))
             for size in [found.values[0].shape[-1]] if size < x.rank]
    target = draft.op("Concat", count, *inner, axis=0) if inner else count
    updates = draft.op("Broadcast", np.array(2, dtype_of(x.type)), target, mode="numpy")
    draft.step("ScatterNDUpdate", x, found, updates)


def _given_places(draft: Draft, x: Tensor) -> Tensor:
    """A new input [n, depth] of places, both of which may be undeclared."""
    if draft.depth or any(value.size == 0 for value in x.values):
        raise Refused("no places")
    depth = draft.integer(1, x.rank)
    values = [_distinct_places(draft, shape[:depth]) for shape in x.shapes]
    return draft.input("i64", draft.one([(-1, depth), (-1, -1), (-1, -1)]), values)


def _distinct_places(draft: Draft, shape: tuple[int, ...]) -> np.ndarray:
    flat = draft.rng.permutation(int(np.prod(shape)))[:draft.integer(0, 4)]
    return np.stack(np.unravel_index(flat, shape), -1).astype(np.int64)


@operation("deciding", 2)
def scattered(draft: Draft) -> None:
    """ScatterUpdate and ScatterElementsUpdate, with constant or given indices."""
    x = draft.pick(lambda t: t.rank > 0 and t.type in ("f32", "i64", "i32") and all(v.size for v in t.values))
    axis = draft.integer(0, x.rank - 1)
    count = draft.integer(1, min(x.least(axis), 3))
    indices = draft.rng.permutation(x.least(axis))[:count]
    if draft.chance(0.5):
        sizes = [count if a == axis else x.size(a) for a in range(x.rank)]
        if None in sizes:
            raise Refused("an open size")
        updates = draft.rng.integers(-2, 3, sizes).astype(dtype_of(x.type))
        draft.step("ScatterUpdate", x, indices, updates, scalar(draft.signed(axis, x.rank)))
    else:
        shape = [count if a == axis else 1 for a in range(x.rank)]
        updates = draft.rng.integers(-2, 3, shape).astype(dtype_of(x.type))
        draft.step("ScatterElementsUpdate", x, indices.reshape(shape), updates, scalar(draft.signed(axis, x.rank)),
                   reduction=draft.one(("none", "sum", "max")), use_init_val=True)


@operation("deciding", 2)
def uniques(draft: Draft) -> None:
    """(Of a single element OpenVINO knows the number beforehand, so ranks may follow from it that data decides.)"""
    x = draft.pick(lambda t: t.exact and t.elements > 1 and t.type in ("f32", "i64", "i32") and all(
        v.size for v in t.values))
    axis = [scalar(draft.signed(draft.integer(0, x.rank - 1), x.rank))] if x.rank and draft.chance(0.3) else []
    draft.step("Unique", x, *axis, sorted=True, index_element_type="i64", count_element_type="i64")


@operation("deciding")
def boxes(draft: Draft) -> None:
    """NonMaxSuppression of boxes that are made of a tensor's rows; OpenVINO counts nothing where there are none."""
    x = draft.pick(lambda t: t.type == "f32" and t.exact and t.rank >= 1 and t.elements >= 4 and all(
        v.size and v.size % 4 == 0 for v in t.values))
    corners = draft.op("Reshape", draft.op("Abs", x), i64(1, -1, 4), special_zero=False)
    count = draft.op("Gather", draft.op("ShapeOf", corners, output_type="i64"), scalar(1), scalar(0), batch_dims=0)
    numbers = draft.op("Range", scalar(0), count, scalar(1), output_type="f32")
    falling = draft.op("Multiply", numbers, np.array(-0.0625, np.float32), auto_broadcast="numpy")
    scores = draft.op("Reshape", draft.op("Add", falling, np.array(2, np.float32), auto_broadcast="numpy"),
                      i64(1, 1, -1), special_zero=False)
    limit, threshold = np.array(0.55, np.float32), np.array(0.3, np.float32)
    draft.step("NonMaxSuppression", corners, scores, scalar(draft.integer(1, 4)), limit, threshold,
               box_encoding=draft.one(("corner", "center")), sort_result_descending=True, output_type="i64")


@operation("deciding")
def counted(draft: Draft) -> None:
    """As many rows as there are elements above a limit: a size that the device computes."""
    x = draft.pick(lambda t: comparable(t) and t.rank > 0)
    flags = draft.op("Convert", mask_of(draft, x), destination_type="i64")
    count = draft.op("ReduceSum", flags, i64(*range(x.rank)), keep_dims=False)
    stop = draft.op("Reshape", count, i64(1), special_zero=False)
    draft.step("Slice", x, i64(0), stop, i64(1), i64(draft.signed(draft.integer(0, x.rank - 1), x.rank)))
