"""The element-wise primitive."""
from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from clinfer.base.element_type import ElementType
from clinfer.base.errors import ClinferError
from clinfer.base.shape import Shape, broadcast_shapes
from clinfer.base.shape_inference import OpSignature, Values
from clinfer.ops.eltwise.modes import FLAGS, MODES, Mode
from clinfer.ops.room import constant_input
from clinfer.topology import Primitive, SourceNode


@dataclass(frozen=True)
class Eltwise(Primitive):
    """`mode`, a row of the table in modes.py, on inputs that broadcast by NumPy's rule.

    `parameters` are the numbers that the row calls P0 and P1. Select reads its condition first.
    """

    mode: str = "Add"
    parameters: tuple[float, ...] = ()

    @property
    def row(self) -> Mode:
        """The row of the table."""
        return MODES[self.mode]

    @property
    def can_evaluate(self) -> bool:
        return self.row.evaluate is not None

    def output_types(self, input_types: tuple[ElementType, ...]) -> tuple[ElementType, ...]:
        return (ElementType.of("boolean") if self.row.boolean else input_types[-1 if self.mode == "Select" else 0],)

    def signature(self) -> OpSignature | None:
        return None

    def infer_shapes(self, shapes: tuple[Shape | None, ...], values: Values) -> tuple[Shape | None, ...]:
        return (broadcast_shapes(shapes),)

    def evaluate(self, values: tuple[np.ndarray, ...], shapes: tuple[Shape | None, ...]) -> tuple[np.ndarray, ...]:
        assert self.row.evaluate is not None
        if self.mode == "Divide" and not self.parameters[0] and np.issubdtype(values[0].dtype, np.integer):
            return ((np.sign(values[0]) * np.sign(values[1]) * (np.abs(values[0]) // np.abs(values[1]))).astype(
                values[0].dtype),)
        result = np.asarray(self.row.evaluate(*values))
        return (result if self.row.boolean else result.astype(values[-1].dtype, copy=False),)


def is_add(primitive: Primitive) -> bool:
    """Whether a primitive adds two tensors."""
    return isinstance(primitive, Eltwise) and primitive.mode == "Add"


def convert_eltwise(node: SourceNode) -> Eltwise:
    """Every operation of the table, with its attributes or constant inputs as parameters."""
    if str(node.attributes.get("auto_broadcast", "numpy")).lower() not in ("numpy", "none"):
        raise ClinferError(f"{node.type_name} broadcasts in a way that is not supported", where=f"layer {node.name!r}",
                           values={"auto_broadcast": node.attributes["auto_broadcast"]},
                           hint="reshape the smaller input so that NumPy's rule applies")
    row = MODES[node.type_name]
    operands = len(node.inputs)
    given: list[float] = []
    if row.parameter_inputs:
        operands = 1
        given = [float(constant_input(node, i).reshape(-1)[0]) for i in range(1, len(node.inputs))]
    elif row.parameters:
        defaults = row.defaults or (0.0,) * len(row.parameters)
        given = [_number(node.attributes.get(name, default))
                 for name, default in zip(row.parameters, defaults, strict=True)]
    return Eltwise(node.id, node.inputs[:operands], origin=node.name, mode=node.type_name,
                   parameters=tuple(given) or tuple(row.defaults))


def _number(value: object) -> float:
    return FLAGS[value.lower()] if isinstance(value, str) else float(value)  # type: ignore[arg-type]
