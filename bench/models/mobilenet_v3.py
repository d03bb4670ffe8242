"""MobileNetV3-Large: inverted residuals with depthwise convolutions, squeeze-and-excitation and hard swish."""

from __future__ import annotations

import numpy as np
import openvino as ov
from openvino import opset13 as op

from bench.models.layers import Layers, image_input, integers, named

# kernel, width inside, outputs, squeeze-and-excitation, hard swish instead of ReLU, stride
BLOCKS = (
    (3, 16, 16, False, False, 1),
    (3, 64, 24, False, False, 2),
    (3, 72, 24, False, False, 1),
    (5, 72, 40, True, False, 2),
    (5, 120, 40, True, False, 1),
    (5, 120, 40, True, False, 1),
    (3, 240, 80, False, True, 2),
    (3, 200, 80, False, True, 1),
    (3, 184, 80, False, True, 1),
    (3, 184, 80, False, True, 1),
    (3, 480, 112, True, True, 1),
    (3, 672, 112, True, True, 1),
    (5, 672, 160, True, True, 2),
    (5, 960, 160, True, True, 1),
    (5, 960, 160, True, True, 1),
)
# Keeps the variance of data that no activation has halved.
UNRECTIFIED = 0.62


class _Builder(Layers):
    def __init__(self, seed: int, width: float) -> None:
        super().__init__(seed)
        self._width = width

    def scaled(self, channels: float) -> int:
        """A number of channels times the width, rounded to a multiple of 8."""
        return max(8, int(channels * self._width + 4) // 8 * 8)

    def unit(self, name: str, data: ov.Node, shape: tuple[int, int, int], act: str, stride: int = 1,
             groups: int = 1, gain: float = 1.0) -> ov.Node:
        """Convolution of (outputs, inputs, kernel), normalisation, activation (`relu`, `hswish` or none)."""
        outputs, inputs, kernel = shape
        data = self.convolve(name, data, (outputs, inputs // groups, kernel, kernel), stride, groups)
        data = self.normalise(name, data, outputs, gain)
        return getattr(op, act)(data, name=f"{name}_{act}") if act else data

    def excite(self, name: str, data: ov.Node, channels: int) -> ov.Node:
        """Scales each channel by what two 1x1 convolutions make of all channels' means."""
        inside = max(8, (channels // 4 + 4) // 8 * 8)
        means = op.reduce_mean(data, integers([2, 3]), keep_dims=True, name=f"{name}_mean")
        hidden = self.add_bias(f"{name}a", self.convolve(f"{name}a", means, (inside, channels, 1, 1)), inside)
        gate = self.convolve(f"{name}b", op.relu(hidden), (channels, inside, 1, 1))
        return op.multiply(data, op.hsigmoid(self.add_bias(f"{name}b", gate, channels)), name=name)

    def block(self, name: str, data: ov.Node, inputs: int, row: tuple[int, int, int, bool, bool, int]) -> ov.Node:
        """1x1 up, depthwise, perhaps excitation, 1x1 down; with a shortcut where the shapes agree."""
        kernel, inside, outputs, excited, hard, stride = row
        inside, outputs = self.scaled(inside), self.scaled(outputs)
        act = "hswish" if hard else "relu"
        branch = data if inside == inputs else self.unit(f"{name}a", data, (inside, inputs, 1), act, gain=UNRECTIFIED)
        branch = self.unit(f"{name}b", branch, (inside, inside, kernel), act, stride, groups=inside)
        if excited:
            branch = self.excite(f"{name}s", branch, inside)
        branch = self.unit(f"{name}c", branch, (outputs, inside, 1), "")
        return op.add(branch, data, name=f"{name}_add") if stride == 1 and inputs == outputs else branch


def build(batch: int = -1, size: int = 224, width: float = 1.0, classes: int = 1000, seed: int = 3) -> ov.Model:
    """Input `image` [batch, 3, size, size] f32 (about unit variance), output `logits` [batch, classes] f32.

    -1 leaves the batch, or the height and width, dynamic. `width` scales the number of channels.
    """
    builder = _Builder(seed, width)
    image = image_input(batch, size, size)
    channels = builder.scaled(16)
    data = builder.unit("stem", image, (channels, 3, 3), "hswish", 2, gain=UNRECTIFIED)
    for number, row in enumerate(BLOCKS):
        data = builder.block(f"block{number}", data, channels, row)
        channels = builder.scaled(row[2])
    last, hidden = builder.scaled(960), builder.scaled(1280)
    data = builder.unit("last", data, (last, channels, 1), "hswish", gain=UNRECTIFIED)
    pooled = op.reduce_mean(data, np.array([2, 3], np.int64), keep_dims=False, name="pool")
    data = op.hswish(builder.linear("fc1", pooled, hidden, last))
    return ov.Model([named(builder.linear("fc2", data, classes, hidden), "logits")], [image], "mobilenet_v3")
