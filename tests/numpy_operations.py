"""Operations of OpenVINO in NumPy, after their specification: what `tests/node_by_node.py` computes by itself."""
from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

Arrays = Sequence[np.ndarray]
Attributes = Mapping[str, Any]
Operation = Callable[[Arrays, Attributes], "np.ndarray | list[np.ndarray]"]
"""Inputs in their order and attributes by OpenVINO's names ("opset": the version) to the output or outputs."""


def _integers(array: np.ndarray) -> list[int]:
    return [int(value) for value in np.asarray(array).reshape(-1)]


def _positive(axes: Sequence[int], rank: int) -> list[int]:
    if any(not -rank <= axis < rank for axis in axes):
        raise ValueError(f"axes {list(axes)} of rank {rank}")
    return [axis % rank for axis in axes]


def _unsqueeze(inputs: Arrays, _: Attributes) -> np.ndarray:
    """An axis that is named twice is made once."""
    data, named = inputs[0], _integers(inputs[1])
    rank = data.ndim + len(named)
    return np.expand_dims(data, tuple(sorted(set(_positive(named, rank)))))


def _squeeze(inputs: Arrays, _: Attributes) -> np.ndarray:
    """Axes whose size is not 1 stay."""
    data = inputs[0]
    wanted = range(data.ndim) if len(inputs) < 2 or not inputs[1].size else _positive(_integers(inputs[1]), data.ndim)
    return np.squeeze(data, tuple({axis for axis in wanted if data.shape[axis] == 1}))


def _transpose(inputs: Arrays, _: Attributes) -> np.ndarray:
    return np.transpose(inputs[0], _integers(inputs[1]) or None)


def _reshape(inputs: Arrays, attributes: Attributes) -> np.ndarray:
    """Sizes that are copied do not count for the size that is left open, so it is known even if one of them is 0."""
    data, shape = inputs[0], _integers(inputs[1])
    copied = [axis for axis, size in enumerate(shape) if size == 0 and attributes["special_zero"]]
    if -1 in shape:
        wanted = math.prod(size for axis, size in enumerate(shape) if size != -1 and axis not in copied)
        held = math.prod(size for axis, size in enumerate(data.shape) if axis not in copied)
        shape[shape.index(-1)] = held // wanted if wanted else 0
    return data.reshape([data.shape[axis] if axis in copied else size for axis, size in enumerate(shape)])


def _gather(inputs: Arrays, attributes: Attributes) -> np.ndarray:
    data, indices = inputs[0], inputs[1].astype(np.int64)
    axis = _positive(_integers(inputs[2]), data.ndim)[0]
    if attributes["opset"] == "opset8":
        indices = indices + data.shape[axis] * (indices < 0)
    batched = attributes.get("batch_dims", 0)
    batched += indices.ndim if batched < 0 else 0
    if not batched:
        return _taken(data, indices, axis)
    shape = data.shape[:axis] + indices.shape[batched:] + data.shape[axis + 1:]
    result = np.empty(shape, data.dtype)
    for place in np.ndindex(*data.shape[:batched]):
        result[place] = _taken(data[place], indices[place], axis - batched)
    return result


def _taken(data: np.ndarray, indices: np.ndarray, axis: int) -> np.ndarray:
    """Zeros where there is no such index; only Gather-8 counts negative ones from the end."""
    size = data.shape[axis]
    padded = np.concatenate([data, np.zeros_like(data, shape=(*data.shape[:axis], 1, *data.shape[axis + 1:]))], axis)
    return padded.take(np.where((indices >= 0) & (indices < size), indices, size), axis)


def _gather_elements(inputs: Arrays, attributes: Attributes) -> np.ndarray:
    return np.take_along_axis(inputs[0], inputs[1].astype(np.int64), attributes["axis"])


def _slice(inputs: Arrays, _: Attributes) -> np.ndarray:
    data, (starts, stops, steps) = inputs[0], map(_integers, inputs[1:4])
    axes = _positive(_integers(inputs[4]), data.ndim) if len(inputs) > 4 else range(len(starts))
    for axis, start, stop, step in zip(axes, starts, stops, steps, strict=True):
        data = data.take(_places(data.shape[axis], start, stop, step), axis)
    return data


