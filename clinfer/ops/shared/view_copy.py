"""One copy of a primitive: from a view of an input into a view of an output; and raw views, of storage units."""
from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

from clinfer.base.element_type import ElementType
from clinfer.base.tensor_view import TensorView
from clinfer.kernels.spec import BufferRef, KernelParams, Move, Operand
from clinfer.ops.shared.joint_axes import JointAxes, join_axes
from clinfer.ops.shared.views import is_static_view

PACKAGE = "clinfer.ops.shared"


@dataclass(frozen=True)
class ViewCopy:
    """Views of equal sizes of one input and one output.

    While shapes or values are unknown the views are open, but have their rank and blocks.
    `owns_tails`: elements that fill up the output's last block may be overwritten. `read`: what the primitive's fused
    tails read, stretched to these sizes.
    """

    input: BufferRef
    output: BufferRef
    source: TensorView
    target: TensorView
    owns_tails: bool = True
    read: tuple[TensorView, ...] = ()

    @property
    def views(self) -> tuple[TensorView, ...]:
        """The views of input and output, then of what tails read."""
        return self.source, self.target, *self.read

    @cached_property
    def is_static(self) -> bool:
        """Whether every number of the views is known."""
        return all(map(is_static_view, self.views))

    @cached_property
    def count(self) -> int:
        """The number of elements of a static copy."""
        return math.prod(self.target.sizes)  # type: ignore[arg-type]

    @cached_property
    def joint(self) -> JointAxes | None:
        """The merged axes of the views of a static copy (view 0: input, 1: output); None where blocks prevent it."""
        joint = join_axes(self.views, None, 1)
        return None if joint is None or (joint.covers_tails and not self.owns_tails) else joint

    @property
    def move(self) -> Move:
        """What the copy moves."""
        joint = self.joint if self.is_static and self.count else None
        return Move(self.input.index, self.output.index,
                    None if joint is None else run_of(joint, storage_type(self.target.element_type)))

    def operands(self, source: TensorView, target: TensorView, is_raw: bool = True) -> tuple[Operand, ...]:
        """INPUT0 and OUTPUT0 under the given views, as storage units or as elements of their types."""
        if is_raw:
            source, target = raw_view(source), raw_view(target)
        return Operand("INPUT0", self.input, source), Operand("OUTPUT0", self.output, target)


CopyOf = Callable[[KernelParams, int], ViewCopy]


def run_of(joint: JointAxes, element_type: ElementType) -> tuple[int, int, int] | None:
    """The run of a `Move` between two views, if that is what their joint axes are."""
    if len(joint.axes) > 1 or any(axis.pitches != (1, 1) for axis in joint.axes):
        return None
    width, (source, target) = element_type.byte_size(1), joint.offsets
    return source * width, target * width, (joint.axes[0].size if joint.axes else 1) * width


def raw_view(view: TensorView) -> TensorView:
    """The view, with elements as storage units."""
    return replace(view, element_type=storage_type(view.element_type))


def whole_bytes(params: KernelParams) -> str | None:
    """Kernels that copy storage units want elements that do not share a byte."""
    kind = params.outputs[0].element_type
    return f"two elements of {kind} share a byte" if kind.is_packed else None


def storage_type(element_type: ElementType) -> ElementType:
    """The unsigned integer of the element's size."""
    return ElementType.of(f"u{element_type.bits}")
