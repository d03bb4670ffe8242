"""Kernels that copy one strided view into another: what transposing, slicing, splitting and joining are.

An operation describes its copies as pairs of views (`CopyProblem`); the kernels work on storage units, so that all
element types of one size share a build, and on merged axes, so that all ranks do. How reference kernels of any
operation share out their elements is here as well.
"""
from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar

from clinfer.base.element_type import ElementType
from clinfer.base.shape import Size
from clinfer.base.tensor_view import TensorView
from clinfer.kernels.contract import Constant, Problem, Stage, Work
from clinfer.kernels.cost import time_of
from clinfer.ops.shared.joint_axes import JointAxes, JointAxis
from clinfer.ops.shared.targets import cpu_only
from clinfer.ops.shared.view_copy import CopyKernel, CopyProblem, ViewCopy, copy_stage
from clinfer.ops.shared.views import at_least_one_axis, open_view, static
from clinfer.runtime.capabilities import Capabilities

LOCAL_SIZE = 64
TILE = 16
ROW_START = 52
"""To begin a row takes as long as to copy so many of its elements: rows of less than 8 are faster one by one."""
_PIECE_BITS = 128
_TURNED_BYTES = 32 * 33 * 8
"""Of local memory, for the largest elements."""


# -- shares of elements -----------------------------------------------------------------------------


