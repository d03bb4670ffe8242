"""Layers out of OpenVINO operations, with seeded weights, for the generated models.

The structure is that of a model before optimisation: convolution, normalisation, activation, one after the other.
Large weights are made constants here: of an array that is an operation's input OpenVINO makes a list first, ten times
as large.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import openvino as ov
from numpy.typing import NDArray
from openvino import opset13 as op

Weights = tuple[int, ...]


class Layers:
    """Adds layers to a graph; the order of the calls decides the weights."""

    def __init__(self, seed: int) -> None:
        self._random = np.random.default_rng(seed)

    def uniform(self, low: float, high: float, shape: int | tuple[int, ...]) -> NDArray[np.float32]:
        """Uniformly distributed weights."""
        return self._random.uniform(low, high, shape).astype(np.float32)

    def he(self, shape: Weights, fan_in: int | None = None) -> NDArray[np.float32]:
        """Normal weights of mean zero per output, which keep the variance of a rectified input.

        Dimension 0 counts the outputs. Mean zero keeps what all pictures have in common (rectified values
        are positive) from drowning what tells them apart, so that a wrong kernel shows in the outputs.
        `fan_in`: how many inputs reach an output, where it is not the product of the other dimensions.
        """
        weights = self._random.standard_normal(shape, dtype=np.float32)
        weights -= weights.mean(axis=tuple(range(1, len(shape))), keepdims=True)
        return weights * np.float32(np.sqrt(3.0 / (fan_in or np.prod(shape[1:]))))

    def convolve(self, name: str, data: ov.Node, shape: Weights, stride: int = 1, groups: int = 1) -> ov.Node:
        """Convolution with weights of `shape` (O, I / groups, kernel...), padded to keep the size at stride 1."""
        kernel = shape[2:]
        pad = [size // 2 for size in kernel]
        window = ([stride] * len(kernel), pad, pad, [1] * len(kernel))
        weights = self.he(shape)
        if groups == 1:
            return op.convolution(data, op.constant(weights), *window, name=name)
        grouped = weights.reshape(groups, shape[0] // groups, *shape[1:])
        return op.group_convolution(data, op.constant(grouped), *window, name=name)

    def add_bias(self, name: str, data: ov.Node, channels: int, spatial: int = 2) -> ov.Node:
        """Adds one number per channel (axis 1)."""
        return op.add(data, self.uniform(-0.1, 0.1, (1, channels, *(1,) * spatial)), name=f"{name}_bias")

    def normalise(self, name: str, data: ov.Node, channels: int, gain: float = 1.0) -> ov.Node:
        """BatchNormInference with statistics near those of its input and a scale around `gain`."""
        gamma = self.uniform(0.8 * gain, 1.2 * gain, channels)
        beta = self.uniform(-0.1, 0.1, channels)
        mean = self.uniform(-0.1, 0.1, channels)
        variance = self.uniform(0.8, 1.2, channels)
        return op.batch_norm_inference(data, gamma, beta, mean, variance, 1e-5, name=f"{name}_bn")

    def linear(self, name: str, data: ov.Node, outputs: int, inputs: int) -> ov.Node:
        """data [..., inputs] times weights [outputs, inputs] transposed, plus a bias."""
        product = op.matmul(data, op.constant(self.he((outputs, inputs))), transpose_a=False, transpose_b=True,
                            name=name)
        return op.add(product, self.uniform(-0.1, 0.1, outputs), name=f"{name}_bias")


def swish(data: ov.Node) -> ov.Node:
    """x * sigmoid(x), as two operations."""
    return op.multiply(data, op.sigmoid(data))


def image_input(batch: int, height: int, width: int, channels: int = 3) -> ov.Node:
    """The parameter `image` [batch, channels, height, width] f32; -1 leaves a size dynamic."""
    return named(op.parameter([batch, channels, height, width], np.float32, name="image"), "image")


def named(node: ov.Node, name: str) -> ov.Node:
    """The node, its output called `name`."""
    node.output(0).set_names({name})
    return node


def integers(values: Sequence[int] | int) -> NDArray[np.int64]:
    """An i64 constant."""
    return np.array(values, np.int64)
