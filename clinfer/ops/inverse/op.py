"""The Inverse primitive (OpenVINO Inverse-14)."""
from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from clinfer.base.shape import Shape
from clinfer.symbolic.dimensions import differ
from clinfer.symbolic.shape_inference import Values
from clinfer.topology import Primitive


@dataclass(frozen=True)
class Inverse(Primitive):
    """The inverses of square matrices, the last two axes of input 0; transposed if `adjoint`. Of a matrix that has none
    the result is undefined."""

    adjoint: bool = False
    op_type: ClassVar[str] = "Inverse"
    opset: ClassVar[str] = "opset14"

    def infer_shapes(self, shapes: tuple[Shape | None, ...], values: Values) -> tuple[Shape | None, ...] | None:
        data = shapes[0]
        return None if data is None or len(data) < 2 or differ(*data[-2:]) else (data,)
