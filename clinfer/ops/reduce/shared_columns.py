"""Reductions of columns that work-groups share, for GPUs: where one work-item per column leaves most of them idle."""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from clinfer.base.layout import Layout
from clinfer.base.tensor_view import TensorView
from clinfer.kernels.contract import (
    Constant,
    Lowered,
    Operand,
    Stage,
    Work,
    input_operand,
    output_operand,
    scratch_operand,
)
from clinfer.kernels.cost import time_of
from clinfer.kernels.recipe import ALIGNED, USUAL
from clinfer.ops.shared.axis_kernels import AxisKernel, AxisProblem, Columns, FourAxes, column_axes, four_views
from clinfer.ops.shared.joint_axes import JointAxes
from clinfer.ops.shared.reduction import serial_time
from clinfer.ops.shared.views import static

_ITEMS = 256
"""Work-items of a group."""
_COLUMNS = 32
"""Columns of a group."""
_DEEP = 4
"""Elements of a column that each work-item of a slice combines: as many as it loads at a time."""
_MOST_SLICES = 1024
"""From about so many on slices grow, so that not many more results are left to combine."""
_STEP = 40.0
"""Nanoseconds by which a group takes longer for each round of elements, of which `_DEEP` are loaded at a time."""


@dataclass(frozen=True)
class Shares:
    """`vector`: the columns of a work-item; `is_sliced`: several groups share columns, and a second stage combines what
    they leave."""

    vector: int
    is_sliced: bool

    def __str__(self) -> str:
        return f"{self.vector}{'_sliced' * self.is_sliced}"

    @property
    def depth(self) -> int:
        """The work-items of a group that share a column."""
        return _ITEMS * self.vector // _COLUMNS

    def rows(self, length: int) -> int:
        """The elements of each column that a group combines, of so many in all, a multiple of the depth."""
        return self.depth * (_DEEP + length // (self.depth * _MOST_SLICES)) if self.is_sliced else length

    def slices(self, length: int) -> int:
        """How many groups share a column of that length."""
        return -(-length // self.rows(length)) if self.is_sliced else 1


class ColumnsAlone(Columns):
    """One work-item per column, which waits for one element after the other on GPUs."""

    def cost(self, problem: AxisProblem, config: None) -> float:
        is_hidden = problem.runs_on_cpu or problem.axes is None
        return (0.0 if is_hidden else serial_time(problem, problem.counts[0])) + super().cost(problem, config)


class SharedColumns(AxisKernel[Shares]):
    """Groups of `_ITEMS` work-items, each of which takes `_COLUMNS` columns or a slice of them."""

    suffix = file = "columns_shared"
    efficiency = 0.6

    def configs(self, problem: AxisProblem) -> tuple[Shares, ...]:
        return tuple(Shares(vector, is_sliced) for vector in _vectors(problem.inputs[0]) for is_sliced in (False, True))

    def supports(self, problem: AxisProblem, config: Shares) -> str | None:
        kind, device = problem.inputs[0].element_type, problem.capabilities
        nbytes = _ITEMS * config.vector * max(kind.bits // 8, 4)
        if device.max_work_group_size < _ITEMS or device.usable_local_mem < nbytes:
            return f"needs work-groups of {_ITEMS} with {nbytes} bytes"
        return super().supports(problem, config)

    def accepts(self, problem: AxisProblem, config: Shares) -> str | None:
        fits = problem.joint is not None and _arrange(problem.joint, config.vector) is not None
        return None if fits else "the axes do not lie as the kernel reads them"

    def cost(self, problem: AxisProblem, config: Shares) -> float:
        length, ceilings = problem.counts[0], problem.capabilities.ceilings
        if problem.runs_on_cpu or problem.axes is None:
            return time_of(ceilings, nbytes=problem.moved_bytes, bandwidth=0.05, launches=1 + config.is_sliced)
        # What is no whole round of the work-items is waited for like one.
        rounds = -(-config.rows(length) // config.depth)
        idle = rounds * config.depth * config.slices(length) / length
        waiting = rounds + (-(-config.slices(length) // config.depth) if config.is_sliced else 0)
        return waiting * _STEP + time_of(ceilings, nbytes=problem.moved_bytes, bandwidth=self.efficiency / idle,
                                         launches=1 + config.is_sliced)

    def lower(self, problem: AxisProblem, config: Shares) -> Lowered:
        data, result, *fused_ops = four_views(problem, partial(_arrange, vector=config.vector))
        a, b, length, inner = static(data.sizes)
        output = output_operand(problem, 0, result)
        constants: dict[str, Constant] = {**problem.constants, "VEC": config.vector, "DEPTH": config.depth,
                                          "WIDTH": _ITEMS // config.depth}
        width = -(-inner // _COLUMNS) * _ITEMS
        if not config.is_sliced:
            return Lowered((self._stage(problem, input_operand(problem, 0, data), output, (width, a * b, 1), length,
                                        constants, tuple(fused_ops)),))
        kind = data.element_type.arithmetic
        slices = config.slices(length)
        left = scratch_operand(0, TensorView.dense(kind, (a, b, slices, inner)))
        leave = self._stage(problem, input_operand(problem, 0, data), Operand("OUTPUT0", left.buffer, left.view),
                            (width, a * b, slices), config.rows(length), {**constants, "FINISH(x)": "(x)"}, None)
        combine = self._stage(problem, Operand("INPUT0", left.buffer, left.view), output, (width, a * b, 1), slices,
                              {**constants, "VALUE(x)": "(x)"}, tuple(fused_ops))
        return Lowered((leave, combine), (kind.byte_size(a * b * slices * inner),))

    def _stage(self, problem: AxisProblem, source: Operand, target: Operand, work: tuple[int, int, int], rows: int,
               constants: Mapping[str, Constant], fused_ops: tuple[TensorView, ...] | None) -> Stage:
        recipe = USUAL if constants["VEC"] == 1 else ALIGNED
        return Stage(self.source, (source, target), Work(work, (_ITEMS, 1, 1)), constants,
                     {"n": problem.counts[0], "rows": rows}, fused_ops, recipe=recipe)


def _arrange(joint: JointAxes, vector: int) -> FourAxes | None:
    """The axes of columns; None as well where not every vector starts at a multiple of its length."""
    axes = column_axes(joint, vector)
    vectors = (n for n in range(len(joint.offsets)) if axes is not None and joint.axes[-1].pitches[n] == 1)
    starts = (start for n in vectors for start in (joint.offsets[n], *(axis.pitches[n] for axis in joint.axes[:-1])))
    return None if vector > 1 and any(start % vector for start in starts) else axes


def _vectors(data: Layout) -> tuple[int, ...]:
    """The columns that a work-item may take, which are neighbours: one alone only where vectors may not fit."""
    order, blocks = data.format.order_of(data.rank), data.format.block_axes
    last = blocks[-1][1] if blocks else data.shape[order[-1]] if order else 1
    if not data.element_type.is_float:
        return (1,)
    return (4,) if isinstance(last, int) and last % 4 == 0 else (4, 1)
