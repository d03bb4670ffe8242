"""MaxUnpool, which OpenVINO's import does not know."""
from __future__ import annotations

from clinfer.frontend.onnx.operator import Operands, Reading
from clinfer.frontend.onnx.values import Value, concat, filled, op, vector


def convert(node: Operands) -> list[Value]:
    """Pooled elements where they came from, zeros elsewhere. The indices count in the tensor of the inferred shape; a
    larger output shape adds zeros behind."""
    x, indices = node[0], node[1]
    kernel = list(node.attribute("kernel_shape"))
    axes = len(kernel)
    strides, pads = list(node.attribute("strides", [1] * axes)), list(node.attribute("pads", [0] * 2 * axes))
    extra = vector(*(kernel[axis] - pads[axis] - pads[axes + axis] for axis in range(axes)))
    inferred = (x.shape().slice(0, 2, x.rank) - 1) * vector(*strides) + extra
    shape = concat([x.shape().slice(0, 0, 2), inferred], 0)
    line = filled(x.constant_like(0), shape.prod(0, keep=True))
    made = line.scatter(indices.reshape([-1]), x.reshape([-1]), 0).reshape(shape)
    wanted = node.get(2)
    if wanted is None:
        return [made]
    ends = wanted.to("i64") - shape
    return [Value(op.pad(made.port, vector(*[0] * x.rank).port, ends.port, "constant", x.constant_like(0).port))]


MENDINGS = (Reading("MaxUnpool", convert),)
