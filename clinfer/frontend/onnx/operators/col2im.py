"""Col2Im with another number of axes than two, which OpenVINO does not have."""
from __future__ import annotations

from clinfer.frontend.onnx.operator import Operands, Reading
from clinfer.frontend.onnx.values import Value, concat, filled, iota, op, scalar, vector


def convert(node: Operands) -> list[Value]:
    """Blocks [batch, channels * block, count] added where they lie in an image."""
    x, image, block = node[0], node[1].to("i64"), node[2].to("i64")
    axes = image.static_length(0)
    strides, dilations = (list(node.attribute(name, [1] * axes)) for name in ("strides", "dilations"))
    pads = list(node.attribute("pads", [0] * 2 * axes))
    if axes == 2:
        return [Value(op.col2im(x.port, image.port, block.port, strides, dilations, pads[:2], pads[2:]))]
    padded = image + vector(*(pads[axis] + pads[axes + axis] for axis in range(axes)))
    places = _places(padded, block, strides, dilations)
    batch = x.size(0)
    updates = x.reshape(concat([batch, vector(-1), places.size(0)], 0))
    line = concat([batch, updates.size(1), padded.prod(0, keep=True)], 0)
    added = filled(x.constant_like(0), line).scatter(places.broadcast(updates.shape()), updates, 2, "sum")
    result = added.reshape(concat([line.slice(0, 0, 2), padded], 0))
    for axis in range(axes):
        start = vector(pads[axis])
        result = result.slice(2 + axis, start, start + image.slice(0, axis, axis + 1))
    return [result]


def _places(padded: Value, block: Value, strides: list[int], dilations: list[int]) -> Value:
    """Where each element of each block lies in the padded image, first by element, then by block."""
    axes = len(strides)
    places, pitch = scalar(0), scalar(1)
    for axis in reversed(range(axes)):
        length, extent = padded.gather(scalar(axis), 0), block.gather(scalar(axis), 0)
        count = (length - (extent - 1) * dilations[axis] - 1) // strides[axis] + 1
        within = iota(extent).reshape([-1, *[1] * (2 * axes - 1 - axis)]) * dilations[axis]
        begin = iota(count).reshape([-1, *[1] * (axes - 1 - axis)]) * strides[axis]
        places = places + (within + begin) * pitch
        pitch = pitch * length
    return places.reshape([-1])


MENDINGS = (Reading("Col2Im", convert),)
