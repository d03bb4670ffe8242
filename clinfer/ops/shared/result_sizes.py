"""The sizes of what bodies give, as they follow from the inputs of the primitive that has the bodies."""
from __future__ import annotations

from typing import Any

from clinfer.base.schema import Natural
from clinfer.base.shape import StaticShape
from clinfer.symbolic.dimensions import broadcast_shapes

ResultSize = Natural | tuple[tuple[Natural, Natural], ...]
"""A number, or the size to which the sizes of these axes, each (input of the primitive, axis), stretch."""


def shape_of_result(sizes: tuple[ResultSize, ...], shapes: tuple[StaticShape, ...]) -> StaticShape:
    """The shape of these sizes for those of the inputs."""
    return tuple([_size(size, shapes) for size in sizes])


def _size(size: ResultSize, shapes: tuple[StaticShape, ...]) -> Any:
    if isinstance(size, int):
        return size
    # What a body takes as one element may have no axes.
    of_axes = [(shapes[index][axis],) for index, axis in size if axis < len(shapes[index])]
    return broadcast_shapes(((1,), *of_axes))[0]  # type: ignore[index]


def lifted(sizes: tuple[Any, ...], rank: int) -> tuple[Any, ...]:
    """OpenVINO joins results of [] and [1] to one of [1]."""
    return sizes or (1,) * min(rank, 1)
