"""Numbers that shapes follow from: inputs, sizes of tensors, arithmetic on them, and what takes them."""
from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tests.fuzz.draft import Draft, Refused, Tensor
from tests.fuzz.graph import dtype_of
from tests.fuzz.operations.reducing import pick_axis
from tests.fuzz.operations.table import i64, operation, scalar

SMALL = 12


def is_number(t: Tensor) -> bool:
    """A scalar or [1] of an integer type, not too large."""
    return t.type in ("i64", "i32") and all(v.size == 1 and abs(int(v.ravel()[0])) <= SMALL for v in t.values)


def number(draft: Draft, lowest: int = -SMALL) -> Tensor:
    """A number: one that is there, one that is made of a size, or a new input."""
    found = [t for t in draft.tensors if is_number(t) and min(int(v.ravel()[0]) for v in t.values) >= lowest]
    if found and draft.chance(0.7):
        return draft.one(found[-3:])
    if draft.depth == 0 and draft.chance(0.4):
        return new_number(draft, max(lowest, 0))
    return size_of(draft, draft.pick(lambda t: t.rank > 0), draft.chance(0.5))


def new_number(draft: Draft, lowest: int) -> Tensor:
    values = [np.array(draft.integer(lowest, 6), np.int64) for _ in range(draft.settings)]
    shape: tuple[int, ...] = draft.one([(), (1,)])
    return draft.input("i64", shape, [value.reshape(shape) for value in values])


def size_of(draft: Draft, x: Tensor, is_scalar: bool) -> Tensor:
    shape = draft.op("ShapeOf", x, output_type=draft.one(("i64", "i64", "i32")))
    place = pick_axis(draft, x)
    return draft.op("Gather", shape, scalar(place) if is_scalar else i64(place), scalar(0), batch_dims=0)


def as_vector(draft: Draft, x: Tensor, kind: str = "i64") -> Tensor:
    """[1], of a type."""
    if x.type != kind:
        x = draft.op("Convert", x, destination_type=kind)
    if x.rank == 1:
        return x
    return draft.op("Unsqueeze", x, i64(0)) if draft.chance(0.5) and not x.rank else draft.op(
        "Reshape", x, i64(1), special_zero=False)


def as_scalar(draft: Draft, x: Tensor) -> Tensor:
    """A number without axes, of i64, perhaps after a detour that changes nothing."""
    if x.type != "i64":
        x = draft.op("Convert", x, destination_type="i64")
    if x.rank:
        way = draft.integer(0, 2)
        axes = i64(*range(x.rank))
        x = (draft.op("Squeeze", x, axes) if way == 0 else draft.op("ReduceSum", x, axes, keep_dims=False)
             if way == 1 else draft.op("Reshape", x, i64(), special_zero=False))
    if draft.chance(0.3):
        x = draft.op("Transpose", x, i64())
    return x


def between(draft: Draft, x: Tensor, low: int, high: int | Tensor) -> Tensor:
    """Brought into these bounds, by operations."""
    limit = np.array(high, dtype_of(x.type)) if isinstance(high, int) else high
    x = draft.op("Maximum", x, np.array(low, dtype_of(x.type)), auto_broadcast="numpy")
    return draft.op("Minimum", x, limit, auto_broadcast="numpy")


def vector(draft: Draft, parts: Sequence[Tensor | int]) -> Tensor:
    """Numbers joined into one vector of i64."""
    made = [i64(p) if isinstance(p, int) else as_vector(draft, p) for p in parts]
    if len(made) == 1 and isinstance(made[0], Tensor):
        return made[0]
    return draft.op("Concat", *made, axis=0)


@operation("values", 2)
def measured(draft: Draft) -> None:
    """A shape, or a size of it."""
    x = draft.pick()
    if draft.chance(0.3):
        draft.step("ShapeOf", x, output_type=draft.one(("i64", "i32")))
    elif x.rank:
        size_of(draft, x, draft.chance(0.5))


@operation("values", 3)
def calculated(draft: Draft) -> None:
    x = number(draft)
    by = np.array(draft.integer(1, 3), dtype_of(x.type))
    name = draft.one(("Add", "Subtract", "Multiply", "Divide", "Maximum", "Minimum", "FloorMod", "Negative"))
    if name == "Negative":
        draft.step(name, x)
    else:
        draft.step(name, x, by, auto_broadcast="numpy", **({"m_pythondiv": True} if name == "Divide" else {}))


