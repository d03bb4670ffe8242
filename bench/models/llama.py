"""A Llama: RMS normalisation, rotary positions, causal attention, a gated feed-forward; the whole text at once, or
token by token with the keys and values of what came before.

With fewer heads of keys and values than of queries, as Llama 3, Mistral and Qwen have them, these are repeated.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import openvino as ov
from numpy.typing import NDArray
from openvino import opset13 as op

from bench.models.layers import integers, named
from bench.models.transformer import WeightSource, mean_square, product, seeded


@dataclass(frozen=True)
class Size:
    """The sizes of a Llama; `groups`: how many heads share one of keys and values."""

    layers: int = 6
    hidden: int = 512
    heads: int = 8
    inside: int = 1376
    vocabulary: int = 4000
    groups: int = 1


TINY = Size(layers=2, hidden=64, heads=4, inside=96, vocabulary=300)
GROUPED = Size(groups=4)
TINY_GROUPED = Size(layers=2, hidden=64, heads=4, groups=2, inside=96, vocabulary=300)


@dataclass(frozen=True)
class Llama:
    """Its parts, in the form in which exporters write them; data is [batch, length, hidden]."""

    size: Size
    weights: WeightSource
    epsilon: np.float32 = field(default_factory=lambda: np.float32(1e-5))

    @property
    def depth(self) -> int:
        """Elements of a head."""
        return self.size.hidden // self.size.heads

    def linear(self, name: str, data: ov.Node, outputs: int, inputs: int) -> ov.Node:
        """data [..., inputs] times the transposed weights [outputs, inputs]."""
        return product(self.weights, name, data, outputs, inputs)

    def normalise(self, name: str, data: ov.Node) -> ov.Node:
        """Over the root of the mean square of the last axis, times a weight for each column."""
        mean = mean_square(data)
        scaled = op.multiply(data, op.power(op.add(mean, self.epsilon), np.float32(-0.5)), name=name)
        return op.multiply(self.weights(f"{name}.LayerNorm.weight", (self.size.hidden,)), scaled)

    def angles(self, tokens: ov.Node, past: ov.Node | None = None) -> tuple[ov.Node, ov.Node]:
        """Cosines and sines [1, 1, length, depth] of the positions, the first of which is `past`."""
        start, end = integers(0), op.gather(op.shape_of(tokens), integers(1), integers(0))
        if past is not None:
            start, end = past, op.add(past, end)
        places = op.convert(op.range(start, end, integers(1), "i64"), "f32")
        return self._turning(op.unsqueeze(places, integers([0, 1, 3])))

    def angles_at(self, positions: ov.Node) -> tuple[ov.Node, ov.Node]:
        """Cosines and sines [batch, 1, length, depth] of positions [batch, length]."""
        return self._turning(op.unsqueeze(op.convert(positions, "f32"), integers([1, 3])))

    def _turning(self, places: ov.Node) -> tuple[ov.Node, ov.Node]:
        steps = (10000.0 ** (-np.arange(0, self.depth, 2) / self.depth)).astype(np.float32)
        half = op.multiply(places, steps)
        both = op.concat([half, half], -1)
        return op.cos(both), op.sin(both)

    def turn(self, data: ov.Node, cosine: ov.Node, sine: ov.Node) -> ov.Node:
        """Rotary positions: element i of a head turns together with element i + depth / 2."""
        half = self.depth // 2
        low = op.slice(data, integers([0]), integers([half]), integers([1]), integers([3]))
        high = op.slice(data, integers([half]), integers([2**63 - 1]), integers([1]), integers([3]))
        other = op.concat([op.negative(high), low], -1)
        return op.add(op.multiply(data, cosine), op.multiply(other, sine))

    def attend_on(self, name: str, data: ov.Node, cosine: ov.Node, sine: ov.Node, past: list[ov.Node],
                  mask: ov.Node) -> tuple[ov.Node, ov.Node, ov.Node]:
        """Attention to the past's keys and values and the tokens' own; these joined, too."""
        hidden, shared = self.size.hidden, self.size.heads // self.size.groups
        query, key, value = (self._split(self.linear(f"{name}.{part}", data, count * self.depth, hidden), count)
                             for part, count in (("query", self.size.heads), ("key", shared), ("value", shared)))
        key, value = op.concat([past[0], self.turn(key, cosine, sine)], 2), op.concat([past[1], value], 2)
        mixed = op.scaled_dot_product_attention(self.turn(query, cosine, sine), self._repeat(key, shared),
                                                self._repeat(value, shared), mask)
        joined = op.reshape(op.transpose(mixed, integers([0, 2, 1, 3])), integers([0, 0, hidden]), True)
        return self.linear(f"{name}.output", joined, hidden, hidden), key, value

    def attend(self, name: str, data: ov.Node, cosine: ov.Node, sine: ov.Node) -> ov.Node:
        """Causal self-attention."""
        hidden, shared = self.size.hidden, self.size.heads // self.size.groups
        query, key, value = (self._split(self.linear(f"{name}.{part}", data, count * self.depth, hidden), count)
                             for part, count in (("query", self.size.heads), ("key", shared), ("value", shared)))
        mixed = op.scaled_dot_product_attention(self.turn(query, cosine, sine),
                                                self._repeat(self.turn(key, cosine, sine), shared),
                                                self._repeat(value, shared), causal=True)
        joined = op.reshape(op.transpose(mixed, integers([0, 2, 1, 3])), integers([0, 0, hidden]), True)
        return self.linear(f"{name}.output", joined, hidden, hidden)

    def _split(self, data: ov.Node, heads: int) -> ov.Node:
        """[batch, length, heads * depth] to [batch, heads, length, depth]."""
        split = op.reshape(data, integers([0, 0, heads, self.depth]), True)
        return op.transpose(split, integers([0, 2, 1, 3]))

    def _repeat(self, data: ov.Node, heads: int) -> ov.Node:
        """[batch, heads, length, depth] with each head once for each of its group."""
        groups = self.size.groups
        if groups == 1:
            return data
        batch, length = (op.gather(op.shape_of(data), integers([axis]), integers(0)) for axis in (0, 2))
        shape = op.concat([batch, integers([heads, groups]), length, integers([self.depth])], 0)
        wide = op.broadcast(op.unsqueeze(data, integers([2])), shape, broadcast_spec="BIDIRECTIONAL")
        joined = op.concat([batch, integers([heads * groups]), length, integers([self.depth])], 0)
        return op.reshape(wide, joined, False)

    def feed_forward(self, name: str, data: ov.Node) -> ov.Node:
        """Gate and values side by side, then back."""
        size = self.size
        gate = op.swish(self.linear(f"{name}.gate", data, size.inside, size.hidden))
        inside = op.multiply(gate, self.linear(f"{name}.up", data, size.inside, size.hidden))
        return self.linear(f"{name}.down", inside, size.hidden, size.inside)

    def decode(self, tokens: ov.Node, pasts: list[ov.Node]) -> tuple[ov.Node, list[ov.Node]]:
        """What the last layer makes of tokens behind keys and values of each layer, and these with the tokens' own."""
        past = op.gather(op.shape_of(pasts[0]), integers(2), integers(0))
        return self.decode_at(tokens, pasts, self.angles(tokens, past), _later(tokens, past))

    def decode_at(self, tokens: ov.Node, pasts: list[ov.Node], angles: tuple[ov.Node, ov.Node],
                  mask: ov.Node) -> tuple[ov.Node, list[ov.Node]]:
        """The same, with the angles of the tokens and what is added to their scores."""
        cosine, sine = angles
        table = op.constant(self.weights("embedding", (self.size.vocabulary, self.size.hidden)))
        data: ov.Node = op.gather(table, tokens, integers(0))
        presents: list[ov.Node] = []
        for number in range(self.size.layers):
            name = f"layer{number}"
            mixed, *present = self.attend_on(name, self.normalise(f"{name}.first", data), cosine, sine,
                                             pasts[2 * number:2 * number + 2], mask)
            presents += present
            data = op.add(data, mixed)
            data = op.add(data, self.feed_forward(name, self.normalise(f"{name}.second", data)))
        return self.normalise("last", data), presents


