"""What a node's function is called with: the sizes and numbers that vary, and how they make up shapes and values."""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from clinfer.base.layout import Layout
from clinfer.base.shape import StaticShape
from clinfer.symbolic.symbols import array_of

MOST_ELEMENTS = 16


@dataclass(frozen=True)
class Argument:
    """The n-th argument of a node's function."""

    position: int


Number = int | Argument


@dataclass(frozen=True)
class Elements:
    """A small value on the host, by its elements."""

    items: tuple[Number, ...]
    shape: StaticShape
    dtype: np.dtype[Any]


@dataclass(frozen=True)
class NodeArguments:
    """How the arguments of a node's function make up what the node gets.

    `shapes` of its inputs; `values` of those that are read on the host: by their elements, a whole array, or
    an argument that is a whole array.
    """

    shapes: tuple[tuple[Number, ...], ...]
    values: Mapping[int, Elements | np.ndarray | Argument]

    @property
    def has_arrays(self) -> bool:
        """Whether an argument is a whole array."""
        return any(isinstance(value, Argument) for value in self.values.values())

    def fill(self, given: tuple[Any, ...]) -> tuple[tuple[StaticShape, ...], dict[int, np.ndarray]]:
        """Shapes and values for the arguments given; arrays with symbols have dtype object."""
        shapes = tuple(_filled(shape, given) for shape in self.shapes)
        return shapes, {i: _array(value, given) for i, value in self.values.items()}

    def identity(self) -> object:
        """Equal for equal forms, constants included."""
        return self.shapes, tuple((i, (value.dtype.str, value.shape, value.tobytes())
                                   if isinstance(value, np.ndarray) else value) for i, value in self.values.items())


def _filled(numbers: tuple[Number, ...], given: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple([given[n.position] if type(n) is Argument else n for n in numbers])


def _array(value: Elements | np.ndarray | Argument, given: tuple[Any, ...]) -> np.ndarray:
    if isinstance(value, Argument):
        return given[value.position]
    if isinstance(value, np.ndarray):
        return value
    return array_of(_filled(value.items, given), value.shape, value.dtype)


def is_small(layout: Layout) -> bool:
    """Whether a host value of this layout is handled by its elements: some integers or truth values of known number."""
    return layout.is_static and layout.count <= MOST_ELEMENTS and layout.element_type.name in ("i32", "i64", "boolean")
