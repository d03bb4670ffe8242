"""Models in the making, for random models: tensors with named sizes, and the table of operations.

Tensors carry *names* of their dynamic sizes: two tensors meet in an element-wise operation only where these agree, so
the shapes fit in every setting of the free sizes.
"""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from openvino import opset13 as ops

from tests.oracle import ov

CHANNELS = 8
Dims = tuple["int | str", ...]


@dataclass(frozen=True)
class Tensor:
    """An output with the names of its sizes. `exact`: computed without rounding, so that comparisons are the same
    everywhere."""

    node: ov.Output
    dims: Dims
    exact: bool = False

    @property
    def rank(self) -> int:
        return len(self.dims)


@dataclass
class Draft:
    """A model in the making: tensors that may be read, and parameters."""

    tensors: list[Tensor] = field(default_factory=list)
    parameters: list[ov.Node] = field(default_factory=list)
    fresh: int = 0

    def parameter(self, shape: list[object], kind: type) -> ov.Output:
        """A new input."""
        self.parameters.append(ops.parameter(ov.PartialShape(shape), kind))
        return self.parameters[-1].output(0)

    def value(self) -> ov.Output:
        """A new input [1] of i64, on whose number shapes depend."""
        return self.parameter([1], np.int64)

    def new_size(self) -> str:
        """The name of a size that equals no other."""
        self.fresh += 1
        return f"n{self.fresh}"

    def add(self, node: ov.Node, dims: Dims, exact: bool = False) -> None:
        output = node if isinstance(node, ov.Output) else node.output(0)
        self.tensors.append(Tensor(output, tuple(dims), exact))


Operation = Callable[[Draft, Tensor, int], bool]
OPERATIONS: dict[str, Operation] = {}


def operation(make: Operation) -> Operation:
    """Enter an operation under its name; it returns whether it took the tensor."""
    OPERATIONS[make.__name__] = make
    return make


def i64(*values: int) -> ov.Node:
    return ops.constant(np.array(values, np.int64))


def size_of(x: Tensor, axis: int) -> ov.Node:
    """One size of a tensor, [1] of i64."""
    return ops.gather(ops.shape_of(x.node, "i64"), i64(axis), np.int64(0))


def bounded_by(value: ov.Output, limit: ov.Node, least: int = 0) -> ov.Node:
    """A number brought into [least, limit] (the limit, where it is the lesser)."""
    return ops.minimum(ops.maximum(value, i64(least)), limit)


def weights(number: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(number).uniform(-0.5, 0.5, shape).astype(np.float32)
