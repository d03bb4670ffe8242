"""Cases of color_convert."""
from __future__ import annotations

from clinfer.ops.operation import Case

_Shapes = tuple[tuple[int, ...], ...]


def _planes(source: str, planes: int, batch: int, height: int, width: int) -> _Shapes:
    if planes == 1:
        return ((batch, height * 3 // 2, width, 1),)
    last = 2 if source == "NV12" else 1
    return ((batch, height, width, 1), *((batch, height // 2, width // 2, last),) * (planes - 1))


def _row(source: str, planes: int, target: str, kind: str, *sizes: tuple[int, int, int]) -> Case:
    """The first of `sizes` (pictures, height, width), and others that follow it."""
    base, *others = (_planes(source, planes, *size) for size in sizes)
    return Case(f"{source}to{target}", "opset8", tuple((shape, kind) for shape in base), low=0, high=255,
                sequence=tuple(others), id=f"{source}to{target}-{planes}-{kind}-{sizes[0]}".replace(" ", ""))


CASES = (
    _row("NV12", 2, "RGB", "u8", (1, 2, 4), (2, 6, 10), (1, 2, 2), (3, 4, 70), (2, 0, 4), (0, 4, 6)),
    _row("NV12", 2, "BGR", "f32", (1, 4, 6), (2, 8, 2)),
    _row("NV12", 1, "BGR", "u8", (2, 6, 10), (1, 2, 2), (3, 4, 70), (2, 6, 0)),
    _row("NV12", 1, "RGB", "f32", (1, 4, 6)),
    _row("I420", 3, "RGB", "u8", (2, 6, 10), (1, 2, 2), (3, 4, 70), (2, 6, 0)),
    _row("I420", 3, "BGR", "f32", (1, 4, 6), (2, 8, 2)),
    _row("I420", 1, "BGR", "u8", (1, 4, 6), (2, 6, 10), (1, 2, 2), (3, 4, 70), (2, 0, 4)),
    _row("I420", 1, "RGB", "f32", (1, 4, 6)),
    _row("NV12", 2, "RGB", "f16", (1, 4, 6)),
    _row("NV12", 2, "RGB", "u8", (1, 64, 66), (1, 32, 130)),
)
