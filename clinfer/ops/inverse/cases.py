"""Cases of inverse."""
from __future__ import annotations

from clinfer.ops.operation import Case

CASES = (
    Case("Inverse", "opset14", (((2, 3, 3), "f32"),), {"adjoint": False},
         sequence=(((1, 5, 5),), ((4, 1, 1),), ((0, 3, 3),))),
    Case("Inverse", "opset14", (((2, 1, 4, 4), "f32"),), {"adjoint": True}),
    Case("Inverse", "opset14", (((2, 2), "f16"),), {"adjoint": False}, low=1, high=1.5),
)
