"""The Range primitive (OpenVINO Range-1 and Range-4)."""
from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from clinfer.base.element_type import ElementType
from clinfer.base.errors import ClinferError
from clinfer.base.shape import Shape, StaticShape
from clinfer.symbolic.shape_inference import Values
from clinfer.topology import Primitive, SourceNode

_MOST = 2**31 - 1


@dataclass(frozen=True)
class Range(Primitive):
    """start (0), start + step (2), ... up to but without stop (1), of `output_type`.

    For integer outputs the inputs are truncated to integers first.
    """

    output_type: str = "f32"
    op_type: ClassVar[str] = "Range"
    opset: ClassVar[str] = "opset4"

    @property
    def value_inputs(self) -> tuple[int, ...]:
        return 0, 1, 2

    @property
    def can_evaluate(self) -> bool:
        return True

    def output_types(self, input_types: tuple[ElementType, ...]) -> tuple[ElementType, ...]:
        return (ElementType.of(self.output_type),)

    def evaluate(self, values: tuple[np.ndarray, ...], shapes: tuple[Shape | None, ...]) -> tuple[np.ndarray, ...]:
        start, stop, step = self.bounds(dict(enumerate(values)))
        count = _count(start, stop, step)
        if count > _MOST:
            raise ValueError(f"a range of {count} numbers is too large to be indexed with 32 bits")
        kind = np.float64 if isinstance(step, float) else np.int64
        numbers = kind(start) + np.arange(count).astype(kind) * kind(step)
        return (numbers.astype(ElementType.of(self.output_type).numpy),)

    def check_inputs(self, shapes: tuple[StaticShape, ...], values: Values,
                     outputs: tuple[StaticShape, ...]) -> None:
        """OpenVINO's rule gives a size of 0 where the size does not fit in 32 bits."""
        start, stop, step = self.bounds(values)
        if not step or _count(start, stop, step) > _MOST:
            raise ClinferError("a range is endless or too large to be indexed with 32 bits",
                               values={"start": start, "stop": stop, "step": step})

    def bounds(self, values: Values) -> tuple[int, int, int] | tuple[float, float, float]:
        """Start, stop and step as numbers of the output's kind."""
        is_float = ElementType.of(self.output_type).is_float
        start, stop, step = (values[i].reshape(()).item() for i in self.value_inputs)
        return (float(start), float(stop), float(step)) if is_float else (_whole(start), _whole(stop), _whole(step))

    def infer_shapes(self, shapes: tuple[Shape | None, ...], values: Values) -> tuple[Shape | None, ...] | None:
        """Of whole numbers."""
        if any(i not in values for i in self.value_inputs):
            return None
        start, stop, step = self.bounds(values)
        count = _count(start, stop, step) if isinstance(step, int) and step else None
        return None if count is None or count > _MOST else ((count,),)


def _whole(number: float) -> int:
    """A number without its fraction; a symbol of an integer as it is."""
    return number if isinstance(number, int) else int(number)


def _count(start: float, stop: float, step: float) -> int:
    """How many numbers there are; whole numbers are divided exactly."""
    count = -((start - stop) // step) if isinstance(step, int) else math.ceil((stop - start) / step)
    return max(count, 0)  # type: ignore[return-value]


def convert_range(node: SourceNode) -> Range:
    """Range-1 has no output type of its own."""
    return Range(node.id, node.inputs, origin=node.name, output_type=node.output_types[0].name)
