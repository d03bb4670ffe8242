"""What an operation exports: its converters and its kernel tables."""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from clinfer.base.element_type import ElementType
from clinfer.base.errors import ClinferError
from clinfer.kernels.contract import KernelTable, Problem
from clinfer.runtime.capabilities import Capabilities
from clinfer.topology import Primitive, SourceNode, attributes_of

SampleProblem = Callable[[Mapping[str, int], ElementType, Capabilities], Problem]
Converter = Callable[[SourceNode], "Primitive | Sequence[Primitive]"]


@dataclass(frozen=True)
class Operation:
    """One operation or one family: converters by OpenVINO type name, kernels by primitive class.

    A converter returns the primitive of a node, whose id is the node's, or several of which the
    last has the node's id and the others `<id>/<part>`. `sample`: the problem of sizes by name (those of
    `sample_sizes`, which has the values of the others) and of an element type, for measuring without a model.
    """

    name: str
    converters: Mapping[str, Converter]
    kernels: Mapping[type[Primitive], KernelTable] = field(default_factory=dict)
    sample: SampleProblem | None = None
    sample_sizes: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Case:
    """One test row of an operation: an operation with attributes, and what it is run on.

    `inputs` gives, per input, (shape, type name), an array (a constant), or None (absent).
    `sequence` holds further shapes of the non-constant inputs, run in order through one network
    whose dynamic dimensions are those that differ. `attributes` are OpenVINO's. `low`/`high` bound
    the random values, and floats are multiples of `step` unless that is 0. `id` replaces the name that these give.
    Rows that are `ordered` by values have another result where rounding to f16 makes values equal.
    """

    op: str
    opset: str
    inputs: tuple[Any, ...]
    attributes: Mapping[str, Any] = field(default_factory=dict)
    sequence: tuple[tuple[tuple[int, ...], ...], ...] = ()
    low: float = -2.0
    high: float = 2.0
    id: str = ""
    ordered: bool = False
    step: float = 0.0

    @property
    def name(self) -> str:
        """The row as a test id."""
        shown = "-".join("x".join(map(str, i[0])) + i[1] if isinstance(i, tuple) else "const"
                         for i in self.inputs if i is not None)
        return self.id or f"{self.op}-{shown}-{'-'.join(f'{k}={v}' for k, v in self.attributes.items())}"


def by_attributes(cls: type[Primitive]) -> Converter:
    """A converter that fills the primitive's fields from the node's attributes of the same names."""
    names = [f.name for f in fields(cls) if f.name not in {b.name for b in fields(Primitive)}]

    def convert(node: SourceNode) -> Primitive:
        values = {n: as_field(node.attributes[n]) for n in names if n in node.attributes}
        return cls(id=node.id, inputs=node.inputs, origin=node.name, **values)
    return convert


def as_field(value: Any) -> Any:
    """An attribute as an immutable value (lists become tuples)."""
    return tuple(value) if isinstance(value, (list, tuple, np.ndarray)) else value


def constant_input(node: SourceNode, index: int) -> np.ndarray:
    """The value of an input that must be a constant; a clear error where it is not."""
    if index not in node.constants:
        raise ClinferError(f"{node.type_name} needs a constant at input {index}", where=f"layer {node.name!r}",
                           values={"input": node.inputs[index]},
                           hint="fold the subgraph that computes it, or fix it at export")
    return node.constants[index]


__all__ = ["Case", "Converter", "Operation", "as_field", "attributes_of", "by_attributes", "constant_input"]