@operation("values", 2)
def summed_numbers(draft: Draft) -> None:
    """A vector of sizes, reduced, sliced or turned on the host."""
    x = draft.pick(lambda t: t.is_integer and t.rank == 1 and t.elements <= 8)
    way = draft.integer(0, 4)
    if way == 0:
        draft.step(draft.one(("ReduceSum", "ReduceProd", "ReduceMax", "ReduceMin")), x, i64(0),
                   keep_dims=draft.chance(0.5))
    elif way == 1:
        draft.step("Slice", x, i64(-1), i64(-100), i64(-1), i64(0))
    elif way == 2:
        draft.step("Transpose", x, i64(0) if draft.chance(0.5) else i64())
    elif way == 3:
        summed = draft.op("ReduceSum", draft.op("Transpose", x, i64()), i64(0), keep_dims=draft.chance(0.5))
        draft.step("Transpose", summed, i64())
    else:
        draft.step("Concat", x, i64(draft.integer(-1, 3)), axis=0)


@operation("values", 3)
def reshaped_by_value(draft: Draft) -> None:
    """To a pattern of sizes of the tensor itself, of constants and one -1."""
    x = draft.pick(lambda t: t.rank > 0)
    start = draft.integer(0, x.rank - 1)
    parts: list[Tensor | int] = [size_of(draft, x, draft.chance(0.5)) if draft.chance(0.3) else 0
                                 for _ in range(start)]
    if start + 2 == x.rank and draft.chance(0.4):
        sizes = draft.op("ShapeOf", x, output_type="i64")
        both = draft.op("Slice", sizes, i64(-2), i64(10), i64(1), i64(0))
        parts.append(draft.op("ReduceProd", both, i64(0), keep_dims=True))
    else:
        parts.append(-1)
    draft.step("Reshape", x, vector(draft, parts), special_zero=True)


@operation("values", 2)
def reshaped_like(draft: Draft) -> None:
    """Flattened and back to the shape that it had."""
    x = draft.pick()
    flat = draft.op("Reshape", x, i64(-1), special_zero=False)
    if x.is_real and draft.chance(0.5):
        flat = draft.op("Relu", flat)
    draft.step("Reshape", flat, draft.op("ShapeOf", x, output_type="i64"), special_zero=draft.chance(0.5))


@operation("values", 3)
def counted_up(draft: Draft) -> None:
    """A range that a value ends."""
    stop = as_scalar(draft, number(draft))
    if draft.chance(0.5):
        stop = draft.op("Transpose", stop, i64())
    kind = draft.one(("i64", "i64", "i32", "f32"))
    if draft.chance(0.7):
        draft.step("Range", scalar(draft.integer(-1, 1)), stop, scalar(1), output_type=kind)
    else:
        draft.step("Range", stop, scalar(draft.integer(-3, 2)), scalar(draft.one([-1, -2])), output_type=kind)


@operation("values", 2)
def stretched_by_value(draft: Draft) -> None:
    x = draft.pick(lambda t: t.rank < 4)
    front: list[Tensor | int] = [between(draft, number(draft), 0, 3)]
    sizes = draft.op("ShapeOf", x, output_type="i64")
    target = draft.op("Concat", vector(draft, front), sizes, axis=0) if x.rank else vector(draft, front)
    draft.step("Broadcast", x, target, mode=draft.one(("numpy", "bidirectional")))


@operation("values")
def filled(draft: Draft) -> None:
    """A constant, stretched to sizes."""
    parts: list[Tensor | int] = [between(draft, number(draft), 0, 4) if draft.chance(0.6) else draft.integer(1, 3)
                                 for _ in range(draft.integer(1, 3))]
    value = np.array(draft.integer(0, 2), draft.one([np.float32, np.int64]))
    draft.step("Broadcast", value, vector(draft, parts), mode="numpy")


@operation("values", 2)
def tiled_by_value(draft: Draft) -> None:
    x = draft.pick(lambda t: t.rank > 0)
    times: list[Tensor | int] = [1] * x.rank
    times[draft.integer(0, x.rank - 1)] = between(draft, number(draft), 0, 3)
    draft.step("Tile", x, vector(draft, times))


@operation("values", 2)
def sliced_by_value(draft: Draft) -> None:
    x = draft.pick(lambda t: t.rank > 0)
    at = as_vector(draft, number(draft))
    first, last, step = draft.one([(i64(0), at, 1), (at, i64(10000), 2), (at, i64(-10000), -1), (i64(-1), at, -1)])
    draft.step("Slice", x, first, last, i64(step), i64(pick_axis(draft, x)))


