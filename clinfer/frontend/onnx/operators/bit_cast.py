"""BitCast between whole numbers, which OpenVINO's import does not know."""
from __future__ import annotations

from clinfer.frontend.onnx.operator import TYPES, Operands, Reading
from clinfer.frontend.onnx.values import Value, scalar

_FLOATS = ("f64", "f32", "f16", "bf16", "f8e4m3", "f8e5m2", "f8e8m0", "f4e2m1")


def convert(node: Operands) -> list[Value]:
    """The same bits as a type of the same width: between whole numbers a conversion, which wraps around.

    Errors: ValueError for floats, for which OpenVINO has no operation.
    """
    x, kind = node[0], TYPES.get(node.number("to", 0), "")
    if x.is_real or kind in _FLOATS or not kind:
        raise ValueError(f"bits of {x.type} cannot be taken for {kind or 'a type that OpenVINO lacks'} here")
    if x.type != "boolean" and scalar(0, kind).bits != x.bits:
        raise ValueError(f"{x.type} and {kind} are not of one width")
    return [x.to(kind)]


MENDINGS = (Reading("BitCast", convert),)
