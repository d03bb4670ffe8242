"""Kernels of Concat: each input is copied into its part of the output."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod

from clinfer.base.format import Format
from clinfer.base.shape import Size
from clinfer.base.tensor_view import Pitch, TensorView
from clinfer.kernels.contract import BufferRef, Constant, Formats, Kernel, KernelTable, Lowered, Operand, Stage
from clinfer.kernels.cost import time_of
from clinfer.ops.concat.op import Concat
from clinfer.ops.shared.block_copying import CopyBlocks
from clinfer.ops.shared.copying import CopyReference, CopyRows, CopyStrided, local_items, piece_of
from clinfer.ops.shared.view_copy import CopyProblem, ViewCopy, storage_type
from clinfer.ops.shared.views import Index, along_axis_in_turn, index_view, open_view, static

MOST_JOINED = 16
"""How many inputs a kernel takes."""
_COUNTS = (2, 4, 8, MOST_JOINED)
"""Of as many inputs there are builds."""
_LOST_ON_CPU = 1e5
"""Nanoseconds by input, more than any launch takes: CPUs copy one by one."""


@dataclass(frozen=True)
class ConcatProblem(CopyProblem):
    """Tensors one behind the other."""

    primitive: Concat

    @property
    def formats(self) -> Formats:
        """The first input's format for all, unless blocks lie along an axis whose lengths are unknown."""
        first = self.inputs[0]
        present = first.format.block_of(self._axis) == 1 or self._places[-1] is not None
        kept = first.format if present else Format.planar(first.rank)
        return Formats((kept,) * len(self.inputs), (kept,))

    @cached_property
    def copies(self) -> tuple[ViewCopy, ...]:
        last = len(self.inputs) - 1
        return tuple(ViewCopy(BufferRef("input", n), BufferRef("output", 0), TensorView.of(data), self._target(place),
                              owns_tails=self._axis != 1 or n == last)
                     for n, (data, place) in enumerate(zip(self.inputs, self._places, strict=True)))

    def _target(self, place: Index | None) -> TensorView:
        result = self.outputs[0]
        if place is None and not any(result.format.block_of(a) > 1 for a in range(result.rank)):
            return open_view(result.element_type, result.rank)
        return index_view(TensorView.of(result), place or (slice(None),) * result.rank)

    @property
    def _axis(self) -> int:
        return self.primitive.axis % self.outputs[0].rank

    @cached_property
    def _places(self) -> tuple[Index | None, ...]:
        """The place of each input in the output."""
        return along_axis_in_turn(self.outputs[0].rank, self._axis, [x.shape[self._axis] for x in self.inputs])

    @cached_property
    def rows(self) -> Size:
        """How many rows the output has, of elements that lie along the axis or within it."""
        before, _ = self._around_axis
        return prod(self._outer_size(a, self.outputs[0].shape[a]) for a in before)

    @cached_property
    def lengths(self) -> tuple[Size, ...]:
        """How many contiguous elements of each input go into each row, where blocks do not lie along the axis."""
        _, behind = self._around_axis
        inner = prod(self._outer_size(a, self.outputs[0].shape[a]) for a in behind)
        inner *= prod(size for _, size in self.outputs[0].format.block_axes)
        return tuple(inner * static(x.shape)[self._axis] for x in self.inputs)

    @property
    def why_no_rows(self) -> str | None:
        """None, or why no `rows` of `lengths` are what is copied."""
        if any(x.padding for x in (*self.inputs, *self.outputs)):
            return "a tensor is padded"
        return "blocks lie along the axis" if self.outputs[0].format.block_of(self._axis) > 1 else None

    @property
    def _around_axis(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The axes that lie outside of the one that is joined along, and within it."""
        order = self.outputs[0].format.order_of(self.outputs[0].rank)
        place = order.index(self._axis)
        return order[:place], order[place + 1:]

    def _outer_size(self, axis: int, size: Size) -> int:
        return -(-size // self.outputs[0].format.block_of(axis))


class CopyJoined(Kernel[ConcatProblem, None]):
    """Up to `MOST_JOINED` inputs by one launch: for GPUs, where launches count."""

    name = "concat_joined"
    efficiency = 0.8

    def formats(self, problem: ConcatProblem) -> Formats:
        return problem.formats

    def supports(self, problem: ConcatProblem, config: None) -> str | None:
        return "there is one input" if len(problem.inputs) == 1 else problem.why_no_rows

    def cost(self, problem: ConcatProblem, config: None) -> float:
        # Rests of rows take as long as whole pieces. On CPUs work-items of a piece do too little.
        pieces = static((problem.rows,))[0] * _pieces(problem, problem.lengths)
        copied = problem.outputs[0].element_type.byte_size(2 * pieces * piece_of(problem.outputs[0].element_type))
        loss, share = (_LOST_ON_CPU * len(problem.inputs), 0.05) if problem.runs_on_cpu else (0.0, self.efficiency)
        return loss + time_of(problem.capabilities.ceilings, nbytes=copied, bandwidth=share,
                              launches=len(_groups(len(problem.inputs))))

    def lower(self, problem: ConcatProblem, config: None) -> Lowered:
        return Lowered(tuple(_stage(problem, group) for group in _groups(len(problem.inputs))))


def _groups(count: int) -> tuple[range, ...]:
    """The inputs of each launch."""
    return tuple(range(begin, min(begin + MOST_JOINED, count)) for begin in range(0, count, MOST_JOINED))


def _stage(problem: ConcatProblem, group: range) -> Stage:
    """What copies the inputs of these numbers. So that few builds serve any number, there may be others of no length
    behind them."""
    kind = storage_type(problem.outputs[0].element_type)
    rows, lengths = problem.rows, [problem.lengths[n] for n in group]
    before, pitch = (sum(static(problem.lengths[:end])) for end in (group.start, None))
    target = TensorView(kind, (rows, sum(static(tuple(lengths)))), (_known(pitch), 1), _known(before), (None, None))
    asked = next(n for n in _COUNTS if n >= len(group))
    operands = [Operand(f"INPUT{place}", BufferRef("input", n), TensorView.dense(kind, (length,)))
                for place, (n, length) in enumerate(zip(group, lengths, strict=True))]
    operands += [Operand(f"INPUT{place}", BufferRef("input", group.start), TensorView.dense(kind, (0,)))
                 for place in range(len(group), asked)]
    constants: dict[str, Constant] = {
        "VEC": piece_of(problem.outputs[0].element_type),
        "PARAMETERS": ", ".join(f"PARAMETER({n})" for n in range(asked)),
        "FOR_OTHERS(DO)": " ".join(f"DO({n})" for n in range(1, asked))}
    return Stage("concat_joined.cl", (*operands, Operand("OUTPUT0", BufferRef("output", 0), target)),
                 local_items(static((rows,))[0] * _pieces(problem, lengths)), constants,
                 moves=tuple([problem.copies[n].move for n in group]))


def _pieces(problem: ConcatProblem, lengths: Sequence[Size]) -> int:
    """The work-items of a row."""
    vector = piece_of(problem.outputs[0].element_type)
    return sum(-(-length // vector) for length in static(tuple(lengths)))


def _known(number: Size) -> Pitch:
    return number if isinstance(number, int) else None


KERNELS = KernelTable((CopyRows("concat"), CopyBlocks("concat"), CopyJoined(), CopyStrided("concat"),
                       CopyReference("concat")), ConcatProblem)
