"""Kernels of Softmax and LogSoftmax."""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from clinfer.kernels.contract import Constant
from clinfer.ops.shared.axis_kernels import AxisProblem, axis_kernels
from clinfer.ops.shared.reduction import Axes
from clinfer.ops.softmax.op import LogSoftmax, Softmax


@dataclass(frozen=True)
class SoftmaxProblem(AxisProblem):
    """Rows along one axis, which the primitive names."""

    primitive: Softmax | LogSoftmax

    @cached_property
    def axes(self) -> Axes:
        """The axis."""
        return (self.primitive.axis % max(self.inputs[0].rank, 1),)

    @property
    def constants(self) -> Mapping[str, Constant]:
        """Which of the two it is."""
        return {"IS_LOG": isinstance(self.primitive, LogSoftmax)}


KERNELS = axis_kernels("softmax", SoftmaxProblem)
"""Softmax and LogSoftmax along one axis."""
