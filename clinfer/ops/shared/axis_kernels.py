"""Operations along some axes of input 0 (reductions, normalisations, softmax): their problem, and the kernels of which
each brings `<name>_rows.cl`, `<name>_columns.cl` and `<name>_ref.cl`.

Fast kernels see four merged axes: `rows` are [a, b, c, length] with a contiguous length, `columns` are
[a, b, length, inner] with a contiguous inner axis that stays. The reference sees the axes that stay first and those
worked along (the reduced ones) last.
"""
from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import ClassVar, TypeVar

from clinfer.base.format import Format
from clinfer.base.layout import Layout
from clinfer.base.shape import ANY, StaticShape
from clinfer.base.tensor_view import TensorView
from clinfer.kernels.contract import (
    Constant,
    Formats,
    Kernel,
    KernelTable,
    Lowered,
    Problem,
    Stage,
    Work,
    input_operand,
    output_operand,
)
from clinfer.kernels.cost import time_of
from clinfer.kernels.recipe import USUAL, with_sub_groups
from clinfer.ops.shared.copying import local_items
from clinfer.ops.shared.joint_axes import JointAxes, JointAxis, join_axes
from clinfer.ops.shared.reduction import Axes, normalized_axes, row_lanes, rows_constants, serial_time
from clinfer.ops.shared.targets import cpu_only
from clinfer.ops.shared.views import open_view, static
from clinfer.runtime.capabilities import Capabilities

C = TypeVar("C")
FourAxes = Sequence[JointAxis | None]

RANK = 4
_KEPT, _REDUCED = 0, 1


@dataclass(frozen=True)
class AxisProblem(Problem, ABC):
    """An operation along some axes of input 0; by default those in input 1, with an output of the input's shape."""

    floats_only: ClassVar[bool] = True
    """Whether it is computed for floats alone."""
    counts_elements: ClassVar[bool] = False
    """Whether fast kernels are told ARG_N, how many elements go into one result."""

    @cached_property
    def axes(self) -> Axes | None:
        """The axes, counted from the front and ascending; None while they are unknown."""
        return normalized_axes(self.values, 1, self.inputs[0].rank)

    @property
    @abstractmethod
    def constants(self) -> Mapping[str, Constant]:
        """The operation as macros of every kernel."""

    def beside_input(self, layout: Layout) -> TensorView:
        """Output 0, or what a fused operation reads, with the axes of input 0 (any pitch where the output has size
        1)."""
        return TensorView.of(layout)

    @cached_property
    def counts(self) -> tuple[int, int]:
        """How many elements go into one result, and how many results there are; open while sizes or axes are."""
        shape, axes = static(self.inputs[0].shape), self.axes
        if axes is None:
            return ANY, ANY  # type: ignore[return-value]
        return prod(shape[a] for a in axes), prod(size for a, size in enumerate(shape) if a not in axes)

    @cached_property
    def joint(self) -> JointAxes | None:
        """The axes of input 0, output 0 and what fused operations read, merged; None without elements, while sizes or
        axes are open, and where the blocks of the tensors differ."""
        if self.axes is None or not self.is_static or self.inputs[0].count == 0:
            return None
        data = TensorView.of(self.inputs[0])
        groups = tuple(_REDUCED if a in self.axes else _KEPT for a in range(data.rank))
        results = (self.beside_input(x).broadcast(data.sizes) for x in (self.outputs[0], *self.fused_inputs))
        return join_axes((data, *results), groups, cuts_unblocked=True)


class AxisKernel(Kernel[AxisProblem, C]):
    """What they share: formats, and that they apply fused operations. `operation` prefixes the names of kernels and
    files."""

    suffix: ClassVar[str]
    file: ClassVar[str]
    has_epilogue = True
    supports_large = True

    def __init__(self, operation: str) -> None:
        self.name = f"{operation}_{self.suffix}"
        self.source = f"{operation}_{self.file}.cl"

    def formats(self, problem: AxisProblem) -> Formats:
        """The data in its present format unless blocks lie along a reduced axis; equal ranks get the same."""
        data, *others = problem.inputs
        axes = problem.axes
        present = axes is not None and all(data.format.block_of(axis) == 1 for axis in axes)
        kept = data.format if present else Format.planar(data.rank)
        outputs = tuple(kept if x.rank == data.rank else Format.planar(x.rank) for x in problem.outputs)
        return Formats((kept, *(Format.planar(x.rank) for x in others)), outputs)

    def supports(self, problem: AxisProblem, config: C) -> str | None:
        is_float = problem.inputs[0].element_type.is_float
        return "made for floats" if problem.floats_only and not is_float else None


