"""What the host computes from values equals NumPy, for ranks 0 to 3, and has the shape that the shape rule tells."""
from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from clinfer.base.element_type import ElementType
from clinfer.base.errors import ClinferError
from clinfer.frontend.shape_inference import OpenVinoShapeInference
from clinfer.ops.broadcast import Broadcast
from clinfer.ops.concat import Concat
from clinfer.ops.convert import Convert
from clinfer.ops.cum_sum import CumSum
from clinfer.ops.eltwise import Eltwise
from clinfer.ops.eltwise.modes import MODES
from clinfer.ops.gather import Gather, Gather7
from clinfer.ops.pad import Pad
from clinfer.ops.range import Range
from clinfer.ops.reduce import REDUCTIONS, Reduce
from clinfer.ops.reshape import Identity, Reshape, Squeeze, Unsqueeze
from clinfer.ops.reverse import Reverse
from clinfer.ops.roll import Roll
from clinfer.ops.scatter import ScatterElementsUpdate, ScatterNDUpdate, ScatterUpdate
from clinfer.ops.shape_of import ShapeOf
from clinfer.ops.slice import Slice, StridedSlice
from clinfer.ops.split import Split, VariadicSplit
from clinfer.ops.tile import Tile
from clinfer.ops.transpose import Transpose
from clinfer.topology import Primitive
from clinfer.topology.shape_rules import PrimitiveRule

SHAPES = ((), (0,), (1,), (4,), (1, 1), (3, 1), (2, 4), (1, 2, 3), (2, 0, 3), (3, 1, 2))
Values = tuple[np.ndarray, ...]
Row = tuple[Primitive, Values, Callable[..., Any]]
"""A primitive, what it reads, and the same of that by NumPy."""


def _data(shape: tuple[int, ...], kind: Any = np.int64) -> np.ndarray:
    return (np.arange(math.prod(shape)) * 7 % 11 - 4).reshape(shape).astype(kind)


def _i64(*numbers: int) -> np.ndarray:
    return np.array(numbers, np.int64)


def _made(cls: type[Primitive], count: int, **attributes: Any) -> Primitive:
    return cls("p", tuple("abcdefg"[:count]), **attributes)


def _reshaping(shape: tuple[int, ...]) -> Iterator[Row]:
    x, rank = _data(shape), len(shape)
    for pattern in ((-1,), (1, -1), shape, (0,) * rank, (*(0,) * rank, 1), (-1, 1, 1)):
        yield (_made(Reshape, 2, special_zero=True), (x, _i64(*pattern)), lambda x, p: x.reshape(
            [x.shape[i] if size == 0 else size for i, size in enumerate(p)]))
    if shape:
        yield _made(Reshape, 2, special_zero=True), (x, _i64(*(0,) * (rank - 1), -1)), lambda x, p: x
    ones = tuple(a for a, size in enumerate(shape) if size == 1)
    for axes in ((), ones, ones[-1:], tuple(a - rank for a in ones)):
        yield (_made(Squeeze, 2), (x, _i64(*axes)), lambda x, a: np.squeeze(x, tuple(a) if a.size else None))
    for axes in ((), (0,), (-1,), (0, -1)):
        yield _made(Unsqueeze, 2), (x, _i64(*axes)), lambda x, a: np.expand_dims(x, tuple(a))
    yield _made(Squeeze, 1), (x,), np.squeeze
    if shape[:1] == (1,):
        yield _made(Squeeze, 2), (x, np.array(0)), lambda x, a: np.squeeze(x, int(a))
    yield _made(Unsqueeze, 2), (x, np.array(0)), lambda x, a: np.expand_dims(x, int(a))
    yield _made(Identity, 1), (x,), lambda x: x
    yield _made(ShapeOf, 1, output_type="i32"), (x,), lambda x: np.array(x.shape, np.int32)
    yield _made(Convert, 1, destination_type="i32"), (x,), lambda x: x.astype(np.int32)
    yield _made(Convert, 1, destination_type="boolean"), (x,), lambda x: x != 0


