"""Cases of recurrent."""
from __future__ import annotations

from typing import Any

import numpy as np

from clinfer.ops.operation import Case
from clinfer.ops.recurrent.op import GATES

_ACTIVATIONS = {"lstm": ["sigmoid", "tanh", "tanh"], "gru": ["sigmoid", "tanh"], "rnn": ["tanh"]}
_RNG = np.random.default_rng(20)


def _weights(cell: str, lead: tuple[int, ...], size: int, hidden: int, bias: int) -> tuple[Any, ...]:
    rows = GATES[cell] * hidden
    return (_RNG.uniform(-0.5, 0.5, (*lead, rows, size)).astype(np.float32),
            _RNG.uniform(-0.5, 0.5, (*lead, rows, hidden)).astype(np.float32),
            _RNG.uniform(-0.5, 0.5, (*lead, bias * hidden)).astype(np.float32))


def _cell(cell: str, batch: int, size: int, hidden: int, bias: int = 0, sequence: tuple[int, ...] = (),
          **attributes: Any) -> Case:
    states = ((batch, hidden), "f32"), ((batch, hidden), "f32")
    inputs = (((batch, size), "f32"), *states[:2 if cell == "lstm" else 1],
              *_weights(cell, (), size, hidden, bias or GATES[cell]))
    shapes = tuple(((b, size), *((b, hidden),) * (2 if cell == "lstm" else 1)) for b in sequence)
    opset = {"lstm": "opset4", "gru": "opset3", "rnn": "opset1"}[cell]
    return Case(f"{cell.upper()}Cell", opset, inputs, {"hidden_size": hidden, **attributes}, sequence=shapes,
                id=f"{cell}-cell-{batch}x{size}-{hidden}-{'-'.join(map(str, attributes.values()))}")


def _sequence(cell: str, batch: int, steps: int, size: int, hidden: int, lengths: list[int] | None = None,
              direction: str = "forward", bias: int = 0, **attributes: Any) -> Case:
    """Static, because OpenVINO's CPU plugin heeds lengths only where the number of steps is."""
    lead = (2 if direction == "bidirectional" else 1,)
    states = (((batch, *lead, hidden), "f32"),) * (2 if cell == "lstm" else 1)
    ends = np.array(lengths or [steps] * batch, np.int32)
    inputs = (((batch, steps, size), "f32"), *states, ends, *_weights(cell, lead, size, hidden, bias or GATES[cell]))
    return Case(f"{cell.upper()}Sequence", "opset5", inputs,
                {"hidden_size": hidden, "direction": direction, "activations": _ACTIVATIONS[cell], **attributes},
                id=f"{cell}-sequence-{batch}x{steps}x{size}-{hidden}-{direction}-"
                   f"{'-'.join(map(str, attributes.values()))}")


CASES = (
    _cell("lstm", 3, 7, 5, sequence=(1, 6)),
    _cell("lstm", 2, 4, 33, activations=["sigmoid", "relu", "tanh"]),
    _cell("lstm", 2, 4, 9, clip=0.3),
    _cell("gru", 3, 7, 5, sequence=(1, 6)),
    _cell("gru", 2, 4, 33, bias=4, linear_before_reset=True),
    _cell("gru", 2, 4, 9, clip=0.3, activations=["sigmoid", "relu"]),
    _cell("rnn", 3, 7, 5, sequence=(4, 1)),
    _cell("rnn", 2, 4, 40, activations=["relu"], clip=0.5),
    _sequence("lstm", 2, 6, 5, 8),
    _sequence("lstm", 3, 5, 4, 17, [5, 2, 4], "reverse"),
    _sequence("lstm", 2, 7, 4, 6, [3, 7], "bidirectional"),
    _sequence("gru", 2, 6, 5, 8, direction="bidirectional"),
    _sequence("gru", 3, 5, 4, 20, [5, 1, 3], bias=4, linear_before_reset=True),
    _sequence("gru", 2, 5, 4, 7, [2, 5], "reverse"),
    _sequence("rnn", 2, 6, 5, 8, [6, 3], "bidirectional"),
    _sequence("rnn", 1, 9, 3, 18),
    _sequence("rnn", 2, 6, 5, 8, [4, 6], "bidirectional", activations=["relu", "relu"]),
    _sequence("gru", 2, 5, 4, 7, [5, 2], "bidirectional", activations=2 * ["sigmoid", "relu"]),
    _sequence("lstm", 5, 4, 3, 100, [4, 1, 3, 2, 4], "bidirectional", clip=0.4),
    _sequence("gru", 7, 4, 3, 150, [2, 4, 3, 1, 4, 4, 2]),
    _cell("lstm", 7, 3, 130),
)