# -- rows and columns -------------------------------------------------------------------------------


class _Arranged(AxisKernel[None]):
    """A kernel that sees four merged axes."""

    @abstractmethod
    def arrange(self, joint: JointAxes) -> FourAxes | None:
        """The merged axes as the kernel's four, None for one of size 1; None where they do not fit."""

    @abstractmethod
    def work(self, problem: AxisProblem, sizes: StaticShape) -> tuple[Work, Mapping[str, Constant]]:
        """The work for four axes of these sizes, which may be open, and the macros that it depends on."""

    def accepts(self, problem: AxisProblem, config: None) -> str | None:
        fits = problem.joint is not None and self.arrange(problem.joint) is not None
        return None if fits else "the axes do not lie as the kernel reads them"

    def lower(self, problem: AxisProblem, config: None) -> Lowered:
        data, result, *fused_ops = four_views(problem, self.arrange)
        work, constants = self.work(problem, static(data.sizes))
        return Lowered((Stage(self.source, (input_operand(problem, 0, data), output_operand(problem, 0, result)),
                              work, {**problem.constants, **constants},
                              {"n": problem.counts[0]} if problem.counts_elements else {}, tuple(fused_ops),
                              recipe=with_sub_groups(problem.capabilities) if "LANES" in constants else USUAL),))


def four_views(problem: AxisProblem, arrange: Callable[[JointAxes], FourAxes | None]) -> tuple[TensorView, ...]:
    """Input 0, output 0 and what fused operations read under four axes; open views while shapes or axes are unknown."""
    kinds = [x.element_type for x in (problem.inputs[0], problem.outputs[0], *problem.fused_inputs)]
    joint = problem.joint
    axes = None if joint is None else arrange(joint)
    if joint is None or axes is None:
        return tuple(open_view(kind, RANK) for kind in kinds)
    return tuple(joint.view(i, kind, axes) for i, kind in enumerate(kinds))


class Rows(_Arranged):
    """One work-group per row."""

    suffix = file = "rows"
    efficiency = 0.6

    def arrange(self, joint: JointAxes) -> FourAxes | None:
        """[a, b, c, length]: at most three kept axes, then one contiguous reduced one."""
        groups = [axis.group for axis in joint.axes]
        if not groups or len(groups) > RANK or groups != [_KEPT] * (len(groups) - 1) + [_REDUCED]:
            return None
        data_pitch, result_pitch, *_ = joint.axes[-1].pitches
        # Reduced to one element, the result has pitch 0.
        if data_pitch != 1 or result_pitch not in (0, 1) or joint.covers_tails or not _is_vector(joint.axes[-1]):
            return None
        return (*(None,) * (RANK - len(groups)), *joint.axes)

    def work(self, problem: AxisProblem, sizes: StaticShape) -> tuple[Work, Mapping[str, Constant]]:
        a, b, c, _ = sizes
        lanes = row_lanes(problem)
        return Work((a * b * c * lanes,), (lanes,)), rows_constants(problem)


