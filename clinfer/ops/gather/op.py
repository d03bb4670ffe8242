"""The gathering primitives (OpenVINO Gather-1, -7, -8, GatherElements-6, GatherND-5, -8)."""
from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from math import prod
from typing import ClassVar

import numpy as np

from clinfer.base.errors import ClinferError
from clinfer.base.part import Part
from clinfer.base.shape import ANY, Dim, Shape, StaticShape, show
from clinfer.ops.operation import by_attributes
from clinfer.ops.shared.constant_indices import Ranges, check_indices, constant_ranges
from clinfer.ops.shared.shape_rules import distinct_axes
from clinfer.symbolic.dimensions import broadcast_shapes, same_size
from clinfer.symbolic.shape_inference import Values
from clinfer.topology import Primitive, SourceNode


@dataclass(frozen=True)
class Lookup:
    """Where an element of the output comes from.

    `data_axes` and `index_axes` give, per axis of the output, the axis of the data and of the indices
    that moves with it, or None. `looked_up` are the data axes whose coordinates the indices hold, one
    each, side by side along axis `tuple_axis` of the indices (None: there is only one).
    """

    data_axes: tuple[int | None, ...]
    index_axes: tuple[int | None, ...]
    looked_up: tuple[int, ...]
    tuple_axis: int | None = None


@dataclass(frozen=True)
class Gathering(Primitive, ABC):
    """Elements of input 0 at places that input 1 names; places outside of input 0 give zeros, as in OpenVINO.

    `wraps_negative`: negative indices count from the end; else they lie outside.
    """

    wraps_negative: ClassVar[bool] = True

    @property
    def takes_fused_ops(self) -> bool:
        return True

    def index_count(self, indices: Shape) -> int:
        """How many indices make up one place."""
        return 1

    def run(self, data: StaticShape, values: Values) -> tuple[int, int, int] | None:
        """Where this is known to look up slices one behind the other: (axis, first, number)."""
        return None

    @abstractmethod
    def lookup(self, data: Shape, indices: Shape, values: Values) -> Lookup | None:
        """Where elements come from for inputs of these ranks, or None while it is unknown."""


@dataclass(frozen=True)
class Gather(Gathering):
    """Slices of input 0 along the axis in input 2; the first `batch_dims` axes of both inputs move together."""

    batch_dims: int = 0
    op_type: ClassVar[str] = "Gather"
    opset: ClassVar[str] = "opset8"

    @property
    def value_inputs(self) -> tuple[int, ...]:
        return (2,)

    @property
    def can_evaluate(self) -> bool:
        return True

    @property
    def useful_values(self) -> tuple[int, ...]:
        return (1,)

    def run(self, data: StaticShape, values: Values) -> tuple[int, int, int] | None:
        """(axis, first, number) of the slices, if they stand one behind the other; None if not, or while the places
        are unknown."""
        if self.batch_dims or 1 not in values or 2 not in values:
            return None
        axis = self._axis(values[2], len(data))
        size = data[axis]
        places = [place + size if place < 0 and self.wraps_negative else place
                  for place in values[1].reshape(-1).tolist()]
        if not places or any(place != places[0] + i for i, place in enumerate(places)):
            return None
        return (axis, places[0], len(places)) if places[0] >= 0 and places[-1] < size else None

    def lookup(self, data: Shape, indices: Shape, values: Values) -> Lookup | None:
        if 2 not in values:
            return None
        axis, batch = self._axis(values[2], len(data)), self._batch(len(indices))
        inserted = len(indices) - batch
        behind = range(axis + 1, len(data))
        return Lookup(
            data_axes=(*range(axis), *(None,) * inserted, *behind),
            index_axes=(*range(batch), *(None,) * (axis - batch), *range(batch, len(indices)),
                        *(None for _ in behind)),
            looked_up=(axis,))

    @property
    def fused_ops_stretch(self) -> bool:
        return True

    def infer_shapes(self, shapes: tuple[Shape | None, ...], values: Values) -> tuple[Shape | None, ...]:
        """Its own result, stretched to what fused operations read."""
        data, indices = shapes[:2]
        if data is None or indices is None:
            return (None,)
        own: Shape | None = (ANY,) * (len(data) + len(indices) - self._batch(len(indices)) - 1)
        if 2 in values:
            own = self._shape(data, indices, values[2])
        if own is None:
            raise ClinferError("the axis or the batch axes do not fit", where=self.where, values={
                "data": show(data), "indices": show(indices), "axis": values[2], "batch_dims": self.batch_dims})
        return (broadcast_shapes((own, *shapes[self.own_input_count:])),)

    def _shape(self, data: Shape, indices: Shape, axis: np.ndarray) -> Shape | None:
        """The shape of the slices; None where the axis or known sizes do not fit."""
        axes, batch = distinct_axes(axis, len(data)), self._batch(len(indices))
        if not axes or not 0 <= batch <= min(axes[0], len(indices)) or any(
                isinstance(one, int) and isinstance(other, int) and one != other
                for one, other in zip(data[:batch], indices[:batch], strict=True)):
            return None
        return (*data[:axes[0]], *indices[batch:], *data[axes[0] + 1:])

    def as_part(self, output: int, shape: Shape, values: Values) -> Part | None:
        if self.batch_dims or 1 not in values or 2 not in values or values[1].ndim:
            return None
        axis, index = self._axis(values[2], len(shape)), int(values[1])
        size = shape[axis]
        if not isinstance(size, int) or not (-size if self.wraps_negative else 0) <= index < size:
            return None
        return Part.whole(len(shape)).cut(axis, index % size, index % size + 1).without(axis)

    def evaluate(self, values: tuple[np.ndarray, ...], shapes: tuple[Shape | None, ...]) -> tuple[np.ndarray, ...]:
        data, indices, axis_value = values
        axis, batch = self._axis(axis_value, data.ndim), self._batch(indices.ndim)
        before, size, behind = data.shape[:axis], data.shape[axis], data.shape[axis + 1:]
        with_zeros = np.concatenate([data, np.zeros((*before, 1, *behind), data.dtype)], axis)
        places = indices.astype(np.int64)
        if self.wraps_negative:
            places = np.where(places < 0, places + size, places)
        places = np.where((places < 0) | (places >= size), size, places)
        result = np.empty((*before, *indices.shape[batch:], *behind), data.dtype)
        for at in np.ndindex(*data.shape[:batch]):
            result[at] = with_zeros[at].take(places[at], axis - batch)
        return (result,)

    @staticmethod
    def _axis(value: np.ndarray, rank: int) -> int:
        return int(value.reshape(())) % rank

    def _batch(self, indices_rank: int) -> int:
        return self.batch_dims + indices_rank if self.batch_dims < 0 else self.batch_dims


