"""The FakeConvert primitive (OpenVINO FakeConvert-13)."""
from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from clinfer.base.shape import Shape
from clinfer.ops.shared.shape_rules import stretches_to
from clinfer.symbolic.shape_inference import Values
from clinfer.topology import Primitive


@dataclass(frozen=True)
class FakeConvert(Primitive):
    """Input 0 times input 1, less input 2 where present, rounded to f16, then to the type, and all of that undone.

    The other inputs stretch to input 0. What is too large becomes the largest number of the type, as in OpenVINO.
    """

    destination_type: Literal["f8e4m3", "f8e5m2"] = "f8e4m3"
    op_type: ClassVar[str] = "FakeConvert"
    opset: ClassVar[str] = "opset13"

    def infer_shapes(self, shapes: tuple[Shape | None, ...], values: Values) -> tuple[Shape | None, ...] | None:
        data, *others = shapes
        if data is None or any(shape is None or not stretches_to(shape, data) for shape in others):
            return None
        return (data,)