def _places(size: int, start: int | None, stop: int | None, step: int) -> range:
    """Bounds count from the end where they are negative. Going down, a start before the first element is the first, as
    in ONNX and unlike in Python."""
    lowest, highest = (0, size) if step > 0 else (-1, size - 1)

    def bound(given: int | None, least: int, missing: int) -> int:
        return missing if given is None else min(max(given + size if given < 0 else given, least), highest)
    return range(bound(start, 0, lowest if step > 0 else highest), bound(stop, lowest, highest if step > 0 else lowest),
                 step)


def _strided_slice(inputs: Arrays, attributes: Attributes) -> np.ndarray:
    """As NumPy's indexing, with masks that say which entries are `None`, `...` or one index (0 where its start is
    masked), and with bounds as those of Slice."""
    data, starts, stops = inputs[0], _integers(inputs[1]), _integers(inputs[2])
    steps = _integers(inputs[3]) if len(inputs) > 3 else [1] * len(starts)

    def is_set(mask: str, place: int) -> bool:
        values = attributes[mask]
        return place < len(values) and bool(values[place])

    taken: list[Any] = []
    for place, (start, stop, step) in enumerate(zip(starts, stops, steps, strict=True)):
        if is_set("ellipsis_mask", place):
            taken.append(Ellipsis)
        elif is_set("new_axis_mask", place):
            taken.append(None)
        elif is_set("shrink_axis_mask", place):
            taken.append(0 if is_set("begin_mask", place) else start)
        else:
            taken.append(slice(None if is_set("begin_mask", place) else start,
                               None if is_set("end_mask", place) else stop, step))
    spread = next((i for i, entry in enumerate(taken) if entry is Ellipsis), len(taken))
    missing = data.ndim - sum(entry is not None and entry is not Ellipsis for entry in taken)
    taken[spread:spread + 1] = [slice(None)] * missing
    axis = 0
    for entry in taken:
        if entry is None:
            data = np.expand_dims(data, axis)
        elif isinstance(entry, slice):
            data = data.take(_places(data.shape[axis], entry.start, entry.stop, entry.step or 1), axis)
        elif data.shape[axis]:
            data = data.take(entry, axis)
        else:
            # NumPy takes from nothing where other axes have no elements either.
            raise IndexError("of an axis without elements none can be taken")
        axis += entry is None or isinstance(entry, slice)
    return data


def _concat(inputs: Arrays, attributes: Attributes) -> np.ndarray:
    return np.concatenate(inputs, attributes["axis"])


def _split(inputs: Arrays, attributes: Attributes) -> list[np.ndarray]:
    return np.split(inputs[0], attributes["num_splits"], _integers(inputs[1])[0])


def _variadic_split(inputs: Arrays, _: Attributes) -> list[np.ndarray]:
    data, lengths = inputs[0], _integers(inputs[2])
    axis = _positive(_integers(inputs[1]), data.ndim)[0]
    if -1 in lengths:
        lengths[lengths.index(-1)] = data.shape[axis] - sum(length for length in lengths if length != -1)
    if sum(lengths) != data.shape[axis]:
        raise ValueError(f"lengths {lengths} of an axis of size {data.shape[axis]}")
    return np.split(data, np.cumsum(lengths)[:-1], axis)


def _tile(inputs: Arrays, _: Attributes) -> np.ndarray:
    return np.tile(inputs[0], _integers(inputs[1]))


def _pad(inputs: Arrays, attributes: Attributes) -> np.ndarray:
    """Negative lengths cut."""
    data, before, after = inputs[0], _integers(inputs[1]), _integers(inputs[2])
    mode = attributes["pad_mode"].lower()
    added = [(max(low, 0), max(high, 0)) for low, high in zip(before, after, strict=True)]
    if mode == "constant":
        value = inputs[3] if len(inputs) > 3 else np.zeros((), data.dtype)
        padded = np.pad(data, added, constant_values=value.reshape(()).astype(data.dtype)) if data.ndim else data
    else:
        padded = np.pad(data, added, mode=mode)
    return padded[tuple(slice(max(-low, 0), size - max(-high, 0))
                        for low, high, size in zip(before, after, padded.shape, strict=True))]


