"""Operations that have one kernel of one launch: all that it is launched with, their problem says."""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from clinfer.base.shape import Size
from clinfer.kernels.contract import (
    Constant,
    Formats,
    Kernel,
    KernelTable,
    Lowered,
    Move,
    Operand,
    Problem,
    Stage,
    Work,
    all_operands,
    planar_formats,
)
from clinfer.ops.shared.copying import local_items, span_constants, span_dispatch

FormatsOf = Callable[[Problem], Formats]


@dataclass(frozen=True)
class OnlyKernelProblem(Problem):
    """A problem for a kernel that computes one element of output 0 per work-item, where it says nothing else."""

    @property
    def operands(self) -> tuple[Operand, ...]:
        return all_operands(self)

    @property
    def constants(self) -> Mapping[str, Constant]:
        return {}

    @property
    def arguments(self) -> Mapping[str, int]:
        return {}

    @property
    def work(self) -> Work:
        return local_items(self.outputs[0].count)

    @property
    def moves(self) -> tuple[Move, ...]:
        return ()


@dataclass(frozen=True)
class SpanProblem(OnlyKernelProblem):
    """A problem for a kernel of which a work-item computes SPAN neighbours along the last axis: one on GPUs, many on
    CPUs."""

    @property
    def constants(self) -> Mapping[str, Constant]:
        return span_constants(self)

    @property
    def spanned(self) -> Sequence[Size]:
        """The sizes of what is shared out, at least one: output 0's, where it says nothing else."""
        return self.outputs[0].shape or (1,)

    @property
    def work(self) -> Work:
        return span_dispatch(self, self.spanned)


class OnlyKernel(Kernel[OnlyKernelProblem, None]):
    """`<name>.cl`."""

    def __init__(self, name: str, formats: FormatsOf, supports_large: bool) -> None:
        self.name = name
        self.supports_large = supports_large
        self._formats = formats

    def formats(self, problem: OnlyKernelProblem) -> Formats:
        return self._formats(problem)

    def lower(self, problem: OnlyKernelProblem, config: None) -> Lowered:
        return Lowered((Stage(f"{self.name}.cl", problem.operands, problem.work, problem.constants, problem.arguments,
                              moves=problem.moves),))


def only_kernel(name: str, problem: type[OnlyKernelProblem] = OnlyKernelProblem, formats: FormatsOf = planar_formats,
                supports_large: bool = True) -> KernelTable:
    """The table of an operation that has one kernel of that name, which wants its tensors in these formats."""
    return KernelTable((OnlyKernel(name, formats, supports_large),), problem)
