"""The steps of a recurrent network as its kernels see them."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

from clinfer.base.tensor_view import Pitch, TensorView
from clinfer.kernels.contract import Constant, Operand, Problem, input_operand, output_operand
from clinfer.ops.recurrent.conversion import KNOWN
from clinfer.ops.recurrent.op import GATES, Recurrence
from clinfer.ops.shared.views import static

WEIGHTS = 1


@dataclass(frozen=True)
class RecurrenceProblem(Problem):
    """Sequences [batch, directions] of steps, or a single step."""

    primitive: Recurrence

    @property
    def sizes(self) -> dict[str, int]:
        return {"batch": self.batch, "directions": self.primitive.directions, "steps": self.steps,
                "hidden": self.primitive.hidden_size}

    @property
    def flops(self) -> float:
        return 2.0 * self.step_products * self.batch * self.primitive.directions * self.steps

    @property
    def batch(self) -> int:
        """How many sequences there are; may be open."""
        return static(self.inputs[0].shape)[0]

    @property
    def steps(self) -> int:
        """Steps of a sequence; may be open."""
        return 1 if self.primitive.is_step else static(self.inputs[0].shape)[1]

    @property
    def step_products(self) -> int:
        """The elements of the recurrent weights of a direction, each of which meets one of the state at each step."""
        return self.primitive.gates * self.primitive.hidden_size**2

    @property
    def constants(self) -> dict[str, Constant]:
        """The cell."""
        cell = self.primitive
        return {"CELL": list(GATES).index(cell.cell), "IS_STEP": cell.is_step, "HIDDEN": cell.hidden_size,
                "LINEAR_BEFORE_RESET": cell.linear_before_reset, "REVERSED": cell.direction.lower() == "reverse",
                "CLIP": float(cell.clip),
                **{f"ACTIVATION_{n}": KNOWN.index(name) for n, name in enumerate(cell.activations)}}

    @property
    def operands(self) -> tuple[Operand, ...]:
        """INPUT0 to INPUT3 as the primitive has them, INPUT4 the cell state, INPUT5 the lengths; OUTPUT0 all states,
        OUTPUT1 the last one, OUTPUT2 the last cell state. The projected input is [B, D, T, G*H]; axes that are
        missing are put in, up to four."""
        is_lstm, step = self.primitive.cell == "lstm", self.primitive.is_step
        bias, state = ((0, 1, 2), (1, 2)) if step else ((0, 1), (2,))
        operands = [input_operand(self, 0, self._projected()), input_operand(self, WEIGHTS)]
        operands += [input_operand(self, i, TensorView.of(self.inputs[i]).insert_axes(axes))
                     for i, axes in enumerate((bias, *(state,) * (1 + is_lstm)), 2)]
        if not step:
            lengths = len(operands)
            view = TensorView.of(self.inputs[lengths]).insert_axes((1, 2, 3))
            operands.append(Operand("INPUT5", input_operand(self, lengths).buffer, view))
        for i, layout in enumerate(self.outputs):
            view = TensorView.of(layout).insert_axes(state if layout.rank < 4 else ())
            operands.append(Operand(f"OUTPUT{i + step}", output_operand(self, i).buffer, view))
        return tuple(operands)

    def operands_named(self, names: Sequence[str]) -> tuple[Operand, ...]:
        """Those of the operands that have one of these names, in the order of all."""
        return tuple(operand for operand in self.operands if operand.macro in names)

    def _projected(self) -> TensorView:
        """[B, D, T, G*H] of what is [B, T, D*G*H], or [B, G*H] for a step."""
        view = TensorView.of(self.inputs[0])
        if self.primitive.is_step:
            return view.insert_axes((1, 2))
        directions = self.primitive.directions
        (batch, steps, row), (far, step, near) = static(view.sizes), view.pitches
        part = row // directions
        pitch: Pitch = part * near if isinstance(part, int) and near is not None else None
        return replace(view, sizes=(batch, directions, steps, part), pitches=(far, pitch, step, near),
                       blocks=(None,) * 4)


def bytes_of(view: TensorView) -> int:
    """What a dense view takes; open while its sizes are."""
    return view.element_type.byte_size(prod(static(view.sizes)))
