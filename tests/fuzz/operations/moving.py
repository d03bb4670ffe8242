"""Operations that move elements or only rename axes, with constants for what they need to know."""
from __future__ import annotations

import numpy as np

from tests.fuzz.draft import Draft, Refused, Tensor
from tests.fuzz.graph import dtype_of
from tests.fuzz.operations.reducing import pick_axis, some_axes
from tests.fuzz.operations.table import i64, operation, scalar


@operation("moving", 4)
def transposed(draft: Draft) -> None:
    x = draft.pick()
    order = draft.rng.permutation(x.rank)
    if draft.chance(0.15):
        order = np.zeros(0, np.int64)
    draft.step("Transpose", x, order.astype(draft.one([np.int64, np.int32])))


@operation("moving", 4)
def lifted(draft: Draft) -> None:
    x = draft.pick(lambda t: t.rank < 5)
    count = draft.one([1, 1, 1, 2])
    axes = draft.rng.permutation(x.rank + count)[:count].tolist()
    draft.step("Unsqueeze", x, i64(*[draft.signed(axis, x.rank + count) for axis in axes]))


@operation("moving", 4)
def squeezed(draft: Draft) -> None:
    x = draft.pick(lambda t: any(t.size(axis) == 1 for axis in range(t.rank)))
    ones = [axis for axis in range(x.rank) if x.size(axis) == 1]
    chosen = draft.rng.permutation(ones)[:draft.one([1, 1, 2])].tolist()
    if draft.chance(0.1):
        draft.step("Squeeze", x)
    else:
        draft.step("Squeeze", x, i64(*[draft.signed(axis, x.rank) for axis in chosen]))


