"""More operations of OpenVINO in NumPy, after their specification: activations, layers, writes and searches.

A form of an operation that is not here raises NotImplementedError.
"""
from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import product

import numpy as np

from tests.numpy_operations import Arrays, Attributes, Operation

_erf = np.vectorize(math.erf, otypes=[np.float64])


def _real(compute: Callable[..., np.ndarray]) -> Operation:
    """A function of the elements, in float64, with the attributes behind the inputs."""
    def run(inputs: Arrays, attributes: Attributes) -> np.ndarray:
        with np.errstate(all="ignore"):
            return np.asarray(compute(*(a.astype(np.float64) for a in inputs), attributes)).astype(inputs[0].dtype)
    return run


def _sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def _swish(x: np.ndarray, *more: object) -> np.ndarray:
    beta = more[0] if len(more) > 1 else 1.0
    return x * _sigmoid(x * beta)


def _gelu(x: np.ndarray, attributes: Attributes) -> np.ndarray:
    if attributes.get("approximation_mode", "ERF").upper() == "TANH":
        return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x ** 3)))
    return 0.5 * x * (1 + _erf(x / math.sqrt(2))) if x.size else x


def _round(x: np.ndarray, attributes: Attributes) -> np.ndarray:
    if attributes["mode"].lower() == "half_to_even":
        return np.round(x)
    return np.sign(x) * np.floor(np.abs(x) + 0.5)


def _clamp(inputs: Arrays, attributes: Attributes) -> np.ndarray:
    return np.clip(inputs[0].astype(np.float64), attributes["min"], attributes["max"]).astype(inputs[0].dtype)


def _leaking(inputs: Arrays, _: Attributes) -> np.ndarray:
    """PRelu: a slope for each channel belongs to axis 1."""
    x, slope = inputs
    if slope.ndim == 1 and x.ndim > 1 and slope.size == x.shape[1]:
        slope = slope.reshape([-1] + [1] * (x.ndim - 2))
    return np.where(x < 0, x * slope, x).astype(x.dtype).reshape(x.shape)


def _log_softmax(inputs: Arrays, attributes: Attributes) -> np.ndarray:
    x, axis = inputs[0].astype(np.float64), attributes["axis"]
    if not x.size:
        return inputs[0]
    x = x - x.max(axis, keepdims=True)
    return (x - np.log(np.exp(x).sum(axis, keepdims=True))).astype(inputs[0].dtype)


def _running_sum(inputs: Arrays, attributes: Attributes) -> np.ndarray:
    x, axis = inputs[0], int(inputs[1].reshape(())) if len(inputs) > 1 else 0
    if attributes["reverse"]:
        x = np.flip(x, axis)
    sums = np.cumsum(x, axis, dtype=np.float64 if x.dtype.kind == "f" else x.dtype)
    if attributes["exclusive"]:
        sums = sums - x
    return (np.flip(sums, axis) if attributes["reverse"] else sums).astype(x.dtype)


def _mvn(inputs: Arrays, attributes: Attributes) -> np.ndarray:
    if len(inputs) < 2:
        raise NotImplementedError("MVN with axes in attributes")
    x, axes = inputs[0].astype(np.float64), tuple(inputs[1].reshape(-1).tolist())
    x = x - x.mean(axes, keepdims=True)
    if attributes["normalize_variance"]:
        variance, eps = (x * x).mean(axes, keepdims=True), attributes["eps"]
        inside = attributes["eps_mode"].lower() == "inside_sqrt"
        x = x / (np.sqrt(variance + eps) if inside else np.sqrt(variance) + eps)
    return x.astype(inputs[0].dtype)


def _normalize_l2(inputs: Arrays, attributes: Attributes) -> np.ndarray:
    x, axes = inputs[0].astype(np.float64), tuple(inputs[1].reshape(-1).tolist())
    squares, eps = (x * x).sum(axes, keepdims=True), attributes["eps"]
    squares = squares + eps if attributes["eps_mode"].lower() == "add" else np.maximum(squares, eps)
    return (x / np.sqrt(squares)).astype(inputs[0].dtype)


def _batch_norm(inputs: Arrays, attributes: Attributes) -> np.ndarray:
    if attributes["opset"] == "opset1":
        raise NotImplementedError("BatchNormInference with inputs in another order")
    x = inputs[0].astype(np.float64)
    gamma, beta, mean, variance = (a.astype(np.float64).reshape([-1] + [1] * (x.ndim - 2)) for a in inputs[1:])
    return ((x - mean) / np.sqrt(variance + attributes["epsilon"]) * gamma + beta).astype(inputs[0].dtype)


