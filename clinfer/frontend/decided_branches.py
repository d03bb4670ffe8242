"""Ifs whose conditions are constants or follow from shapes, which OpenVINO keeps: only the branch that is taken
matters."""
from __future__ import annotations

import numpy as np

from clinfer.frontend.conversions import bodies_of, is_constant
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
        if node.get_type_name() == "If" and _decide(node):
            _inline(node, 0 if node.input_value(0).get_node().get_data().reshape(-1)[0] else 1)
            found = True
    return found


def _decide(node: ov.Node) -> bool:
    """Make a constant of the condition of an If that follows from known shapes, and tell whether it is one."""
    condition = node.input_value(0)
    if not is_constant(condition.get_node()) and _fix_shapes(condition.get_node()):
        from openvino.passes import ConstantFolding
        ConstantFolding().run_on_model(ov.Model([condition.get_node()], []))
    return is_constant(node.input_value(0).get_node())


def _fix_shapes(node: ov.Node) -> bool:
    """Make constants of the shapes that a node is computed of, if it is of constants and known shapes alone, and tell
    whether it is."""
    sources = [node]
    found: dict[int, ov.Node] = {}
    while sources:
        source = sources.pop()
        is_shape = source.get_type_name() == "ShapeOf" and source.get_input_partial_shape(0).is_static
        if source.get_instance_id() in found:
            continue
        if not is_shape and not is_constant(source) and not source.input_values():
            return False
        found[source.get_instance_id()] = source
        if not is_shape:
            sources += [port.get_node() for port in source.input_values()]
    for source in found.values():
        if source.get_type_name() == "ShapeOf":
            sizes = np.array(list(source.get_input_shape(0)), np.int64)
            source.output(0).replace(ov.opset13.constant(sizes, source.get_output_element_type(0)).output(0))
    return True


def _inline(node: ov.Node, branch: int) -> None:
    """Let the readers of an If read the nodes of one of its bodies, which read what the If reads."""
    body = node.get_function(branch)
    parameters, results = body.get_parameters(), body.get_results()
    for taken in node.get_input_descriptions(branch):
        parameters[taken.body_parameter_index].output(0).replace(node.input_value(taken.input_index))
    for given in node.get_output_descriptions(branch):
        node.output(given.output_index).replace(results[given.body_value_index].input_value(0))
