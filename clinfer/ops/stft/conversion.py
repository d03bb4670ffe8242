"""OpenVINO's STFT-15 and ISTFT-16 as primitives: frames, and the Fourier transform of each.

The transform of a frame of constant size is a matrix product, up to a size at which the matrix is no longer small.
"""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from clinfer.base.element_type import ElementType
from clinfer.base.errors import OpenRankError
from clinfer.ops.convert import Convert
from clinfer.ops.dft.op import FourierTransform
from clinfer.ops.matmul import MatMul
from clinfer.ops.reshape import Identity, Reshape
from clinfer.ops.stft.op import OverlapFrames, TakeFrames
from clinfer.ops.transpose import Transpose
from clinfer.topology import Constant, Port, Primitive, SourceNode

_LARGEST_MATRIX = 1024
"""The size of a frame whose transform takes 4 MiB."""


def convert_stft(node: SourceNode) -> Sequence[Primitive]:
    """Input 0: signals; 1: window; 2 and 3: size and step of the frames."""
    return _Conversion(node).forward()


def convert_istft(node: SourceNode) -> Sequence[Primitive]:
    """Input 0: spectra [..., frequencies, frames, 2]; 1: window; 2 and 3: size and step of the frames; 4: samples."""
    return _Conversion(node).backward()


class _Conversion:
    """The primitives of one operation as they are made."""

    def __init__(self, node: SourceNode) -> None:
        shape = node.input_shapes[0]
        if shape is None:
            raise OpenRankError(f"{node.type_name} needs an input of known rank", where=f"layer {node.name!r}",
                                hint="give the model's inputs a rank")
        self._node = node
        self._rank = len(shape)
        self._made: list[Primitive] = []
        size = int(node.constants[2].reshape(-1)[0]) if 2 in node.constants else 0
        self._size = size if 0 < size <= _LARGEST_MATRIX else None

    def forward(self) -> list[Primitive]:
        """[..., frames, frequencies, 2], or with `transpose_frames` frequencies first."""
        frames, last = self._add(TakeFrames("", self._node.inputs)), self._rank
        if self._size is None:
            spectra = self._add(FourierTransform("", (frames,), axis=last, reads_real=True))
        else:
            product = self._add(MatMul("", (frames, self._matrix(_forward_matrix(self._size)))))
            spectra = self._split(product, last)
        if self._node.attributes["transpose_frames"]:
            spectra = self._exchanged(spectra, last - 1, last, last + 2)
        return self._finished(Identity(self._node.id, (spectra,)))

    def backward(self) -> list[Primitive]:
        node, frequencies = self._node, self._rank - 3
        if self._size is None:
            frames = self._add(FourierTransform("", (node.inputs[0], node.inputs[2]), axis=frequencies, inverse=True,
                                                writes_real=True))
            frames = self._exchanged(frames, frequencies, frequencies + 1, self._rank - 1)
        else:
            spectra = self._exchanged(node.inputs[0], frequencies, frequencies + 1, self._rank)
            pattern = [*[0] * (self._rank - 2), -1]
            rows = self._add(Reshape("", (spectra, self._ints(pattern)), special_zero=True))
            frames = self._add(MatMul("", (rows, self._matrix(_backward_matrix(self._size)))))
        return self._finished(OverlapFrames(node.id, (frames, *node.inputs[1:]), center=bool(node.attributes["center"]),
                                            normalized=bool(node.attributes["normalized"])))

    def _split(self, product: Port, last: int) -> Port:
        """[..., frequencies * 2] as [..., frequencies, 2]."""
        assert self._size is not None
        pattern = [*[0] * last, self._size // 2 + 1, 2]
        return self._add(Reshape("", (product, self._ints(pattern)), special_zero=True))

    def _exchanged(self, data: Port, one: int, other: int, rank: int) -> Port:
        order = list(range(rank))
        order[one], order[other] = other, one
        return self._add(Transpose("", (data, self._ints(order))))

    def _matrix(self, values: np.ndarray) -> Port:
        f32, kind = ElementType.of("f32"), self._node.input_types[0]
        matrix = self._add(Constant("", value=values.astype(np.float32), element_type=f32))
        return matrix if kind == f32 else self._add(Convert("", (matrix,), destination_type=kind.name))

    def _ints(self, values: list[int]) -> Port:
        return self._add(Constant("", value=np.array(values, np.int64), element_type=ElementType.of("i64")))

    def _add(self, primitive: Primitive) -> Port:
        named = replace(primitive, id=f"{self._node.id}/{len(self._made)}", origin=self._node.name)
        self._made.append(named)
        return Port(named.id)

    def _finished(self, last: Primitive) -> list[Primitive]:
        return [*self._made, replace(last, origin=self._node.name)]


def _angles(size: int) -> np.ndarray:
    """[samples, frequencies]: the angle of each frequency at each sample."""
    turns = np.outer(np.arange(size), np.arange(size // 2 + 1)) % size
    return 2 * np.pi / size * turns


def _forward_matrix(size: int) -> np.ndarray:
    """[size, frequencies * 2] of real and imaginary parts in turn."""
    angles = _angles(size)
    return np.stack([np.cos(angles), -np.sin(angles)], -1).reshape(size, -1)


def _backward_matrix(size: int) -> np.ndarray:
    """[frequencies * 2, size]: frequencies but the first, and the last of an even size, stand for two."""
    angles = _angles(size).T
    twice = np.full(size // 2 + 1, 2.0)
    twice[0] = 1
    if size % 2 == 0:
        twice[-1] = 1
    parts = np.stack([np.cos(angles), -np.sin(angles)], 1) * (twice / size)[:, None, None]
    return parts.reshape(-1, size)
