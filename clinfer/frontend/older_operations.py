"""Older versions of operations, replaced by later ones that mean the same and declare it rightly."""
from __future__ import annotations

from clinfer.frontend.conversions import bodies_of, take_place
from clinfer.frontend.openvino_import import openvino as ov

_SELECTIONS = ("opset1", "opset3", "opset4")
"""Versions of NonMaxSuppression that declare as many boxes as there may be, of which some are found."""


def renew_operations(model: ov.Model) -> bool:
    """Replace older operations in a model and its bodies; what reads them sees their true, dynamic shapes.

    Whether there were any.
    """
    changed = False
    for node in model.get_ordered_ops():
        for body in bodies_of(node):
            changed |= renew_operations(body)
        if node.get_type_name() == "NonMaxSuppression" and node.get_type_info().version_id in _SELECTIONS:
            _renew_selection(node)
            changed = True
    if changed:
        model.validate_nodes_and_infer_types()
    return changed


def _renew_selection(node: ov.Node) -> None:
    from openvino.utils.node_factory import NodeFactory
    attributes = {"output_type": "i64", **node.get_attributes()}
    take_place(NodeFactory("opset9").create("NonMaxSuppression", node.input_values(), attributes), node)
