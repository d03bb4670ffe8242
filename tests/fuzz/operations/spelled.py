"""What models write out and engines make one primitive of, in all the ways in which it is written, and in ways that
only resemble it."""
from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tests.fuzz.draft import Draft, Refused, Tensor
from tests.fuzz.operations.elementwise import tame
from tests.fuzz.operations.heavy import fused, image, packed
from tests.fuzz.operations.reducing import some_axes
from tests.fuzz.operations.table import i64, operation

Factor = Tensor | np.ndarray


def number(draft: Draft, value: float) -> np.ndarray:
    """A scalar, or one of some axes, rarely of more than the data has."""
    return np.full((1,) * draft.one([0, 0, 0, 0, 1, 1, 3, 5]), value, np.float32)


def paired(draft: Draft, op: str, one: Factor, other: Factor) -> Tensor:
    """An element-wise operation, for which the order of both does not count."""
    first, second = (other, one) if draft.chance(0.3) else (one, other)
    return draft.op(op, first, second, auto_broadcast="numpy")


def rows(draft: Draft, width: Callable[[int], bool] = lambda width: True) -> Tensor:
    """Rows of a known width, at least one."""
    x = draft.pick(lambda t: t.type == "f32" and t.rank in (2, 3, 4) and bool(t.size(-1)) and width(t.size(-1) or 0)
                   and all(v.size for v in t.values))
    tame(draft, x)
    return x


@operation("spelled", 2)
def divided_by_its_size(draft: Draft) -> None:
    """The root of the mean square, of the data or of something else."""
    x = draft.pick(lambda t: t.type == "f32" and t.rank > 0 and all(v.size for v in t.values))
    tame(draft, x)
    of = draft.op("Abs", x) if draft.chance(0.1) else x
    square = (draft.op("Power", of, number(draft, 2), auto_broadcast="numpy") if draft.chance(0.5)
              else draft.op("Multiply", of, x if draft.chance(0.9) else of, auto_broadcast="numpy"))
    axes = some_axes(draft, square.rank)
    mean = draft.op(draft.one(("ReduceMean",) * 4 + ("ReduceSum",)), square, i64(*axes), keep_dims=draft.chance(0.9))
    safe = paired(draft, "Add", mean, number(draft, draft.one((0.01, 0.25, 1))))
    way = draft.integer(0, 3)
    if way == 0:
        paired(draft, "Multiply", x, draft.op("Power", safe, number(draft, -0.5), auto_broadcast="numpy"))
        return
    root = draft.op("Sqrt", safe) if way < 3 else draft.op("Power", safe, number(draft, 0.5), auto_broadcast="numpy")
    if way == 1:
        inverse = draft.op("Divide", number(draft, 1), root, auto_broadcast="numpy", m_pythondiv=True)
        paired(draft, "Multiply", x, inverse)
    else:
        draft.op("Divide", x, root, auto_broadcast="numpy", m_pythondiv=True)


def angles(draft: Draft, x: Tensor, width: int) -> Factor:
    """What stretches to `x` cut to a width: constants, or what is made of it."""
    way = draft.integer(0, 3)
    if way < 2:
        return draft.weights(*[1] * draft.integer(0, x.rank - 1), width if draft.chance(0.9) else 1)
    part = draft.op("Slice", x, i64(0), i64(width), i64(1), i64(x.rank - 1))
    if way == 2 and x.rank > 1:
        part = draft.op("ReduceMax", part, i64(draft.integer(0, x.rank - 2)), keep_dims=True)
    return draft.op("Sin", part)


def parts_of(draft: Draft, x: Tensor, width: int, neighbours: bool) -> tuple[Tensor, Tensor]:
    """Firsts and seconds of pairs: the halves of rows, or every second element."""
    last = i64(x.rank - 1)
    if neighbours:
        return (draft.op("Slice", x, i64(0), i64(width), i64(2), last),
                draft.op("Slice", x, i64(1), i64(width), i64(2), last))
    if draft.chance(0.5):
        first, second = draft.step("Split", x, np.array(x.rank - 1), num_splits=2)
        return first, second
    half = width // 2
    return (draft.op("Slice", x, i64(0), i64(half), i64(1), last),
            draft.op("Slice", x, i64(half), i64(2**31 - 1 if draft.chance(0.5) else width), i64(1), last))


def put_together(draft: Draft, first: Tensor, second: Tensor, neighbours: bool) -> Tensor:
    if not neighbours:
        return draft.op("Concat", first, second, axis=-1 if draft.chance(0.5) else first.rank - 1)
    raised = [draft.op("Unsqueeze", each, i64(-1)) for each in (first, second)]
    stacked = draft.op("Concat", *raised, axis=-1)
    return draft.op("Reshape", stacked, i64(*[0] * (first.rank - 1), -1), special_zero=True)


