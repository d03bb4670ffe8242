"""Roll (OpenVINO Roll-7) as two slices of each axis, joined the other way round."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from clinfer.base.element_type import ElementType
from clinfer.ops.concat import Concat
from clinfer.ops.convert import Convert
from clinfer.ops.eltwise import Eltwise
from clinfer.ops.gather import Gather
from clinfer.ops.operation import constant_input
from clinfer.ops.reshape import Identity, Reshape
from clinfer.ops.shape_of import ShapeOf
from clinfer.ops.slice import Slice
from clinfer.topology import Constant, Port, Primitive, SourceNode

_I64 = ElementType.of("i64")
_END = np.iinfo(np.int64).max


def convert_roll(node: SourceNode) -> Sequence[Primitive]:
    """Input 0 moved by input 1 (a number for each axis, or one for all) along the axes in input 2, constants."""
    return _Roll(node).primitives()


class _Roll:
    """The primitives of one operation as they are made."""

    def __init__(self, node: SourceNode) -> None:
        self._node = node
        self._made: list[Primitive] = []

    def primitives(self) -> list[Primitive]:
        node, data = self._node, self._node.inputs[0]
        shift = node.input_shapes[1]
        shifts = self._add(Convert("", (node.inputs[1],), destination_type="i64"))
        shifts = self._add(Reshape("", (shifts, self._vector(-1))))
        for number, axis in enumerate(constant_input(node, 2).reshape(-1).tolist()):
            place = 0 if shift in ((), (1,)) else number
            data = self._rolled(data, axis, self._add(Gather("", (shifts, self._vector(place), self._scalar(0)))))
        return [*self._made, Identity(node.id, (data,), origin=node.name)]

    def _rolled(self, data: Port, axis: int, shift: Port) -> Port:
        """Its last elements, as many as the shift says, ahead of the others."""
        sizes = self._add(ShapeOf("", (data,)))
        size = self._add(Gather("", (sizes, self._vector(axis), self._scalar(0))))
        size = self._eltwise("Maximum", size, self._vector(1))
        cut = self._eltwise("FloorMod", self._eltwise("Subtract", self._vector(0), shift), size)
        one, along = self._vector(1), self._vector(axis)
        last = self._add(Slice("", (data, cut, self._vector(_END), one, along)))
        first = self._add(Slice("", (data, self._vector(0), cut, one, along)))
        return self._add(Concat("", (last, first), axis=axis))

    def _eltwise(self, mode: str, *inputs: Port) -> Port:
        return self._add(Eltwise("", inputs, mode=mode))

    def _vector(self, value: int) -> Port:
        return self._constant(np.array([value]))

    def _scalar(self, value: int) -> Port:
        return self._constant(np.array(value))

    def _constant(self, value: np.ndarray) -> Port:
        return self._add(Constant("", value=value.astype(np.int64), element_type=_I64))

    def _add(self, primitive: Primitive) -> Port:
        named = replace(primitive, id=f"{self._node.id}/{len(self._made)}", origin=self._node.name)
        self._made.append(named)
        return Port(named.id)
