"""The BatchNormInference primitive (OpenVINO BatchNormInference-5; version 1 has its inputs reordered)."""
from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from clinfer.base.shape import Shape
from clinfer.base.shape_inference import OpSignature, Values
from clinfer.ops.operation import by_attributes
from clinfer.topology import Primitive, SourceNode


@dataclass(frozen=True)
class BatchNormInference(Primitive):
    """(data - mean) / sqrt(variance + epsilon) * gamma + beta per channel (axis 1).

    Inputs: data [B, C, ...], gamma, beta, mean, variance [C]; all of one float type.
    """

    epsilon: float = 1e-5
    op_type: ClassVar[str] = "BatchNormInference"
    opset: ClassVar[str] = "opset5"

    def signature(self) -> OpSignature | None:
        return None

    def infer_shapes(self, shapes: tuple[Shape | None, ...], values: Values) -> tuple[Shape | None, ...]:
        return (shapes[0],)


def convert_batch_norm(node: SourceNode) -> Primitive:
    """The primitive with its inputs in the order of version 5."""
    primitive = by_attributes(BatchNormInference)(node)
    assert isinstance(primitive, Primitive)
    if node.opset in ("opset1", "opset2", "opset3", "opset4"):
        gamma, beta, data, mean, variance = node.inputs
        return replace(primitive, inputs=(data, gamma, beta, mean, variance))
    return primitive