@operation("spelled", 3)
def turned(draft: Draft) -> None:
    """Pairs of elements turned by angles, perhaps those of the first elements alone; or something like it."""
    x = rows(draft, lambda width: width % 2 == 0)
    whole, size = x, x.size(-1) or 2
    width = draft.one([w for w in (2, 4, size // 2, size) if w % 2 == 0 and 0 < w <= size] + [size] * 3)
    if width < size:
        x = draft.op("Slice", whole, i64(0), i64(width), i64(1), i64(-1))
    neighbours = draft.chance(0.4)
    first, second = parts_of(draft, x, width, neighbours)
    if draft.chance(0.6):
        sign = draft.op("Negative", second) if draft.chance(0.5) else paired(draft, "Multiply", second,
                                                                             np.array(-1, np.float32))
        mixed = draft.chance(0.15)
        other = put_together(draft, *((first, sign) if draft.chance(0.15) else (sign, first)), neighbours != mixed)
        made = paired(draft, "Add", paired(draft, "Multiply", x, angles(draft, x, width)),
                      paired(draft, "Multiply", other, angles(draft, x, width)))
    else:
        cosine, sine = (angles(draft, x, width // 2) for _ in range(2))
        turn = draft.op("Subtract", paired(draft, "Multiply", first, cosine), paired(draft, "Multiply", second, sine),
                        auto_broadcast="numpy")
        back = paired(draft, draft.one(("Add",) * 6 + ("Maximum",)), paired(draft, "Multiply", second, cosine),
                      paired(draft, "Multiply", first, sine))
        made = put_together(draft, turn, back, neighbours)
    if width < size:
        start = width if draft.chance(0.8) else 0
        draft.op("Concat", made, draft.op("Slice", whole, i64(start), i64(size), i64(1), i64(-1)), axis=-1)


def heads_of(draft: Draft, x: Tensor, heads: int) -> Tensor:
    """[..., length, heads * width] as [..., heads, length, width]."""
    width = (x.size(-1) or heads) // heads
    pattern = i64(*[0] * (x.rank - 1), *((heads, width) if draft.chance(0.5) else (heads, -1)))
    apart = draft.op("Reshape", x, pattern, special_zero=True)
    return draft.op("Transpose", apart, i64(*range(x.rank - 2), x.rank - 1, x.rank - 2, x.rank))


def repeated(draft: Draft, x: Tensor, times: int) -> Tensor:
    """Heads (axis -3), each several times in a row; or all of them several times."""
    axis, heads = x.rank - 3, x.size(-3)
    way = draft.integer(0, 3)
    if heads is None or way == 0:
        return draft.op("Tile", x, i64(*[1] * axis, times, 1, 1))
    if way == 1:
        places = np.repeat(np.arange(heads), times) if draft.chance(0.7) else np.tile(np.arange(heads), times)
        return draft.op("Gather", x, i64(*places), np.array(axis), batch_dims=0)
    behind = axis + draft.one((1, 1, 1, 0))
    raised = draft.op("Unsqueeze", x, i64(behind))
    if way == 2:
        many = draft.op("Concat", *[raised] * times, axis=behind)
    else:
        target = [1] * raised.rank
        target[behind] = times
        many = draft.op("Broadcast", raised, i64(*target), mode="bidirectional")
    return draft.op("Reshape", many, i64(*[0] * axis, heads * times, -1, x.size(-1) or 1), special_zero=True)


def hidden(draft: Draft, scores: Tensor) -> Factor:
    """A mask for scores: known, made of them, or one that hides the first columns."""
    way = draft.integer(0, 2)
    if way == 0:
        return draft.weights(*[1] * draft.integer(0, scores.rank))
    if way == 1:
        return draft.op("ReduceMax", scores, i64(*some_axes(draft, scores.rank, 2)), keep_dims=True)
    sizes = draft.op("ShapeOf", scores, output_type="i64")
    length = draft.op("Gather", sizes, np.array(-1), np.array(0), batch_dims=0)
    places = draft.op("Range", np.array(0), length, np.array(1), output_type="i64")
    seen = draft.op("Greater", places, np.array(draft.integer(-1, 1)), auto_broadcast="numpy")
    return draft.op("Select", seen, np.array(0, np.float32), np.array(-1e3, np.float32), auto_broadcast="numpy")


def attended(draft: Draft, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """Attention as one operation or written out, scaled and masked anywhere."""
    if draft.chance(0.3):
        return draft.op("ScaledDotProductAttention", query, key, value, causal=draft.chance(0.3))
    if draft.chance(0.3):
        query = draft.op("Multiply", query, number(draft, 0.5), auto_broadcast="numpy")
    if draft.chance(0.4):
        key = draft.op("Transpose", key, i64(*range(key.rank - 2), key.rank - 1, key.rank - 2))
        scores = draft.op("MatMul", query, key, transpose_a=False, transpose_b=False)
    else:
        scores = draft.op("MatMul", query, key, transpose_a=False, transpose_b=True)
    for step in draft.one(("sm", "ms", "s", "m", "sms", "")):
        if step == "m":
            scores = paired(draft, "Add", scores, hidden(draft, scores))
        else:
            scores = draft.op(draft.one(("Multiply", "Divide")), scores, number(draft, draft.one((0.5, -0.25, 2))),
                              auto_broadcast="numpy")
    chances = draft.op("Softmax", scores, axis=draft.one((-1, -1, scores.rank - 1, -2)))
    return draft.op("MatMul", chances, value, transpose_a=False, transpose_b=False)


@operation("spelled", 4)
def projected(draft: Draft) -> None:
    """Query, key and value by products of one tensor, each by its own or all by one; heads, repeated or not."""
    x = rows(draft)
    if x.rank == 4:
        raise Refused("heads of five axes")
    heads, groups, width = draft.one((1, 2, 4)), draft.one((1, 1, 2)), draft.one((2, 4, 8))
    few = heads // groups if heads % groups == 0 else heads
    columns = [heads * width, few * width, few * width]
    if draft.chance(0.5):
        parts = [projection(draft, x, count) for count in columns]
    else:
        joined = projection(draft, x, sum(columns))
        parts = draft.step("VariadicSplit", joined, np.array(-1), i64(*columns))
    query, key, value = (heads_of(draft, part, count) for part, count in zip(parts, (heads, few, few), strict=True))
    if few < heads:
        key, value = (repeated(draft, each, heads // few) for each in (key, value))
    made = attended(draft, query, key, value)
    if draft.chance(0.7):
        order = (*range(made.rank - 3), made.rank - 2, made.rank - 3, made.rank - 1)
        back = draft.op("Transpose", made, i64(*order))
        draft.op("Reshape", back, i64(*[0] * (x.rank - 1), -1), special_zero=True)


def projection(draft: Draft, x: Tensor, columns: int) -> Tensor:
    """A product with constants, perhaps with a bias."""
    turn = draft.chance(0.5)
    depth = x.size(-1) or 1
    weights = packed(draft, draft.weights(*((columns, depth) if turn else (depth, columns))))
    made = draft.op("MatMul", x, weights, transpose_a=False, transpose_b=turn)
    return paired(draft, "Add", made, draft.weights(columns)) if draft.chance(0.4) else made


@operation("spelled", 2)
def gated(draft: Draft) -> None:
    """Parts of a product, of which one opens the other."""
    made = projection(draft, rows(draft), 2 * (half := draft.one((2, 3, 8, 12))))
    last, way = i64(made.rank - 1), draft.integer(0, 3)
    if way == 0:
        gate, data = draft.step("Split", made, np.array(-1), num_splits=2)
    elif way == 1:
        gate, data, *_ = draft.step("VariadicSplit", made, np.array(made.rank - 1), i64(half, half, 0))
    elif way == 2:
        starts = (half, 0) if draft.chance(0.5) else (0, half - draft.integer(0, 1))
        gate, data = (draft.op("Slice", made, i64(start), i64(start + half), i64(1), last) for start in starts)
    else:
        gate, data = (draft.op("Slice", made, i64(start), i64(2 * half), i64(2), last) for start in (0, 1))
    opened = draft.op(draft.one(("Swish", "Sigmoid", "Relu", "Tanh")), gate)
    if draft.chance(0.2):
        opened = draft.op("Multiply", opened, gate, auto_broadcast="numpy")
    paired(draft, "Multiply", opened, data)


@operation("spelled", 2)
def bytes_multiplied(draft: Draft) -> None:
    """A product or convolution of whole numbers less a zero point, times a step."""
    x = draft.pick(lambda t: t.type in ("u8", "i32", "i64") and t.rank in (2, 3, 4) and all(v.size for v in t.values))
    data = draft.op("Convert", x, destination_type=draft.one(("u8", "i8")))
    data = draft.op("Convert", data, destination_type="f32")
    if draft.chance(0.7):
        data = draft.op("Subtract", data, number(draft, draft.one((1, 2, 128))), auto_broadcast="numpy")
    if draft.chance(0.7):
        data = draft.op("Multiply", data, number(draft, 0.25), auto_broadcast="numpy")
    if data.rank > 2 and data.size(1) and draft.chance(0.5):
        spread = [1] * (data.rank - 2)
        weights = packed(draft, draft.weights(draft.one((1, 4, 16)), data.size(1) or 1, *spread))
        fused(draft, draft.op("Convolution", data, weights, strides=spread, pads_begin=[0] * len(spread),
                              pads_end=[1] * len(spread), dilations=spread))
    elif data.size(-1):
        projection(draft, data, draft.one((1, 4, 16)))
    else:
        raise Refused("an open depth")


@operation("spelled")
def scaled_pictures(draft: Draft) -> None:
    """A factor for each picture, channel, or place, ahead of a convolution."""
    x = image(draft)
    axes = some_axes(draft, x.rank)
    factor = draft.op("Sigmoid", draft.op("ReduceMean", x, i64(*axes), keep_dims=True))
    scaled = paired(draft, "Multiply", x, factor)
    if draft.chance(0.3):
        scaled = draft.op("Relu", scaled)
    ones = [1] * (x.rank - 2)
    fused(draft, draft.op("Convolution", scaled, draft.weights(draft.one((1, 8, 16)), x.size(1) or 1, *ones),
                          strides=ones, pads_begin=ones, pads_end=ones, dilations=ones))
