"""Layouts: shape, element type, format and padding of one tensor, and the bytes they mean."""
from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from clinfer.base.element_type import ElementType
from clinfer.base.errors import ClinferError
from clinfer.base.format import Format
from clinfer.base.shape import Dim, Shape, StaticShape, is_static, show

LARGEST_INDEX = 2**31 - 1
"""The largest number that indices of 32 bits reach."""


@dataclass(frozen=True)
class Padding:
    """Elements before and after each axis of a shape; empty tuples mean none at all."""

    lower: tuple[int, ...] = ()
    upper: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if any(p < 0 for p in self.lower + self.upper) or len(self.lower) != len(self.upper):
            raise ClinferError("padding must be non-negative, with as many lower as upper values",
                               values={"lower": self.lower, "upper": self.upper})

    def __bool__(self) -> bool:
        return any(self.lower) or any(self.upper)

    def low(self, axis: int) -> int:
        """Elements before the first one of an axis."""
        return self.lower[axis] if self.lower else 0

    def both(self, axis: int) -> int:
        """Elements that padding adds to an axis."""
        return self.lower[axis] + self.upper[axis] if self.lower else 0


NO_PADDING = Padding()


@dataclass(frozen=True)
class Layout:
    """Shape, element type, format and padding of a tensor; dynamic while the shape is."""

    shape: Shape
    element_type: ElementType
    format: Format
    padding: Padding = NO_PADDING

    def __post_init__(self) -> None:
        rank = len(self.shape)
        if not self.format.fits(rank):
            raise ClinferError(f"format {self.format} does not fit a tensor of rank {rank}",
                               values={"shape": show(self.shape)})
        if self.padding.lower and len(self.padding.lower) != rank:
            raise ClinferError("padding and shape differ in rank",
                               values={"shape": show(self.shape), "padding": self.padding})

    @staticmethod
    def planar(shape: Shape, element_type: ElementType) -> Layout:
        """The layout in the planar format of that rank, without padding."""
        return Layout(tuple(shape), element_type, Format.planar(len(shape)))

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def is_static(self) -> bool:
        return is_static(self.shape)

    @property
    def is_dense_planar(self) -> bool:
        """Whether memory is exactly the shape in row-major order."""
        return self.format.is_planar and not self.padding

    def with_shape(self, shape: Shape) -> Layout:
        """The same layout of another shape (of the same rank if there is padding)."""
        return self if shape is self.shape else Layout(tuple(shape), self.element_type, self.format, self.padding)

    @cached_property
    def static_shape(self) -> StaticShape:
        """The shape as plain numbers; an error while it is dynamic."""
        if not self.is_static:
            raise ClinferError("a dynamic layout has no size yet", values={"layout": self})
        return self.shape  # type: ignore[return-value]

    @cached_property
    def padded_shape(self) -> StaticShape:
        """Per logical axis, the elements in memory: padding included, rounded up to whole blocks."""
        if not self.padding and not self.format.block_axes:
            return self.static_shape
        sizes = []
        for axis, size in enumerate(self.static_shape):
            block = self.format.block_of(axis)
            sizes.append(-(-(size + self.padding.both(axis)) // block) * block)
        return tuple(sizes)

    @cached_property
    def physical_count(self) -> int:
        """Elements in memory, padding and block tails included."""
        return math.prod(self.padded_shape)

    @cached_property
    def is_large(self) -> bool:
        """Whether the elements in memory are too many to be counted with 32 bits, at the least size that the bounds of
        open axes allow."""
        if self.is_static:
            return self.physical_count > LARGEST_INDEX
        return self.with_shape(tuple(size.low if isinstance(size, Dim) else size for size in self.shape)).is_large

    @cached_property
    def count(self) -> int:
        """Logical elements; open while the shape is."""
        return math.prod(self.shape)  # type: ignore[arg-type]

    @cached_property
    def byte_size(self) -> int:
        """Bytes of memory that the tensor takes."""
        return self.element_type.byte_size(self.physical_count)

    def pack(self, values: np.ndarray) -> np.ndarray:
        """A logical array -> the flat storage units of this layout (padding and tails are zero)."""
        array = np.asarray(values)
        if array.shape != self.static_shape:
            raise ClinferError("array and layout differ in shape",
                               values={"array": array.shape, "layout": show(self.shape)})
        if not self.is_dense_planar:
            whole = np.zeros(self.padded_shape, array.dtype)
            whole[self._window()] = array
            array = whole.reshape(self._split_shape()).transpose(self._memory_axes())
        return self.element_type.encode(np.ascontiguousarray(array).reshape(-1))

    def unpack(self, units: np.ndarray) -> np.ndarray:
        """The flat storage units (or raw bytes) of this layout -> the logical array."""
        flat = np.ascontiguousarray(units).view(self.element_type.storage)
        values = self.element_type.decode(flat, self.physical_count)
        if self.is_dense_planar:
            return values.reshape(self.static_shape)
        axes = self._memory_axes()
        split = self._split_shape()
        ordered = values.reshape([split[a] for a in axes])
        logical = ordered.transpose(np.argsort(axes)).reshape(self.padded_shape)[self._window()]
        return np.ascontiguousarray(logical).reshape(self.static_shape)

    def _window(self) -> tuple[slice, ...]:
        return tuple(slice(self.padding.low(a), self.padding.low(a) + size)
                     for a, size in enumerate(self.static_shape))

    def _split_shape(self) -> list[int]:
        """Each axis cut into its outer part and its blocks, in the order of the shape."""
        parts: list[int] = []
        for axis, size in enumerate(self.padded_shape):
            blocks = [b for a, b in self.format.block_axes if a == axis]
            parts += [size // math.prod(blocks), *blocks]
        return parts

    def _memory_axes(self) -> list[int]:
        """For each position in memory order, its index in `_split_shape`."""
        first: list[int] = []
        position = 0
        for axis in range(self.rank):
            first.append(position)
            position += 1 + sum(a == axis for a, _ in self.format.block_axes)
        taken = list(first)
        inner = []
        for axis, _ in self.format.block_axes:
            taken[axis] += 1
            inner.append(taken[axis])
        return [first[axis] for axis in self.format.order_of(self.rank)] + inner

    def __str__(self) -> str:
        text = f"{self.element_type}:{self.format}:{show(self.shape)}"
        return f"{text}:pad{self.padding.lower}{self.padding.upper}" if self.padding else text
