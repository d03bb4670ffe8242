"""The softmax primitives (OpenVINO Softmax-8, LogSoftmax-5)."""
from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from clinfer.topology import Primitive


@dataclass(frozen=True)
class Softmax(Primitive):
    """exp(x - max) / sum(exp(x - max)) along `axis` (negative counts from the end)."""

    axis: int = 1
    op_type: ClassVar[str] = "Softmax"
    opset: ClassVar[str] = "opset8"


@dataclass(frozen=True)
class LogSoftmax(Primitive):
    """x - max - log(sum(exp(x - max))) along `axis`."""

    axis: int = 1
    op_type: ClassVar[str] = "LogSoftmax"
    opset: ClassVar[str] = "opset5"
