"""Whisper's encoder: two convolutions over a spectrogram, then a transformer over time."""

from __future__ import annotations

import numpy as np
import openvino as ov
from openvino import opset13 as op

from bench.models.layers import integers, named
from bench.models.transformer import Transformer, WeightSource, block_names, seeded

BANDS = 80


def build(batch: int = -1, frames: int = 3000, layers: int = 4, hidden: int = 384, heads: int = 6,
          positions: int = 1500, seed: int = 80) -> ov.Model:
    """Input `spectrogram` [batch, 80, frames] f32, output `states` [batch, (frames + 1) / 2, hidden] f32.

    The sizes of Whisper-tiny by default. -1 leaves the batch or the frames dynamic; 2 * positions frames at most.
    """
    weights = seeded(seed)
    encoder = Transformer(weights, hidden, heads, epsilon=1e-5)
    spectrogram = named(op.parameter([batch, BANDS, frames], np.float32, name="spectrogram"), "spectrogram")
    data = _convolve(weights, "conv1", spectrogram, (hidden, BANDS, 3), 1)
    data = op.transpose(_convolve(weights, "conv2", data, (hidden, hidden, 3), 2), integers([0, 2, 1]))
    length = op.gather(op.shape_of(data), integers([1]), integers(0))
    table = weights("position_embedding", (positions, hidden))
    data = op.add(data, op.slice(op.constant(table), integers([0]), length, integers([1]), integers([0])))
    for number in range(layers):
        data = encoder.layer_norm_before(block_names(f"block{number}"), data, 4 * hidden)
    return ov.Model([named(encoder.normalise("LayerNorm", data), "states")], [spectrogram], "whisper_encoder")


def _convolve(weights: WeightSource, name: str, data: ov.Node, shape: tuple[int, int, int], stride: int) -> ov.Node:
    """1-D convolution of kernel 3, padded by 1, with bias and GELU."""
    data = op.convolution(data, op.constant(weights(f"{name}.weight", shape)), [stride], [1], [1], [1], name=name)
    return op.gelu(op.add(data, weights(f"{name}.bias", (1, shape[0], 1))), "erf")
