"""A detector like YOLOv8n: C2f backbone, SPPF, a neck that joins three scales, and decoupled heads."""

from __future__ import annotations

import numpy as np
import openvino as ov
from openvino import opset13 as op

from bench.models.layers import Layers, image_input, integers, named, swish

STRIDES = (8, 16, 32)
BINS = 16


class _Builder(Layers):
    def unit(self, name: str, data: ov.Node, outputs: int, inputs: int, kernel: int = 3, stride: int = 1) -> ov.Node:
        """Convolution, normalisation, swish."""
        data = self.convolve(name, data, (outputs, inputs, kernel, kernel), stride)
        return swish(self.normalise(name, data, outputs, gain=0.89))

    def c2f(self, name: str, data: ov.Node, outputs: int, inputs: int, repeats: int, shortcut: bool) -> ov.Node:
        """Half of the channels go through `repeats` bottlenecks, and the result of each is kept."""
        half = outputs // 2
        parts = list(op.split(self.unit(f"{name}a", data, outputs, inputs, 1), integers(1), 2).outputs())
        for number in range(repeats):
            branch = self.unit(f"{name}m{number}a", parts[-1], half, half)
            branch = self.unit(f"{name}m{number}b", branch, half, half)
            parts.append((op.add(parts[-1], branch) if shortcut else branch).output(0))
        return self.unit(f"{name}b", op.concat(parts, 1), outputs, (2 + repeats) * half, 1)

    def sppf(self, name: str, data: ov.Node, channels: int) -> ov.Node:
        """Three 5x5 max poolings, one after the other, joined."""
        parts = [self.unit(f"{name}a", data, channels // 2, channels, 1).output(0)]
        for _ in range(3):
            parts.append(op.max_pool(parts[-1], [1, 1], [1, 1], [2, 2], [2, 2], [5, 5]).output(0))
        return self.unit(f"{name}b", op.concat(parts, 1), channels, 2 * channels, 1)

    def head(self, name: str, data: ov.Node, inputs: int, inside: int, outputs: int) -> ov.Node:
        """Two units and a 1x1 convolution: [batch, outputs, cells]."""
        data = self.unit(f"{name}b", self.unit(f"{name}a", data, inside, inputs), inside, inside)
        data = self.add_bias(name, self.convolve(name, data, (outputs, inside, 1, 1)), outputs)
        return op.reshape(data, integers([0, outputs, -1]), True)


def double(data: ov.Node) -> ov.Node:
    """Twice the height and width, nearest."""
    return op.interpolate(data, np.array([2, 2], np.float32), "nearest", "scales", [0, 0], [0, 0], "asymmetric",
                          "floor", False, -0.75, integers([2, 3]))


def _backbone(builder: _Builder, image: ov.Node, widths: list[int], repeats: list[int]) -> list[ov.Node]:
    """Features at strides 8, 16 and 32."""
    data, features = builder.unit("stem", image, widths[0], 3, 3, 2), []
    for level in range(1, 5):
        data = builder.unit(f"down{level}", data, widths[level], widths[level - 1], 3, 2)
        data = builder.c2f(f"back{level}", data, widths[level], widths[level], repeats[level - 1], True)
        if level == 4:
            data = builder.sppf("sppf", data, widths[4])
        if level > 1:
            features.append(data)
    return features


def _neck(builder: _Builder, features: list[ov.Node], widths: list[int], repeat: int) -> list[ov.Node]:
    """The three scales, informed of each other: from coarse to fine, then back."""
    w3, w4, w5 = widths[2:]
    fine, middle, coarse = features
    middle = builder.c2f("neck1", op.concat([double(coarse), middle], 1), w4, w5 + w4, repeat, False)
    fine = builder.c2f("neck2", op.concat([double(middle), fine], 1), w3, w4 + w3, repeat, False)
    back = builder.unit("neck3", fine, w3, w3, 3, 2)
    middle = builder.c2f("neck4", op.concat([back, middle], 1), w4, w3 + w4, repeat, False)
    back = builder.unit("neck5", middle, w4, w4, 3, 2)
    coarse = builder.c2f("neck6", op.concat([back, coarse], 1), w5, w4 + w5, repeat, False)
    return [fine, middle, coarse]


def _cells(feature: ov.Node, stride: int) -> tuple[ov.Node, ov.Node]:
    """Centres [2, cells] (x, y) in units of the stride, and the stride [1, cells]."""
    shape = op.shape_of(feature)
    sizes = [op.gather(shape, integers(axis), integers(0)) for axis in (2, 3)]
    half = np.float32(0.5)
    ys, xs = (op.add(op.range(integers(0), size, integers(1), "f32"), half) for size in sizes)
    grid = op.concat([op.unsqueeze(size, integers(0)) for size in sizes], 0)
    rows = op.broadcast(op.unsqueeze(ys, integers(1)), grid)
    columns = op.broadcast(op.unsqueeze(xs, integers(0)), grid)
    points = op.concat([op.reshape(p, integers([1, -1]), False) for p in (columns, rows)], 0)
    count = op.reduce_prod(grid, integers(0), keep_dims=True)
    one = op.concat([integers([1]), count], 0)
    return points, op.broadcast(np.float32(stride), one)


def _decode(distances: ov.Node, features: list[ov.Node]) -> ov.Node:
    """Boxes [batch, 4, cells] (centre x, centre y, width, height) in pixels from [batch, 4 * BINS, cells].

    Each distance from a cell's centre to a side is the mean of a distribution over BINS bins.
    """
    spread = op.transpose(op.reshape(distances, integers([0, 4, BINS, -1]), True), integers([0, 2, 1, 3]))
    bins = np.arange(BINS, dtype=np.float32).reshape(1, BINS, 1, 1)
    sides = op.convolution(op.softmax(spread, 1), bins, [1, 1], [0, 0], [0, 0], [1, 1], name="bins")
    sides = op.reshape(sides, integers([0, 4, -1]), True)
    cells = [_cells(feature, stride) for feature, stride in zip(features, STRIDES, strict=True)]
    centres = op.concat([points for points, _ in cells], 1)
    strides = op.concat([stride for _, stride in cells], 1)
    near, far = op.split(sides, integers(1), 2).outputs()
    low, high = op.subtract(centres, near), op.add(centres, far)
    middle = op.multiply(op.add(low, high), np.float32(0.5))
    return op.multiply(op.concat([middle, op.subtract(high, low)], 1), strides)


def build(batch: int = -1, height: int = -1, width: int = -1, scale: float = 0.25, classes: int = 80,
          seed: int = 8) -> ov.Model:
    """Input `image` [batch, 3, height, width] f32; outputs `boxes` [batch, 4, cells] and `scores` [batch, classes,
    cells] f32, where cells = height * width * (1/64 + 1/256 + 1/1024).

    -1 leaves a size dynamic; height and width are multiples of 32. `scale` 0.25 gives the nano size.
    """
    builder = _Builder(seed)
    widths = [int(channels * scale) for channels in (64, 128, 256, 512, 1024)]
    image = image_input(batch, height, width)
    features = _neck(builder, _backbone(builder, image, widths, [1, 2, 2, 1]), widths, 1)
    box_width, score_width = max(16, widths[2] // 4, 4 * BINS), max(widths[2], min(classes, 100))
    distances, scores = [], []
    for level, (feature, channels) in enumerate(zip(features, widths[2:], strict=True)):
        distances.append(builder.head(f"box{level}", feature, channels, box_width, 4 * BINS))
        scores.append(builder.head(f"class{level}", feature, channels, score_width, classes))
    boxes = _decode(op.concat(distances, 2), features)
    rated = op.sigmoid(op.concat(scores, 2))
    return ov.Model([named(boxes, "boxes"), named(rated, "scores")], [image], "yolo")