def _broadcast(inputs: Arrays, attributes: Attributes) -> np.ndarray:
    data, shape, mode = inputs[0], tuple(_integers(inputs[1])), attributes["mode"].lower()
    if mode == "bidirectional":
        return np.broadcast_to(data, np.broadcast_shapes(data.shape, shape)).copy()
    if mode in ("explicit", "none"):
        kept = _integers(inputs[2])
        data = np.expand_dims(data, tuple(axis for axis in range(len(shape)) if axis not in kept))
    elif mode != "numpy":
        raise NotImplementedError(f"Broadcast {mode}")
    return np.broadcast_to(data, shape).copy()


def _reduction(reduce: Callable[..., np.ndarray]) -> Operation:
    def run(inputs: Arrays, attributes: Attributes) -> np.ndarray:
        data = inputs[0]
        axes = tuple(sorted(set(_positive(_integers(inputs[1]), data.ndim))))
        if not axes:
            return _as(reduce(np.expand_dims(_wide(data), 0), axis=(0,)), data.dtype)
        return _as(reduce(_wide(data), axis=axes, keepdims=attributes["keep_dims"]), data.dtype)
    return run


def _mean(data: np.ndarray, **axes: Any) -> np.ndarray:
    """The mean of nothing is no number, without a warning; of integers it is rounded towards zero."""
    with np.errstate(all="ignore"):
        count = np.sum(np.ones_like(data), **axes)
        return np.sum(data, **axes) / count


def _extreme(reduce: Callable[..., np.ndarray], worst: str) -> Callable[..., np.ndarray]:
    """The largest or smallest of nothing is the type's bound."""
    def run(data: np.ndarray, **axes: Any) -> np.ndarray:
        bound = -np.inf if worst == "min" else np.inf
        if not np.issubdtype(data.dtype, np.floating):
            bound = getattr(np.iinfo(data.dtype), worst)
        return reduce(data, initial=bound, **axes)
    return run


def _log_sum_exp(data: np.ndarray, **axes: Any) -> np.ndarray:
    with np.errstate(all="ignore"):
        return np.log(np.sum(np.exp(data), **axes))


def _wide(array: np.ndarray) -> np.ndarray:
    """Floating point numbers in float64, so that rounding never differs from one order of summation to another."""
    return array.astype(np.float64) if np.issubdtype(array.dtype, np.floating) else array


def _as(array: np.ndarray, dtype: np.dtype[Any]) -> np.ndarray:
    with np.errstate(all="ignore"):
        return np.asarray(array).astype(dtype)


def _each(compute: Callable[..., np.ndarray], dtype: type | None = None) -> Operation:
    """An operation of one element, or of two broadcast ones. Its result is of the first input's type, or `dtype`."""
    def run(inputs: Arrays, _: Attributes) -> np.ndarray:
        with np.errstate(all="ignore"):
            return _as(compute(*map(_wide, inputs)), np.dtype(dtype or inputs[0].dtype))
    return run


def _divide(inputs: Arrays, attributes: Attributes) -> np.ndarray:
    a, b = inputs
    with np.errstate(all="ignore"):
        if np.issubdtype(a.dtype, np.floating):
            return _as(_wide(a) / _wide(b), a.dtype)
        down = np.floor_divide(a, b)
        return down if attributes["m_pythondiv"] else _as(down + ((down < 0) & (down * b != a)), a.dtype)


def _power(base: np.ndarray, exponent: np.ndarray) -> np.ndarray:
    return np.power(base.astype(np.float64), exponent)


def _matmul(inputs: Arrays, attributes: Attributes) -> np.ndarray:
    """Vectors are never transposed."""
    a, b = map(_wide, inputs)
    if attributes["transpose_a"] and a.ndim > 1:
        a = a.swapaxes(-1, -2)
    if attributes["transpose_b"] and b.ndim > 1:
        b = b.swapaxes(-1, -2)
    return _as(a @ b, inputs[0].dtype)


