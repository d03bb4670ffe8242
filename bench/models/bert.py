"""BERT encoders: token, position and type embeddings, and layers that normalise after each sum."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import openvino as ov
from numpy.typing import NDArray
from openvino import opset13 as op

from bench.models.layers import integers, named
from bench.models.transformer import Names, Transformer, WeightSource, seeded

MASKED = np.float32(-10000)


@dataclass(frozen=True)
class Size:
    """The sizes of a BERT; the defaults are those of BERT-base."""

    layers: int = 12
    hidden: int = 768
    heads: int = 12
    inside: int = 3072
    vocabulary: int = 30522
    positions: int = 512


TINY = Size(layers=2, hidden=64, heads=4, inside=160, vocabulary=500)


def token_inputs(batch: int, length: int) -> list[ov.Node]:
    """Parameters `input_ids`, `attention_mask`, `token_type_ids` [batch, length] i64; -1 is dynamic."""
    names = ("input_ids", "attention_mask", "token_type_ids")
    return [named(op.parameter([batch, length], np.int64, name=name), name) for name in names]


def encode(size: Size, weights: WeightSource, inputs: list[ov.Node]) -> ov.Node:
    """The last layer's states [batch, length, hidden] for `token_inputs`."""
    encoder = Transformer(weights, size.hidden, size.heads)
    data = encoder.normalise("embeddings.LayerNorm", _embed(size, weights, inputs))
    mask = op.convert(op.unsqueeze(inputs[1], integers([1, 2])), "f32")
    mask = op.multiply(op.subtract(np.float32(1), mask), MASKED, name="mask")
    for number in range(size.layers):
        data = encoder.layer_norm_after(_names(f"encoder.layer.{number}"), data, mask, size.inside)
    return data


def _embed(size: Size, weights: WeightSource, inputs: list[ov.Node]) -> ov.Node:
    words = weights("embeddings.word_embeddings.weight", (size.vocabulary, size.hidden))
    positions = weights("embeddings.position_embeddings.weight", (size.positions, size.hidden))
    types = weights("embeddings.token_type_embeddings.weight", (2, size.hidden))
    length = op.gather(op.shape_of(inputs[0]), integers([1]), integers(0))
    first = op.slice(op.constant(positions), integers([0]), length, integers([1]), integers([0]))
    tokens = op.add(op.gather(op.constant(words), inputs[0], integers(0)), op.gather(types, inputs[2], integers(0)))
    return op.add(tokens, first, name="embeddings")


def _names(prefix: str) -> Names:
    """The names in published checkpoints."""
    attention, output = f"{prefix}.attention", f"{prefix}.output"
    own = f"{attention}.self"
    return Names(f"{own}.query", f"{own}.key", f"{own}.value", f"{attention}.output.dense",
                 f"{attention}.output.LayerNorm", f"{prefix}.intermediate.dense", f"{output}.dense",
                 f"{output}.LayerNorm")


def build(batch: int = -1, length: int = -1, size: Size = Size(), seed: int = 768) -> ov.Model:
    """Inputs as `token_inputs`; outputs `states` [batch, length, hidden] and `pooled` [batch, hidden], f32.

    -1 leaves a size dynamic; `length` is at most `size.positions`.
    """
    weights = seeded(seed)
    inputs = token_inputs(batch, length)
    states = encode(size, weights, inputs)
    first = op.gather(states, integers(0), integers(1), name="first")
    dense = Transformer(weights, size.hidden, size.heads).linear("pooler.dense", first, size.hidden, size.hidden)
    return ov.Model([named(states, "states"), named(op.tanh(dense), "pooled")], inputs, "bert")


def random_tokens(
    shape: tuple[int, ...], random: np.random.Generator, vocabulary: int = 30522
) -> list[NDArray[np.int64]]:
    """Inputs of `token_inputs` for shape (batch, length): sentences of random lengths, the rest masked."""
    batch, length = shape
    valid = random.integers(1, length + 1, (batch, 1))
    valid[random.integers(batch)] = length
    places = np.arange(length)[None]
    mask = (places < valid).astype(np.int64)
    types = (places > random.integers(0, length, (batch, 1))).astype(np.int64) * mask
    return [random.integers(0, vocabulary, shape) * mask, mask, types]
