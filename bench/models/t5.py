"""A T5: an encoder and a decoder with biases by relative position, RMS normalisation and no bias in its products."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import openvino as ov
from numpy.typing import NDArray
from openvino import opset13 as op

from bench.models.layers import integers, named
from bench.models.transformer import WeightSource, mean_square, product, seeded

MASKED = np.float32(-10000)


@dataclass(frozen=True)
class Size:
    """The sizes of a T5; the defaults are those of T5-small with fewer layers and words."""

    layers: int = 2
    hidden: int = 512
    heads: int = 8
    inside: int = 2048
    vocabulary: int = 4000
    buckets: int = 32
    distance: int = 128


TINY = Size(layers=2, hidden=64, heads=4, inside=96, vocabulary=300)


@dataclass(frozen=True)
class T5:
    """Its parts, in the form in which exporters write them; data is [batch, length, hidden]."""

    size: Size
    weights: WeightSource

    def linear(self, name: str, data: ov.Node, outputs: int, inputs: int) -> ov.Node:
        """data [..., inputs] times the transposed weights [outputs, inputs]."""
        return product(self.weights, name, data, outputs, inputs)

    def normalise(self, name: str, data: ov.Node) -> ov.Node:
        """Over the root of the mean square of the last axis, times a weight for each column."""
        mean = mean_square(data)
        scaled = op.multiply(data, op.divide(np.float32(1), op.sqrt(op.add(mean, np.float32(1e-6)))))
        return op.multiply(self.weights(f"{name}.LayerNorm.weight", (self.size.hidden,)), scaled)

    def bias(self, name: str, query: ov.Node, key: ov.Node, both_ways: bool) -> ov.Node:
        """What is added to the scores [1, heads, query, key]: a number for each bucket of distances."""
        columns = op.range(integers(0), _length(key), integers(1), "i64")
        rows = op.range(integers(0), _length(query), integers(1), "i64")
        apart = op.subtract(op.unsqueeze(columns, integers(0)), op.unsqueeze(rows, integers(1)))
        table = self.weights(f"{name}.embedding", (self.size.buckets, self.size.heads))
        found = op.gather(table, self._bucket(apart, both_ways), integers(0))
        return op.unsqueeze(op.transpose(found, integers([2, 0, 1])), integers(0))

    def _bucket(self, apart: ov.Node, both_ways: bool) -> ov.Node:
        """Distances in words to buckets: the near ones each their own, the far ones by their logarithm."""
        buckets = self.size.buckets
        if both_ways:
            buckets //= 2
            side = op.multiply(op.convert(op.greater(apart, integers(0)), "i64"), integers(buckets))
            distance = op.abs(apart)
        else:
            side = integers(0)
            distance = op.negative(op.minimum(apart, integers(0)))
        near = buckets // 2
        grown = op.log(op.divide(op.convert(distance, "f32"), np.float32(near)))
        far = op.convert(op.multiply(op.divide(grown, np.float32(np.log(self.size.distance / near))),
                                     np.float32(buckets - near)), "i64")
        far = op.minimum(op.add(far, integers(near)), integers(buckets - 1))
        return op.add(side, op.select(op.less(distance, integers(near)), distance, far))

    def attend(self, name: str, data: ov.Node, other: ov.Node, bias: ov.Node) -> ov.Node:
        """Attention of `data` to `other`; the scores are not scaled."""
        hidden = self.size.hidden
        query, key, value = (self._split(self.linear(f"{name}.{part}", given, hidden, hidden), order)
                             for part, given, order in (("query", data, (0, 2, 1, 3)), ("key", other, (0, 2, 3, 1)),
                                                        ("value", other, (0, 2, 1, 3))))
        weights = op.softmax(op.add(op.matmul(query, key, False, False), bias), -1)
        mixed = op.transpose(op.matmul(weights, value, False, False), integers([0, 2, 1, 3]))
        joined = op.reshape(mixed, op.concat([_sizes(data), integers([hidden])], 0), False)
        return self.linear(f"{name}.output", joined, hidden, hidden)

    def _split(self, data: ov.Node, order: tuple[int, ...]) -> ov.Node:
        heads = self.size.heads
        shape = op.concat([_sizes(data), integers([heads, self.size.hidden // heads])], 0)
        return op.transpose(op.reshape(data, shape, False), integers(order))

    def feed_forward(self, name: str, data: ov.Node) -> ov.Node:
        """Linear, ReLU, linear back."""
        inside = op.relu(self.linear(f"{name}.up", data, self.size.inside, self.size.hidden))
        return self.linear(f"{name}.down", inside, self.size.hidden, self.size.inside)

    def stack(self, name: str, data: ov.Node, bias: ov.Node, encoded: ov.Node | None = None,
              mask: ov.Node | None = None) -> ov.Node:
        """All layers of the encoder or, given what it made, of the decoder."""
        for number in range(self.size.layers):
            layer = f"{name}{number}"
            normal = self.normalise(f"{layer}.first", data)
            data = op.add(data, self.attend(f"{layer}.self", normal, normal, bias))
            if encoded is not None and mask is not None:
                normal = self.normalise(f"{layer}.second", data)
                data = op.add(data, self.attend(f"{layer}.cross", normal, encoded, mask))
            data = op.add(data, self.feed_forward(layer, self.normalise(f"{layer}.last", data)))
        return self.normalise(name, data)


def _sizes(data: ov.Node) -> ov.Node:
    return op.gather(op.shape_of(data), integers([0, 1]), integers(0))


def _length(tokens: ov.Node) -> ov.Node:
    return op.gather(op.shape_of(tokens), integers(1), integers(0))


def build(batch: int = -1, length: int = -1, written: int = -1, size: Size = Size(), seed: int = 5) -> ov.Model:
    """Inputs `tokens`, `attention_mask` [batch, length] and `decoder_tokens` [batch, written] i64, output `scores`
    [batch, written, vocabulary] f32; -1 leaves a size dynamic."""
    t5 = T5(size, seeded(seed))
    tokens, mask = (named(op.parameter([batch, length], np.int64, name=name), name)
                    for name in ("tokens", "attention_mask"))
    given = named(op.parameter([batch, written], np.int64, name="decoder_tokens"), "decoder_tokens")
    table = t5.weights("embedding", (size.vocabulary, size.hidden))
    hidden = op.multiply(op.subtract(np.float32(1), op.convert(op.unsqueeze(mask, integers([1, 2])), "f32")), MASKED)
    encoded = t5.stack("encoder", op.gather(op.constant(table), tokens, integers(0)),
                       op.add(t5.bias("encoder", tokens, tokens, True), hidden))
    rows = op.unsqueeze(op.range(integers(0), _length(given), integers(1), "i64"), integers(1))
    columns = op.unsqueeze(op.range(integers(0), _length(given), integers(1), "i64"), integers(0))
    later = op.multiply(op.convert(op.greater(columns, rows), "f32"), MASKED)
    data = t5.stack("decoder", op.gather(op.constant(table), given, integers(0)),
                    op.add(t5.bias("decoder", given, given, False), later), encoded, hidden)
    data = op.multiply(data, np.float32(size.hidden ** -0.5))
    return ov.Model([named(t5.linear("head", data, size.vocabulary, size.hidden), "scores")], [tokens, mask, given],
                    "t5")


def random_tokens(shape: tuple[int, ...], random: np.random.Generator,
                  vocabulary: int = 300) -> list[NDArray[np.int64]]:
    """Inputs for shape (batch, length, words written): all of the encoder's words are valid."""
    batch, length, written = shape
    return [random.integers(0, vocabulary, (batch, length)), np.ones((batch, length), np.int64),
            random.integers(0, vocabulary, (batch, written))]
