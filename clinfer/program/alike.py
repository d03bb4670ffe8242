"""Nodes that are alike: what was found out of one of them holds for the others.

Deep models repeat layers, of which each has primitives of its own with names of their own. Which kernels may compute a
problem, how long they take and which code they have depends on neither.
"""
from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from clinfer.kernels.contract import Candidate, Problem
from clinfer.kernels.implementation import Implementation, generate
from clinfer.topology import Primitive, attributes_of

LARGEST_VALUE = 4096
"""Bytes of a value input beyond which problems are not compared."""


@dataclass(frozen=True)
class AlikeNodes:
    """What one build found out for its device, by what nodes are: their layout candidates (`format_choice.py`) and
    implementations."""

    candidates: dict[Hashable, tuple[Any, ...]] = field(default_factory=dict)
    implementations: dict[Hashable, Implementation] = field(default_factory=dict)

    def implementation(self, candidate: Candidate, problem: Problem) -> Implementation:
        """The code of a candidate for a problem."""
        key = identity_of(problem)
        if key is None:
            return generate(candidate, problem)
        found = self.implementations.get((candidate, key))
        if found is None:
            found = self.implementations[candidate, key] = generate(candidate, problem)
        return found if found.problem.primitive is problem.primitive else replace(found, problem=problem)


def identity_of(problem: Problem) -> Hashable | None:
    """Of the problems of one device, equal for those that differ at most in the names of their primitives and of what
    these read; None: a problem that cannot be compared."""
    key = (type(problem), _kind_of(problem.primitive), problem.inputs, problem.outputs, problem.fused_inputs,
           _told(problem.values), problem.is_large)
    return key if _is_hashable(key) else None


def _kind_of(primitive: Primitive) -> object:
    """What a primitive is, whatever it is called and reads."""
    fused_ops = tuple((_kind_of(fused.primitive), fused.operands) for fused in primitive.fused_ops)
    return (type(primitive), len(primitive.inputs), _exact(attributes_of(primitive)), primitive.output_padding,
            fused_ops)


def _exact(value: Any) -> Any:
    """Unlike for numbers that are equal and yet spelled otherwise in code: 1 and 1.0, 0.0 and -0.0."""
    if isinstance(value, tuple):
        return tuple(map(_exact, value))
    return (type(value), repr(value)) if isinstance(value, int | float) else value


def _told(values: Mapping[int, np.ndarray]) -> object:
    if any(value.nbytes > LARGEST_VALUE or value.dtype.hasobject for value in values.values()):
        return values
    return tuple((index, value.dtype.str, value.shape, value.tobytes()) for index, value in sorted(values.items()))


def _is_hashable(key: object) -> bool:
    try:
        hash(key)
    except TypeError:
        return False
    return True
