"""The kernels of Pad."""
from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod

from clinfer.base.tensor_view import TensorView
from clinfer.kernels.contract import (
    Constant,
    Formats,
    Kernel,
    KernelTable,
    Lowered,
    Move,
    Operand,
    Stage,
    Work,
    input_operand,
    output_operand,
    planar_formats,
    present_formats,
)
from clinfer.ops.pad.op import MODES, Pad
from clinfer.ops.shared.only_kernel import OnlyKernel, SpanProblem
from clinfer.ops.shared.targets import cpu_only
from clinfer.ops.shared.view_copy import raw_view
from clinfer.ops.shared.views import at_least_one_axis, static
from clinfer.runtime.capabilities import Capabilities


@dataclass(frozen=True)
class PadProblem(SpanProblem):
    """Data with more elements around it, or fewer."""

    primitive: Pad

    @property
    def operands(self) -> tuple[Operand, ...]:
        data = input_operand(self, 0, at_least_one_axis(TensorView.of(self.inputs[0])))
        value = (input_operand(self, 3),) if len(self.inputs) > 3 else ()
        return data, *value, output_operand(self, 0, at_least_one_axis(TensorView.of(self.outputs[0])))

    @property
    def constants(self) -> dict[str, Constant]:
        return {**self.places, **super().constants}

    @property
    def places(self) -> dict[str, Constant]:
        """What tells where elements come from."""
        return {"MODE": MODES.index(self.primitive.pad_mode), "WITH_VALUE": len(self.inputs) > 3,
                "SIZES": "{" + ", ".join(f"INPUT0_SIZE_{a}" for a in self._axes) + "}",
                "BEGINS": "{" + ", ".join(f"ARG_BEGIN_{a}" for a in self._axes) + "}"}

    @property
    def arguments(self) -> dict[str, int]:
        begins = self._begins or []
        return {f"begin_{a}": begins[a] if a < len(begins) else 0 for a in self._axes}

    @property
    def moves(self) -> tuple[Move, ...]:
        """Where nothing is put in front or behind, the data: shapes are equal, and so is where they begin."""
        data, result = self.inputs[0], self.outputs[0]
        same = self.is_static and self._begins is not None and data == result and not any(self._begins)
        return Move(0, 0, (0, 0, result.byte_size) if same else None),

    @property
    def _axes(self) -> range:
        return range(max(self.inputs[0].rank, 1))

    @property
    def _begins(self) -> list[int] | None:
        return self.values[1].reshape(-1).tolist() if 1 in self.values else None


class Rows(Kernel[PadProblem, None]):
    """Rows of planar tensors, most of which is copied as it lies."""

    name = "pad_rows"
    supports_large = True
    efficiency = 0.6
    vector, span, rows = 16, 256, 8

    def targets(self, device: Capabilities) -> str | None:
        return cpu_only(device)

    def formats(self, problem: PadProblem) -> Formats:
        return planar_formats(problem)

    def supports(self, problem: PadProblem, config: None) -> str | None:
        kinds = {x.element_type for x in (problem.inputs[0], *problem.inputs[3:], *problem.outputs)}
        return None if len(kinds) == 1 else "the constant is of another type"

    def lower(self, problem: PadProblem, config: None) -> Lowered:
        operands = tuple(replace(operand, view=raw_view(operand.view)) for operand in problem.operands)
        *outer, length = static(tuple(problem.spanned))
        axes = range(problem.outputs[0].rank or 1)
        constants = {**problem.places, "SPAN": self.span, "ROWS": self.rows, "VEC": self.vector,
                     "OUTPUT_SIZES": "{" + ", ".join(f"OUTPUT0_SIZE_{a}" for a in axes) + "}"}
        work = Work((-(-length // self.span), -(-prod(outer) // self.rows)))
        return Lowered((Stage("pad_rows.cl", operands, work, constants, problem.arguments, moves=problem.moves),))


KERNELS = KernelTable((Rows(), OnlyKernel("pad_ref", present_formats, supports_large=True)), PadProblem)
