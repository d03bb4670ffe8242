"""The one-hot primitives (OpenVINO OneHot-1 and OneHot-16)."""
from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from clinfer.base.element_type import ElementType
from clinfer.base.shape import Shape
from clinfer.ops.operation import by_attributes
from clinfer.symbolic.shape_inference import Values
from clinfer.topology import Primitive, SourceNode


@dataclass(frozen=True)
class OneHot(Primitive):
    """A new `axis` of the length in input 1, with the value of input 2 at the index in input 0, else of input 3.

    Indices outside of the axis distinguish nothing.
    """

    axis: int = -1
    op_type: ClassVar[str] = "OneHot"

    @property
    def value_inputs(self) -> tuple[int, ...]:
        return (1,)

    @property
    def wraps_negative(self) -> bool:
        """Whether negative indices count from the end."""
        return False

    def infer_shapes(self, shapes: tuple[Shape | None, ...], values: Values) -> tuple[Shape | None, ...] | None:
        indices, length, *others = shapes
        if indices is None or length or 1 not in values or any(other is None or other for other in others):
            return None
        size, rank = values[1].reshape(-1).tolist()[0], len(indices) + 1
        if size < 1 or not -rank <= self.axis < rank:
            return None
        axis = self.axis % rank
        return ((*indices[:axis], size, *indices[axis:]),)

    def output_types(self, input_types: tuple[ElementType, ...]) -> tuple[ElementType, ...]:
        return (input_types[2],)


@dataclass(frozen=True)
class OneHot16(OneHot):
    """OneHot with a choice: `negative_indices_mode` is "ignore_negative" or "normalize"."""

    negative_indices_mode: str = "ignore_negative"
    opset: ClassVar[str] = "opset16"

    @property
    def wraps_negative(self) -> bool:
        return self.negative_indices_mode.lower() == "normalize"


def convert_one_hot(node: SourceNode) -> Primitive:
    """OneHot of the node's version."""
    return by_attributes(OneHot if node.opset == "opset1" else OneHot16)(node)  # type: ignore[return-value]
