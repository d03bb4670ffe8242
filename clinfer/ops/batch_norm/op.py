"""The BatchNormInference primitive (OpenVINO BatchNormInference-5; version 1 has its inputs reordered)."""
from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from clinfer.base.errors import ClinferError
from clinfer.base.shape import Shape, show
from clinfer.ops.operation import by_attributes
from clinfer.symbolic.dimensions import differ
from clinfer.symbolic.shape_inference import Values
from clinfer.topology import Primitive, SourceNode


@dataclass(frozen=True)
class BatchNormInference(Primitive):
    """(data - mean) / sqrt(variance + epsilon) * gamma + beta per channel (axis 1).

    Inputs: data [B, C, ...], gamma, beta, mean, variance [C]; all of one float type.
    """

    epsilon: float = 1e-5
    op_type: ClassVar[str] = "BatchNormInference"
    opset: ClassVar[str] = "opset5"

    def infer_shapes(self, shapes: tuple[Shape | None, ...], values: Values) -> tuple[Shape | None, ...]:
        data, *parameters = shapes
        if data is None or None in parameters:
            return (None,)
        if len(data) < 2 or any(shape is None or len(shape) != 1 or differ(shape[0], data[1]) for shape in parameters):
            raise ClinferError("gamma, beta, mean and variance need one value per channel", where=self.where, values={
                "data": show(data), "given": " ".join(map(show, parameters))})
        return (data,)


def convert_batch_norm(node: SourceNode) -> Primitive:
    """The primitive with its inputs in the order of version 5."""
    primitive = by_attributes(BatchNormInference)(node)
    assert isinstance(primitive, Primitive)
    if node.opset in ("opset1", "opset2", "opset3", "opset4"):
        gamma, beta, data, mean, variance = node.inputs
        return replace(primitive, inputs=(data, gamma, beta, mean, variance))
    return primitive
