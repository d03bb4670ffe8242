"""The shape rule of a primitive: its own, and OpenVINO's where that does not tell."""
from __future__ import annotations

from clinfer.base.element_type import ElementType
from clinfer.base.errors import ClinferError
from clinfer.base.shape import Dim, Shape, show
from clinfer.base.tracing import log
from clinfer.symbolic.confirmed_shapes import confirmed
from clinfer.symbolic.shape_inference import OpSignature, ShapeInference, ShapeRule, Values
from clinfer.topology.primitive import Primitive, attributes_of


class PrimitiveRule:
    """A `ShapeRule` for inputs of these types."""

    def __init__(self, primitive: Primitive, types: tuple[ElementType, ...], shape_inference: ShapeInference) -> None:
        self._primitive = primitive
        self._types = types
        self._shape_inference = shape_inference
        self._openvino: ShapeRule | None = None

    def __call__(self, shapes: tuple[Shape | None, ...], values: Values) -> tuple[Shape | None, ...]:
        """Output shapes for input shapes and the known input values."""
        own = self._primitive.infer_shapes(shapes, values)
        return self._asked(shapes, values) if own is None else own

    def _asked(self, shapes: tuple[Shape | None, ...], values: Values) -> tuple[Shape | None, ...]:
        """What OpenVINO tells; of open sizes, as far as it is confirmed."""
        if self._openvino is None:
            self._openvino = self._shape_inference.rule(signature_of(self._primitive), self._types)
        told = self._openvino(shapes, values)
        if not any(isinstance(size, Dim) for shape in shapes for size in shape or ()):
            return told
        found = confirmed(self._openvino, shapes, values, told)
        if found != told:
            log(1, f"{self._primitive.where}: its shape rule tells {' '.join(map(show, told))}, which sizes "
                   f"contradict; it is taken to be {' '.join(map(show, found))}")
        return found


def signature_of(primitive: Primitive) -> OpSignature:
    """A primitive as OpenVINO describes it; ClinferError if it is no operation of OpenVINO's."""
    if not primitive.op_type:
        raise ClinferError(f"{type(primitive).__name__} has neither a shape rule for these shapes nor a counterpart in "
                           "OpenVINO", where=primitive.where)
    return OpSignature(primitive.op_type, primitive.opset, tuple(
        (name, value) for name, value in attributes_of(primitive) if name not in primitive.own_fields))
