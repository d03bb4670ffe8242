"""Bounds of FakeQuantize that have more axes than the data.

OpenVINO declares the shape of the data for the result, and its CPU plugin gives one with the axes of the bounds.
"""
from __future__ import annotations

import numpy as np

from clinfer.frontend.conversions import bodies_of
from clinfer.frontend.openvino_import import openvino as ov


def lower_bounds(model: ov.Model) -> None:
    """Let bounds have at most the axes of the data, where those before them are 1; bodies included."""
    for node in model.get_ordered_ops():
        for body in bodies_of(node):
            lower_bounds(body)
        if node.get_type_name() == "FakeQuantize" and node.get_input_partial_shape(0).rank.is_static:
            for port in node.inputs()[1:]:
                _lower(port, node.get_input_partial_shape(0).rank.get_length())


def _lower(port: ov.Input, rank: int) -> None:
    shape = port.get_partial_shape()
    surplus = shape.rank.get_length() - rank if shape.rank.is_static else 0
    if surplus > 0 and all(size == 1 for size in list(shape)[:surplus]):
        lowered = ov.opset1.squeeze(port.get_source_output(), np.arange(surplus))
        port.replace_source_output(lowered.output(0))
