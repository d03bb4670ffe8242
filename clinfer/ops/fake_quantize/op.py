"""The FakeQuantize primitive (OpenVINO FakeQuantize-1)."""
from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from clinfer.base.element_type import ElementType
from clinfer.base.errors import ClinferError
from clinfer.base.shape import Shape, StaticShape, show
from clinfer.ops.operation import by_attributes
from clinfer.ops.shared.shape_rules import stretches_to
from clinfer.symbolic.dimensions import is_open
from clinfer.symbolic.shape_inference import Values
from clinfer.topology import Primitive, SourceNode


@dataclass(frozen=True)
class FakeQuantize(Primitive):
    """Input 0 clipped to [input 1, input 2], rounded to `levels` values and scaled to [input 3, input 4].

    The bounds broadcast to input 0 by NumPy's rule. Halves are rounded to the even level.
    """

    levels: int = 2
    auto_broadcast: str = "numpy"
    op_type: ClassVar[str] = "FakeQuantize"

    def infer_shapes(self, shapes: tuple[Shape | None, ...], values: Values) -> tuple[Shape | None, ...] | None:
        data, *bounds = shapes
        if data is None or any(each is None or is_open(each) or not stretches_to(each, data) for each in bounds):
            return None
        return (data,)

    def check_inputs(self, shapes: tuple[StaticShape, ...], values: Values,
                     outputs: tuple[StaticShape, ...]) -> None:
        data, *bounds = shapes
        if not all(stretches_to(each, data) for each in bounds):
            raise ClinferError("the bounds do not stretch to the data", where=self.where,
                               values={"data": show(data), "bounds": ", ".join(map(show, bounds))})

    def fused_text(self, types: tuple[ElementType, ...]) -> str | None:
        """Of values and bounds a, b, c, d, e in the order of the inputs."""
        if len(set(types)) > 1 or not types[0].is_float:
            return None
        levels = f"(T)({float(self.levels - 1)}f)"
        return ("(a <= fmin(b, c) ? d : a > fmax(b, c) ? e : "
                f"rint(QUOTIENT(a - b, c - b) * {levels}) * ((e - d) / {levels}) + d)")


def convert_fake_quantize(node: SourceNode) -> FakeQuantize:
    """The primitive; an error for a broadcast that is not NumPy's."""
    kind = str(node.attributes.get("auto_broadcast", "numpy")).lower()
    if kind not in ("numpy", "none"):
        raise ClinferError("FakeQuantize broadcasts in a way that is not supported", where=f"layer {node.name!r}",
                           values={"auto_broadcast": kind},
                           hint="reshape the bounds so that NumPy's rule applies")
    given = by_attributes(FakeQuantize)(node)
    assert isinstance(given, FakeQuantize)
    bounds = [_first_alike(node, index) for index in range(1, len(given.inputs))]
    return replace(given, inputs=(given.inputs[0], *(given.inputs[index] for index in bounds)))


def _first_alike(node: SourceNode, index: int) -> int:
    """The first bound that is the same constant, which kernels then read once."""
    def is_alike(other: int) -> bool:
        found, asked = node.constants.get(other), node.constants.get(index)
        return found is not None and asked is not None and found.dtype == asked.dtype and np.array_equal(found, asked)

    return next(filter(is_alike, range(1, index)), index)