def _moving(shape: tuple[int, ...]) -> Iterator[Row]:
    x, rank = _data(shape), len(shape)
    yield _made(Transpose, 2), (x, _i64()), lambda x, o: np.transpose(x)
    for order in itertools.permutations(range(rank)):
        yield _made(Transpose, 2), (x, _i64(*order)), lambda x, o: np.transpose(x, o)
    for repeats in ((), (2,), (1, 3), (2, 1, 0), (2, 1, 2)):
        yield _made(Tile, 2), (x, _i64(*repeats)), lambda x, r: np.tile(x, tuple(r))
    for axes in itertools.chain.from_iterable(itertools.combinations(range(rank), n) for n in range(rank + 1)):
        yield _made(Reverse, 2), (x, _i64(*axes)), lambda x, a: np.flip(x, tuple(a))
        yield (_made(Roll, 2, axes=(*axes, *axes[:1])), (x, _i64(*range(-2, len(axes) - 1))[:len(axes) + bool(axes)]),
               lambda x, s, axes=axes: np.roll(x, tuple(s), (*axes, *axes[:1])) if axes else x)
    for begin, end in ((0, 0), (1, 2), (-1, 1), (0, -1)):
        if all(size + begin + end >= 0 and size + min(begin, end) >= 0 for size in shape):
            yield _made(Pad, 4), (x, _i64(*[begin] * rank), _i64(*[end] * rank), np.array(9)), _padded
    for target in (shape, (3, *shape), (2, 3, *shape)):
        yield _made(Broadcast, 2), (x, _i64(*target)), lambda x, t: np.broadcast_to(x, tuple(t))
        yield (_made(Broadcast, 2, mode="bidirectional"), (x, _i64(*[1] * len(target))),
               lambda x, t: np.broadcast_to(x, (*(1,) * (len(t) - x.ndim), *x.shape)))
    yield (_made(Broadcast, 3, mode="explicit"), (x, _i64(*shape, 2), _i64(*range(rank))),
           lambda x, t, m: np.broadcast_to(x[..., None], tuple(t)))


def _padded(x: np.ndarray, begins: np.ndarray, ends: np.ndarray, fill: np.ndarray) -> np.ndarray:
    for axis, (begin, end) in enumerate(zip(begins, ends, strict=True)):
        rows = np.moveaxis(x, axis, 0)[max(-begin, 0):x.shape[axis] - max(-end, 0)]
        around = [np.full((max(count, 0), *rows.shape[1:]), fill) for count in (begin, end)]
        x = np.moveaxis(np.concatenate([around[0], rows, around[1]]), 0, axis)
    return x


def _cutting(shape: tuple[int, ...]) -> Iterator[Row]:
    x, rank = _data(shape), len(shape)
    for axis in range(-rank, rank):
        size = shape[axis]
        for parts in (1, 2, 3):
            if size % parts == 0:
                yield (_made(Split, 2, num_splits=parts), (x, np.array(axis)),
                       lambda x, a, parts=parts: np.split(x, parts, int(a)))
        yield (_made(VariadicSplit, 3, num_splits=3), (x, np.array(axis), _i64(0, -1, min(size, 1))),
               lambda x, a, n: np.split(x, [0, x.shape[int(a)] - n[2]], int(a)))
        for start, stop, step in ((0, 99, 1), (1, -1, 1), (-1, -99, -1), (-100, 100, 2), (3, 1, -2)):
            yield (_made(Slice, 5), (x, _i64(start), _i64(stop), _i64(step), _i64(axis)), lambda x, b, e, s, a:
                   np.moveaxis(np.moveaxis(x, int(a[0]), 0)[int(b[0]):int(e[0]):int(s[0])], 0, int(a[0])))
        yield (_made(CumSum, 2, exclusive=axis < 0), (x, np.array(axis)),
               lambda x, a: np.cumsum(x, int(a)) - (x if a < 0 else 0))
        yield (_made(CumSum, 2, reverse=True), (x, np.array(axis)),
               lambda x, a: np.flip(np.cumsum(np.flip(x, int(a)), int(a)), int(a)))
        for count in (1, 2):
            yield (_made(Concat, count, axis=axis), (x, x + 1)[:count],
                   lambda *x, axis=axis: np.concatenate(x, axis))
        for indices in (np.array(-1), _i64(), _i64(0, -1), _i64(0, 0).reshape(2, 1)):
            if size:
                yield _made(Gather, 3), (x, indices, np.array(axis)), lambda x, i, a: np.take(x, i, int(a))
                yield (_made(Gather7, 3), (x, np.abs(indices) % size, np.array(axis)),
                       lambda x, i, a: np.take(x, i, int(a)))
    masks: tuple[dict[str, Any], ...] = (
        {}, {"shrink_axis_mask": (1,)}, {"new_axis_mask": (1,)}, {"ellipsis_mask": (1,)}, {"end_mask": (1,)})
    for mask in masks:
        if shape and (0 not in shape or "shrink_axis_mask" not in mask):
            cut = {"shrink_axis_mask": 0, "new_axis_mask": None, "ellipsis_mask": ...,
                   "end_mask": slice(0, None)}.get(next(iter(mask), ""), slice(0, 1))
            yield (_made(StridedSlice, 4, **mask), (x, _i64(0), _i64(1), _i64(1)),
                   lambda x, b, e, s, cut=cut: x[cut])


