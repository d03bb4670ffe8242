"""Convolutions of one to three axes, pooling, products, attention and recurrent layers; weights of many types."""
from __future__ import annotations

import numpy as np

from tests.fuzz.draft import Draft, Refused, Tensor
from tests.fuzz.graph import dtype_of
from tests.fuzz.operations.elementwise import tame
from tests.fuzz.operations.table import i64, operation

CHANNELS = (1, 2, 3, 4, 8, 16, 16, 16, 32)


def packed(draft: Draft, values: np.ndarray) -> Tensor | np.ndarray:
    """Weights as they are, in f16, or as small integers with a scale and perhaps a zero point."""
    way = draft.integer(0, 7)
    if way > 2:
        return values
    if way == 0:
        return draft.op("Convert", values.astype(np.float16), destination_type="f32")
    kind = draft.one(("i8", "u8", "i4", "u4"))
    offset = 8 if kind[0] == "u" else 0
    stored = draft.op("Constant", type=kind, values=(values * 4).astype(np.int8) + offset)
    made = draft.op("Convert", stored, destination_type="f32")
    if offset:
        made = draft.op("Subtract", made, np.array(offset, np.float32), auto_broadcast="numpy")
    scale = np.full([values.shape[0]] + [1] * (values.ndim - 1), 0.25, np.float32)
    return draft.op("Multiply", made, scale, auto_broadcast="numpy")


def image(draft: Draft) -> Tensor:
    """A tensor with a known number of channels and one to three more axes."""
    return draft.pick(lambda t: t.type == "f32" and 3 <= t.rank <= 5 and bool(t.size(1)) and t.size(1) <= 64
                      and all(v.size for v in t.values))


