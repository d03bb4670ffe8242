"""Quotients of whole numbers that lose their fraction, which OpenVINO's imports write as ones that are rounded down.

A Divide with `m_pythondiv`, as Divides are unless they say otherwise, rounds down, by OpenVINO's definition; its CPU
plugin leaves the fraction out. TensorFlow's Div and PyTorch's quotients that are rounded down are imported by that
definition; TensorFlow's TruncateDiv, TFLite's DIV and PyTorch's quotients that are rounded towards zero are not.
"""
from __future__ import annotations

from collections.abc import Sequence

from clinfer.frontend.conversions import bodies_of
from clinfer.frontend.openvino_import import openvino as ov

_ROUNDED_TWICE = {"Ceiling", "Floor", "Less"}


def cut_rounded_quotients(model: ov.Model) -> None:
    """Let quotients that are rounded towards zero lose their fraction, bodies included: rounded down they would
    stay as they are."""
    for node in _quotients(model):
        if _is_rounded_towards_zero(node):
            node.set_attribute("m_pythondiv", False)


def _is_rounded_towards_zero(quotient: ov.Node) -> bool:
    """Rounded up below zero and down above it, as the import of TruncateDiv writes it, or converted to i32 and back, as
    that of PyTorch's `rounding_mode="trunc"` does with i64; with i32 nothing tells it."""
    readers = _readers(quotient)
    kinds = {reader.get_type_name() for reader in readers}
    return kinds == _ROUNDED_TWICE or (
        quotient.get_output_element_type(0) == ov.Type.i64 and _convert_to(readers, ov.Type.i32)
        and all(_convert_to(_readers(reader), ov.Type.i64) for reader in readers))


def _readers(node: ov.Node) -> list[ov.Node]:
    return [port.get_node() for port in node.output(0).get_target_inputs()]


def _convert_to(nodes: Sequence[ov.Node], element_type: ov.Type) -> bool:
    """Whether there are nodes, and all do nothing else."""
    return bool(nodes) and all(node.get_type_name() == "Convert" and node.get_output_element_type(0) == element_type
                               for node in nodes)


def cut_quotients(model: ov.Model) -> None:
    """Let all quotients of whole numbers lose their fraction, those of bodies included."""
    for node in _quotients(model):
        node.set_attribute("m_pythondiv", False)


def _quotients(model: ov.Model) -> list[ov.Node]:
    """The Divides of whole numbers, those of bodies included."""
    nodes = model.get_ordered_ops()
    inside = [node for outer in nodes for body in bodies_of(outer) for node in _quotients(body)]
    return inside + [node for node in nodes
                     if node.get_type_name() == "Divide" and node.get_output_element_type(0).is_integral()]
