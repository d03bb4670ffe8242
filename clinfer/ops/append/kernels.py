"""Kernels of Append: what comes first is copied, unless it lies there already, and what comes behind it."""
from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from clinfer.base.tensor_view import TensorView
from clinfer.kernels.contract import BufferRef, Formats, KernelTable, planar_formats
from clinfer.ops.append.op import Append
from clinfer.ops.shared.copying import CopyReference, CopyRows
from clinfer.ops.shared.parts import PartsProblem, in_result_order, places_in_turn, seen_input
from clinfer.ops.shared.view_copy import CopyProblem, ViewCopy


@dataclass(frozen=True)
class AppendProblem(PartsProblem, CopyProblem):
    """A part of a tensor, and what comes before it."""

    primitive: Append

    @property
    def formats(self) -> Formats:
        return planar_formats(self)

    @cached_property
    def copies(self) -> tuple[ViewCopy, ...]:
        before, data = places_in_turn(self.outputs[0], self.inputs[1], self.primitive.axis)
        return (ViewCopy(BufferRef("input", 1), BufferRef("output", 0), TensorView.of(self.inputs[1]), before),
                ViewCopy(BufferRef("input", 0), BufferRef("output", 0), seen_input(self, 0),
                         in_result_order(self, data)))


KERNELS = KernelTable((CopyRows("append"), CopyReference("append")), AppendProblem)
