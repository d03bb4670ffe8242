"""Older versions of operations, replaced by later ones that mean the same and declare it rightly."""
from __future__ import annotations

from clinfer.frontend.conversions import bodies_of, take_place
from clinfer.frontend.openvino_import import openvino as ov

_SELECTIONS = ("opset1", "opset3", "opset4")
"""Versions of NonMaxSuppression that declare as many boxes as there may be, of which some are found."""
_LOOKUPS = ("opset1", "opset7")
"""Versions of Gather without negative indices, which OpenVINO counts from the end in shapes all the same."""


def renew_operations(model: ov.Model) -> bool:
    """Replace older operations in a model and its bodies; what reads them sees their true, dynamic shapes.

    Whether there were any.
    """
    changed = False
    for node in model.get_ordered_ops():
        for body in bodies_of(node):
            changed |= renew_operations(body)
        version = node.get_type_info().version_id
        if node.get_type_name() == "NonMaxSuppression" and version in _SELECTIONS:
            _renew_selection(node)
            changed = True
        elif node.get_type_name() == "Gather" and version in _LOOKUPS and _is_shape(node.input_value(0)):
            _renew_lookup(node)
            changed = True
    if changed:
        model.validate_nodes_and_infer_types()
    return changed


def _renew_selection(node: ov.Node) -> None:
    from openvino.utils.node_factory import NodeFactory
    attributes = {"output_type": "i64", **node.get_attributes()}
    take_place(NodeFactory("opset9").create("NonMaxSuppression", node.input_values(), attributes), node)


def _is_shape(value: ov.Output) -> bool:
    """Whether a tensor is a shape, in whatever type."""
    node = value.get_node()
    while node.get_type_name() == "Convert":
        node = node.input_value(0).get_node()
    return node.get_type_name() == "ShapeOf"


def _renew_lookup(node: ov.Node) -> None:
    from openvino.utils.node_factory import NodeFactory
    attributes = {"batch_dims": 0, **node.get_attributes()}
    take_place(NodeFactory("opset8").create("Gather", node.input_values(), attributes), node)