def _scattering(shape: tuple[int, ...]) -> Iterator[Row]:
    x = _data(shape)
    if not shape or 0 in shape:
        return
    for indices in (np.array(0), _i64(0), _i64(0).reshape(1, 1)):
        changes = np.full((*indices.shape, *shape[1:]), 77)
        yield _made(ScatterUpdate, 4), (x, indices, changes, np.array(0)), lambda x, i, u, a: _set(x, 0, 77)
    yield (_made(ScatterElementsUpdate, 4), (x, np.zeros((1, *shape[1:]), np.int64), _data((1, *shape[1:])) + 50,
           np.array(0)), lambda x, i, u, a: _set(x, 0, u[0]))
    for length in range(1, len(shape) + 1):
        yield (_made(ScatterNDUpdate, 3), (x, _i64(*[0] * length), np.full(shape[length:], 77)),
               lambda x, i, u: _set(x, tuple(i), 77))
        yield (_made(ScatterNDUpdate, 3), (x, _i64(*[-1] * length)[None], np.full((1, *shape[length:]), 77)),
               lambda x, i, u: _set(x, tuple(i[0]), 77))


def _set(x: np.ndarray, place: Any, value: Any) -> np.ndarray:
    x = x.copy()
    x[place] = value
    return x


_LIMITS = np.iinfo(np.int64)
_BY_NUMPY = {"Sum": np.sum, "Max": lambda x, a, keepdims: np.max(x, a, keepdims=keepdims, initial=_LIMITS.min),
             "Min": lambda x, a, keepdims: np.min(x, a, keepdims=keepdims, initial=_LIMITS.max),
             "Prod": np.prod, "LogicalAnd": np.all, "LogicalOr": np.any,
             "Mean": lambda x, a, keepdims: np.trunc(np.sum(x, a, keepdims=keepdims) / max(math.prod(
                 [x.shape[i] for i in a]), 1)).astype(np.int64),
             "L1": lambda x, a, keepdims: np.sum(np.abs(x), a, keepdims=keepdims),
             "L2": lambda x, a, keepdims: np.sqrt(np.sum(x * x, a, keepdims=keepdims)).astype(np.int64)}


def _reducing(shape: tuple[int, ...]) -> Iterator[Row]:
    rank = len(shape)
    for mode, keep in itertools.product(REDUCTIONS, (False, True)):
        x = _data(shape, np.bool_ if mode.startswith("Logical") else np.int64)
        for axes in itertools.chain.from_iterable(itertools.combinations(range(rank), n) for n in range(rank + 1)):
            yield (_made(Reduce, 2, mode=mode, keep_dims=keep), (x, _i64(*axes)),
                   lambda x, a, mode=mode, keep=keep: _BY_NUMPY[mode](x, tuple(map(int, a)), keepdims=keep))
        if rank:
            yield (_made(Reduce, 2, mode=mode, keep_dims=keep), (x, np.array(-1)),
                   lambda x, a, mode=mode, keep=keep: _BY_NUMPY[mode](x, (x.ndim - 1,), keepdims=keep))


_BINARY = {"Add": np.add, "Subtract": np.subtract, "Multiply": np.multiply, "Maximum": np.maximum,
           "Minimum": np.minimum, "FloorMod": np.mod, "Mod": np.fmod, "Divide": np.floor_divide,
           "SquaredDifference": lambda a, b: (a - b)**2, "Equal": np.equal, "NotEqual": np.not_equal, "Less": np.less,
           "LessEqual": np.less_equal, "Greater": np.greater, "GreaterEqual": np.greater_equal,
           "LogicalAnd": np.logical_and, "LogicalOr": np.logical_or, "LogicalXor": np.logical_xor,
           "BitwiseAnd": np.bitwise_and, "BitwiseOr": np.bitwise_or, "BitwiseXor": np.bitwise_xor,
           "BitwiseLeftShift": np.left_shift, "BitwiseRightShift": np.right_shift, "Power": np.power}
_UNARY = {"Relu": lambda x: np.maximum(x, 0), "Abs": np.abs, "Negative": np.negative, "Floor": lambda x: x,
          "Ceiling": lambda x: x, "Round": lambda x: x, "Sign": np.sign, "BitwiseNot": np.invert,
          "LogicalNot": np.logical_not, "Clamp": lambda x: np.clip(x, -1, 3)}
_OF_FLOATS = {"Exp": np.exp, "Log": np.log, "Sqrt": np.sqrt}


