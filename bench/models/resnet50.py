"""ResNet-50 v1.5 out of OpenVINO operations, with seeded weights instead of trained ones.

v1.5 puts a stage's stride into the 3x3 convolution of its first block. The structure is that of a model
before optimisation: convolution, BatchNormInference, ReLU, one after the other.
"""

from __future__ import annotations

import numpy as np
import openvino as ov
from openvino import opset13 as op

from bench.models.layers import Layers

STAGES = ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2))
EXPANSION = 4


class _Builder(Layers):
    """The layers of residual networks."""

    def bottleneck(self, name: str, data: ov.Node, inputs: int, width: int, stride: int) -> ov.Node:
        """1x1, 3x3, 1x1 with a shortcut; the branch's gain keeps sums from growing from block to block."""
        outputs = width * EXPANSION
        layers = (
            ("a", (width, inputs, 1, 1), 1),
            ("b", (width, width, 3, 3), stride),
        )
        branch = data
        for suffix, shape, step in layers:
            branch = self.convolve(f"{name}{suffix}", branch, shape, step)
            branch = op.relu(self.normalise(f"{name}{suffix}", branch, width), name=f"{name}{suffix}_relu")
        branch = self.convolve(f"{name}c", branch, (outputs, width, 1, 1))
        branch = self.normalise(f"{name}c", branch, outputs, gain=0.3)
        if inputs != outputs:
            data = self.convolve(f"{name}s", data, (outputs, inputs, 1, 1), stride)
            data = self.normalise(f"{name}s", data, outputs, gain=0.7)
        return op.relu(op.add(branch, data, name=f"{name}_add"), name=name)

    def classify(self, data: ov.Node, inputs: int, classes: int) -> ov.Node:
        """Mean over the picture, then a linear layer to logits [N, classes]."""
        pooled = op.reduce_mean(data, np.array([2, 3], np.int64), keep_dims=False, name="pool")
        weights = op.constant(self.he((classes, inputs)))
        scores = op.matmul(pooled, weights, transpose_a=False, transpose_b=True, name="fc")
        return op.add(scores, self.uniform(-0.1, 0.1, classes), name="logits")


def build(batch: int = -1, size: int = 224, seed: int = 50, classes: int = 1000) -> ov.Model:
    """Input `image` [batch, 3, size, size] f32 (about unit variance), output `logits` [batch, classes] f32.

    -1 leaves the batch, or the height and width, dynamic. The same seed gives the same weights.
    """
    builder = _Builder(seed)
    image = op.parameter([batch, 3, size, size], np.float32, name="image")
    data = builder.convolve("stem", image, (64, 3, 7, 7), 2)
    data = op.relu(builder.normalise("stem", data, 64), name="stem_relu")
    data = op.max_pool(data, [2, 2], [1, 1], [1, 1], [1, 1], [3, 3], name="stem_pool").output(0)
    channels = 64
    for stage, (width, blocks, stride) in enumerate(STAGES, start=2):
        for block in range(blocks):
            step = stride if block == 0 else 1
            data = builder.bottleneck(f"res{stage}{block}", data, channels, width, step)
            channels = width * EXPANSION
    logits = builder.classify(data, channels, classes)
    logits.output(0).set_names({"logits"})
    image.output(0).set_names({"image"})
    return ov.Model([logits], [image], "resnet50")
