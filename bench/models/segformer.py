"""A SegFormer: four stages of transformers on pictures, whose keys and values are made smaller, and an MLP head."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import openvino as ov
from openvino import opset13 as op

from bench.models.layers import Layers, image_input, integers, named


@dataclass(frozen=True)
class Stage:
    """One stage: its channels, heads, how many times smaller keys and values are, and the stride that leads to it."""

    channels: int
    heads: int
    reduction: int
    stride: int


@dataclass(frozen=True)
class Size:
    """The sizes of a SegFormer; the defaults are those of SegFormer-B0."""

    stages: tuple[Stage, ...] = (Stage(32, 1, 8, 4), Stage(64, 2, 4, 2), Stage(160, 5, 2, 2), Stage(256, 8, 1, 2))
    layers: int = 2
    wider: int = 4
    head: int = 256
    classes: int = 150


TINY = Size(tuple(Stage(16 * n, n, r, s) for n, r, s in ((1, 8, 4), (2, 4, 2), (2, 2, 2), (4, 1, 2))), 1, 2, 32, 10)


class Segformer:
    """Its parts, in the form in which exporters write them: pictures [batch, channels, height, width], words
    [batch, height * width, channels]."""

    def __init__(self, seed: int) -> None:
        self.layers = Layers(seed)

    def convolve(self, name: str, data: ov.Node, shape: tuple[int, ...], stride: int = 1, pad: int = 0,
                 groups: int = 1) -> ov.Node:
        """Convolution with bias."""
        weights = self.layers.he(shape)
        window = ([stride] * 2, [pad] * 2, [pad] * 2, [1, 1])
        if groups > 1:
            weights = weights.reshape(groups, shape[0] // groups, *shape[1:])
            made = op.group_convolution(data, op.constant(weights), *window, name=name)
        else:
            made = op.convolution(data, op.constant(weights), *window, name=name)
        return self.layers.add_bias(name, made, shape[0])

    def normalise(self, name: str, words: ov.Node, channels: int) -> ov.Node:
        """Layer normalisation."""
        free = op.mvn(words, integers([-1]), True, 1e-5, "inside_sqrt", name=name)
        scaled = op.multiply(free, self.layers.uniform(0.8, 1.2, channels))
        return op.add(scaled, self.layers.uniform(-0.1, 0.1, channels))

    def attend(self, name: str, words: ov.Node, picture: ov.Node, stage: Stage) -> ov.Node:
        """Attention of all words to those of the smaller picture."""
        channels, heads = stage.channels, stage.heads
        small = words
        if stage.reduction > 1:
            shape = op.concat([_size(words, [0]), integers([channels]), _size(picture, [2, 3])], 0)
            image = op.reshape(op.transpose(words, integers([0, 2, 1])), shape, False)
            step = stage.reduction
            image = self.convolve(f"{name}.reduce", image, (channels, channels, step, step), step)
            small = self.normalise(f"{name}.norm", to_words(image, channels), channels)
        query, key, value = (self._split(self.layers.linear(f"{name}.{part}", given, channels, channels), stage, order)
                             for part, given, order in (("query", words, (0, 2, 1, 3)), ("key", small, (0, 2, 3, 1)),
                                                        ("value", small, (0, 2, 1, 3))))
        scores = op.divide(op.matmul(query, key, False, False), np.float32(np.sqrt(channels // heads)))
        mixed = op.transpose(op.matmul(op.softmax(scores, -1), value, False, False), integers([0, 2, 1, 3]))
        joined = op.reshape(mixed, op.concat([_size(mixed, [0, 1]), integers([channels])], 0), False)
        return self.layers.linear(f"{name}.output", joined, channels, channels)

    def _split(self, words: ov.Node, stage: Stage, order: tuple[int, ...]) -> ov.Node:
        shape = op.concat([_size(words, [0, 1]), integers([stage.heads, stage.channels // stage.heads])], 0)
        return op.transpose(op.reshape(words, shape, False), integers(order))

    def mix(self, name: str, words: ov.Node, picture: ov.Node, channels: int, inside: int) -> ov.Node:
        """Linear, depthwise convolution on the picture, GELU, linear back."""
        wide = self.layers.linear(f"{name}.up", words, inside, channels)
        image = self.convolve(f"{name}.depth", to_picture(wide, picture, inside), (inside, 1, 3, 3), 1, 1, inside)
        return self.layers.linear(f"{name}.down", op.gelu(to_words(image, inside), "erf"), channels, inside)

    def stage(self, name: str, image: ov.Node, inputs: int, stage: Stage, size: Size) -> ov.Node:
        """One stage, from picture to smaller picture."""
        wide, channels = 7 if stage.stride == 4 else 3, stage.channels
        picture = self.convolve(f"{name}.embed", image, (channels, inputs, wide, wide), stage.stride, wide // 2)
        words = self.normalise(f"{name}.embed_norm", to_words(picture, channels), channels)
        for number in range(size.layers):
            layer = f"{name}.{number}"
            normal = self.normalise(f"{layer}.first", words, channels)
            words = op.add(self.attend(layer, normal, picture, stage), words)
            normal = self.normalise(f"{layer}.second", words, channels)
            words = op.add(self.mix(layer, normal, picture, channels, channels * size.wider), words)
        return to_picture(self.normalise(f"{name}.last", words, channels), picture, channels)

    def head(self, pictures: list[ov.Node], size: Size) -> ov.Node:
        """All stages at the size of the first, side by side, to scores by class."""
        resized = []
        for number, (picture, stage) in enumerate(zip(pictures, size.stages, strict=True)):
            words = self.layers.linear(f"head.{number}", to_words(picture, stage.channels), size.head, stage.channels)
            image = to_picture(words, picture, size.head)
            resized.append(op.interpolate(image, _size(pictures[0], [2, 3]), "linear_onnx", "sizes",
                                          axes=integers([2, 3]), coordinate_transformation_mode="pytorch_half_pixel"))
        joined = op.concat(resized[::-1], 1)
        count = size.head * len(size.stages)
        fused = op.relu(self.layers.normalise("fuse", self.layers.convolve("fuse", joined, (size.head, count, 1, 1)),
                                              size.head))
        return self.convolve("classify", fused, (size.classes, size.head, 1, 1))


def to_words(picture: ov.Node, channels: int) -> ov.Node:
    """[batch, channels, height, width] to [batch, height * width, channels]."""
    return op.transpose(op.reshape(picture, integers([0, channels, -1]), True), integers([0, 2, 1]))


def to_picture(words: ov.Node, like: ov.Node, channels: int) -> ov.Node:
    """[batch, height * width, channels] to a picture of the height and width of another."""
    shape = op.concat([_size(words, [0]), integers([channels]), _size(like, [2, 3])], 0)
    return op.reshape(op.transpose(words, integers([0, 2, 1])), shape, False)


def _size(data: ov.Node, axes: list[int]) -> ov.Node:
    return op.gather(op.shape_of(data), integers(axes), integers(0))


def build(batch: int = -1, height: int = -1, width: int = -1, size: Size = Size(), seed: int = 2105) -> ov.Model:
    """Input `image` [batch, 3, height, width], output `scores` [batch, classes, height / 4, width / 4] f32."""
    segformer, image = Segformer(seed), image_input(batch, height, width)
    pictures, picture, channels = [], image, 3
    for number, stage in enumerate(size.stages):
        picture = segformer.stage(f"stage{number}", picture, channels, stage, size)
        pictures.append(picture)
        channels = stage.channels
    return ov.Model([named(segformer.head(pictures, size), "scores")], [image], "segformer")
