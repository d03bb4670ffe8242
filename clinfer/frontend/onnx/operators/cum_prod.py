"""CumProd, which OpenVINO does not have."""
from __future__ import annotations

from clinfer.frontend.onnx.operator import Operands, Reading
from clinfer.frontend.onnx.scan import scan
from clinfer.frontend.onnx.values import Value, concat, filled, iota, scalar


def convert(node: Operands) -> list[Value]:
    """Running products along the axis that input 1 names, which may be known only at run time."""
    x, is_exclusive = node[0], bool(node.attribute("exclusive", 0))
    rank = x.rank
    axis = node[1].to("i64").reshape([])
    axis = (axis < 0).where(axis + rank, axis)
    others = iota(scalar(rank - 1))
    to_front = concat([axis.reshape([1]), (others >= axis).where(others + 1, others)], 0)
    places = iota(scalar(rank))
    back = places.equals(axis).where(0, (places < axis).where(places + 1, places))
    moved = x.transpose(to_front)

    def step(states: list[Value], slices: list[Value], fixed: list[Value]) -> tuple[list[Value], list[Value]]:
        product = states[0] * slices[0]
        return [product], [states[0] if is_exclusive else product]
    one = filled(x.constant_like(1), concat([scalar(1).reshape([1]), moved.shape().slice(0, 1, rank)], 0))
    _, (products,) = scan(step, [one], [moved], reverse=bool(node.attribute("reverse", 0)))
    return [products.transpose(back)]


MENDINGS = (Reading("CumProd", convert),)
