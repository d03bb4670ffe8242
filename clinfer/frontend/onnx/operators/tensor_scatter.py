"""TensorScatter, which OpenVINO's import does not know."""
from __future__ import annotations

from clinfer.frontend.onnx.operator import Operands, Reading
from clinfer.frontend.onnx.values import Value, iota


def convert(node: Operands) -> list[Value]:
    """A cache with new elements behind each batch's write index, "circular": around its end."""
    cache, update = node[0], node[1]
    axis = cache.axis(node.number("axis", -2))
    places = iota(update.count(axis)).reshape([-1, *[1] * (cache.rank - 1 - axis)])
    if node.has(2):
        places = places + node[2].to("i64").reshape([-1, *[1] * (cache.rank - 1)])
    if node.text("mode", "linear") == "circular":
        places = places % cache.count(axis)
    return [cache.scatter(places.broadcast(update.shape()), update, axis)]


MENDINGS = (Reading("TensorScatter", convert),)
