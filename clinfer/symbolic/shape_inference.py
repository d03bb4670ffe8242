"""The seam between shapes and whoever knows the rules of the operations."""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from clinfer.base.element_type import ElementType
from clinfer.base.shape import Shape

Values = Mapping[int, np.ndarray]


@dataclass(frozen=True)
class OpSignature:
    """An operation as OpenVINO describes it: type, opset that defines it, attributes."""

    type_name: str
    opset: str
    attributes: tuple[tuple[str, Any], ...] = ()


class ShapeRule(Protocol):
    """The shape rule of one operation instance; not safe for use by two threads at once."""

    def __call__(self, shapes: tuple[Shape | None, ...], values: Values) -> tuple[Shape | None, ...]:
        """Input shapes (static or partial) and the known input values -> output shapes."""


class ShapeInference(Protocol):
    """A source of shape rules.

    A `NamedDim` in an output that a rule hands on has the size of the input dimension of that name whatever the sizes
    are.
    """

    def rule(self, signature: OpSignature, input_types: tuple[ElementType, ...]) -> ShapeRule:
        """The rule of an operation with inputs of these types; each call returns an isolated one."""