@operation("moving", 3)
def reshaped(draft: Draft) -> None:
    """A pattern of sizes, zeros and one -1 that fits every setting: axes put together or divided. (Of nothing, -1
    may be any size.)"""
    x = draft.pick(lambda t: all(v.size for v in t.values) or draft.chance(0.1))
    pattern: list[int] = []
    axis, is_open = 0, False
    while axis < x.rank:
        size, zero_counts = x.size(axis), len(pattern) == axis
        if not is_open and draft.chance(0.4) and all(v.size for v in x.values):
            axis += draft.one([1, 1, 2, 3])
            pattern, is_open = [*pattern, -1], True
        elif size and size % 2 == 0 and draft.chance(0.3):
            axis += 1
            pattern += [2, size // 2] if draft.chance(0.5) else [size // 2, 2]
        elif zero_counts and (size is None or draft.chance(0.5)):
            axis += 1
            pattern.append(0)
        elif size is not None:
            axis += 1
            pattern.append(size)
        else:
            raise Refused("no pattern")
        if draft.chance(0.1):
            pattern.append(1)
    draft.step("Reshape", x, i64(*pattern), special_zero=True)


@operation("moving")
def flattened(draft: Draft) -> None:
    x = draft.pick()
    pattern = draft.one([[-1], [1, -1], [-1, 1]])
    draft.step("Reshape", x, i64(*pattern), special_zero=draft.chance(0.5))


@operation("moving", 4)
def joined(draft: Draft) -> None:
    """With itself, with other tensors, or with a constant."""
    x = draft.pick(lambda t: t.rank > 0)
    axis = draft.integer(0, x.rank - 1)
    partners = [t for t in draft.tensors if t.type == x.type and t.rank == x.rank and all(
        a[:axis] + a[axis + 1:] == b[:axis] + b[axis + 1:] for a, b in zip(t.shapes, x.shapes, strict=True))]
    others: list[Tensor | np.ndarray] = [draft.one(partners) for _ in range(draft.one([1, 1, 2]))]
    sizes = [x.size(a) if a != axis else 1 for a in range(x.rank)]
    if draft.chance(0.15) and None not in sizes:
        others.append(np.ones(sizes, dtype_of(x.type)))
    parts = [x, *others]
    draft.step("Concat", *(parts[i] for i in draft.rng.permutation(len(parts))), axis=draft.signed(axis, x.rank))


@operation("moving", 2)
def split(draft: Draft) -> None:
    x = draft.pick(lambda t: t.rank > 0)
    axis = draft.integer(0, x.rank - 1)
    size = x.size(axis)
    parts = draft.one([n for n in (1, 2, 3, 4) if size and size % n == 0])
    draft.step("Split", x, scalar(draft.signed(axis, x.rank)), num_splits=parts)


@operation("moving", 2)
def split_unequally(draft: Draft) -> None:
    x = draft.pick(lambda t: t.rank > 0)
    axis = draft.integer(0, x.rank - 1)
    first = draft.integer(0, min(x.least(axis), 4))
    size = x.size(axis)
    lengths = [first, size - first] if size is not None and draft.chance(0.5) else [first, -1]
    if draft.chance(0.3):
        lengths.reverse()
    draft.step("VariadicSplit", x, scalar(draft.signed(axis, x.rank)), i64(*lengths))


@operation("moving", 4)
def sliced(draft: Draft) -> None:
    """Bounds of either sign, also far outside; steps of either sign; some axes or all."""
    x = draft.pick(lambda t: t.rank > 0)
    axes = some_axes(draft, x.rank, 2)
    steps = [draft.one([1, 1, 1, 2, -1, -2, 3]) for _ in axes]
    ends = [0, 1, 2, -1, -2, 3, -100, 100000, 2**31 - 1, -2**31, 2**63 - 1]
    starts = [draft.one([0, 0, 1, -1, -2, -100] if step > 0 else [-1, -1, 100, 3, 2**31 - 1]) for step in steps]
    stops = [draft.one([-1, 100000, 2**31 - 1, 2, 2**63 - 1] if step > 0 else [-100, 0, -2**31]) for step in steps]
    if draft.chance(0.15):
        starts, stops = [draft.one(ends) for _ in axes], [draft.one(ends) for _ in axes]
    draft.step("Slice", x, i64(*starts), i64(*stops), i64(*steps), i64(*axes))


@operation("moving", 2)
def strided(draft: Draft) -> None:
    """StridedSlice with masks: open bounds, new axes and removed axes."""
    x = draft.pick(lambda t: t.rank > 0)
    count = draft.integer(1, x.rank)
    masks = {name: [int(draft.chance(p)) for _ in range(count)] for name, p in (
        ("begin_mask", 0.3), ("end_mask", 0.5), ("new_axis_mask", 0.1), ("shrink_axis_mask", 0.15))}
    begin = [draft.one([0, 0, 1, -1]) for _ in range(count)]
    end = [draft.one([1, 2, 100, -1]) for _ in range(count)]
    steps = [1 if masks["shrink_axis_mask"][i] or masks["new_axis_mask"][i] else draft.one([1, 1, 2, -1])
             for i in range(count)]
    draft.step("StridedSlice", x, i64(*begin), i64(*end), i64(*steps), ellipsis_mask=[0] * count, **masks)


@operation("moving", 6)
def gathered(draft: Draft) -> None:
    """Constant indices of rank 0 to 2, of either sign, perhaps none."""
    x = draft.pick(lambda t: t.rank > 0)
    axis = draft.integer(0, x.rank - 1)
    size = x.least(axis)
    shape = draft.one([(), (1,), (2,), (3,), (0,), (2, 2), (1, 3)] if size else [(0,), (0, 2)])
    low, high = (-size, size - 1) if draft.chance(0.6) else (0, size - 1)
    indices = draft.rng.integers(low, high + 1, shape) if size else np.zeros(shape)
    draft.step("Gather", x, indices.astype(draft.one([np.int64, np.int32])), scalar(draft.signed(axis, x.rank)),
               batch_dims=0)


@operation("moving")
def gathered_in_batches(draft: Draft) -> None:
    x = draft.pick(lambda t: t.rank > 1 and bool(t.size(0)) and t.least(1) > 0)
    indices = draft.rng.integers(-x.least(1), x.least(1), (x.size(0), draft.integer(1, 3)))
    draft.step("Gather", x, indices, scalar(draft.signed(1, x.rank)), batch_dims=1)


@operation("moving")
def gathered_elements(draft: Draft) -> None:
    x = draft.pick(lambda t: t.rank > 0 and all(value.size for value in t.values))
    axis = draft.integer(0, x.rank - 1)
    shape = [draft.integer(1, 3) if a == axis else x.least(a) for a in range(x.rank)]
    if any(a != axis and x.size(a) is None for a in range(x.rank)):
        raise Refused("an open size")
    draft.step("GatherElements", x, draft.rng.integers(0, x.least(axis), shape), axis=axis)


@operation("moving", 2)
def tiled(draft: Draft) -> None:
    x = draft.pick()
    draft.step("Tile", x, i64(*[draft.one([1, 1, 2, 3, 0]) if draft.chance(0.5) else 1
                                for _ in range(x.rank + int(draft.chance(0.2)))]))


@operation("moving", 2)
def padded(draft: Draft) -> None:
    x = draft.pick(lambda t: t.rank > 0 and t.type in ("f32", "i64", "i32"))
    mode = draft.one(("constant", "constant", "edge", "reflect", "symmetric"))
    low = -1 if mode == "constant" else 0
    begin, end = ([draft.integer(low, 2) if draft.chance(0.4) else 0 for _ in range(x.rank)] for _ in range(2))
    for axis in range(x.rank):
        if x.least(axis) < 3:
            begin[axis], end[axis] = max(begin[axis], 0), max(end[axis], 0)
            if mode != "constant":
                begin[axis] = end[axis] = 0
    value = [np.array(0.25, np.float32).astype(dtype_of(x.type))] if mode == "constant" else []
    draft.step("Pad", x, i64(*begin), i64(*end), *value, pad_mode=mode)


@operation("moving", 2)
def broadcast(draft: Draft) -> None:
    """To a constant shape: axes of size 1 stretched, new ones in front; both ways round."""
    x = draft.pick()
    mode = draft.one(("numpy", "bidirectional"))
    front = [draft.integer(1, 3) for _ in range(draft.one([0, 0, 1]))]
    sizes = [draft.one([1, 2, 3]) if x.size(a) == 1 else x.size(a) for a in range(x.rank)]
    if None in sizes and mode == "numpy":
        raise Refused("an open size")
    target = [*front, *(1 if size is None else size for size in sizes)]
    draft.step("Broadcast", x, i64(*target), mode=mode)


@operation("moving")
def rolled_channels(draft: Draft) -> None:
    """Slices of one axis in another order."""
    x = draft.pick(lambda t: t.rank > 0 and t.least(t.rank - 1) > 1)
    axis = x.rank - 1
    first = draft.op("Slice", x, i64(1), i64(2**31 - 1), i64(1), i64(axis))
    second = draft.op("Slice", x, i64(0), i64(1), i64(1), i64(axis))
    draft.step("Concat", first, second, axis=axis)


@operation("moving")
def depth_and_space(draft: Draft) -> None:
    x = draft.pick(lambda t: t.rank in (3, 4, 5) and t.type == "f32" and bool(t.size(1)))
    if draft.chance(0.5):
        draft.step("DepthToSpace", x, mode=draft.one(("blocks_first", "depth_first")), block_size=2)
    else:
        draft.step("SpaceToDepth", x, mode=draft.one(("blocks_first", "depth_first")), block_size=2)


@operation("moving")
def reversed_sequence(draft: Draft) -> None:
    x = draft.pick(lambda t: t.rank > 1 and bool(t.size(0)) and t.least(1) > 0 and t.type == "f32")
    lengths = draft.rng.integers(1, x.least(1) + 1, x.size(0))
    draft.step("ReverseSequence", x, lengths, batch_axis=0, seq_axis=1)


@operation("moving", 3)
def kept_size(draft: Draft) -> None:
    """A reduction that leaves an axis of size 1, moved by a transposition."""
    x = draft.pick(lambda t: t.is_real and t.rank > 1)
    axis = pick_axis(draft, x)
    name = "ReduceSum" if x.least(axis) == 0 else draft.one(("ReduceSum", "ReduceMax", "ReduceMean"))
    one = draft.op(name, x, i64(axis), keep_dims=True)
    draft.step("Transpose", one, draft.rng.permutation(x.rank))