def local_items(count: int, local_size: int = LOCAL_SIZE) -> Work:
    """A one-dimensional launch of at least `count` items in whole work-groups."""
    return Work((-(-count // local_size) * local_size,), (local_size,))


def span_constants(problem: Problem) -> dict[str, Constant]:
    """How reference kernels share out the last axis: on a CPU, work-items take whole runs of it."""
    span, local_size = _span_and_local_size(problem)
    return {"SPAN": span, "LOCAL": local_size}


def span_dispatch(problem: Problem, sizes: Sequence[Size]) -> Work:
    """One work-item per run of the last axis (see `span_constants`); nothing for no elements."""
    span, local_size = _span_and_local_size(problem)
    *outer, length = static(tuple(sizes))
    return local_items(math.prod(outer) * -(-length // span), local_size)


def _span_and_local_size(problem: Problem) -> tuple[int, int]:
    return (LOCAL_SIZE, 1) if problem.runs_on_cpu else (1, LOCAL_SIZE)


def piece_of(element_type: ElementType) -> int:
    """The elements that a work-item of a GPU copies at once: 16 bytes, and at least four."""
    return max(_PIECE_BITS // element_type.bits, 4)


# -- kernels ----------------------------------------------------------------------------------------


class CopyReference(CopyKernel):
    """Every copy, element by element."""

    variant = "ref"
    supports_large = True
    efficiency = 0.1

    def accepts(self, problem: CopyProblem, config: None) -> str | None:
        return None

    def stage(self, problem: CopyProblem, copy: ViewCopy) -> Stage:
        return element_stage(problem, copy)


def element_stage(problem: Problem, copy: ViewCopy) -> Stage:
    """What makes any copy, element by element."""
    views = tuple(map(at_least_one_axis, copy.views))
    return copy_stage(problem, copy, "copy_ref.cl", views, span_dispatch(problem, views[1].sizes),
                      span_constants(problem))


class _ArrangedCopy(CopyKernel):
    """Copies under as many axes as `rank` says."""

    rank: ClassVar[int]

    @abstractmethod
    def arrange(self, joint: JointAxes) -> Sequence[JointAxis | None] | None:
        """The axes of a copy as so many (None: an axis of size 1), or None where it has others."""

    def views(self, copy: ViewCopy) -> tuple[TensorView, ...]:
        """The views of a copy under these axes; open ones where it has others, or while shapes or values are
        unknown."""
        kinds = [view.element_type for view in copy.views]
        if copy.is_static and copy.count == 0:
            return tuple(TensorView.dense(kind, (0,) * self.rank) for kind in kinds)
        joint = copy.joint if copy.is_static else None
        axes = None if joint is None else self.arrange(joint)
        if joint is None or axes is None:
            return tuple(open_view(kind, self.rank) for kind in kinds)
        return tuple(joint.view(i, kind, axes) for i, kind in enumerate(kinds))


class CopyRows(_ArrangedCopy):
    """Runs that are contiguous on both sides."""

    variant = "rows"
    supports_large = True
    efficiency = 0.8
    rank = 5

    def arrange(self, joint: JointAxes) -> Sequence[JointAxis | None] | None:
        """The last axis is contiguous on both sides; fused operations read neighbours there, or one value."""
        if not joint.axes or len(joint.axes) > self.rank or joint.axes[-1].pitches[:2] != (1, 1):
            return None
        if any(pitch not in (0, 1) for pitch in joint.axes[-1].pitches[2:]):
            return None
        return (*(None,) * (self.rank - len(joint.axes)), *joint.axes)

    def why_not(self, copy: ViewCopy) -> str | None:
        if copy.count == 0 or (copy.joint is not None and self.arrange(copy.joint) is not None):
            return None
        return "no axis is contiguous in both input and output"

    def lost_bytes(self, copy: ViewCopy) -> int:
        joint = copy.joint if copy.is_static else None
        rows = math.prod(axis.size for axis in joint.axes[:-1]) if joint else 0
        return rows * copy.target.element_type.byte_size(2 * ROW_START)

    def stage(self, problem: CopyProblem, copy: ViewCopy) -> Stage:
        vector, span = (16, 256) if problem.runs_on_cpu else (4, 4)
        views = self.views(copy)
        *outer, length = static(views[1].sizes)
        return copy_stage(problem, copy, "copy_rows.cl", views, Work((-(-length // span), math.prod(outer))),
                          {"VEC": vector, "SPAN": span})


class CopyStrided(_ArrangedCopy):
    """Runs along an axis that is contiguous on one side or on none, where the innermost axes are short: pairs that are
    joined or parted, pixels that are shuffled."""

    variant = "strided"
    supports_large = True
    efficiency = 0.15
    rank = 5
    shortest, rows, span = 16, 8, 256

    def targets(self, device: Capabilities) -> str | None:
        return cpu_only(device)

    def arrange(self, joint: JointAxes) -> Sequence[JointAxis | None] | None:
        """The last axis is the innermost one that is long, the others keep their order."""
        long = [axis for axis in joint.axes if axis.size >= self.shortest]
        if not long or len(joint.axes) > self.rank:
            return None
        return (*(None,) * (self.rank - len(joint.axes)), *(axis for axis in joint.axes if axis is not long[-1]),
                long[-1])

    def why_not(self, copy: ViewCopy) -> str | None:
        if copy.count == 0 or (copy.joint is not None and self.arrange(copy.joint) is not None):
            return None
        return "no axis is long, or there are too many"

    def stage(self, problem: CopyProblem, copy: ViewCopy) -> Stage:
        views = self.views(copy)
        *outer, rows, length = static(views[1].sizes)
        work = Work((-(-length // self.span), -(-rows // self.rows) * math.prod(outer)))
        return copy_stage(problem, copy, "copy_strided.cl", views, work, {"SPAN": self.span, "ROWS": self.rows})


class CopyTiles(_ArrangedCopy):
    """Between memories of different innermost axes."""

    variant = "tiles"
    supports_large = True
    rank = 4
    on_cpu, on_gpu = 0.5, 0.05

    def cost(self, problem: CopyProblem, config: None) -> float:
        return time_of(problem.capabilities.ceilings, nbytes=problem.moved_bytes, launches=len(problem.copies),
                       bandwidth=self.on_cpu if problem.runs_on_cpu else self.on_gpu)

    def arrange(self, joint: JointAxes) -> Sequence[JointAxis | None] | None:
        """The third axis is contiguous in the input, the fourth in the output; fused operations read neighbours along
        the fourth, or one value."""
        if not 2 <= len(joint.axes) <= self.rank or joint.axes[-1].pitches[1] != 1:
            return None
        last = joint.axes[-1]
        if any(pitch not in (0, 1) for pitch in last.pitches[2:]):
            return None
        runs = [axis for axis in joint.axes[:-1] if axis.pitches[0] == 1]
        if len(runs) != 1:
            return None
        others = [axis for axis in joint.axes[:-1] if axis is not runs[0]]
        return (*(None,) * (self.rank - 2 - len(others)), *others, runs[0], last)

    def why_not(self, copy: ViewCopy) -> str | None:
        if copy.count == 0 or (copy.joint is not None and self.arrange(copy.joint) is not None):
            return None
        return "input and output are not transposed"

    def stage(self, problem: CopyProblem, copy: ViewCopy) -> Stage:
        views = self.views(copy)
        size0, size1, size2, size3 = static(views[1].sizes)
        work = Work((-(-size3 // TILE), -(-size2 // TILE), size0 * size1))
        return copy_stage(problem, copy, "copy_tiles.cl", views, work, {"TILE": TILE})


class CopyTurned(CopyTiles):
    """The same by way of local memory."""

    variant = "turned"
    on_cpu, on_gpu = 0.05, 0.7
    side, rows = 32, 8

    def supports(self, problem: Problem, config: None) -> str | None:
        device = problem.capabilities
        fits = device.max_work_group_size >= self.side * self.rows and device.usable_local_mem >= _TURNED_BYTES
        return None if fits else f"needs work-groups of {self.side * self.rows} with {_TURNED_BYTES} bytes"

    def stage(self, problem: Problem, copy: ViewCopy) -> Stage:
        views = self.views(copy)
        size0, size1, size2, size3 = static(views[1].sizes)
        tiles = -(-size3 // self.side) * -(-size2 // self.side) * size0 * size1
        work = Work((tiles * self.side, self.rows), (self.side, self.rows))
        return copy_stage(problem, copy, "copy_turned.cl", views, work, {"TILE": self.side, "ROWS": self.rows})
