"""Det, which OpenVINO does not have."""
from __future__ import annotations

from clinfer.frontend.onnx.operator import Operands, Reading
from clinfer.frontend.onnx.values import Value, op, scalar


def convert(node: Operands) -> list[Value]:
    """The determinants of matrices, by Gauss elimination with the largest pivot of each column."""
    x = node[0]
    size = x.static_length(-1)
    rest = x.reshape([-1, size, size])
    product = None
    for left in range(size, 0, -1):
        rest, factor = _eliminate(rest, left)
        product = factor if product is None else product * factor
    if product is None:
        raise ValueError("matrices without elements have no determinant here")
    return [product.reshape(x.shape().slice(0, 0, x.rank - 2))]


def _eliminate(matrices: Value, size: int) -> tuple[Value, Value]:
    """Matrices [count, size, size] without the pivot's row and the first column, and what that is worth."""
    column = matrices.slice(2, 0, 1).squeeze(2)
    place = Value(op.topk(column.apply("abs").port, scalar(1).port, 1, "max", "value", "i64").output(1))
    row = matrices.gather(place, 1, batch_dims=1)
    swapped = matrices.scatter(place.unsqueeze(2).broadcast(row.shape()), matrices.slice(1, 0, 1), 1)
    pivot = row.slice(2, 0, 1)
    sign = place.equals(0).where(pivot.constant_like(1.0), -1.0)
    factor = pivot.squeeze(1, 2) * sign.squeeze(1)
    below = swapped.slice(1, 1, size)
    ratio = below.slice(2, 0, 1) / pivot.equals(0.0).where(1.0, pivot)
    return below.slice(2, 1, size) - ratio * row.slice(2, 1, size), factor


MENDINGS = (Reading("Det", convert),)
