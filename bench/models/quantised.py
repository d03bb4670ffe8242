"""Models with products of whole numbers of 8 bits, in the form in which quantisation tools write them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import openvino as ov
from numpy.typing import NDArray
from openvino import opset13 as op

LEVELS = 256
_WEIGHTS_HIGH = 127
_QUANTISED = ("MatMul", "Convolution", "GroupConvolution")


def quantise(model: ov.Model, inputs: Sequence[NDArray[Any]]) -> int:
    """Let every product and convolution with constant weights read its data by a FakeQuantize of 256 levels, between
    the extremes that an inference of `inputs` shows, and its weights as i8 with a scale per output channel. How many
    do so."""
    nodes = [node for node in model.get_ordered_ops() if node.get_type_name() in _QUANTISED
             and node.input_value(1).get_node().get_type_name() == "Constant"]
    bounds = _extremes(model, nodes, inputs)
    made: dict[tuple[int, int], ov.Node] = {}
    for node, (low, high) in zip(nodes, bounds, strict=True):
        data, weights = node.input_value(0), node.input_value(1).get_node()
        source = (data.get_node().get_instance_id(), data.get_index())
        if source not in made:
            made[source] = _rounded(data, low, high)
        node.input(0).replace_source_output(made[source].output(0))
        node.input(1).replace_source_output(_whole(weights.data, _reduced_axes(node)).output(0))
    model.validate_nodes_and_infer_types()
    return len(nodes)


def _extremes(model: ov.Model, nodes: list[ov.Node], inputs: Sequence[NDArray[Any]]) -> list[tuple[float, float]]:
    """The least and the greatest number that each node reads as data."""
    watched = ov.Model([node.input_value(0) for node in nodes], model.get_parameters(), "watched")
    compiled = ov.Core().compile_model(watched, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    results = compiled(list(inputs))
    return [(min(float(results[i].min()), 0.0), max(float(results[i].max()), 1e-3)) for i in range(len(nodes))]


def _rounded(data: ov.Output, low: float, high: float) -> ov.Node:
    """A FakeQuantize whose levels have 0 among them."""
    step = (high - low) / (LEVELS - 1)
    zero_point = round(-low / step)
    first, last = (np.float32(-zero_point * step), np.float32((LEVELS - 1 - zero_point) * step))
    return op.fake_quantize(data, first, last, first, last, LEVELS)


def _reduced_axes(node: ov.Node) -> tuple[int, ...]:
    """The axes of the weights that are added up."""
    rank = len(node.input_value(1).get_shape())
    if node.get_type_name() == "MatMul":
        return (rank - 1 if node.get_attributes()["transpose_b"] else rank - 2,)
    return tuple(range(2 if node.get_type_name() == "GroupConvolution" else 1, rank))


def _whole(values: NDArray[np.float32], reduced: tuple[int, ...]) -> ov.Node:
    """Convert and Multiply of i8."""
    scale = np.maximum(np.abs(values).max(reduced, keepdims=True) / _WEIGHTS_HIGH, 1e-9).astype(np.float32)
    whole = np.clip(np.rint(values / scale), -_WEIGHTS_HIGH, _WEIGHTS_HIGH).astype(np.int8)
    return op.multiply(op.convert(op.constant(whole), "f32"), op.constant(scale))
