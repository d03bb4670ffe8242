"""Tiles without repeats. Where OpenVINO wants the values of one of a scalar, for a shape, it ends the process."""
from __future__ import annotations

from clinfer.frontend.conversions import bodies_of, take_place
from clinfer.frontend.openvino_import import openvino as ov


def spell_idle_tiles(model: ov.Model) -> None:
    """Make each the Convert to the same type that it is, in bodies too, whatever the rank of its data."""
    for node in model.get_ordered_ops():
        for body in bodies_of(node):
            spell_idle_tiles(body)
        if node.get_type_name() == "Tile" and node.get_input_partial_shape(1) == ov.PartialShape([0]):
            take_place(ov.opset1.convert(node.input_value(0), node.get_element_type()), node)
