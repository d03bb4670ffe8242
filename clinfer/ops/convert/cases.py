"""Cases of convert."""
from __future__ import annotations

from clinfer.ops.operation import Case

_TYPES = ("f64", "f32", "f16", "bf16", "i64", "i32", "i16", "i8", "u64", "u32", "u16", "u8", "boolean")
_UNSIGNED = ("u64", "u32", "u16", "u8", "boolean")


def _row(source: str, target: str, shape: tuple[int, ...] = (3, 21), low: float = -9, high: float = 9,
         sequence: tuple[tuple[tuple[int, ...], ...], ...] = ()) -> Case:
    return Case("Convert", "opset1", ((shape, source),), {"destination_type": target}, sequence=sequence,
                low=0 if target in _UNSIGNED else low, high=high)


CASES = (
    *(_row(a, b) for a in _TYPES for b in _TYPES if a != b and "f32" in (a, b)),
    *(_row(a, b) for a, b in zip(_TYPES, _TYPES[2:] + _TYPES[:2], strict=True)),
    *(_row(a, b, (70,), -300, 300) for a, b in (("f32", "i8"), ("f32", "u8"), ("i32", "i8"), ("i16", "u8"),
                                                ("f16", "i8"))),
    _row("f32", "f16", (2, 17, 3, 5), sequence=(((1, 17, 2, 2),), ((3, 17, 9, 40),))),
    _row("f16", "f32", (1, 20, 40, 50)),
    _row("u8", "f32", (1, 3, 40, 50)),
    _row("i32", "f32", (1, 2, 3, 1, 2, 5)),
    _row("boolean", "f32", ()),
    Case("ConvertLike", "opset1", (((3, 40), "f32"), ((1,), "i32")), low=-9, high=9),
)
