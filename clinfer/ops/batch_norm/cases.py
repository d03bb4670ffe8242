"""Cases of batch_norm."""
from __future__ import annotations

from clinfer.ops.operation import Case


def _row(shape: tuple[int, ...], kind: str = "f32", opset: str = "opset5",
         sequence: tuple[tuple[tuple[int, ...], ...], ...] = ()) -> Case:
    channels = ((shape[1],), kind)
    inputs = ((shape, kind), *(channels,) * 4) if opset == "opset5" else (
        channels, channels, (shape, kind), channels, channels)
    further = tuple((*s, *((shape[1],),) * 4) for s in sequence)
    return Case("BatchNormInference", opset, inputs, {"epsilon": 1e-3}, low=0.1, high=2.0, sequence=further)


CASES = (
    _row((2, 20, 5, 6), sequence=(((1, 20, 3, 70),), ((3, 20, 1, 1),))),
    _row((2, 20, 5, 6), "f16"),
    _row((2, 20, 5), opset="opset1"),
    _row((2, 20)),
    _row((2, 20, 2, 3, 4)),
)