@dataclass(frozen=True)
class Gather7(Gather):
    """Gather-7 and Gather-1, which know no negative indices."""

    opset: ClassVar[str] = "opset7"
    wraps_negative: ClassVar[bool] = False


@dataclass(frozen=True)
class GatherElements(Gathering):
    """Every element of input 1 replaced by the one of input 0 at that index along `axis`.

    OpenVINO refuses places outside, and so does this of constants (`index_ranges`).
    """

    axis: int = 0
    index_ranges: Ranges = ()
    op_type: ClassVar[str] = "GatherElements"
    opset: ClassVar[str] = "opset6"
    own_fields: ClassVar[tuple[str, ...]] = ("index_ranges",)

    def infer_shapes(self, shapes: tuple[Shape | None, ...], values: Values) -> tuple[Shape | None, ...] | None:
        data, indices = shapes
        if data is None or indices is None or len(data) != len(indices) or not -len(data) <= self.axis < len(data):
            return None
        sizes = [index if a == self.axis % len(data) else same_size((index, size))
                 for a, (index, size) in enumerate(zip(indices, data, strict=True))]
        return None if None in sizes else (tuple(sizes),)  # type: ignore[arg-type]

    def check_inputs(self, shapes: tuple[StaticShape, ...], values: Values,
                     outputs: tuple[StaticShape, ...]) -> None:
        check_indices(self.where, self.index_ranges, (shapes[0][self.axis],))

    def lookup(self, data: Shape, indices: Shape, values: Values) -> Lookup | None:
        axis = self.axis % len(data)
        return Lookup(tuple(None if a == axis else a for a in range(len(data))), tuple(range(len(data))), (axis,))


@dataclass(frozen=True)
class GatherND(Gathering):
    """Slices of input 0 at the coordinates along the last axis of input 1, behind `batch_dims` common axes."""

    batch_dims: int = 0
    op_type: ClassVar[str] = "GatherND"
    opset: ClassVar[str] = "opset8"

    def infer_shapes(self, shapes: tuple[Shape | None, ...], values: Values) -> tuple[Shape | None, ...] | None:
        data, indices = shapes
        if data is None or not indices or isinstance(indices[-1], Dim) or self.batch_dims >= len(indices):
            return None
        behind = self.batch_dims + indices[-1]
        batch = [same_size(sizes) for sizes in zip(data[:self.batch_dims], indices, strict=False)]
        if not self.batch_dims < behind <= len(data) or None in batch:
            return None
        if self.opset == "opset5" and len(batch) > 1:
            if any(isinstance(size, Dim) for size in batch):
                return None
            batch = [prod(batch)]  # type: ignore[arg-type]
        return ((*batch, *indices[self.batch_dims:-1], *data[behind:]),)  # type: ignore[arg-type]

    def index_count(self, indices: Shape) -> int:
        count = indices[-1]
        assert isinstance(count, int), "the rank of the output depends on it"
        return count

    def lookup(self, data: Shape, indices: Shape, values: Values) -> Lookup | None:
        batch, last, count = self.batch_dims, len(indices) - 1, self.index_count(indices)
        behind = range(batch + count, len(data))
        return Lookup(
            data_axes=(*range(batch), *(None,) * (last - batch), *behind),
            index_axes=(*range(last), *(None for _ in behind)),
            looked_up=tuple(range(batch, batch + count)), tuple_axis=last)


@dataclass(frozen=True)
class GatherND5(GatherND):
    """GatherND-5, whose output has one axis in place of all the batch axes."""

    opset: ClassVar[str] = "opset5"


def convert_gather(node: SourceNode) -> Primitive:
    """Gather of the node's version."""
    return by_attributes(Gather if node.opset == "opset8" else Gather7)(node)  # type: ignore[return-value]


def convert_gather_elements(node: SourceNode) -> Primitive:
    """GatherElements, with the range of its indices where they are constants."""
    return GatherElements(node.id, node.inputs, origin=node.name, axis=node.attributes["axis"],
                          index_ranges=constant_ranges(node))


def convert_gather_nd(node: SourceNode) -> Primitive:
    """GatherND of the node's version."""
    return by_attributes(GatherND if node.opset == "opset8" else GatherND5)(node)  # type: ignore[return-value]
