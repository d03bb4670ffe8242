"""Kernels of element-wise operations."""
from __future__ import annotations

from dataclasses import dataclass

from clinfer.base.element_type import ElementType
from clinfer.base.format import Format
from clinfer.base.layout import Layout
from clinfer.base.shape import Dim, Shape
from clinfer.base.tensor_view import TensorView
from clinfer.kernels.contract import (
    Constant,
    Formats,
    Kernel,
    KernelTable,
    Lowered,
    Operand,
    Problem,
    Stage,
    input_operand,
    output_operand,
    stretched_epilogue,
)
from clinfer.ops.eltwise.modes import whole_number
from clinfer.ops.eltwise.op import Eltwise
from clinfer.ops.shared import walk
from clinfer.ops.shared.copying import local_items


@dataclass(frozen=True)
class EltwiseProblem(Problem):
    """One mode of `modes.py` on inputs that broadcast."""

    primitive: Eltwise

    @property
    def constants(self) -> dict[str, Constant]:
        """The operation as the kernels' text."""
        primitive, kind = self.primitive, self.inputs[-1].element_type
        return {"OPERATION": f"({primitive.row.on(kind)})",
                "OPERANDS": len(self.inputs), "IS_SELECT": primitive.mode == "Select",
                **{f"P{i}": _parameter(kind, i, value) for i, value in enumerate(primitive.parameters)}}


def broadcast_formats(problem: Problem) -> Formats:
    """The output takes the format of the largest input, and the others follow it; not where an axis that it blocks
    may turn out to be stretched."""
    output = problem.outputs[0]
    leader = max((x for x in problem.inputs if x.rank == output.rank), key=_weight, default=None)
    chosen = leader.format if leader is not None else Format.planar(output.rank)
    if len(problem.inputs) > 1 and any(isinstance(output.shape[axis], Dim) for axis, _ in chosen.block_axes):
        chosen = Format.planar(output.rank)
    return Formats(tuple(_format_beside(chosen, x, output) for x in problem.inputs), (chosen,))


def _format_beside(chosen: Format, layout: Layout, output: Layout) -> Format:
    """The chosen format, or planar for a tensor of lower rank or one that a blocked axis stretches."""
    follows = layout.rank == output.rank and all(layout.shape[axis] == output.shape[axis]
                                                 for axis, _ in chosen.block_axes)
    return chosen if follows else Format.planar(layout.rank)


def _weight(layout: Layout) -> tuple[int, bool]:
    """How many axes are not of size 1, and whether the format is more than planar."""
    return sum(size != 1 for size in layout.shape), not layout.format.is_planar


def _parameter(kind: ElementType, index: int, value: float) -> Constant:
    """A parameter as the kernel's text; bounds of integers are rounded into the interval and clipped."""
    if kind.is_float:
        return float(value)
    whole = whole_number(value, kind.numpy, rounds_up=index == 0)
    return f"({whole + 1} - 1)" if whole == -2**63 else f"{whole}{'UL' if kind.name == 'u64' else 'L'}"


def broadcast_operands(problem: Problem) -> tuple[Operand, ...]:
    """All inputs stretched to the output, and the output."""
    shape = problem.outputs[0].shape
    return (*(input_operand(problem, i, _stretched(TensorView.of(x), shape)) for i, x in enumerate(problem.inputs)),
            output_operand(problem))


def _stretched(view: TensorView, shape: Shape) -> TensorView:
    """The view broadcast to `shape`; axes that it lacks look like any other, so that ranks share a build."""
    return view.insert_axes(tuple(range(len(shape) - view.rank)), pitch=1).broadcast(shape)


class Reference(Kernel[EltwiseProblem, None]):
    """One element per work-item."""

    name = "eltwise_ref"
    has_epilogue = True
    supports_large = True

    def formats(self, problem: EltwiseProblem) -> Formats:
        return broadcast_formats(problem)

    def supports(self, problem: EltwiseProblem, config: None) -> str | None:
        primitive, kinds = problem.primitive, [x.element_type for x in problem.inputs]
        if any(kind.is_packed for kind in kinds):
            return "packed 4-bit types"
        operands = kinds[1:] if primitive.mode == "Select" else kinds
        if any(kind != operands[0] for kind in operands):
            return "inputs of different types"
        if not primitive.row.on(operands[0]):
            return f"{primitive.mode} is not defined on {operands[0]}"
        return None

    def lower(self, problem: EltwiseProblem, config: None) -> Lowered:
        work = local_items(problem.outputs[0].count)
        return Lowered((Stage("eltwise_ref.cl", broadcast_operands(problem), work, problem.constants,
                              epilogue_views=stretched_epilogue(problem)),))


class Vector(Reference):
    """Vectors along merged axes."""

    name = "eltwise_vector"
    efficiency = 0.8

    def supports(self, problem: EltwiseProblem, config: None) -> str | None:
        if problem.primitive.row.int_singly and not problem.inputs[-1].element_type.is_float:
            return f"{problem.primitive.mode} of integers is computed one by one"
        if problem.primitive.mode == "Select" and problem.inputs[-1].element_type.bits == 64:
            return "conditions and 64-bit values have vectors of different widths"
        return super().supports(problem, config) or walk.why_not(problem)

    def lower(self, problem: EltwiseProblem, config: None) -> Lowered:
        return Lowered((walk.walk_stage(problem, "eltwise_vector.cl", problem.constants),))


KERNELS = KernelTable((Vector(), Reference()), EltwiseProblem)
