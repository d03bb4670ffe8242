"""Transformer layers out of OpenVINO operations, in the form in which exporters write them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import openvino as ov
from numpy.typing import NDArray
from openvino import opset13 as op

from bench.models.layers import integers

WeightSource = Callable[[str, tuple[int, ...]], NDArray[np.float32]]


def seeded(seed: int) -> WeightSource:
    """Random weights that keep the variance of what passes; the order of the calls decides them."""
    random = np.random.default_rng(seed)

    def weights(name: str, shape: tuple[int, ...]) -> NDArray[np.float32]:
        if name.endswith("LayerNorm.weight"):
            return random.uniform(0.8, 1.2, shape).astype(np.float32)
        if name.endswith("bias"):
            return random.uniform(-0.1, 0.1, shape).astype(np.float32)
        values = random.standard_normal(shape, dtype=np.float32)
        return values if "embedding" in name else values / np.float32(np.sqrt(np.prod(shape[1:])))

    return weights


def product(weights: WeightSource, name: str, data: ov.Node, outputs: int, inputs: int) -> ov.Node:
    """data [..., inputs] times the transposed weights [outputs, inputs]."""
    return op.matmul(data, op.constant(weights(f"{name}.weight", (outputs, inputs))), False, True, name=name)


def mean_square(data: ov.Node) -> ov.Node:
    """Over the last axis, which stays."""
    return op.reduce_mean(op.power(data, np.float32(2)), integers([-1]), True)


@dataclass(frozen=True)
class Names:
    """What the parts of one layer's weights are called."""

    query: str
    key: str
    value: str
    output: str
    first_norm: str
    up: str
    down: str
    second_norm: str


@dataclass(frozen=True)
class Transformer:
    """Layers of width `hidden` with `heads` heads; data is [batch, length, hidden]."""

    weights: WeightSource
    hidden: int
    heads: int
    epsilon: float = 1e-12

    def linear(self, name: str, data: ov.Node, outputs: int, inputs: int) -> ov.Node:
        """data [..., inputs] times the transposed weights [outputs, inputs], plus the bias."""
        biasless = product(self.weights, name, data, outputs, inputs)
        return op.add(biasless, self.weights(f"{name}.bias", (outputs,)), name=f"{name}.add")

    def normalise(self, name: str, data: ov.Node) -> ov.Node:
        """Layer normalisation over the last axis."""
        mean_free = op.mvn(data, integers([-1]), True, self.epsilon, "inside_sqrt", name=name)
        scaled = op.multiply(mean_free, self.weights(f"{name}.weight", (self.hidden,)))
        return op.add(scaled, self.weights(f"{name}.bias", (self.hidden,)))

    def attend(self, names: Names, data: ov.Node, mask: ov.Node | None) -> ov.Node:
        """Multi-head self-attention, written out; `mask` [batch, 1, 1, length] is added to the scores."""
        query, key, value = (self._split(self.linear(name, data, self.hidden, self.hidden), order)
                             for name, order in ((names.query, (0, 2, 1, 3)), (names.key, (0, 2, 3, 1)),
                                                 (names.value, (0, 2, 1, 3))))
        scores = op.divide(op.matmul(query, key, False, False), np.float32(np.sqrt(self.hidden // self.heads)))
        if mask is not None:
            scores = op.add(scores, mask)
        mixed = op.matmul(op.softmax(scores, -1), value, False, False)
        joined = op.reshape(op.transpose(mixed, integers([0, 2, 1, 3])), integers([0, 0, self.hidden]), True)
        return self.linear(names.output, joined, self.hidden, self.hidden)

    def _split(self, data: ov.Node, order: tuple[int, ...]) -> ov.Node:
        """[batch, length, hidden] to [batch, length, heads, hidden / heads], with the axes in that order."""
        split = op.reshape(data, integers([0, 0, self.heads, self.hidden // self.heads]), True)
        return op.transpose(split, integers(order))

    def feed_forward(self, names: Names, data: ov.Node, width: int) -> ov.Node:
        """Linear to `width`, GELU, linear back."""
        inside = op.gelu(self.linear(names.up, data, width, self.hidden), "erf")
        return self.linear(names.down, inside, self.hidden, width)

    def layer_norm_after(self, names: Names, data: ov.Node, mask: ov.Node | None, width: int) -> ov.Node:
        """A layer that normalises its sums (BERT)."""
        data = self.normalise(names.first_norm, op.add(self.attend(names, data, mask), data))
        return self.normalise(names.second_norm, op.add(self.feed_forward(names, data, width), data))

    def layer_norm_before(self, names: Names, data: ov.Node, width: int) -> ov.Node:
        """A layer that normalises what enters its branches (ViT, Whisper)."""
        data = op.add(self.attend(names, self.normalise(names.first_norm, data), None), data)
        return op.add(self.feed_forward(names, self.normalise(names.second_norm, data), width), data)


def block_names(prefix: str) -> Names:
    """Short names for layers whose weights come from a seed."""
    return Names(f"{prefix}.query", f"{prefix}.key", f"{prefix}.value", f"{prefix}.output",
                 f"{prefix}.first_LayerNorm", f"{prefix}.up", f"{prefix}.down", f"{prefix}.second_LayerNorm")
