"""Random models as short recipes that Hypothesis can shrink and a person can read.

A recipe names operations and picks their operands by number, modulo what fits; what fits nowhere is left out. So every
recipe builds a valid model.
"""
from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from openvino import opset13 as ops

from tests.oracle import ov
from tests.sequences import deciding_operations, operations
from tests.sequences.drafts import CHANNELS, OPERATIONS, Draft, Tensor

__all__ = ["CHANNELS", "OPERATIONS", "Recipe", "build", "deciding_operations", "operations"]

Step = tuple[str, int, int]


@dataclass(frozen=True)
class Recipe:
    """`start`: "rows" ([batch, length, 8]) or "image" ([batch, 8, height, width]). `bounded`: the free sizes are
    declared with bounds. A step is an operation, which operand it takes, and a number of its own."""

    start: str
    steps: tuple[Step, ...]
    bounded: bool = False


def build(recipe: Recipe) -> ov.Model:
    """The model: its first input is the data, the others are numbers [1]."""
    draft = Draft()
    high = ov.Dimension(0, 9) if recipe.bounded else ov.Dimension(-1)
    if recipe.start == "rows":
        x = draft.parameter([high, high, CHANNELS], np.float32)
        draft.tensors.append(Tensor(x, ("B", "T", CHANNELS), True))
    else:
        x = draft.parameter([high, CHANNELS, high, high], np.float32)
        draft.tensors.append(Tensor(x, ("B", CHANNELS, "T", "W"), True))
    consumed: set[int] = set()
    for name, pick, number in recipe.steps:
        count = len(draft.tensors)
        for turn in range(count):
            index = (count - 1 - pick - turn) % count
            if OPERATIONS[name](draft, draft.tensors[index], number):
                consumed.add(index)
                break
    ends = [i for i in range(len(draft.tensors)) if i not in consumed]
    results = [ops.result(draft.tensors[i].node) for i in ends]
    return ov.Model(results, draft.parameters, "random")
