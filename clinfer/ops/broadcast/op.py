"""The Broadcast primitive (OpenVINO Broadcast-1 and Broadcast-3)."""
from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from clinfer.base.errors import ClinferError
from clinfer.base.shape import Shape, StaticShape, show
from clinfer.ops.shared.shape_rules import stretches_to
from clinfer.symbolic.dimensions import broadcast_shapes
from clinfer.symbolic.shape_inference import Values
from clinfer.topology import Primitive, SourceNode

_MODES = ("numpy", "bidirectional", "explicit")


@dataclass(frozen=True)
class Broadcast(Primitive):
    """Input 0 stretched to the shape in input 1.

    `mode` numpy aligns the last axes; bidirectional too, and the result takes the larger of both sizes;
    with explicit, axis i of input 0 is axis (value of input 2)[i] of the result.
    """

    mode: str = "numpy"
    op_type: ClassVar[str] = "Broadcast"
    opset: ClassVar[str] = "opset3"

    @property
    def takes_fused_ops(self) -> bool:
        return True

    @property
    def only_moves(self) -> bool:
        return True

    @property
    def value_inputs(self) -> tuple[int, ...]:
        return tuple(range(1, self.own_input_count))

    @property
    def can_evaluate(self) -> bool:
        return True

    def infer_shapes(self, shapes: tuple[Shape | None, ...], values: Values) -> tuple[Shape | None, ...] | None:
        if self.mode == "numpy" and shapes[0] is not None and _has_fewer_axes(shapes[1], len(shapes[0])):
            raise ClinferError("the target shape has fewer axes than the data", where=self.where, values={
                "data": show(shapes[0]), "target axes": show(shapes[1])})
        if shapes[0] is None or 1 not in values:
            return None
        data, target = shapes[0], tuple(values[1].reshape(-1).tolist())
        if any(size < 0 for size in target):
            return None
        if self.mode == "bidirectional":
            return (broadcast_shapes((data, target)),)
        seen = target if self.mode == "numpy" else self._mapped(data, target, values)
        return None if seen is None or not stretches_to(data, seen) else (target,)

    @staticmethod
    def _mapped(data: Shape, target: Shape, values: Values) -> Shape | None:
        """The sizes of the target that input 0's axes are mapped to, in order."""
        axes = [int(axis) for axis in values[2].reshape(-1)] if 2 in values else [-1]
        if len(axes) != len(data) or axes != sorted(set(axes)) or not all(0 <= axis < len(target) for axis in axes):
            return None
        return tuple(target[axis] for axis in axes)

    def check_inputs(self, shapes: tuple[StaticShape, ...], values: Values,
                     outputs: tuple[StaticShape, ...]) -> None:
        """OpenVINO's rule takes negative sizes for 0."""
        target = values[1].reshape(-1).tolist()
        if any(size < 0 for size in target):
            raise ClinferError("nothing can be broadcast to a negative size", values={"target shape": target})

    def evaluate(self, values: tuple[np.ndarray, ...], shapes: tuple[Shape | None, ...]) -> tuple[np.ndarray, ...]:
        data, target = values[0], tuple(int(size) for size in values[1].reshape(-1))
        if self.mode == "bidirectional":
            target = np.broadcast_shapes(data.shape, target)
        inserted = self.inserted_axes(data.ndim, len(target), dict(enumerate(values)))
        assert inserted is not None
        return (np.broadcast_to(np.expand_dims(data, inserted), target).copy(),)

    def inserted_axes(self, data_rank: int, rank: int, values: Values) -> tuple[int, ...] | None:
        """The axes of the result that input 0 does not have, or None while they are unknown."""
        if self.mode != "explicit":
            return tuple(range(rank - data_rank))
        if 2 not in values:
            return None
        own = {int(axis) for axis in values[2].reshape(-1)}
        return tuple(axis for axis in range(rank) if axis not in own)


def _has_fewer_axes(target: Shape | None, rank: int) -> bool:
    """Whether a target shape of this shape is known to have fewer axes than the data."""
    return target is not None and len(target) == 1 and isinstance(target[0], int) and target[0] < rank


def convert_broadcast(node: SourceNode) -> Broadcast:
    """A Broadcast; version 1 calls the explicit mode "none" and has a mapping in every mode."""
    mode = str(node.attributes.get("mode", "numpy")).lower()
    mode = "explicit" if mode == "none" else mode
    if mode not in _MODES:
        raise ClinferError(f"Broadcast has no mode {mode!r} here", values={"modes": ", ".join(_MODES)},
                           hint="export with NumPy's broadcasting rule")
    inputs = node.inputs if mode == "explicit" else node.inputs[:2]
    return Broadcast(node.id, inputs, origin=node.name, mode=mode)