def _top_k(inputs: Arrays, attributes: Attributes) -> list[np.ndarray]:
    """Equal elements stay in their order."""
    if attributes["sort"].lower() != "value":
        raise NotImplementedError("TopK in another order than that of the values")
    x, count, axis = inputs[0], int(inputs[1].reshape(())), attributes["axis"]
    keys = -x.astype(np.float64) if attributes["mode"].lower() == "max" else x
    places = np.argsort(keys, axis, kind="stable").take(range(count), axis)
    kind = {"i32": np.int32, "i64": np.int64}[attributes["index_element_type"]]
    return [np.take_along_axis(x, places, axis), places.astype(kind)]


def _one_hot(inputs: Arrays, attributes: Attributes) -> np.ndarray:
    indices, depth, on, off = inputs
    if attributes.get("negative_indices_mode", "").lower() == "normalize":
        indices = indices + depth.reshape(()) * (indices < 0)
    axis = attributes["axis"] % (indices.ndim + 1)
    positions = np.arange(int(depth.reshape(()))).reshape([-1] + [1] * (indices.ndim - axis))
    return np.where(np.expand_dims(indices, axis) == positions, on.reshape(()), off.reshape(())).astype(on.dtype)


def _gather_nd(inputs: Arrays, attributes: Attributes) -> np.ndarray:
    if attributes["batch_dims"]:
        raise NotImplementedError("GatherND in batches")
    data, indices = inputs
    return data[tuple(np.moveaxis(indices, -1, 0))]


def _scatter_nd(inputs: Arrays, attributes: Attributes) -> np.ndarray:
    if attributes.get("reduction", "none").lower() != "none":
        raise NotImplementedError("ScatterNDUpdate with a reduction")
    data, indices, updates = inputs
    written = data.copy()
    for place in np.ndindex(*indices.shape[:-1]):
        written[tuple(indices[place])] = updates[place]
    return written


def _scatter_update(inputs: Arrays, _: Attributes) -> np.ndarray:
    data, indices, updates, axis = inputs
    at = int(axis.reshape(())) % data.ndim
    written = data.copy()
    written[(slice(None),) * at + (indices,)] = updates
    return written


def _scatter_elements(inputs: Arrays, attributes: Attributes) -> np.ndarray:
    reduction = attributes.get("reduction", "none").lower()
    combine = {"none": None, "sum": np.add, "max": np.maximum, "min": np.minimum, "prod": np.multiply}.get(reduction)
    if (combine is None and reduction != "none") or not attributes.get("use_init_val", True):
        raise NotImplementedError(f"ScatterElementsUpdate {reduction}")
    data, indices, updates, axis = inputs
    at = int(axis.reshape(())) % data.ndim
    written = data.copy()
    for place in np.ndindex(*indices.shape):
        target = (*place[:at], int(indices[place]), *place[at + 1:])
        written[target] = updates[place] if combine is None else combine(written[target], updates[place])
    return written


def _fake_quantize(inputs: Arrays, attributes: Attributes) -> np.ndarray:
    x, in_low, in_high, out_low, out_high = (a.astype(np.float64) for a in inputs)
    steps = attributes["levels"] - 1
    inner = np.round((x - in_low) / (in_high - in_low) * steps) / steps * (out_high - out_low) + out_low
    low, high = np.minimum(in_low, in_high), np.maximum(in_low, in_high)
    return np.where(x <= low, out_low, np.where(x > high, out_high, inner)).astype(inputs[0].dtype)


def _depth_to_space(inputs: Arrays, attributes: Attributes) -> np.ndarray:
    x, size = inputs[0], attributes["block_size"]
    n, c, *space = x.shape
    axes = len(space)
    blocks, depth = [size] * axes, c // size ** axes
    if attributes["mode"].lower() == "blocks_first":
        apart = x.reshape(n, *blocks, depth, *space)
        first, channel = 1, axes + 1
    else:
        apart = x.reshape(n, depth, *blocks, *space)
        first, channel = 2, 1
    order = [0, channel]
    for axis in range(axes):
        order += [axes + 2 + axis, first + axis]
    return apart.transpose(order).reshape(n, depth, *(s * size for s in space))


