"""QuantizeLinear and DynamicQuantizeLinear with scales computed at run time, of which OpenVINO's import multiplies by
a reciprocal and so rounds otherwise; scales along an axis, which it lays along the last one where sizes are open;
blocks without zero points; floats of 4 bits."""
from __future__ import annotations

from clinfer.frontend.onnx.graph import Node
from clinfer.frontend.onnx.operator import TYPES, Operands, Reading, Scope
from clinfer.frontend.onnx.operators.cast import narrowed
from clinfer.frontend.onnx.values import Value, iota

_F4 = 23
_BOUNDS = {"u8": (0, 255), "i8": (-128, 127), "u16": (0, 65535), "i16": (-32768, 32767), "u4": (0, 15), "i4": (-8, 7)}


def convert(node: Operands) -> list[Value]:
    """round(x / scale) + zero point within the bounds of the type."""
    x, scale, zero = node[0], _stretched(node, node[1]), node.get(2)
    kind = zero.type if zero is not None else TYPES[node.number("output_dtype", 0) or 2]
    ratio = x.like(scale) / scale
    if kind not in _BOUNDS:
        return [narrowed(ratio, kind, bool(node.number("saturate", 1)))]
    low, high = _BOUNDS[kind]
    placed = ratio.to("f32").rounded()
    if zero is not None:
        placed = placed + _stretched(node, zero).to("f32")
    return [placed.at_least(low).at_most(high).to(kind)]


def _stretched(node: Operands, parameter: Value) -> Value:
    """A scale or zero point as it goes with input 0: one, one for each place along the axis, or one for a block."""
    x, block = node[0], node.number("block_size", 0)
    if parameter.rank == 0 or (parameter.rank == 1 and parameter.length(0) == 1):
        return parameter.reshape([])
    axis = x.axis(node.number("axis", 1))
    if block:
        return parameter.gather(iota(x.count(axis)) // block, axis)
    return parameter.reshape([-1, *[1] * (x.rank - 1 - axis)])


def convert_dynamic(node: Operands) -> list[Value]:
    """To 0 to 255 by the range of the tensor itself: the numbers, the scale and the zero point."""
    x = node[0]
    axes = range(x.rank)
    low, high = x.min(*axes).at_most(0.0), x.max(*axes).at_least(0.0)
    scale = (high - low) / 255.0
    divisor = scale.equals(0.0).where(1.0, scale)
    zero = (-low / divisor).at_least(0.0).at_most(255.0).rounded()
    numbers = ((x / divisor).rounded() + zero).at_least(0.0).at_most(255.0)
    return [numbers.to("u8"), scale, zero.to("u8")]


def _is_needed(node: Node, scope: Scope) -> bool:
    has_zero = len(node.inputs) > 2 and node.inputs[2] != ""
    kind = scope.types.get(node.inputs[2]) if has_zero else node.value("output_dtype", 0)
    is_along_axis = node.inputs[1] in scope.large and node.inputs[0] not in scope.constants
    return (node.inputs[1] not in scope.constants or is_along_axis
            or (bool(node.value("block_size", 0)) and not has_zero) or kind == _F4)


MENDINGS = (Reading("QuantizeLinear", convert, _is_needed), Reading("DynamicQuantizeLinear", convert_dynamic))
