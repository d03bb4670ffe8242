"""The steps of a recurrent network over inputs that are projected already."""
from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from clinfer.base.element_type import ElementType
from clinfer.base.errors import ClinferError
from clinfer.base.shape import Shape, StaticShape, admits
from clinfer.symbolic.shape_inference import Values
from clinfer.topology import Primitive

GATES = {"lstm": 4, "gru": 3, "rnn": 1}


@dataclass(frozen=True)
class Recurrence(Primitive):
    """An LSTM, a GRU or a plain RNN (`cell`), from projected inputs to hidden states.

    With H = `hidden_size` and G gates in OpenVINO's order (f, i, c, o; z, r, h), the inputs are:
    projected input X W^T [B, T, D*G*H], recurrent weights R^T [D, H, G, H], bias [D, G*H] (a GRU with
    `linear_before_reset`: [D, 4*H]), hidden state [B, D, H], for an LSTM the cell state [B, D, H], and
    the lengths of the sequences [B]. D is 2 where `direction` is bidirectional. Outputs: all hidden
    states [B, D, T, H] (0 behind the end of a sequence), the last one [B, D, H], for an LSTM the last cell state.

    A single step (`is_step`) has neither T nor lengths nor the first output, and D only in the weights, where it is 1.

    Formulas: OpenVINO's LSTMSequence-5, GRUSequence-5, RNNSequence-5 and the cells of the same names.
    `clip` (0: none) bounds what goes into the activations of the gates. `kept_types`: those of the outputs; empty:
    that of the projected input.
    """

    cell: Literal["lstm", "gru", "rnn"] = "lstm"
    hidden_size: int = 1
    direction: str = "forward"
    is_step: bool = False
    linear_before_reset: bool = False
    clip: float = 0.0
    activations: tuple[str, ...] = ()
    kept_types: tuple[str, ...] = ()

    @property
    def gates(self) -> int:
        """How many vectors a step computes of a state."""
        return GATES[self.cell]

    @property
    def directions(self) -> int:
        """How many times a sequence is walked through."""
        return 2 if self.direction.lower() == "bidirectional" else 1

    @property
    def output_count(self) -> int:
        return (1 if self.is_step else 2) + (self.cell == "lstm")

    def output_types(self, input_types: tuple[ElementType, ...]) -> tuple[ElementType, ...]:
        if self.kept_types:
            return tuple(ElementType.of(name) for name in self.kept_types)
        return (input_types[0],) * self.output_count

    def with_output_type(self, output: int, kind: ElementType, present: tuple[ElementType, ...]) -> Recurrence:
        """The same, of whose outputs, which have the types `present`, one is stored in another type."""
        names = [x.name for x in present]
        names[output] = kind.name
        return replace(self, kept_types=tuple(names))

    def infer_shapes(self, shapes: tuple[Shape | None, ...], values: Values) -> tuple[Shape | None, ...]:
        projected, state = shapes[0], shapes[3]
        states = 2 if self.cell == "lstm" else 1
        if projected is None or state is None:
            return (None,) * self.output_count
        if not admits(projected[-1:], (self.directions * self.gates * self.hidden_size,)) \
                or not admits(state[-1:], (self.hidden_size,)):
            raise ClinferError("the sizes of a recurrent network do not fit each other", where=self.where, values={
                "hidden size": self.hidden_size, "projected input": projected, "hidden state": state})
        if self.is_step:
            return ((projected[0], self.hidden_size),) * states
        last = (projected[0], self.directions, self.hidden_size)
        return ((*last[:2], projected[1], self.hidden_size), *(last,) * states)

    def check_inputs(self, shapes: tuple[StaticShape, ...], values: Values,
                     outputs: tuple[StaticShape, ...]) -> None:
        if any(shape[0] != shapes[0][0] for shape in shapes[3:]):
            raise ClinferError("the states and lengths of a recurrent network are of another batch than its data",
                               where=self.where, values={"batch": shapes[0][0], "others": [x[0] for x in shapes[3:]]})
