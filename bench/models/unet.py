"""A small U-Net: down by strided convolutions, up by transposed ones, skips joined, group normalisation."""

from __future__ import annotations

import numpy as np
import openvino as ov
from openvino import opset13 as op

from bench.models.layers import Layers, image_input, named, swish

GROUPS = 8


class _Builder(Layers):
    def unit(self, name: str, data: ov.Node, outputs: int, inputs: int, stride: int = 1) -> ov.Node:
        """3x3 convolution, group normalisation, swish."""
        data = self.add_bias(name, self.convolve(name, data, (outputs, inputs, 3, 3), stride), outputs)
        gamma, beta = self.uniform(0.8, 1.2, outputs), self.uniform(-0.1, 0.1, outputs)
        return swish(op.group_normalization(data, gamma, beta, GROUPS, 1e-5, name=f"{name}_gn"))

    def stage(self, name: str, data: ov.Node, outputs: int, inputs: int, stride: int = 1) -> ov.Node:
        """Two units, of which the first may halve the size."""
        return self.unit(f"{name}b", self.unit(f"{name}a", data, outputs, inputs, stride), outputs, outputs)

    def grow(self, name: str, data: ov.Node, outputs: int, inputs: int) -> ov.Node:
        """2x2 transposed convolution of stride 2: twice the height and width."""
        weights = self.he((inputs, outputs, 2, 2), fan_in=inputs)
        data = op.convolution_backprop_data(data, op.constant(weights), [2, 2], pads_begin=[0, 0], pads_end=[0, 0],
                                            dilations=[1, 1], name=name)
        return self.add_bias(name, data, outputs)


def build(batch: int = -1, size: int = -1, width: int = 32, depth: int = 3, classes: int = 4,
          seed: int = 1505) -> ov.Model:
    """Input `image` [batch, 3, height, width] f32, output `classes` [batch, classes, height, width] f32.

    -1 leaves the batch, or the height and width, dynamic; they are multiples of 2**depth. The probabilities of the
    classes add up to 1 at each pixel.
    """
    builder = _Builder(seed)
    image = image_input(batch, size, size)
    widths = [width << level for level in range(depth + 1)]
    skips = [builder.stage("in", image, width, 3)]
    for level in range(1, depth + 1):
        skips.append(builder.stage(f"down{level}", skips[-1], widths[level], widths[level - 1], 2))
    data = skips.pop()
    for level in reversed(range(depth)):
        data = builder.grow(f"grow{level}", data, widths[level], widths[level + 1])
        data = op.concat([skips.pop(), data], 1, name=f"join{level}")
        data = builder.stage(f"up{level}", data, widths[level], 2 * widths[level])
    scores = builder.add_bias("out", builder.convolve("out", data, (classes, width, 1, 1)), classes)
    return ov.Model([named(op.softmax(scores, np.int64(1)), "classes")], [image], "unet")