class Columns(_Arranged):
    """One work-item per column; the last group is not full."""

    suffix = file = "columns"
    efficiency = 0.2
    vector, group = 1, 32

    def arrange(self, joint: JointAxes) -> FourAxes | None:
        """See `column_axes`."""
        return column_axes(joint, self.vector)

    def work(self, problem: AxisProblem, sizes: StaticShape) -> tuple[Work, Mapping[str, Constant]]:
        a, b, _, inner = sizes
        width = -(-inner // (self.vector * self.group)) * self.group
        return Work((width, a * b), (self.group, 1)), {"VEC": self.vector}


class VectorColumns(Columns):
    """One work-item per 16 columns, of which there are a multiple."""

    suffix = "columns16"
    efficiency = 0.5
    vector, group = 16, 1

    def targets(self, device: Capabilities) -> str | None:
        return cpu_only(device)

    def supports(self, problem: AxisProblem, config: None) -> str | None:
        return None if problem.inputs[0].element_type.is_float else "made for floats"


def column_axes(joint: JointAxes, vector: int) -> FourAxes | None:
    """[a, b, length, inner]: one reduced axis before a contiguous kept one of whole vectors, and at most two before
    it."""
    groups = [axis.group for axis in joint.axes]
    if not 2 <= len(groups) <= RANK or groups != [_KEPT] * (len(groups) - 2) + [_REDUCED, _KEPT]:
        return None
    if joint.axes[-1].pitches[:2] != (1, 1) or _REDUCED in joint.tail_groups or not _is_vector(joint.axes[-1]):
        return None
    if joint.axes[-1].size % vector:
        return None
    return (*(None,) * (RANK - len(groups)), *joint.axes)


def _is_vector(axis: JointAxis) -> bool:
    """Whether what fused operations read can be loaded in vectors along an axis: neighbours, or one value for all."""
    return all(pitch in (0, 1) for pitch in axis.pitches[2:])


# -- reference --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class OpenAxes:
    """Whether the axes were unknown when the program was built: then every axis stands both in front and behind, and
    has size 1 in the part where it does not belong."""

    are_open: bool

    def __str__(self) -> str:
        return ""


class Reference(AxisKernel[OpenAxes]):
    """One work-item per result."""

    suffix = file = "ref"
    efficiency = 0.1

    def configs(self, problem: AxisProblem) -> tuple[OpenAxes, ...]:
        return (OpenAxes(problem.axes is None),)

    def cost(self, problem: AxisProblem, config: OpenAxes) -> float:
        # It waits for one element after the other.
        waiting = 0.0 if problem.axes is None else serial_time(problem, problem.counts[0])
        return waiting + time_of(problem.capabilities.ceilings, nbytes=problem.moved_bytes, bandwidth=self.efficiency)

    def lower(self, problem: AxisProblem, config: OpenAxes) -> Lowered:
        axes, rank = problem.axes, problem.inputs[0].rank
        result, *read = (problem.beside_input(x) for x in (problem.outputs[0], *problem.fused_inputs))
        fused_ops = read if axes is None else [view.broadcast(result.sizes) for view in read]
        data, result, *fused_ops = (_kept_first(view, axes, config.are_open)
                                for view in (TensorView.of(problem.inputs[0]), result, *fused_ops))
        # C knows no empty array: the list of sizes has one more entry.
        sizes = [*(f"INPUT0_SIZE_{a}" for a in range(data.rank)), "1"]
        constants: dict[str, Constant] = {
            "KEPT_RANK": rank if axes is None or config.are_open else rank - len(axes),
            "SIZES": "{" + ", ".join(sizes) + "}"}
        n, results = problem.counts
        return Lowered((Stage(self.source, (input_operand(problem, 0, data), output_operand(problem, 0, result)),
                              local_items(results), {**problem.constants, **constants}, {"n": n, "results": results},
                              tuple(fused_ops)),))


def _kept_first(view: TensorView, axes: Axes | None, are_open: bool) -> TensorView:
    """The view with the kept axes in front of the reduced ones, or under `OpenAxes`."""
    rank = view.rank
    if axes is None:
        return open_view(view.element_type, 2 * rank)
    if not are_open:
        return view.permute((*(a for a in range(rank) if a not in axes), *axes))
    kept = tuple(1 if a in axes else view.sizes[a] for a in range(rank))
    reduced = tuple(view.sizes[a] if a in axes else 1 for a in range(rank))
    pitches = tuple(p if p or s != 1 else 1 for p, s in zip(view.pitches * 2, kept + reduced, strict=True))
    return TensorView(view.element_type, kept + reduced, pitches, view.offset, view.blocks * 2)


def axis_kernels(operation: str, problem: type[AxisProblem]) -> KernelTable:
    """The kernel table of an operation."""
    return KernelTable((Rows(operation), VectorColumns(operation), Columns(operation), Reference(operation)), problem)
