"""Operations of random models whose shapes follow from shapes."""
from __future__ import annotations

import numpy as np
from openvino import opset13 as ops

from tests.sequences.drafts import CHANNELS, Dims, Draft, Tensor, i64, operation, size_of, weights

# -- element-wise -------------------------------------------------------------------------------


@operation
def activation(draft: Draft, x: Tensor, number: int) -> bool:
    name = ("relu", "tanh", "sigmoid", "abs", "negative")[number % 5]
    draft.add(getattr(ops, name)(x.node), x.dims, x.exact and name in ("relu", "abs", "negative"))
    return True


@operation
def scaled(draft: Draft, x: Tensor, number: int) -> bool:
    draft.add(ops.multiply(x.node, np.float32(0.5 + number % 3)), x.dims)
    return True


@operation
def together(draft: Draft, x: Tensor, number: int) -> bool:
    """Two tensors of one shape, or one that is stretched."""
    partners = [t for t in draft.tensors if _broadcasts(t.dims, x.dims)]
    if not partners:
        return False
    other = partners[number % len(partners)]
    kinds = (ops.add, ops.subtract, ops.maximum, ops.minimum)
    make = kinds[number // 3 % 4]
    draft.add(make(x.node, other.node), x.dims, x.exact and other.exact and make in kinds[2:])
    return True


def _broadcasts(small: Dims, large: Dims) -> bool:
    return len(small) <= len(large) and all(
        a in (1, b) for a, b in zip(small[::-1], large[::-1], strict=False))


@operation
def chosen(draft: Draft, x: Tensor, number: int) -> bool:
    if not x.exact:
        return False
    mask = ops.greater(x.node, np.float32(0.1))
    draft.add(ops.select(mask, x.node, ops.multiply(x.node, np.float32(-2))), x.dims, True)
    return True


# -- heavy --------------------------------------------------------------------------------------


@operation
def convolution(draft: Draft, x: Tensor, number: int) -> bool:
    if x.rank != 4 or x.dims[1] != CHANNELS:
        return False
    size, stride = ((1, 1), (3, 1), (3, 2))[number % 3]
    pad = [size // 2] * 2
    made = ops.convolution(x.node, weights(number % 3, CHANNELS, CHANNELS, size, size), [stride] * 2, pad, pad, [1, 1])
    sizes = x.dims[2:] if stride == 1 else (f"conv({x.dims[2]})", f"conv({x.dims[3]})")
    draft.add(made, (*x.dims[:2], *sizes))
    return True


@operation
def pooling(draft: Draft, x: Tensor, number: int) -> bool:
    if x.rank != 4:
        return False
    if number % 2:
        made = ops.max_pool(x.node, [2, 2], [1, 1], [0, 0], [1, 1], [2, 2]).output(0)
    else:
        made = ops.avg_pool(x.node, [2, 2], [0, 0], [1, 1], [2, 2], True).output(0)
    draft.add(made, (*x.dims[:2], f"pool({x.dims[2]})", f"pool({x.dims[3]})"), x.exact and number % 2 == 1)
    return True


@operation
def dense(draft: Draft, x: Tensor, number: int) -> bool:
    if x.rank < 2 or x.dims[-1] != CHANNELS:
        return False
    made = ops.matmul(x.node, weights(number % 2, CHANNELS, CHANNELS), False, bool(number % 2))
    if number % 4 > 1:
        made = ops.add(made, weights(9, CHANNELS))
    draft.add(made, x.dims)
    return True


@operation
def attention(draft: Draft, x: Tensor, number: int) -> bool:
    if x.rank != 3 or x.dims[-1] != CHANNELS:
        return False
    scores = ops.softmax(ops.matmul(x.node, x.node, False, True), -1)
    draft.add(ops.matmul(scores, x.node, False, False), x.dims)
    return True


@operation
def softmax(draft: Draft, x: Tensor, number: int) -> bool:
    if not x.rank:
        return False
    draft.add(ops.softmax(x.node, number % x.rank), x.dims)
    return True


@operation
def normalized(draft: Draft, x: Tensor, number: int) -> bool:
    if x.rank < 2 or x.dims[-1] != CHANNELS:
        return False
    draft.add(ops.mvn(x.node, i64(-1), True, 1e-2, "inside_sqrt"), x.dims)
    return True


@operation
def reduced(draft: Draft, x: Tensor, number: int) -> bool:
    if x.rank < 2:
        return False
    axis, keep = number % x.rank, bool(number // 4 % 2)
    kind = (ops.reduce_sum, ops.reduce_mean, ops.reduce_max)[number // 8 % 3]
    if kind is not ops.reduce_sum and not isinstance(x.dims[axis], int):
        kind = ops.reduce_sum  # of nothing, the others are undefined
    dims = (*x.dims[:axis], *((1,) if keep else ()), *x.dims[axis + 1:])
    draft.add(kind(x.node, i64(axis), keep), dims)
    return True


@operation
def running_sum(draft: Draft, x: Tensor, number: int) -> bool:
    if not x.rank:
        return False
    draft.add(ops.cum_sum(x.node, np.int64(number % x.rank)), x.dims)
    return True


# -- moving -------------------------------------------------------------------------------------


@operation
def transposed(draft: Draft, x: Tensor, number: int) -> bool:
    if x.rank < 2:
        return False
    order = np.random.default_rng(number % 4).permutation(x.rank)
    draft.add(ops.transpose(x.node, order.astype(np.int64)), tuple(x.dims[i] for i in order), x.exact)
    return True


@operation
def flattened(draft: Draft, x: Tensor, number: int) -> bool:
    """Two axes become one, by shape arithmetic."""
    if x.rank < 2:
        return False
    axis = number % (x.rank - 1)
    pieces = [size_of(x, i) for i in range(axis)] + [
        ops.multiply(size_of(x, axis), size_of(x, axis + 1))] + [size_of(x, i) for i in range(axis + 2, x.rank)]
    pattern = pieces[0] if len(pieces) == 1 else ops.concat(pieces, 0)
    a, b = x.dims[axis:axis + 2]
    both = a * b if isinstance(a, int) and isinstance(b, int) else f"({a}*{b})"
    draft.add(ops.reshape(x.node, pattern, False), (*x.dims[:axis], both, *x.dims[axis + 2:]), x.exact)
    return True


@operation
def divided(draft: Draft, x: Tensor, number: int) -> bool:
    """The channels become two axes; zeros and -1 in the pattern."""
    if not x.rank or x.rank > 4 or x.dims[-1] != CHANNELS:
        return False
    pattern = i64(*[0] * (x.rank - 1), -1, 2) if number % 2 else i64(*[0] * (x.rank - 1), 2, 4)
    made = ops.reshape(x.node, pattern, True)
    draft.add(made, (*x.dims[:-1], *((4, 2) if number % 2 else (2, 4))), x.exact)
    return True


@operation
def lifted(draft: Draft, x: Tensor, number: int) -> bool:
    if x.rank > 4:
        return False
    axis = number % (x.rank + 1)
    draft.add(ops.unsqueeze(x.node, i64(axis)), (*x.dims[:axis], 1, *x.dims[axis:]), x.exact)
    return True


@operation
def joined(draft: Draft, x: Tensor, number: int) -> bool:
    """Concatenation with another tensor (or itself) along any axis."""
    if not x.rank:
        return False
    axis = number % x.rank
    partners = [t for t in draft.tensors if t.rank == x.rank
                and all(i == axis or a == b for i, (a, b) in enumerate(zip(t.dims, x.dims, strict=True)))]
    other = partners[number // 4 % len(partners)]
    a, b = x.dims[axis], other.dims[axis]
    both = a + b if isinstance(a, int) and isinstance(b, int) else f"({a}+{b})"
    made = ops.concat([x.node, other.node], axis)
    draft.add(made, (*x.dims[:axis], both, *x.dims[axis + 1:]), x.exact and other.exact)
    return True


@operation
def split(draft: Draft, x: Tensor, number: int) -> bool:
    axes = [i for i, d in enumerate(x.dims) if isinstance(d, int) and d % 2 == 0]
    if not axes:
        return False
    axis = axes[number % len(axes)]
    made = ops.split(x.node, np.int64(axis), 2)
    for part in range(2):
        draft.add(made.output(part), (*x.dims[:axis], x.dims[axis] // 2, *x.dims[axis + 1:]), x.exact)
    return True


# -- more of everything -------------------------------------------------------------------------


@operation
def grouped(draft: Draft, x: Tensor, number: int) -> bool:
    if x.rank != 4 or x.dims[1] != CHANNELS:
        return False
    groups = (2, CHANNELS)[number % 2]
    kernel = weights(number % 2, groups, CHANNELS // groups, CHANNELS // groups, 3, 3)
    draft.add(ops.group_convolution(x.node, kernel, [1, 1], [1, 1], [1, 1], [1, 1]), x.dims)
    return True


@operation
def enlarged(draft: Draft, x: Tensor, number: int) -> bool:
    """A transposed convolution (with a border: of nothing OpenVINO makes something)."""
    if x.rank != 4 or x.dims[1] != CHANNELS:
        return False
    framed = ops.pad(x.node, i64(0, 0, 0, 0), i64(0, 0, 1, 1), "constant", np.float32(0.25))
    made = ops.convolution_backprop_data(framed, weights(3, CHANNELS, 4, 2, 2), [2, 2], None, [0, 0], [0, 0], [1, 1])
    draft.add(made, (x.dims[0], 4, f"2*{x.dims[2]}", f"2*{x.dims[3]}"))
    return True


@operation
def residual(draft: Draft, x: Tensor, number: int) -> bool:
    """A chain of element-wise operations that ends in a sum with where it began."""
    y = ops.swish(ops.multiply(ops.add(x.node, np.float32(0.5)), np.float32(0.25)))
    draft.add(ops.clamp(ops.add(ops.hswish(y), x.node), -3.0, 3.0), x.dims)
    return True


@operation
def pooled_to_one(draft: Draft, x: Tensor, number: int) -> bool:
    """Squeeze and excitation: a scale per channel, from the sum of each (with a border, because OpenVINO crashes on
    sums of nothing)."""
    if x.rank != 4 or x.dims[1] != CHANNELS:
        return False
    framed = ops.pad(x.node, i64(0, 0, 0, 0), i64(0, 0, 1, 1), "constant", np.float32(0.25))
    mean = ops.reduce_sum(framed, i64(2, 3), True)
    scale = ops.sigmoid(ops.convolution(mean, weights(5, CHANNELS, CHANNELS, 1, 1), [1, 1], [0, 0], [0, 0], [1, 1]))
    draft.add(ops.multiply(x.node, scale), x.dims)
    return True


@operation
def recurrent(draft: Draft, x: Tensor, number: int) -> bool:
    """A GRU along the length, whose first state is made of shape arithmetic."""
    if x.rank != 3 or x.dims[-1] != CHANNELS:
        return False
    hidden = 4
    state = ops.broadcast(np.float32(0), ops.concat([size_of(x, 0), i64(1, hidden)], 0))
    lengths = ops.broadcast(ops.squeeze(size_of(x, 1), i64(0)), size_of(x, 0))
    made = ops.gru_sequence(x.node, state, lengths, weights(6, 1, 3 * hidden, CHANNELS),
                            weights(7, 1, 3 * hidden, hidden), weights(8, 1, 3 * hidden), hidden,
                            ("forward", "reverse")[number % 2])
    draft.add(ops.squeeze(made.output(0), i64(1)), (*x.dims[:2], hidden))
    return True


@operation
def turned(draft: Draft, x: Tensor, number: int) -> bool:
    """Reversed along an axis by a slice with a step of -1, known when the model is built."""
    if not x.rank:
        return False
    axis = number % x.rank
    made = ops.slice(x.node, i64(-1), i64(-10**6), i64(-1), i64(axis))
    draft.add(made, x.dims, x.exact)
    return True


@operation
def repeated_use(draft: Draft, x: Tensor, number: int) -> bool:
    """A view of a tensor whose other view is an output."""
    flat = ops.reshape(x.node, i64(-1), False)
    draft.add(flat, ("*".join(map(str, x.dims)),), x.exact)
    draft.add(ops.unsqueeze(flat, i64(0)), (1, "*".join(map(str, x.dims))), x.exact)
    return True
