"""Primitives that consist of copies, from a view of an input into a view of an output; raw views, of storage units."""
from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

from clinfer.base.element_type import ElementType
from clinfer.base.tensor_view import TensorView
from clinfer.kernels.contract import (
    BufferRef,
    Constant,
    Formats,
    Kernel,
    Lowered,
    Move,
    Operand,
    Problem,
    Stage,
    Work,
    planar_formats,
    stretched_epilogue,
)
from clinfer.kernels.cost import time_of
from clinfer.ops.shared.data_formats import data_formats
from clinfer.ops.shared.joint_axes import JointAxes, join_axes
from clinfer.ops.shared.views import Index, Indexing, can_cut_blocks, index_view, is_static_view, open_view

PACKAGE = "clinfer.ops.shared"


@dataclass(frozen=True)
class ViewCopy:
    """Views of equal sizes of one input and one output.

    While shapes or values are unknown the views are open, but have their rank and blocks.
    `owns_tails`: elements that fill up the output's last block may be overwritten. `read`: what the primitive's fused
    fused operations read, stretched to these sizes.
    """

    input: BufferRef
    output: BufferRef
    source: TensorView
    target: TensorView
    owns_tails: bool = True
    read: tuple[TensorView, ...] = ()

    @property
    def views(self) -> tuple[TensorView, ...]:
        """The views of input and output, then of what fused operations read."""
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


@dataclass(frozen=True)
class CopyProblem(Problem, ABC):
    """A primitive that consists of copies."""

    @property
    @abstractmethod
    def formats(self) -> Formats:
        """The formats in which its tensors can be copied."""

    @cached_property
    @abstractmethod
    def copies(self) -> tuple[ViewCopy, ...]:
        """All of its copies; their number is known while shapes and values are not."""

    @cached_property
    def moved_bytes(self) -> int:
        """The bytes that all copies read and write; while they are unknown, as if they filled the outputs."""
        fused_ops = sum(x.byte_size for x in self.fused_inputs)
        if all(copy.is_static for copy in self.copies):
            return fused_ops + sum(copy.target.element_type.byte_size(2 * copy.count) for copy in self.copies)
        return fused_ops + 2 * sum(x.byte_size for x in self.outputs)

    def copy_to_output(self, source: TensorView | None) -> ViewCopy:
        """The copy of a view of input 0 into all of output 0; None: which it is is not known yet."""
        data, result = self.inputs[0], self.outputs[0]
        return ViewCopy(BufferRef("input", 0), BufferRef("output", 0),
                        source or open_view(data.element_type, result.rank), TensorView.of(result),
                        read=stretched_epilogue(self))


@dataclass(frozen=True)
class IndexProblem(CopyProblem):
    """What NumPy's basic indexing selects of input 0."""

    primitive: Indexing

    @cached_property
    def index(self) -> Index | None:
        """What is selected; None while it is unknown."""
        return self.primitive.index_of(self.values, self.inputs[0].rank)

    @property
    def formats(self) -> Formats:
        """The data in its present format where that can be cut, in and out; everything else planar."""
        data = self.inputs[0]
        if self.index is None or not all(isinstance(entry, slice) for entry in self.index) or not can_cut_blocks(
                data, self.index):
            return planar_formats(self)
        return data_formats(self, data.format, data.format)

    @cached_property
    def copies(self) -> tuple[ViewCopy, ...]:
        index, data = self.index, TensorView.of(self.inputs[0])
        return (self.copy_to_output(None if index is None else index_view(data, index)),)


class CopyKernel(Kernel[CopyProblem, None], ABC):
    """Copies one by one; `<operation>_<variant>` is its name.

    `has_epilogue`: for operations of one copy, `CopyProblem.copy_to_output`.
    """

    variant: ClassVar[str]

    def __init__(self, operation: str, has_epilogue: bool = False) -> None:
        self.name = f"{operation}_{self.variant}"
        self.has_epilogue = has_epilogue

    def formats(self, problem: CopyProblem) -> Formats:
        return problem.formats

    def accepts(self, problem: CopyProblem, config: None) -> str | None:
        if not problem.is_decided:
            return "not every copy is of this kind"
        return next(filter(None, map(self.why_not, problem.copies)), None)

    def cost(self, problem: CopyProblem, config: None) -> float:
        nbytes = problem.moved_bytes + sum(map(self.lost_bytes, problem.copies))
        return time_of(problem.capabilities.ceilings, nbytes=nbytes, bandwidth=self.efficiency,
                       launches=len(problem.copies))

    def lower(self, problem: CopyProblem, config: None) -> Lowered:
        return Lowered(tuple(self.stage(problem, copy) for copy in problem.copies))

    def why_not(self, copy: ViewCopy) -> str | None:
        """Why it cannot make a static copy, or None."""
        return None

    def lost_bytes(self, copy: ViewCopy) -> int:
        """The bytes that could be moved in the time in which a copy moves none."""
        return 0

    @abstractmethod
    def stage(self, problem: CopyProblem, copy: ViewCopy) -> Stage:
        """What makes one copy."""


def copy_stage(problem: Problem, copy: ViewCopy, source: str, views: tuple[TensorView, ...], work: Work,
               constants: Mapping[str, Constant]) -> Stage:
    """The stage of a copy under the views that a shared kernel has of its `views`."""
    # Without fused operations, elements are storage units, and all operations share one build.
    has_epilogue = bool(problem.primitive.fused_ops)
    return Stage(source, copy.operands(views[0], views[1], is_raw=not has_epilogue), work, constants,
                 epilogue_views=views[2:] if has_epilogue else None, moves=() if has_epilogue else (copy.move,),
                 package=PACKAGE)


def run_of(joint: JointAxes, element_type: ElementType) -> tuple[int, int, int] | None:
    """The run of a `Move` between two views, if that is what their joint axes are."""
    if len(joint.axes) > 1 or any(axis.pitches != (1, 1) for axis in joint.axes):
        return None
    width, (source, target) = element_type.byte_size(1), joint.offsets
    return source * width, target * width, (joint.axes[0].size if joint.axes else 1) * width


def raw_view(view: TensorView) -> TensorView:
    """The view, with elements as storage units."""
    return replace(view, element_type=storage_type(view.element_type))


def storage_type(element_type: ElementType) -> ElementType:
    """The unsigned integer of the element's size."""
    return ElementType.of(f"u{element_type.bits}")
