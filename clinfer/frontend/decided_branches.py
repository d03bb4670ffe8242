"""Ifs whose conditions are constants or follow from shapes, which OpenVINO keeps: only the branch that is taken
matters."""
from __future__ import annotations

import numpy as np

from clinfer.frontend.conversions import bodies_of, is_constant
from clinfer.frontend.openvino_import import openvino as ov
from clinfer.frontend.partitions import bounds_are_misjudged


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
        condition = _known(node.input_value(0)) if node.get_type_name() == "If" else None
        if condition is not None:
            _inline(node, 0 if condition else 1)
            found = True
    return found


def _known(condition: ov.Output) -> bool | None:
    """What a condition surely is. Of one that is computed of sizes OpenVINO has noted bounds, to which those of the
    sizes have led it; None where they differ, or where it may have misjudged them."""
    if is_constant(condition.get_node()):
        return bool(condition.get_node().get_data().reshape(-1)[0])
    bounds = _bounds(condition)
    if bounds is None or not np.array_equal(*bounds) or _may_be_misjudged(condition.get_node()):
        return None
    return bool(bounds[0].reshape(-1)[0])


def _bounds(port: ov.Output) -> tuple[np.ndarray, np.ndarray] | None:
    tensor = port.get_tensor()
    try:
        return tensor.get_lower_value().data, tensor.get_upper_value().data
    except RuntimeError:
        # OpenVINO knows tensors that were never made, and does not tell them.
        return None


def _may_be_misjudged(node: ov.Node) -> bool:
    """Whether bounds on the way from constants and sizes may be others than those that are noted."""
    sources, seen = [node], set()
    while sources:
        source = sources.pop()
        if source.get_instance_id() in seen or source.get_type_name() == "ShapeOf":
            continue
        seen.add(source.get_instance_id())
        if bounds_are_misjudged(source) and any(
                bounds is None or not np.array_equal(*bounds) for bounds in map(_bounds, source.input_values())):
            return True
        sources += [port.get_node() for port in source.input_values()]
    return False


def _inline(node: ov.Node, branch: int) -> None:
    """Let the readers of an If read the nodes of one of its bodies, which read what the If reads."""
    body = node.get_function(branch)
    parameters, results = body.get_parameters(), body.get_results()
    for taken in node.get_input_descriptions(branch):
        parameters[taken.body_parameter_index].output(0).replace(node.input_value(taken.input_index))
    for given in node.get_output_descriptions(branch):
        node.output(given.output_index).replace(results[given.body_value_index].input_value(0))
