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
        node, last = self._node, self._rank
        frames, frames_last = self._add(TakeFrames("", node.inputs)), bool(node.attributes["transpose_frames"])
        before = [*range(last - 1)]
        if self._size is None:
            spectra = self._add(FourierTransform("", (frames,), axis=last, reads_real=True))
            order = [*before, last, last - 1, last + 1]
        else:
            parts = _forward_parts(self._size)
            matrix = np.stack(parts, 1 if frames_last else 2).reshape(self._size, -1)
            product = self._add(MatMul("", (frames, self._matrix(matrix))))
            pair = [2, -1] if frames_last else [-1, 2]
            spectra = self._add(Reshape("", (product, self._ints([0] * last + pair)), special_zero=True))
            order = [*before, last + 1, last - 1, last]
        if frames_last:
            spectra = self._add(Transpose("", (spectra, self._ints(order))))
        return self._finished(Identity(node.id, (spectra,)))

    def backward(self) -> list[Primitive]:
        node, frequencies = self._node, self._rank - 3
        before = [*range(frequencies)]
        if self._size is None:
            samples = self._add(FourierTransform("", (node.inputs[0], node.inputs[2]), axis=frequencies, inverse=True,
                                                 writes_real=True))
            frames = self._add(Transpose("", (samples, self._ints([*before, frequencies + 1, frequencies]))))
        else:
            order = [*before, frequencies + 1, frequencies + 2, frequencies]
            spectra = self._add(Transpose("", (node.inputs[0], self._ints(order))))
            pattern = [0] * (self._rank - 2) + [-1]
            rows = self._add(Reshape("", (spectra, self._ints(pattern)), special_zero=True))
            matrix = np.concatenate(_backward_parts(self._size))
            frames = self._add(MatMul("", (rows, self._matrix(matrix))))
        return self._finished(OverlapFrames(node.id, (frames, *node.inputs[1:]), center=bool(node.attributes["center"]),
                                            normalized=bool(node.attributes["normalized"])))

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


def _forward_parts(size: int) -> tuple[np.ndarray, np.ndarray]:
    """What real and imaginary parts are made by, [size, frequencies] each."""
    angles = _angles(size)
    return np.cos(angles), -np.sin(angles)


def _backward_parts(size: int) -> tuple[np.ndarray, np.ndarray]:
    """What real and imaginary parts make, [frequencies, size] each: frequencies but the first, and the last of an even
    size, stand for two."""
    twice = np.full((size // 2 + 1, 1), 2 / size)
    twice[0] = 1 / size
    if size % 2 == 0:
        twice[-1] = 1 / size
    angles = _angles(size).T
    return twice * np.cos(angles), twice * -np.sin(angles)