@operation("values")
def cut_by_value(draft: Draft) -> None:
    x = draft.pick(lambda t: t.rank > 0)
    axis = draft.integer(0, x.rank - 1)
    size = draft.op("Gather", draft.op("ShapeOf", x, output_type="i64"), i64(axis), scalar(0), batch_dims=0)
    first = between(draft, as_vector(draft, number(draft)), 0, size)
    rest = draft.op("Subtract", size, first, auto_broadcast="numpy") if draft.chance(0.5) else -1
    draft.step("VariadicSplit", x, scalar(axis), vector(draft, [first, rest]))


@operation("values")
def padded_by_value(draft: Draft) -> None:
    x = draft.pick(lambda t: t.rank > 0 and t.type in ("f32", "i64"))
    amounts: list[list[Tensor | int]] = [[0] * x.rank for _ in range(2)]
    amounts[draft.integer(0, 1)][draft.integer(0, x.rank - 1)] = between(draft, number(draft), 0, 3)
    begin, end = (vector(draft, a) for a in amounts)
    draft.step("Pad", x, begin, end, np.array(0, dtype_of(x.type)), pad_mode="constant")


@operation("values", 2)
def best_by_value(draft: Draft) -> None:
    """TopK, as many as a value says, or a size."""
    x = draft.pick(lambda t: t.exact and t.rank > 0 and t.type in ("f32", "i64"))
    axis = pick_axis(draft, x)
    if not x.least(axis):
        raise Refused("nothing to sort")
    count = as_scalar(draft, between(draft, number(draft), 1, min(x.least(axis), 5)))
    draft.step("TopK", x, count, axis=axis, mode=draft.one(("max", "min")), sort="value", stable=True,
               index_element_type="i64")


@operation("values", 2)
def one_hot(draft: Draft) -> None:
    """Positions of indices, as many as a constant or a value says."""
    x = draft.pick(lambda t: t.type in ("i64", "i32") and t.rank < 4)
    depth = scalar(draft.integer(1, 5)) if draft.chance(0.5) else as_scalar(draft, between(draft, number(draft), 1, 5))
    on, off = (np.array(v, np.float32) for v in (1, 0))
    draft.step("OneHot", x, depth, on, off, axis=draft.signed(draft.integer(0, x.rank), x.rank + 1))


@operation("values", 2)
def gathered_by_value(draft: Draft) -> None:
    """Rows in an order that comes by value, made to be within bounds."""
    x = draft.pick(lambda t: t.rank > 0)
    axis = draft.integer(0, x.rank - 1)
    if not x.least(axis):
        raise Refused("nothing to gather")
    places = draft.pick(lambda t: t.type in ("i64", "i32") and t.rank < 3)
    limit = np.array(x.least(axis), dtype_of(places.type))
    places = draft.op("FloorMod", places, limit, auto_broadcast="numpy")
    draft.step("Gather", x, places, scalar(draft.signed(axis, x.rank)), batch_dims=0)


@operation("values")
def diagonal(draft: Draft) -> None:
    size = as_scalar(draft, between(draft, number(draft), 0, 5))
    draft.step("Eye", size, size, scalar(draft.integer(-1, 1)), output_type="f32")


@operation("values")
def resized_by_value(draft: Draft) -> None:
    x = draft.pick(lambda t: t.rank == 4 and t.type == "f32" and all(v.size for v in t.values))
    height = as_vector(draft, between(draft, number(draft), 1, 7))
    draft.step("Interpolate", x, height, i64(2), mode=draft.one(("nearest", "linear_onnx")),
               shape_calculation_mode="sizes", coordinate_transformation_mode="asymmetric", nearest_mode="floor",
               antialias=False, pads_begin=[0], pads_end=[0], cube_coeff=-0.75)


@operation("values")
def masked(draft: Draft) -> None:
    """Positions below a value: a mask, as attention has it."""
    x = draft.pick(lambda t: t.type == "f32" and t.rank > 1)
    length = draft.op("Gather", draft.op("ShapeOf", x, output_type="i64"), scalar(-1), scalar(0), batch_dims=0)
    places = draft.op("Range", scalar(0), length, scalar(1), output_type="i64")
    mask = draft.op("Less", places, number(draft), auto_broadcast="numpy")
    draft.step("Select", mask, x, np.array(0, np.float32), auto_broadcast="numpy")
