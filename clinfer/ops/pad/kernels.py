"""The kernel of Pad."""
from __future__ import annotations

from dataclasses import dataclass

from clinfer.base.tensor_view import TensorView
from clinfer.kernels.contract import (
    Constant,
    Move,
    Operand,
    input_operand,
    output_operand,
    present_formats,
)
from clinfer.ops.pad.op import MODES, Pad
from clinfer.ops.shared.only_kernel import SpanProblem, only_kernel
from clinfer.ops.shared.views import at_least_one_axis


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
        return {"MODE": MODES.index(self.primitive.pad_mode), "WITH_VALUE": len(self.inputs) > 3,
                "SIZES": "{" + ", ".join(f"INPUT0_SIZE_{a}" for a in self._axes) + "}",
                "BEGINS": "{" + ", ".join(f"ARG_BEGIN_{a}" for a in self._axes) + "}", **super().constants}

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


KERNELS = only_kernel("pad_ref", PadProblem, present_formats)
