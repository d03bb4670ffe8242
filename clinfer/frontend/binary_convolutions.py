"""Convolutions of bits, spelled as convolutions of the signs that the bits stand for."""
from __future__ import annotations

import numpy as np

from clinfer.frontend.conversions import bodies_of, is_constant, static_shape_of, take_place
from clinfer.frontend.openvino_import import openvino as ov


def spell_binary_convolutions(model: ov.Model) -> None:
    """Replace every BinaryConvolution of a model and its bodies, of those that the common transformations make too."""
    for node in model.get_ordered_ops():
        for body in bodies_of(node):
            spell_binary_convolutions(body)
        spelled = _convolution_of_signs(node) if node.get_type_name() == "BinaryConvolution" else None
        if spelled is not None:
            take_place(spelled, node)


def _convolution_of_signs(node: ov.Node) -> ov.Node | None:
    """A BinaryConvolution as a convolution of signs, -1 for what is not above 0; bits of weights stand for -1 and 1.

    What lies outside of the data is 0, or the sign of `pad_value`. None where the weights are no constant, or where the
    pads that are to be filled follow from the shapes.
    """
    attributes, weights = node.get_attributes(), node.input_value(1).get_node()
    fill, auto_pad = attributes["pad_value"], str(attributes["auto_pad"]).lower()
    if not is_constant(weights) or (fill and auto_pad not in ("explicit", "valid")):
        return None
    shape, kind = static_shape_of(weights.get_output_shape(0)), node.get_output_element_type(0).to_dtype()
    bits = np.unpackbits(np.ravel(weights.data).view(np.uint8), bitorder="little")[:int(np.prod(shape))]
    signs = ov.opset13.fake_quantize(node.input_value(0), *map(kind.type, (0, 0, -1, 1)), 2)
    pads = attributes["pads_begin"], attributes["pads_end"]
    if fill and auto_pad == "explicit":
        around = (np.array((0, 0, *pad)) for pad in pads)
        signs = ov.opset13.pad(signs, *around, "constant", kind.type(1 if fill == 1 else -1))
        pads = [0] * len(pads[0]), [0] * len(pads[1])
    return ov.opset13.convolution(signs, (bits.reshape(shape) * 2.0 - 1).astype(kind), attributes["strides"], *pads,
                                  attributes["dilations"], auto_pad)
