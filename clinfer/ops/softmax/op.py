"""The softmax primitives (OpenVINO Softmax-8, LogSoftmax-5)."""
from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from clinfer.base.shape import Shape
from clinfer.symbolic.shape_inference import Values
from clinfer.topology import Primitive


@dataclass(frozen=True)
class _AlongAxis(Primitive):
    """One row after the other along `axis`; the output is as large as the input."""

    axis: int = 1

    @property
    def takes_fused_ops(self) -> bool:
        return True

    @property
    def is_heavy(self) -> bool:
        return True

    def infer_shapes(self, shapes: tuple[Shape | None, ...], values: Values) -> tuple[Shape | None, ...] | None:
        rank = 0 if shapes[0] is None else len(shapes[0])
        return (shapes[0],) if -rank <= self.axis < rank else None


@dataclass(frozen=True)
class Softmax(_AlongAxis):
    """exp(x - max) / sum(exp(x - max)) along `axis` (negative counts from the end)."""

    op_type: ClassVar[str] = "Softmax"
    opset: ClassVar[str] = "opset8"


@dataclass(frozen=True)
class LogSoftmax(_AlongAxis):
    """x - max - log(sum(exp(x - max))) along `axis`."""

    op_type: ClassVar[str] = "LogSoftmax"
    opset: ClassVar[str] = "opset5"
