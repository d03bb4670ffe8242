"""Weights of matrix products as whole numbers of 8 or 4 bits, or as floats of 4, in the form in which compression tools
write them."""

from __future__ import annotations

from typing import Any

import numpy as np
import openvino as ov
from numpy.typing import NDArray
from openvino import opset13 as op

LEVELS = {"u8": (0, 255), "i8": (-127, 127), "u4": (0, 15), "i4": (-7, 7)}
FLOATS = ("nf4", "f4e2m1")
SMALLEST = 4096
"""Elements of the smallest weights that are worth it."""


def compress_weights(model: ov.Model, kind: str, group: int = 0, smallest: int = SMALLEST) -> int:
    """Let the products of a model read their constant right sides [N, K] or [K, N] by a chain of Convert, Subtract
    (for u8 and u4), Multiply and, with groups of `group` consecutive k, Reshape, in f16 (nf4 and f4e2m1: in f32). How
    many do so.

    Where K is no multiple of the group, there is one scale per column.
    """
    count = 0
    for node in model.get_ordered_ops():
        if node.get_type_name() != "MatMul":
            continue
        weights = node.input_value(1).get_node()
        if weights.get_type_name() == "Constant" and len(weights.shape) == 2 and weights.data.size >= smallest:
            transposed = bool(node.get_attributes()["transpose_b"])
            matrix = weights.data if transposed else weights.data.T
            node.input(1).replace_source_output(decompressed(matrix, kind, group, transposed).output(0))
            count += 1
    model.validate_nodes_and_infer_types()
    return count


def decompressed(matrix: NDArray[np.float32], kind: str, group: int = 0, transposed: bool = True) -> ov.Node:
    """The chain that yields weights [N, K] (or, if not transposed, [K, N]) rounded to the numbers of a kind."""
    columns, depth = matrix.shape
    cut = group > 0 and depth % group == 0
    parts = matrix.reshape(columns, -1, group if cut else depth)
    stored, scale, zero_point = _codes(parts, kind) if kind in FLOATS else _whole_numbers(parts, kind)
    wide = "f32" if kind in FLOATS else "f16"

    def arranged(values: NDArray[np.generic]) -> NDArray[np.generic]:
        values = values if transposed else np.moveaxis(values, 0, -1)
        return values if cut else values.squeeze(1 if transposed else 0)

    node = op.convert(_stored(arranged(stored), kind), wide)
    if kind.startswith("u"):
        node = op.subtract(node, op.convert(_stored(arranged(zero_point), kind), wide))
    node = op.multiply(node, op.convert(op.constant(np.ascontiguousarray(arranged(scale))), wide))
    if cut:
        node = op.reshape(node, np.array((columns, depth) if transposed else (depth, columns), np.int64), False)
    return op.convert(node, "f32")


def _codes(parts: NDArray[np.float32], kind: str) -> tuple[NDArray[Any], NDArray[np.float16], NDArray[np.float32]]:
    """The code of the nearest of the 16 numbers for each of the weights, scale and zero point."""
    numbers = _stored(np.arange(16), kind).get_data(dtype=np.float32)
    scale, zero_point = _steps(parts, -numbers.max(), numbers.max())
    order = np.argsort(numbers, kind="stable")
    between = (numbers[order][1:] + numbers[order][:-1]) / 2
    return order[np.searchsorted(between, parts / scale.astype(np.float32))], scale, zero_point


def _whole_numbers(parts: NDArray[np.float32],
                   kind: str) -> tuple[NDArray[Any], NDArray[np.float16], NDArray[np.float32]]:
    """The weights as whole numbers, scale and zero point."""
    low, high = LEVELS[kind]
    scale, zero_point = _steps(parts, low, high)
    return np.clip(np.rint(parts / scale.astype(np.float32) + zero_point), low, high), scale, zero_point


def _steps(parts: NDArray[np.float32], low: float, high: float) -> tuple[NDArray[np.float16], NDArray[np.float32]]:
    """Scale and zero point [N, groups, 1] of weights [N, groups, k]."""
    if low < 0:
        scale = np.maximum(np.abs(parts).max(-1, keepdims=True) / high, 1e-7).astype(np.float16)
        return scale, np.zeros(scale.shape, np.float32)
    least = np.minimum(parts.min(-1, keepdims=True), 0)
    most = np.maximum(parts.max(-1, keepdims=True), 0)
    scale = np.maximum((most - least) / (high - low), 1e-7).astype(np.float16)
    return scale, np.clip(np.rint(-least / scale.astype(np.float32)), low, high)


def _stored(values: NDArray[np.generic], kind: str) -> ov.op.Constant:
    """A constant of that type: whole numbers, or the codes of floats of 4 bits."""
    array = np.ascontiguousarray(values).astype(np.int8 if kind.startswith("i") else np.uint8)
    if kind in ("u8", "i8"):
        return op.constant(array)
    halves = np.append(array.view(np.uint8).reshape(-1) & 15, np.zeros(array.size % 2, np.uint8))
    packed = ov.Tensor(getattr(ov.Type, kind), ov.Shape(array.shape))
    packed.data[:] = halves[0::2] | halves[1::2] << 4
    return ov.op.Constant(packed)