def windows(draft: Draft, x: Tensor) -> tuple[list[int], list[int], list[int], list[int], list[int]]:
    """Kernel sizes, strides, paddings and dilations that fit."""
    axes = x.rank - 2
    kernel = [draft.one([1, 1, 2, 3, 3]) for _ in range(axes)]
    strides = [draft.one([1, 1, 1, 2]) for _ in range(axes)]
    dilations = [draft.one([1, 1, 1, 2]) for _ in range(axes)]
    before = [draft.one([0, 1, k // 2, k // 2]) for k in kernel]
    after = [draft.one([b, b, b, 0, 1]) for b in before]
    for axis in range(axes):
        if x.least(axis + 2) + before[axis] + after[axis] < (kernel[axis] - 1) * dilations[axis] + 1:
            kernel[axis], dilations[axis] = 1, 1
    return kernel, strides, before, after, dilations


@operation("heavy", 6)
def convolution(draft: Draft) -> None:
    x = image(draft)
    kernel, strides, before, after, dilations = windows(draft, x)
    channels = x.size(1) or 1
    weights = packed(draft, draft.weights(draft.one(CHANNELS), channels, *kernel))
    made = draft.op("Convolution", x, weights, strides=strides, pads_begin=before, pads_end=after,
                    dilations=dilations, auto_pad=draft.one(("explicit",) * 4 + ("same_upper", "valid")))
    fused(draft, made)


def fused(draft: Draft, x: Tensor) -> None:
    """Perhaps a bias, an activation and a sum, as they follow heavy operations."""
    channels = x.size(1)
    if channels and draft.chance(0.6):
        bias = draft.weights(1, channels, *[1] * (x.rank - 2))
        x = draft.op("Add", x, bias, auto_broadcast="numpy")
    if draft.chance(0.5):
        x = draft.op(draft.one(("Relu", "Relu", "HSwish", "Tanh", "Sigmoid")), x)
    partners = [t for t in draft.tensors if t.shapes == x.shapes and t.type == x.type and t is not x]
    if partners and draft.chance(0.4):
        draft.step(draft.one(("Add", "Multiply")), x, draft.one(partners), auto_broadcast="numpy")


@operation("heavy", 3)
def channels_rearranged(draft: Draft) -> None:
    """Channels joined, split or turned, and a convolution over what becomes of them."""
    x = image(draft)
    way = draft.integer(0, 3)
    if way == 0:
        partners = [t for t in draft.tensors if t.type == x.type and t.rank == x.rank and all(
            a[:1] + a[2:] == b[:1] + b[2:] for a, b in zip(t.shapes, x.shapes, strict=True))]
        made = draft.op("Concat", x, draft.one(partners), axis=1)
    elif way == 1:
        parts = draft.step("Split", x, np.array(1), num_splits=draft.one([2, 2, 4]))
        made = draft.one(parts)
    elif way == 2:
        first = draft.integer(1, max((x.size(1) or 1) - 1, 1))
        made = draft.one(draft.step("VariadicSplit", x, np.array(1), i64(first, -1)))
    else:
        made = draft.op("Slice", x, i64(-1), i64(-2**31), i64(draft.one([-1, -2])), i64(1))
    kernel, strides, before, after, _ = windows(draft, made)
    weights = draft.weights(draft.one(CHANNELS), made.size(1) or 1, *kernel)
    draft.step("Convolution", made, weights, strides=strides, pads_begin=before, pads_end=after,
               dilations=[1] * len(kernel), auto_pad="explicit")


@operation("heavy", 2)
def grouped(draft: Draft) -> None:
    x = image(draft)
    channels = x.size(1) or 1
    groups = draft.one([g for g in (1, 2, 4, channels, channels) if channels % g == 0])
    kernel, strides, before, after, dilations = windows(draft, x)
    weights = draft.weights(groups, draft.one([1, 2, channels // groups]), channels // groups, *kernel)
    made = draft.op("GroupConvolution", x, weights, strides=strides, pads_begin=before, pads_end=after,
                    dilations=dilations, auto_pad="explicit")
    fused(draft, made)


@operation("heavy", 2)
def enlarged(draft: Draft) -> None:
    """A transposed convolution."""
    x = image(draft)
    axes = x.rank - 2
    kernel = [draft.one([1, 2, 3, 4]) for _ in range(axes)]
    strides = [draft.one([1, 2, 2]) for _ in range(axes)]
    weights = draft.weights(x.size(1) or 1, draft.one(CHANNELS[:6]), *kernel)
    made = draft.op("ConvolutionBackpropData", x, weights, strides=strides, pads_begin=[0] * axes,
                    pads_end=[0] * axes, dilations=[1] * axes, output_padding=[0] * axes, auto_pad="explicit")
    fused(draft, made)


@operation("heavy", 2)
def pooled(draft: Draft) -> None:
    x = image(draft)
    kernel, strides, before, after, _ = windows(draft, x)
    before, after = ([min(p, k - 1) for p, k in zip(pads, kernel, strict=True)] for pads in (before, after))
    rounding = draft.one(("floor", "floor", "ceil"))
    if draft.chance(0.5):
        draft.step("MaxPool", x, strides=strides, dilations=[1] * len(kernel), pads_begin=before,
                          pads_end=after, kernel=kernel, rounding_type=rounding, auto_pad="explicit",
                          index_element_type="i64", axis=0)
    else:
        draft.step("AvgPool", x, strides=strides, pads_begin=before, pads_end=after, kernel=kernel,
                   rounding_type=rounding, auto_pad="explicit", **{"exclude-pad": draft.chance(0.5)})


@operation("heavy", 2)
def pooled_to_one(draft: Draft) -> None:
    """Squeeze and excitation: a scale for each channel, from its mean."""
    x = image(draft)
    channels = x.size(1) or 1
    mean = draft.op("ReduceMean", x, i64(*range(2, x.rank)), keep_dims=True)
    ones = [1] * (x.rank - 2)
    scale = draft.op("Convolution", mean, draft.weights(channels, channels, *ones), strides=ones,
                     pads_begin=[0] * len(ones), pads_end=[0] * len(ones), dilations=ones, auto_pad="explicit")
    draft.step("Multiply", x, draft.op("Sigmoid", scale), auto_broadcast="numpy")


@operation("heavy", 4)
def dense(draft: Draft) -> None:
    """A product with constant weights, on either side."""
    x = draft.pick(lambda t: t.type == "f32" and t.rank >= 1)
    transpose, width = draft.chance(0.5), draft.one(CHANNELS)
    if draft.chance(0.8) or x.rank < 2:
        depth = x.size(-1)
        if not depth:
            raise Refused("an open size")
        shape = (width, depth) if transpose else (depth, width)
        weights = packed(draft, draft.weights(*shape))
        made = draft.op("MatMul", x, weights, transpose_a=False, transpose_b=transpose)
        if draft.chance(0.6):
            made = draft.op("Add", made, draft.weights(width), auto_broadcast="numpy")
        if draft.chance(0.4):
            draft.step(draft.one(("Relu", "Sigmoid", "Tanh", "Swish")), made)
    else:
        depth = x.size(-2)
        if not depth:
            raise Refused("an open size")
        draft.step("MatMul", draft.weights(*((depth, width) if transpose else (width, depth))), x,
                   transpose_a=transpose, transpose_b=False)


@operation("heavy", 3)
def product(draft: Draft) -> None:
    """Of two tensors, each perhaps transposed; often of one with itself."""
    x = draft.pick(lambda t: t.type == "f32" and t.rank >= 1)
    one, two = draft.chance(0.4), draft.chance(0.5)
    partners = [t for t in draft.tensors if t.type == "f32" and t.rank >= 1 and _multiplies(x, t, one, two)]
    draft.step("MatMul", x, draft.one(partners), transpose_a=one, transpose_b=two)


def _multiplies(x: Tensor, y: Tensor, one: bool, two: bool) -> bool:
    inner = -1 if x.rank == 1 else (-2 if one else -1)
    other = -1 if y.rank == 1 else (-1 if two else -2)
    return all(a[inner] == b[other] for a, b in zip(x.shapes, y.shapes, strict=True))


@operation("heavy", 2)
def attention(draft: Draft) -> None:
    """Softmax of a product with itself, spelled out or as one operation, perhaps with heads."""
    x = draft.pick(lambda t: t.type == "f32" and t.rank in (3, 4) and bool(t.size(-1)) and all(
        v.size for v in t.values))
    tame(draft, x)
    if x.rank == 3 and (x.size(-1) or 1) % 2 == 0 and draft.chance(0.5):
        heads = draft.op("Reshape", x, i64(0, 0, 2, (x.size(-1) or 2) // 2), special_zero=True)
        x = draft.op("Transpose", heads, i64(0, 2, 1, 3))
    if draft.chance(0.5):
        draft.step("ScaledDotProductAttention", x, x, x, causal=draft.chance(0.3))
        return
    scores = draft.op("MatMul", x, x, transpose_a=False, transpose_b=True)
    scores = draft.op("Multiply", scores, np.array(0.25, np.float32), auto_broadcast="numpy")
    draft.step("MatMul", draft.op("Softmax", scores, axis=-1), x, transpose_a=False, transpose_b=False)


@operation("heavy")
def recurrent(draft: Draft) -> None:
    """A GRU or an LSTM along the length, whose first state is made of shape arithmetic."""
    x = draft.pick(lambda t: t.type == "f32" and t.rank == 3 and bool(t.size(2)) and all(v.size for v in t.values))
    tame(draft, x)
    hidden, depth = draft.one([3, 4]), x.size(2) or 1
    sizes = draft.op("ShapeOf", x, output_type="i64")
    batch = draft.op("Gather", sizes, i64(0), np.array(0), batch_dims=0)
    shape = draft.op("Concat", batch, i64(1, hidden), axis=0)
    state = draft.op("Broadcast", np.array(0, np.float32), shape, mode="numpy")
    length = draft.op("Gather", sizes, np.array(1), np.array(0), batch_dims=0)
    lengths = draft.op("Broadcast", length, batch, mode="numpy")
    direction = draft.one(("forward", "reverse"))
    if draft.chance(0.5):
        made = draft.op("GRUSequence", x, state, lengths, *_cell(draft, 3, hidden, depth), hidden_size=hidden,
                        direction=direction, linear_before_reset=False, activations=["sigmoid", "tanh"])
    else:
        made = draft.op("LSTMSequence", x, state, state, lengths, *_cell(draft, 4, hidden, depth),
                        hidden_size=hidden, direction=direction, activations=["sigmoid", "tanh", "tanh"])
    draft.step("Squeeze", made, i64(1))


def _cell(draft: Draft, gates: int, hidden: int, depth: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rows = gates * hidden
    return draft.weights(1, rows, depth), draft.weights(1, rows, hidden), draft.weights(1, rows)


@operation("heavy")
def resized(draft: Draft) -> None:
    x = draft.pick(lambda t: t.type == "f32" and t.rank in (3, 4, 5) and all(v.size for v in t.values))
    axes = list(range(2, x.rank))
    factor = draft.one([2.0, 0.5, 1.5])
    mode = draft.one(("nearest", "linear_onnx") if x.rank < 5 else ("nearest",))
    draft.step("Interpolate", x, np.full(len(axes), factor, np.float32), i64(*axes), mode=mode,
               shape_calculation_mode="scales", nearest_mode=draft.one(("floor", "round_prefer_floor")),
               coordinate_transformation_mode=draft.one(("half_pixel", "asymmetric")), antialias=False,
               pads_begin=[0] * len(axes), pads_end=[0] * len(axes), cube_coeff=-0.75)


@operation("heavy")
def embedded(draft: Draft) -> None:
    """Rows of a table, by indices brought into bounds."""
    x = draft.pick(lambda t: t.type in ("i64", "i32") and t.rank < 4)
    table = draft.weights(5, draft.one([4, 8]))
    places = draft.op("FloorMod", x, np.array(5, dtype_of(x.type)), auto_broadcast="numpy")
    draft.step("Gather", table, places, np.array(0), batch_dims=0)
