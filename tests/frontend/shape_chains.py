"""Chains of shape-changing operations over small shapes, enumerated: what is tried, and the models that try it.

`moves(shape)` are the operations that make sense on a tensor of a shape, each with its constants: axes counted from
the front and from the end, sizes 0, 1 and more, and those that change nothing. `chains(shape, length)` are all chains
of them with what NumPy makes of one input.
"""
from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np

from clinfer.frontend.openvino_import import openvino as ov
from tests.numpy_operations import OPERATIONS

FAR = 2**31 - 1
MOST_AXES = 4

Shape = tuple[int, ...]
Chain = tuple["Move", ...]


@dataclass(frozen=True)
class Move:
    """One operation on one tensor, which it takes `repeated` times; `constants` are its further inputs."""

    kind: str
    constants: tuple[np.ndarray, ...] = ()
    attributes: dict[str, Any] = field(default_factory=dict)
    opset: str = "opset1"
    output: int = 0
    repeated: int = 1

    def build(self, source: ov.Output) -> ov.Output:
        """The operation behind a port."""
        inputs = [source] * self.repeated + [ov.op.Constant(value).output(0) for value in self.constants]
        return _factory(self.opset).create(self.kind, inputs, self.attributes).output(self.output)

    def compute(self, data: np.ndarray) -> np.ndarray:
        """The same in NumPy."""
        inputs = [data] * self.repeated + list(self.constants)
        found = OPERATIONS[self.kind](inputs, {**self.attributes, "opset": self.opset})
        return found[self.output] if isinstance(found, list) else np.asarray(found)

    def __str__(self) -> str:
        given = [str(value.tolist()) if value.size < 9 else f"constant {value.shape}" for value in self.constants]
        given += [f"{name}={value}" for name, value in self.attributes.items()]
        return f"{self.kind}({', '.join(given)}){f'[{self.output}]' if self.output else ''}"


@cache
def _factory(opset: str) -> Any:
    from openvino.utils.node_factory import NodeFactory
    return NodeFactory(opset)


def chains(shape: Shape, length: int, data: np.ndarray, thorough: bool) -> Iterator[tuple[Chain, np.ndarray]]:
    """All chains of a length with their results."""
    if not length:
        yield (), data
        return
    for move in moves(shape, thorough):
        found = move.compute(data)
        for rest, result in chains(found.shape, length - 1, found, thorough):
            yield (move, *rest), result


@cache
def moves(shape: Shape, thorough: bool = False) -> tuple[Move, ...]:
    """What is tried on a tensor of a shape: each operation along some axes, or, thorough, along all of them."""
    makers = (_unsqueezes, _squeezes, _transposes, _reductions, _gathers, _slices, _strided_slices, _reshapes,
              _concats, _splits, _tiles, _pads, _broadcasts)
    return tuple(move for make in makers for move in make(shape, thorough))


