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
    stay as they are. Imports merge them with quotients of the same numbers that are rounded down."""
    for node in _quotients(model):
        cut = _ports_rounded_towards_zero(node)
        if cut and len(cut) == len(_readers(node)):
            node.set_attribute("m_pythondiv", False)
        elif cut:
            apart = ov.opset1.divide(node.input_value(0), node.input_value(1), node.get_attributes()["auto_broadcast"])
            apart.set_attribute("m_pythondiv", False)
            apart.set_friendly_name(f"{node.get_friendly_name()}/towards_zero")
            for port in cut:
                port.replace_source_output(apart.output(0))


def _ports_rounded_towards_zero(quotient: ov.Node) -> list[ov.Input]:
    """The readers that round up below zero and down above it, as the import of TruncateDiv writes it, or convert to i32
    and back, as that of PyTorch's `rounding_mode="trunc"` does with i64; with i32 nothing tells it."""
    ports = list(quotient.output(0).get_target_inputs())
    if {port.get_node().get_type_name() for port in ports} == _ROUNDED_TWICE:
        return ports
    if quotient.get_output_element_type(0) != ov.Type.i64:
        return []
    return [port for port in ports if _convert_to([port.get_node()], ov.Type.i32)
            and _convert_to(_readers(port.get_node()), ov.Type.i64)]


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
