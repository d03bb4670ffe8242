"""Cast and CastLike to floats of 8 and 4 bits, of which OpenVINO's import ignores how they saturate and round."""
from __future__ import annotations

from clinfer.frontend.onnx.graph import Node
from clinfer.frontend.onnx.operator import TYPES, Operands, Reading, Scope
from clinfer.frontend.onnx.values import Value

_NARROW = (17, 19, 23, 24)
"""ONNX's numbers of f8e4m3, f8e5m2, f4e2m1 and f8e8m0."""
_LARGEST = {"f8e4m3": 448.0, "f8e5m2": 57344.0}


def narrowed(x: Value, kind: str, saturate: bool = True, round_mode: str = "up") -> Value:
    """A tensor converted to a type, as ONNX's table for floats of 8 and 4 bits says."""
    if kind in _LARGEST and saturate and x.is_real:
        bound = _LARGEST[kind]
        wide = x.to("f32")
        x = wide.apply("is_nan").where(wide, wide.at_least(-bound).at_most(bound))
    elif kind == "f4e2m1" and x.is_real:
        wide = x.to("f32")
        x = wide.apply("is_nan").where(0.0, wide)
    elif kind == "f8e8m0" and x.is_real and round_mode != "nearest":
        wide = x.to("f32")
        near = wide.to(kind).to("f32")
        x = (near < wide).where(near * 2, near) if round_mode == "up" else (near > wide).where(near / 2, near)
    return x.to(kind)


def convert_cast(node: Operands) -> list[Value]:
    """Converted to the type that attribute `to` numbers."""
    return [narrowed(node[0], TYPES[node.number("to", 1)], bool(node.number("saturate", 1)),
                     node.text("round_mode", "up"))]


def convert_cast_like(node: Operands) -> list[Value]:
    """Converted to the type of input 1."""
    kind = node[1].type
    if kind == "dynamic":
        return [node[0].like(node[1])]
    return [narrowed(node[0], kind, bool(node.number("saturate", 1)), node.text("round_mode", "up"))]


def _is_narrow(node: Node, scope: Scope) -> bool:
    return node.value("to") in _NARROW


def _has_type(node: Node, scope: Scope) -> bool:
    number = scope.types.get(node.inputs[1]) if len(node.inputs) > 1 else None
    return number in _NARROW


MENDINGS = (Reading("Cast", convert_cast, _is_narrow), Reading("CastLike", convert_cast_like, _has_type))
