"""Floats of 4 bits (nf4, f4e2m1), written as lookups in a codebook: products read such weights as they are."""
from __future__ import annotations

import numpy as np

from clinfer.base.element_type import ElementType
from clinfer.base.quantisation import CODEBOOK_SIZE
from clinfer.frontend.conversions import all_nodes, is_constant, is_on_device, take_place
from clinfer.frontend.openvino_import import openvino as ov


def look_up_codes(model: ov.Model) -> None:
    """Put a Gather of the 16 numbers by the codes, as u4, in the place of each Convert of a constant of such floats,
    those of bodies included."""
    for node in [*all_nodes(model)]:
        if node.get_type_name() == "Convert" and is_on_device(node.get_output_element_type(0)):
            source = node.input_value(0).get_node()
            if is_constant(source) and source.get_element_type() in (ov.Type.nf4, ov.Type.f4e2m1):
                take_place(_lookup(source, node.get_output_element_type(0)), node)


def _lookup(source: ov.op.Constant, kind: ov.Type) -> ov.Node:
    """The numbers of a constant as floats of that type."""
    op = ov.opset13
    places = op.convert(_constant(ov.Type.u4, source.get_output_shape(0), source.data), "u8")
    every = ElementType.of("u4").encode(np.arange(CODEBOOK_SIZE))
    numbers = _constant(source.get_element_type(), ov.Shape([CODEBOOK_SIZE]), every)
    return op.gather(op.constant(numbers.get_data(dtype=np.float32), dtype=kind), places, op.constant(np.int64(0)))


def _constant(kind: ov.Type, shape: ov.Shape, units: np.ndarray) -> ov.op.Constant:
    """A constant of numbers of 4 bits, two in each byte."""
    tensor = ov.Tensor(kind, shape)
    tensor.data.reshape(-1).view(np.uint8)[:] = units.reshape(-1).view(np.uint8)
    return ov.op.Constant(tensor)
