"""The ScaledDotProductAttention primitive (OpenVINO ScaledDotProductAttention-13)."""
from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

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