def _einsum(inputs: Arrays, attributes: Attributes) -> np.ndarray:
    return _as(np.asarray(np.einsum(attributes["equation"], *map(_wide, inputs))), inputs[0].dtype)


def _softmax(inputs: Arrays, attributes: Attributes) -> np.ndarray:
    data, axis = _wide(inputs[0]), attributes["axis"]
    if not data.size:
        return inputs[0]
    powers = np.exp(data - data.max(axis, keepdims=True))
    return _as(powers / powers.sum(axis, keepdims=True), inputs[0].dtype)


def _select(inputs: Arrays, _: Attributes) -> np.ndarray:
    return np.where(*inputs)


def _range(inputs: Arrays, _: Attributes) -> np.ndarray:
    start, stop, step = (array.reshape(()) for array in inputs)
    count = max(int(np.ceil((float(stop) - float(start)) / float(step))), 0)
    return start + np.arange(count, dtype=start.dtype) * step



OPERATIONS: dict[str, Operation] = {
    "Unsqueeze": _unsqueeze, "Squeeze": _squeeze, "Transpose": _transpose, "Reshape": _reshape,
    "Gather": _gather, "GatherElements": _gather_elements, "Slice": _slice, "StridedSlice": _strided_slice,
    "Concat": _concat, "Split": _split, "VariadicSplit": _variadic_split, "Tile": _tile, "Pad": _pad,
    "Broadcast": _broadcast, "Select": _select, "MatMul": _matmul, "Softmax": _softmax, "Divide": _divide,
    "Einsum": _einsum,
    "ReduceSum": _reduction(np.sum), "ReduceProd": _reduction(np.prod), "ReduceMean": _reduction(_mean),
    "ReduceMax": _reduction(_extreme(np.max, "min")), "ReduceMin": _reduction(_extreme(np.min, "max")),
    "ReduceL1": _reduction(lambda data, **axes: np.sum(np.abs(data), **axes)),
    "ReduceL2": _reduction(lambda data, **axes: np.sqrt(np.sum(data * data, **axes))),
    "ReduceLogicalAnd": _reduction(np.all), "ReduceLogicalOr": _reduction(np.any),
    "Add": _each(np.add), "Subtract": _each(np.subtract), "Multiply": _each(np.multiply),
    "Maximum": _each(np.maximum), "Minimum": _each(np.minimum), "Power": _each(_power),
    "SquaredDifference": _each(lambda a, b: (a - b) * (a - b)), "FloorMod": _each(np.mod), "Mod": _each(np.fmod),
    "Negative": _each(np.negative), "Abs": _each(np.abs), "Sign": _each(np.sign), "Floor": _each(np.floor),
    "Ceiling": _each(np.ceil), "Sqrt": _each(np.sqrt), "Exp": _each(np.exp), "Log": _each(np.log),
    "Sin": _each(np.sin), "Cos": _each(np.cos), "Tan": _each(np.tan), "Sinh": _each(np.sinh),
    "Cosh": _each(np.cosh), "Tanh": _each(np.tanh), "Asin": _each(np.arcsin), "Acos": _each(np.arccos),
    "Atan": _each(np.arctan), "Relu": _each(lambda x: np.maximum(x, 0)),
    "Sigmoid": _each(lambda x: 1 / (1 + np.exp(-x))),
    "Equal": _each(np.equal, bool), "NotEqual": _each(np.not_equal, bool), "Less": _each(np.less, bool),
    "LessEqual": _each(np.less_equal, bool), "Greater": _each(np.greater, bool),
    "GreaterEqual": _each(np.greater_equal, bool), "LogicalNot": _each(lambda a: np.logical_not(a).astype(a.dtype)),
    "LogicalAnd": _each(np.logical_and, bool), "LogicalOr": _each(np.logical_or, bool),
    "LogicalXor": _each(np.logical_xor, bool),
}