def _element_wise(shape: tuple[int, ...]) -> Iterator[Row]:
    for mode, expected in _UNARY.items():
        kind = np.bool_ if mode == "LogicalNot" else np.int64
        yield (_made(Eltwise, 1, mode=mode, parameters={"Clamp": (-1.5, 3.5), "Round": (0.0,)}.get(mode, ())),
               (_data(shape, kind),), expected)
    for mode, expected in _OF_FLOATS.items():
        yield _made(Eltwise, 1, mode=mode), (np.abs(_data(shape, np.float32)) + 1,), expected
    for mode, expected in _BINARY.items():
        logical = mode.startswith("Logical")
        positive = mode in ("Power", "Divide", "Mod", "FloorMod", "BitwiseLeftShift", "BitwiseRightShift")
        x, own = _data(shape, np.bool_ if logical else np.int64), (1.0,) if mode == "Divide" else ()
        for other in (shape, (), (1,), (3, *(1,) * len(shape))):
            y = _data(other, x.dtype)
            y = np.abs(y) + 1 if positive else y
            yield _made(Eltwise, 2, mode=mode, parameters=own), (np.abs(x) if "Shift" in mode else x, y), expected
            if 0 not in shape:
                yield _made(Eltwise, 2, mode=mode, parameters=own), (
                    np.abs(y), np.abs(x) + 1 if positive else x), expected
    yield _made(Eltwise, 3, mode="Select"), (_data(shape) > 0, _data(shape), _i64(5)), np.where


def _ranges(shape: tuple[int, ...]) -> Iterator[Row]:
    if math.prod(shape) == 1 and len(shape) < 2:
        for start, stop, step in ((0, 5, 1), (7, -4, -3), (2, 2, 1), (3, 1, 1)):
            yield (_made(Range, 3, output_type="i64"), tuple(np.full(shape, n) for n in (start, stop, step)),
                   lambda a, b, c: np.arange(int(a.reshape(())), int(b.reshape(())), int(c.reshape(()))))


FAMILIES = (_reshaping, _moving, _cutting, _scattering, _reducing, _element_wise, _ranges)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("family", FAMILIES, ids=lambda f: f.__name__.strip("_"))
def test_host_values(family: Callable[[tuple[int, ...]], Iterator[Row]], shape: tuple[int, ...]) -> None:
    for primitive, values, by_numpy in family(shape):
        told = f"{primitive} of {values}"
        shapes = tuple(value.shape for value in values)
        allowed = _by_rule(primitive, values)
        assert primitive.can_evaluate, told
        if allowed is None:
            continue
        results = primitive.evaluate(values, shapes)
        wanted = by_numpy(*values)
        wanted = wanted if isinstance(wanted, list) else [np.asarray(wanted)]
        types = primitive.output_types(tuple(ElementType.of_numpy(value.dtype) for value in values))
        assert tuple(result.shape for result in results) == allowed, told
        for result, expected, kind in zip(results, wanted, types, strict=True):
            assert result.dtype == kind.numpy and result.shape == expected.shape, told
            assert np.allclose(result, expected), told


def _by_rule(primitive: Primitive, values: Values) -> tuple[tuple[int, ...], ...] | None:
    """The shapes that the shape rule tells; None where it refuses."""
    types = tuple(ElementType.of_numpy(value.dtype) for value in values)
    rule = PrimitiveRule(primitive, types, OpenVinoShapeInference())
    try:
        return rule(tuple(value.shape for value in values),  # type: ignore[return-value]
                    {i: values[i] for i in primitive.value_inputs})
    except ClinferError:
        return None


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("target", ["i64", "i32", "i16", "i8", "u64", "u32", "u16", "u8", "u4", "i4", "boolean"])
def test_floats_beyond_a_type_of_integers_wrap_on_the_host_as_in_kernels(target: str) -> None:
    """Also of what is no number something is made, without a warning."""
    convert, kind = _made(Convert, 1, destination_type=target), ElementType.of(target)
    low = 32 if kind.bits < 32 or target == "i32" else 64
    values = [-1.75, -0.5, 300.5, -129.0, 70000.0, *([3e9, -3e9, 1e12] if low > 32 else [])]
    found = convert.evaluate((np.array(values, np.float32),), ((len(values),),))[0]
    numbers = np.array([int(np.float32(value)) for value in values])
    expected = np.array(values) != 0 if target == "boolean" else kind.decode(
        kind.encode(numbers.astype(np.int32 if low == 32 else np.int64)), len(values))
    assert found.dtype == kind.numpy
    np.testing.assert_array_equal(found, expected)
    assert convert.evaluate((np.array([np.nan, np.inf, -np.inf], np.float32),), ((3,),))[0].shape == (3,)


def test_every_primitive_that_the_host_computes_is_here() -> None:
    made = {type(primitive) for family in FAMILIES for shape in SHAPES for primitive, _, _ in family(shape)}
    modes = {primitive.mode for shape in SHAPES for primitive, _, _ in _element_wise(shape)}  # type: ignore[attr-defined]
    from clinfer.ops import all_operations
    able = {cls for op in all_operations() for cls in op.kernels if cls.can_evaluate is not Primitive.can_evaluate}
    assert able <= made, able - made
    assert {mode for mode, row in MODES.items() if row.evaluate is not None} <= modes
