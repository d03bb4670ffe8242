"""ViT: a picture as a sequence of patches, read by a transformer; its class token gives the logits."""

from __future__ import annotations

import numpy as np
import openvino as ov
from openvino import opset13 as op

from bench.models.layers import image_input, integers, named
from bench.models.transformer import Transformer, block_names, seeded

PATCH = 16


def build(batch: int = -1, size: int = 224, layers: int = 12, hidden: int = 768, heads: int = 12,
          classes: int = 1000, seed: int = 16) -> ov.Model:
    """Input `image` [batch, 3, size, size] f32, output `logits` [batch, classes] f32; ViT-B/16 by default.

    -1 leaves the batch dynamic.
    """
    weights = seeded(seed)
    encoder = Transformer(weights, hidden, heads, epsilon=1e-6)
    image = image_input(batch, size, size)
    steps, none = [PATCH, PATCH], [0, 0]
    filters = op.constant(weights("patches.weight", (hidden, 3, PATCH, PATCH)))
    patches = op.convolution(image, filters, steps, none, none, [1, 1])
    patches = op.add(patches, weights("patches.bias", (1, hidden, 1, 1)), name="patches")
    tokens = op.transpose(op.reshape(patches, integers([0, hidden, -1]), True), integers([0, 2, 1]))
    first = op.broadcast(weights("class_embedding", (1, 1, hidden)), _class_shape(image, hidden))
    data = op.concat([first, tokens], 1, name="tokens")
    data = op.add(data, op.constant(weights("position_embedding", (1, (size // PATCH) ** 2 + 1, hidden))))
    for number in range(layers):
        data = encoder.layer_norm_before(block_names(f"block{number}"), data, 4 * hidden)
    chosen = op.gather(encoder.normalise("LayerNorm", data), integers(0), integers(1))
    return ov.Model([named(encoder.linear("head", chosen, classes, hidden), "logits")], [image], "vit")


def _class_shape(image: ov.Node, hidden: int) -> ov.Node:
    """[batch, 1, hidden]."""
    batch = op.gather(op.shape_of(image), integers([0]), integers(0))
    return op.concat([batch, np.array([1, hidden], np.int64)], 0)