def build(batch: int = -1, length: int = -1, size: Size = Size(), seed: int = 512) -> ov.Model:
    """Input `tokens` [batch, length] i64, output `scores` [batch, length, vocabulary] f32; -1 leaves a size dynamic."""
    llama = Llama(size, seeded(seed))
    tokens = named(op.parameter([batch, length], np.int64, name="tokens"), "tokens")
    table = op.constant(llama.weights("embedding", (size.vocabulary, size.hidden)))
    data: ov.Node = op.gather(table, tokens, integers(0))
    cosine, sine = llama.angles(tokens)
    for number in range(size.layers):
        name = f"layer{number}"
        data = op.add(data, llama.attend(name, llama.normalise(f"{name}.first", data), cosine, sine))
        data = op.add(data, llama.feed_forward(name, llama.normalise(f"{name}.second", data)))
    scores = llama.linear("head", llama.normalise("last", data), size.vocabulary, size.hidden)
    return ov.Model([named(scores, "scores")], [tokens], "llama")


def build_decoder(size: Size = Size(), seed: int = 512) -> ov.Model:
    """Inputs `tokens` [batch, length] i64 and for each layer `past.<n>.key` and `past.<n>.value` [batch, heads, past,
    depth] f32; outputs `scores` [batch, length, vocabulary] and `present.<n>...` with the tokens' own behind."""
    llama = Llama(size, seeded(seed))
    tokens = named(op.parameter([-1, -1], np.int64, name="tokens"), "tokens")
    pasts = [named(op.parameter([-1, size.heads // size.groups, -1, llama.depth], np.float32,
                                name=name), name)
             for number in range(size.layers) for name in (f"past.{number}.key", f"past.{number}.value")]
    data, presents = llama.decode(tokens, pasts)
    kinds = [f"present.{number}.{kind}" for number in range(size.layers) for kind in ("key", "value")]
    scores = llama.linear("head", data, size.vocabulary, size.hidden)
    return ov.Model([named(scores, "scores"), *map(named, presents, kinds)], [tokens, *pasts], "llama_decoder")


def build_stateful(size: Size = Size(), seed: int = 512) -> ov.Model:
    """Inputs `tokens` [batch, length] i64 and `beam_idx` [batch] i32; output `scores` [batch, 1, vocabulary] of the
    last token. Keys and values are variables, as exporters write them."""
    llama = Llama(size, seeded(seed))
    tokens = named(op.parameter([-1, -1], np.int64, name="tokens"), "tokens")
    beams = named(op.parameter([-1], np.int32, name="beam_idx"), "beam_idx")
    pasts = _variables(llama, tokens, beams)
    data, kept = llama.decode(tokens, pasts)
    last = op.slice(data, integers([-1]), integers([2**63 - 1]), integers([1]), integers([1]))
    scores = named(llama.linear("head", last, size.vocabulary, size.hidden), "scores")
    return ov.Model([op.result(scores)], _assigned(size, kept), [tokens, beams], "llama_stateful")


def build_exported(size: Size = Size(), seed: int = 512) -> ov.Model:
    """The decoder under the names that exporters give: `input_ids`, `attention_mask` (of the past too) and
    `position_ids`, all [batch, length] i64, and `beam_idx` [batch] i32; output `logits` [batch, length, vocabulary] of
    all tokens."""
    llama = Llama(size, seeded(seed))
    tokens, seen, positions = (named(op.parameter([-1, -1], np.int64, name=name), name)
                               for name in ("input_ids", "attention_mask", "position_ids"))
    beams = named(op.parameter([-1], np.int32, name="beam_idx"), "beam_idx")
    pasts = _variables(llama, tokens, beams)
    padding = op.select(op.equal(op.unsqueeze(seen, integers([1, 2])), integers(0)), np.float32(-1e9), np.float32(0))
    mask = op.add(_later(tokens, op.gather(op.shape_of(pasts[0]), integers(2), integers(0))), padding)
    data, kept = llama.decode_at(tokens, pasts, llama.angles_at(positions), mask)
    logits = named(llama.linear("head", data, size.vocabulary, size.hidden), "logits")
    return ov.Model([op.result(logits)], _assigned(size, kept), [tokens, seen, positions, beams], "llama_exported")


def _state_names(size: Size) -> list[str]:
    return [f"past.{number}.{kind}" for number in range(size.layers) for kind in ("key", "value")]


def _variables(llama: Llama, tokens: ov.Node, beams: ov.Node) -> list[ov.Node]:
    """What the variables of keys and values hold of the selected beams."""
    heads = llama.size.heads // llama.size.groups
    blank = op.broadcast(np.float32(0), op.concat(
        [op.gather(op.shape_of(tokens), integers([0]), integers(0)), integers([heads, 0, llama.depth])], 0))
    return [op.gather(op.read_value(blank, name, ov.Type.f32, ov.PartialShape([-1, heads, -1, llama.depth])),
                      beams, integers(0)) for name in _state_names(llama.size)]


def _assigned(size: Size, kept: list[ov.Node]) -> list[ov.Node]:
    return [op.assign(node, name) for node, name in zip(kept, _state_names(size), strict=True)]


def _later(tokens: ov.Node, past: ov.Node) -> ov.Node:
    """What hides later tokens [1, 1, length, past + length]: 0 or a large negative number."""
    length = op.gather(op.shape_of(tokens), integers(1), integers(0))
    end = op.add(past, length)
    rows = op.unsqueeze(op.range(past, end, integers(1), "i64"), integers(1))
    columns = op.unsqueeze(op.range(integers(0), end, integers(1), "i64"), integers(0))
    hidden = op.select(op.greater(columns, rows), np.float32(-1e9), np.float32(0))
    return op.unsqueeze(hidden, integers([0, 1]))


def decoder_inputs(shape: tuple[int, ...], random: np.random.Generator, size: Size = Size()) -> list[NDArray[Any]]:
    """Inputs of a decoder for (batch, length, past)."""
    batch, length, past = shape
    kept = (batch, size.heads // size.groups, past, size.hidden // size.heads)
    return [random.integers(0, size.vocabulary, (batch, length)),
            *(random.standard_normal(kept, dtype=np.float32) for _ in range(2 * size.layers))]
