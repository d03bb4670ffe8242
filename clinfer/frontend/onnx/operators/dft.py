"""DFT, of which OpenVINO's import ignores an axis that is an input, and mistakes the axis of complex parts."""
from __future__ import annotations

from clinfer.frontend.onnx.operator import Operands, Reading
from clinfer.frontend.onnx.values import Value, concat, filled, iota, op, scalar, vector


def convert(node: Operands) -> list[Value]:
    """The transform along one axis of a tensor whose last axis has one real or two complex parts."""
    x = node[0]
    axis = node.number("axis", 1 if node.version < 20 else -2)
    if node.has(2):
        known = node[2].constant
        if known is None:
            return [_along_open_axis(node, x)]
        axis = int(known)
    axis = x.axis(axis)
    return [_transformed(node, x, axis, x.static_length(-1) == 2)]


def _along_open_axis(node: Operands, x: Value) -> Value:
    """Along an axis that is known at run time only: in its place comes the one before the parts."""
    axis, last = node[2].to("i64").reshape([]), x.rank - 2
    axis = (axis < 0).where(axis + x.rank, axis)
    places = iota(scalar(x.rank))
    order = places.equals(axis).where(last, places.equals(last).where(axis, places))
    return _transformed(node, x.transpose(order), last, x.static_length(-1) == 2).transpose(order)


def _transformed(node: Operands, x: Value, axis: int, is_complex: bool) -> Value:
    is_inverse, is_onesided = bool(node.number("inverse", 0)), bool(node.number("onesided", 0))
    rank = x.rank
    length = node[1].to("i64").reshape([1]) if node.has(1) else None
    if is_inverse and is_onesided:
        return _apply("irdft", x if is_complex else _complex(x), axis, length).unsqueeze(rank - 1)
    if not is_inverse and is_onesided:
        if is_complex:
            raise ValueError("the onesided transform of complex numbers does not exist")
        return _apply("rdft", x.squeeze(rank - 1), axis, length)
    return _apply("idft" if is_inverse else "dft", x if is_complex else _complex(x), axis, length)


def _complex(x: Value) -> Value:
    return concat([x, filled(x.constant_like(0.0), x.shape())], x.rank - 1)


def _apply(name: str, x: Value, axis: int, length: Value | None) -> Value:
    return Value(getattr(op, name)(x.port, vector(axis).port, *([] if length is None else [length.port])))


MENDINGS = (Reading("DFT", convert),)
