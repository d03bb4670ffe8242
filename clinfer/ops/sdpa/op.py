"""The ScaledDotProductAttention primitive (OpenVINO ScaledDotProductAttention-13)."""
from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from clinfer.base.errors import ClinferError
from clinfer.base.shape import StaticShape, empty, show
from clinfer.base.shape_inference import Values
from clinfer.ops.shared.static_shapes import stretches_to
from clinfer.topology import Primitive


@dataclass(frozen=True)
class ScaledDotProductAttention(Primitive):
    """softmax(query x key^T * scale + mask) x value over the last two axes; those before them broadcast.

    Inputs: query [..., L, E], key [..., S, E], value [..., S, V]; then, each optional, the mask [..., L, S]
    (added, or boolean: false is left out; not read if `causal`), the scale (one element; missing:
    1/sqrt(E)) and the sink [..., L, 1], a score that takes part in the softmax without a value.
    With `causal`, query i sees keys 0 to i.
    """

    causal: bool = False
    op_type: ClassVar[str] = "ScaledDotProductAttention"
    opset: ClassVar[str] = "opset13"

    @property
    def is_heavy(self) -> bool:
        return True

    def static_shapes(self, shapes: tuple[StaticShape, ...], values: Values) -> tuple[StaticShape, ...] | None:
        (*batch, length, depth), key, value, *others = shapes
        if len(others) > 2 or any(scale not in ((), (1,)) for scale in others[1:]):
            return None
        if len(key) != len(value) or key[:-2] != tuple(batch) or value[:-2] != tuple(batch):
            return None
        mask = others[0] if others else ()
        if depth != key[-1] or key[-2] != value[-2] or not stretches_to(mask, (*batch, length, key[-2])):
            return None
        return ((*batch, length, value[-1]),)

    def check_inputs(self, shapes: tuple[StaticShape, ...], values: Values,
                     outputs: tuple[StaticShape, ...]) -> None:
        if shapes[0][-1] == 0 and self.own_input_count < 5 and not empty(outputs):
            raise ClinferError("queries and keys without features have no scale", where=self.where, values={
                "query": show(shapes[0]), "key": show(shapes[1])}, hint="give the scale as an input")