def ints(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


def scalar(value: int) -> np.ndarray:
    return np.array(value, np.int64)


def _axes(rank: int, thorough: bool) -> list[int]:
    """The first from the front, the last from the end and those between by turns; or all in both ways."""
    if thorough:
        return [*range(rank), *range(-rank, 0)]
    return [axis - rank if axis % 2 or axis == rank - 1 else axis for axis in range(rank)]


def _ones(rank: int, axis: int, value: int = 1, others: int = 0) -> np.ndarray:
    return ints(*[value if each == axis else others for each in range(rank)])


def _unsqueezes(shape: Shape, thorough: bool) -> Iterator[Move]:
    rank = len(shape)
    if rank < MOST_AXES:
        for axis in _axes(rank + 1, thorough):
            yield Move("Unsqueeze", (ints(axis),))
    if rank < MOST_AXES - 1:
        for pair in ((-1, 0), (1, -2), (0, 1), (-1, -2), (0, -1))[:5 if thorough else 1]:
            yield Move("Unsqueeze", (ints(*pair),))


def _squeezes(shape: Shape, thorough: bool) -> Iterator[Move]:
    rank = len(shape)
    ones = [axis for axis, size in enumerate(shape) if size == 1]
    for axis in _axes(rank, thorough):
        if axis % rank in ones:
            yield Move("Squeeze", (ints(axis),))
    if len(ones) > 1:
        yield Move("Squeeze", (ints(ones[-1] - rank, ones[0]),))
    yield Move("Squeeze")


def _transposes(shape: Shape, thorough: bool) -> Iterator[Move]:
    rank = len(shape)
    some = {2: [(1, 0)], 3: [(0, 2, 1), (1, 2, 0), (2, 0, 1)], 4: [(0, 2, 3, 1), (3, 2, 1, 0), (0, 1, 3, 2)]}
    orders = [*itertools.permutations(range(rank))] if thorough and rank < MOST_AXES else some.get(rank, [])
    for order in orders:
        yield Move("Transpose", (ints(*order),))
    if rank > 1:
        yield Move("Transpose", (ints(),))


def _reductions(shape: Shape, thorough: bool) -> Iterator[Move]:
    rank = len(shape)
    axes: list[Shape] = [(axis,) for axis in _axes(rank, thorough)]
    if rank > 1:
        axes += [(-1, 0), (1, -rank), (0, -1)][:3 if thorough else 1]
    if thorough:
        axes += [tuple(range(rank)), ()]
    kinds = ["ReduceSum", "ReduceProd", "ReduceL1", "ReduceL2"]
    if math.prod(shape):  # What the others make of nothing differs from one implementation to the next.
        kinds = ["ReduceMean", "ReduceMax", "ReduceMin", *kinds]
    chosen = itertools.cycle(kinds)
    for each in axes:
        for keep in (False, True):
            kind = next(chosen)
            yield Move(kind, (ints(*each),), {"keep_dims": keep}, "opset4" if kind[-2:] in ("L1", "L2") else "opset1")


def _gathers(shape: Shape, thorough: bool) -> Iterator[Move]:
    rank = len(shape)
    for axis in _axes(rank, thorough):
        size = shape[axis]
        tried = [ints(), ints(*range(size))]
        if size:
            tried += [scalar(-1), ints(0), np.array([[0, -1]])]
            tried += [scalar(0), ints(-1), ints(0, -1, 0), np.array([[0], [0]])] if thorough else []
        for indices in tried:
            if rank - 1 + indices.ndim <= MOST_AXES:
                yield Move("Gather", (indices, scalar(axis)), {"batch_dims": 0}, "opset8")
    if rank > 1 and shape[0] and shape[1]:
        yield Move("Gather", (np.zeros((shape[0], 2), np.int64), scalar(1)), {"batch_dims": 1}, "opset8")


def _slices(shape: Shape, thorough: bool) -> Iterator[Move]:
    for axis in _axes(len(shape), thorough):
        bounds = [(0, 1, 1), (-1, -FAR, -1), (0, 0, 1), (1, FAR, 1), (0, FAR, 1)]
        for bound in bounds if thorough else (bounds[axis % 3], bounds[4]):
            yield Move("Slice", tuple(map(ints, (*bound, axis))), {}, "opset8")


def _strided_slices(shape: Shape, thorough: bool) -> Iterator[Move]:
    def strided(starts: Shape, stops: Shape, **masks: list[int]) -> Move:
        names = ("begin_mask", "end_mask", "new_axis_mask", "shrink_axis_mask", "ellipsis_mask")
        return Move("StridedSlice", (ints(*starts), ints(*stops), ints(*[1] * len(starts))),
                    {name: masks.get(name, [0] * len(starts)) for name in names})

    rank = len(shape)
    if rank:
        yield strided((0,), (1,))
        if thorough:
            yield strided((-1,), (FAR,))
        if shape[0]:
            yield strided((-1,), (FAR,), shrink_axis_mask=[1])
        if shape[-1] and thorough:
            yield strided((0, 0), (0, 1), ellipsis_mask=[1, 0], shrink_axis_mask=[0, 1])
        if rank < MOST_AXES:
            yield strided((0, 0), (0, 0), ellipsis_mask=[1, 0], new_axis_mask=[0, 1])
            if thorough:
                yield strided((0,), (0,), new_axis_mask=[1])


def _reshapes(shape: Shape, thorough: bool) -> Iterator[Move]:
    rank, size = len(shape), math.prod(shape)

    def reshape(*target: int, special: bool = False) -> Move:
        return Move("Reshape", (ints(*target),), {"special_zero": special})

    yield reshape(-1)
    yield reshape(*shape[::-1])
    if rank > 1:
        yield reshape(0, -1, special=True)
    if rank < MOST_AXES:
        yield reshape(1, *shape)
        yield reshape(*shape, 1)
    if size and 1 < rank < MOST_AXES:
        yield reshape(shape[0], 1, *shape[1:-1], -1)
    if size == 1:
        yield reshape()
    if thorough:
        yield reshape(*shape)
        if rank:
            yield reshape(*[0] * (rank - 1), -1, special=True)
            yield reshape(*[0] * rank, special=True)
        if size and 0 < rank < MOST_AXES:
            yield reshape(0, 1, *shape[1:], special=True)
        if size and rank > 1:
            yield reshape(-1, shape[-1])
            yield reshape(shape[-1], -1)


def _concats(shape: Shape, thorough: bool) -> Iterator[Move]:
    rank = len(shape)
    for axis in _axes(rank, thorough):
        yield Move("Concat", (), {"axis": axis}, repeated=2)
        nothing = [0 if each == axis % rank else size for each, size in enumerate(shape)]
        yield Move("Concat", (np.zeros(nothing, np.float32),), {"axis": axis})
    if rank and thorough:
        yield Move("Concat", (), {"axis": 0})
        yield Move("Concat", (np.ones(shape, np.float32),), {"axis": -1})


def _splits(shape: Shape, thorough: bool) -> Iterator[Move]:
    for axis in _axes(len(shape), thorough):
        size = shape[axis]
        if size:
            yield Move("Split", (scalar(axis),), {"num_splits": size}, output=size - 1)
        if size or thorough:
            yield Move("VariadicSplit", (scalar(axis), ints(1, -1) if size else ints(0, 0)), output=int(axis < 0))
        if thorough:
            yield Move("Split", (scalar(axis),), {"num_splits": 1})
            yield Move("VariadicSplit", (scalar(axis), ints(size, 0)), output=int(axis < 0))


def _tiles(shape: Shape, thorough: bool) -> Iterator[Move]:
    rank = len(shape)
    yield Move("Tile", (ints(*[1] * rank),))
    for axis in range(rank) if thorough else range(rank)[-1:]:
        yield Move("Tile", (_ones(rank, axis, 2, 1),))
    if rank:
        yield Move("Tile", (_ones(rank, 0, 0, 1),))
    if rank < MOST_AXES:
        yield Move("Tile", (ints(2, *[1] * rank),))
        if thorough:
            yield Move("Tile", (ints(*[1] * (rank + 1)),))


def _pads(shape: Shape, thorough: bool) -> Iterator[Move]:
    rank = len(shape)

    def pad(before: np.ndarray, after: np.ndarray, mode: str = "constant") -> Move:
        return Move("Pad", (before, after, np.array(7, np.float32)), {"pad_mode": mode}, "opset12")

    none = _ones(rank, -1)
    yield pad(none, none)
    for axis in range(rank) if thorough else range(rank)[:1]:
        yield pad(_ones(rank, axis), none)
        if shape[axis]:
            yield pad(none, -_ones(rank, axis))
            if thorough:
                yield pad(none, _ones(rank, axis), "edge")


def _broadcasts(shape: Shape, thorough: bool) -> Iterator[Move]:
    rank = len(shape)
    bigger = [3 if size == 1 else size for size in shape]

    def broadcast(*target: int, mode: str = "numpy", axes: Sequence[int] | None = None) -> Move:
        constants = (ints(*target),) if axes is None else (ints(*target), ints(*axes))
        return Move("Broadcast", constants, {"mode": mode}, "opset3")

    yield broadcast(*shape)
    if bigger != list(shape):
        yield broadcast(*bigger, mode="bidirectional")
        yield broadcast(*[0 if size == 1 else size for size in shape])
    if rank < MOST_AXES:
        yield broadcast(2, *bigger)
        if thorough:
            yield broadcast(2, *bigger, mode="bidirectional")
            yield broadcast(*shape, 2, mode="explicit", axes=range(rank))
    if thorough:
        yield broadcast(*shape, mode="bidirectional")
        yield broadcast(*[1] * rank, mode="bidirectional")