def _space_to_depth(inputs: Arrays, attributes: Attributes) -> np.ndarray:
    x, size = inputs[0], attributes["block_size"]
    n, c, *space = x.shape
    axes = len(space)
    apart = x.reshape(n, c, *(part for s in space for part in (s // size, size)))
    blocks, rest = [3 + 2 * axis for axis in range(axes)], [2 + 2 * axis for axis in range(axes)]
    order = [0, *blocks, 1, *rest] if attributes["mode"].lower() == "blocks_first" else [0, 1, *blocks, *rest]
    return apart.transpose(order).reshape(n, c * size ** axes, *(s // size for s in space))


def _windows(x: np.ndarray, kernel: Sequence[int], attributes: Attributes, value: float) -> np.ndarray:
    """Views of [n, c, ...], padded with a value, at every place of the kernel: [places, n, c, outputs...].

    What is rounded up reaches beyond the padding, into zeros.
    """
    rounding = attributes.get("rounding_type", "floor").lower()
    if rounding not in ("floor", "ceil"):
        raise NotImplementedError(f"rounding_type {rounding}")
    dilations = attributes.get("dilations") or [1] * len(kernel)
    strides = attributes["strides"]
    spans = [(k - 1) * d + 1 for k, d in zip(kernel, dilations, strict=True)]
    padded = np.pad(x, [(0, 0), (0, 0), *_pads(x.shape[2:], spans, strides, attributes)], constant_values=value)
    room = [size - span for size, span in zip(padded.shape[2:], spans, strict=True)]
    outputs = [(-(-r // s) if rounding == "ceil" else r // s) + 1 for r, s in zip(room, strides, strict=True)]
    beyond = [max((o - 1) * s - r, 0) for o, s, r in zip(outputs, strides, room, strict=True)]
    padded = np.pad(padded, [(0, 0), (0, 0), *((0, b) for b in beyond)])
    views = [padded[(slice(None), slice(None), *(slice(p * d, p * d + (o - 1) * s + 1, s) for p, d, o, s in zip(
        place, dilations, outputs, strides, strict=True)))] for place in product(*map(range, kernel))]
    return np.stack(views)


def _pads(sizes: Sequence[int], spans: Sequence[int], strides: Sequence[int],
          attributes: Attributes) -> list[tuple[int, int]]:
    """What is added before and after each axis; "same" gives ceil(size / stride) windows, and the odd element of the
    padding goes after the data ("same_upper") or before them."""
    kind = attributes.get("auto_pad", "explicit").lower()
    if kind == "valid":
        return [(0, 0) for _ in sizes]
    if not kind.startswith("same"):
        return list(zip(attributes["pads_begin"], attributes["pads_end"], strict=True))
    whole = [max((-(-size // stride) - 1) * stride + span - size, 0)
             for size, span, stride in zip(sizes, spans, strides, strict=True)]
    halves = [(pad // 2, pad - pad // 2) for pad in whole]
    return halves if kind == "same_upper" else [(after, before) for before, after in halves]


def _convolution(inputs: Arrays, attributes: Attributes) -> np.ndarray:
    x, weights = (a.astype(np.float64) for a in inputs)
    kernel = weights.shape[2:]
    windows = _windows(x, kernel, attributes, 0)
    flat = weights.reshape(*weights.shape[:2], -1)
    return np.einsum("pnc...,ocp->no...", windows, flat).astype(inputs[0].dtype)


def _group_convolution(inputs: Arrays, attributes: Attributes) -> np.ndarray:
    x, weights = inputs
    parts = np.split(x, weights.shape[0], 1)
    return np.concatenate([_convolution([part, w], attributes) for part, w in zip(parts, weights, strict=True)], 1)


def _average_pool(inputs: Arrays, attributes: Attributes) -> np.ndarray:
    x, kernel = inputs[0].astype(np.float64), attributes["kernel"]
    sums = _windows(x, kernel, attributes, 0).sum(0)
    count = _windows(np.ones_like(x), kernel, attributes, 0 if attributes["exclude-pad"] else 1).sum(0)
    if not count.all():
        raise NotImplementedError("a mean of nothing")
    return (sums / count).astype(inputs[0].dtype)


def _non_zero(inputs: Arrays, attributes: Attributes) -> np.ndarray:
    if not inputs[0].ndim:
        raise NotImplementedError("NonZero of a scalar")
    return np.array(np.nonzero(inputs[0]), {"i32": np.int32, "i64": np.int64}[attributes["output_type"]])


def _range(inputs: Arrays, attributes: Attributes) -> np.ndarray:
    if attributes.get("output_type") not in ("i32", "i64", "f32"):
        raise NotImplementedError("Range of another type")
    start, stop, step = (float(a.reshape(())) for a in inputs)
    kind = {"i32": np.int32, "i64": np.int64, "f32": np.float32}[attributes["output_type"]]
    if kind != np.float32:
        start, stop, step = (float(np.trunc(number)) for number in (start, stop, step))
    count = max(math.ceil((stop - start) / step), 0)
    return (start + np.arange(count) * step).astype(kind)


def _reverse_sequence(inputs: Arrays, attributes: Attributes) -> np.ndarray:
    x, lengths = inputs
    batch, along = attributes["batch_axis"] % x.ndim, attributes["seq_axis"] % x.ndim
    turned = np.moveaxis(x, (batch, along), (0, 1)).copy()
    for row, length in zip(turned, lengths.tolist(), strict=True):
        row[:length] = row[:length][::-1].copy()
    return np.moveaxis(turned, (0, 1), (batch, along))


def _bits(combine: Callable[..., np.ndarray]) -> Operation:
    return lambda inputs, _: combine(*inputs)


def _unique(inputs: Arrays, attributes: Attributes) -> list[np.ndarray]:
    """In ascending order or, if not sorted, in order of their first places."""
    axis = None if len(inputs) < 2 else int(inputs[1].reshape(-1)[0])
    values, firsts, numbers, counts = np.unique(inputs[0], True, True, True, axis)
    if not attributes["sorted"]:
        order = np.argsort(firsts)
        values, firsts, counts = values.take(order, 0 if axis is None else axis), firsts[order], counts[order]
        numbers = np.argsort(order)[numbers]
    kinds = {"i32": np.int32, "i64": np.int64}
    places, amounts = kinds[attributes["index_element_type"]], kinds[attributes["count_element_type"]]
    return [values, firsts.astype(places), numbers.reshape(-1).astype(places), counts.astype(amounts)]


def _space_to_batch(inputs: Arrays, _: Attributes) -> np.ndarray:
    x, blocks, before, after = inputs[0], *(given.astype(int).tolist() for given in inputs[1:])
    padded = np.pad(x, list(zip(before, after, strict=True)))
    apart = padded.reshape([part for size, block in zip(padded.shape, blocks, strict=True)
                            for part in (size // block, block)])
    turned = apart.transpose([*range(1, 2 * x.ndim, 2), *range(0, 2 * x.ndim, 2)])
    sizes = [size // block for size, block in zip(padded.shape, blocks, strict=True)]
    return turned.reshape([math.prod(blocks) * sizes[0], *sizes[1:]])


def _batch_to_space(inputs: Arrays, _: Attributes) -> np.ndarray:
    x, blocks, before, after = inputs[0], *(given.astype(int).tolist() for given in inputs[1:])
    apart = x.reshape([*blocks, x.shape[0] // math.prod(blocks), *x.shape[1:]])
    turned = apart.transpose([axis for pair in zip(range(x.ndim, 2 * x.ndim), range(x.ndim), strict=True)
                              for axis in pair])
    sizes = [size * block for size, block in zip(apart.shape[x.ndim:], blocks, strict=True)]
    return turned.reshape(sizes)[tuple(slice(low, size - high)
                                       for low, high, size in zip(before, after, sizes, strict=True))]


LAYERS: dict[str, Operation] = {
    "SpaceToBatch": _space_to_batch, "BatchToSpace": _batch_to_space,
    "Unique": _unique,
    "Erf": _real(lambda x, _: _erf(x) if x.size else x), "Gelu": _real(_gelu), "Swish": _real(_swish),
    "HSwish": _real(lambda x, _: x * np.clip(x + 3, 0, 6) / 6),
    "HSigmoid": _real(lambda x, _: np.clip(x + 3, 0, 6) / 6),
    "SoftPlus": _real(lambda x, _: np.logaddexp(x, 0)), "SoftSign": _real(lambda x, _: x / (1 + np.abs(x))),
    "Mish": _real(lambda x, _: x * np.tanh(np.logaddexp(x, 0))),
    "Elu": _real(lambda x, a: np.where(x < 0, a["alpha"] * np.expm1(x), x)),
    "Selu": _real(lambda x, alpha, scale, _: scale * np.where(x > 0, x, alpha * np.expm1(x))),
    "Asinh": _real(lambda x, _: np.arcsinh(x)), "Acosh": _real(lambda x, _: np.arccosh(x)),
    "Atanh": _real(lambda x, _: np.arctanh(x)), "Round": _real(_round), "Clamp": _clamp, "PRelu": _leaking,
    "LogSoftmax": _log_softmax, "CumSum": _running_sum, "MVN": _mvn, "NormalizeL2": _normalize_l2,
    "BatchNormInference": _batch_norm, "TopK": _top_k, "OneHot": _one_hot, "GatherND": _gather_nd,
    "ScatterNDUpdate": _scatter_nd, "ScatterUpdate": _scatter_update, "ScatterElementsUpdate": _scatter_elements,
    "FakeQuantize": _fake_quantize, "DepthToSpace": _depth_to_space, "SpaceToDepth": _space_to_depth,
    "Convolution": _convolution, "GroupConvolution": _group_convolution, "AvgPool": _average_pool,
    "NonZero": _non_zero, "Range": _range, "ReverseSequence": _reverse_sequence,
    "BitwiseAnd": _bits(np.bitwise_and), "BitwiseOr": _bits(np.bitwise_or), "BitwiseXor": _bits(np.bitwise_xor),
}
