"""Weights of matrix products as whole numbers of 8 or 4 bits, in the form in which compression tools write them."""

from __future__ import annotations

import numpy as np
import openvino as ov
from numpy.typing import NDArray
from openvino import opset13 as op

LEVELS = {"u8": (0, 255), "i8": (-127, 127), "u4": (0, 15), "i4": (-7, 7)}
SMALLEST = 4096
"""Elements of the smallest weights that are worth it."""


def compress_weights(model: ov.Model, kind: str, group: int = 0, smallest: int = SMALLEST) -> int:
    """Let the products of a model read their constant right sides [N, K] or [K, N] by a chain of Convert, Subtract
    (for u8 and u4), Multiply and, with groups of `group` consecutive k, Reshape, in f16. How many do so.

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
    """The chain that yields weights [N, K] (or, if not transposed, [K, N]) rounded to whole numbers."""
    low, high = LEVELS[kind]
    columns, depth = matrix.shape
    cut = group > 0 and depth % group == 0
    parts = matrix.reshape(columns, -1, group if cut else depth)
    scale, zero_point = _steps(parts, low, high)
    whole = np.clip(np.rint(parts / scale.astype(np.float32) + zero_point), low, high)

    def arranged(values: NDArray[np.generic]) -> NDArray[np.generic]:
        values = values if transposed else np.moveaxis(values, 0, -1)
        return values if cut else values.squeeze(1 if transposed else 0)

    node = op.convert(_whole(arranged(whole), kind), "f16")
    if low == 0:
        node = op.subtract(node, op.convert(_whole(arranged(zero_point), kind), "f16"))
    node = op.multiply(node, op.constant(np.ascontiguousarray(arranged(scale))))
    if cut:
        node = op.reshape(node, np.array((columns, depth) if transposed else (depth, columns), np.int64), False)
    return op.convert(node, "f32")


def _steps(parts: NDArray[np.float32], low: int, high: int) -> tuple[NDArray[np.float16], NDArray[np.float32]]:
    """Scale and zero point [N, groups, 1] of weights [N, groups, k]."""
    if low < 0:
        scale = np.maximum(np.abs(parts).max(-1, keepdims=True) / high, 1e-7).astype(np.float16)
        return scale, np.zeros(scale.shape, np.float32)
    least = np.minimum(parts.min(-1, keepdims=True), 0)
    most = np.maximum(parts.max(-1, keepdims=True), 0)
    scale = np.maximum((most - least) / (high - low), 1e-7).astype(np.float16)
    return scale, np.clip(np.rint(-least / scale.astype(np.float32)), low, high)


def _whole(values: NDArray[np.generic], kind: str) -> ov.Node:
    """A constant of that type."""
    array = np.ascontiguousarray(values).astype(np.int8 if kind.startswith("i") else np.uint8)
    if not kind.endswith("4"):
        return op.constant(array)
    halves = np.append(array.view(np.uint8).reshape(-1) & 15, np.zeros(array.size % 2, np.uint8))
    packed = ov.Tensor(getattr(ov.Type, kind), ov.Shape(array.shape))
    packed.data[:] = halves[0::2] | halves[1::2] << 4
    return ov.op.Constant(packed)
