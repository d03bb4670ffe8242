"""Ifs whose conditions are constants or follow from shapes, which OpenVINO keeps: only the branch that is taken
matters."""
from __future__ import annotations

from clinfer.frontend.conversions import bodies_of
from clinfer.frontend.known_values import known_value
from clinfer.frontend.openvino_import import openvino as ov


def follow_decided_branches(model: ov.Model) -> None:
    """Put the branch that is taken in the place of each If whose condition is known, in bodies too.

    OpenVINO does not infer shapes of the other branch, which need not be possible at all for the shapes at hand.
    """
    if _follow(model):
        model.validate_nodes_and_infer_types()


def _follow(model: ov.Model) -> bool:
    """Do so, and tell whether there were any."""
    found = False
    for node in model.get_ordered_ops():
        for body in bodies_of(node):
            found |= _follow(body)
        condition = known_value(node.input_value(0)) if node.get_type_name() == "If" else None
        if condition is not None:
            _inline(node, 0 if condition.reshape(-1)[0] else 1)
            found = True
    return found


def _inline(node: ov.Node, branch: int) -> None:
    """Let the readers of an If read the nodes of one of its bodies, which read what the If reads."""
    body = node.get_function(branch)
    parameters, results = body.get_parameters(), body.get_results()
    for taken in node.get_input_descriptions(branch):
        parameters[taken.body_parameter_index].output(0).replace(node.input_value(taken.input_index))
    for given in node.get_output_descriptions(branch):
        node.output(given.output_index).replace(results[given.body_value_index].input_value(0))
