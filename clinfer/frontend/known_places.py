"""NonZeros of what is known when a model is read: constants, of which OpenVINO only tells how many there are."""
from __future__ import annotations

import numpy as np

from clinfer.frontend.conversions import bodies_of, is_constant
from clinfer.frontend.known_values import depends_on_misjudged_size, known_value
from clinfer.frontend.openvino_import import openvino as ov


def fold_known_places(model: ov.Model) -> None:
    """Put constants in the place of these, in bodies too: a rank may depend on how many elements they have."""
    found = False
    for node in model.get_ordered_ops():
        for body in bodies_of(node):
            fold_known_places(body)
        data = _known_data(model, node) if node.get_type_name() == "NonZero" else None
        if data is not None:
            _fold(node, data)
            found = True
    if found:
        model.validate_nodes_and_infer_types()


def _known_data(model: ov.Model, node: ov.Node) -> np.ndarray | None:
    """The input, or where it is not 0, if that is known."""
    data = node.input_value(0)
    return _folded(model, data) if _is_known(node) else known_value(data)


def _is_known(node: ov.Node) -> bool:
    """Whether the result, whose shape is static, follows from constants and static sizes alone."""
    if node.get_output_partial_shape(0).is_dynamic or depends_on_misjudged_size(node):
        return False
    waiting, seen = [node], set()
    while waiting:
        reader = waiting.pop()
        for port in reader.input_values():
            source = port.get_node()
            is_size = reader.get_type_name() == "ShapeOf" and port.get_partial_shape().is_static
            if is_size or is_constant(source) or source.get_instance_id() in seen:
                continue
            if not source.get_input_size() or source.get_type_name() == "ReadValue":
                return False
            seen.add(source.get_instance_id())
            waiting.append(source)
    return True


def _folded(model: ov.Model, port: ov.Output) -> np.ndarray | None:
    """Where a tensor is not 0, if OpenVINO's folding of constants tells."""
    from openvino.passes import ConstantFolding, Manager
    is_counted = ov.opset1.not_equal(port, ov.op.Constant(port.get_element_type(), ov.Shape([]), [0]))
    alone = ov.Model([ov.op.Result(is_counted.output(0))], model.get_parameters()).clone()
    folding = Manager()
    folding.register_pass(ConstantFolding())
    folding.run_passes(alone)
    found = alone.get_results()[0].input_value(0).get_node()
    return found.data if is_constant(found) else None


def _fold(node: ov.Node, data: np.ndarray) -> None:
    """Put a constant in the place of the result.

    What OpenVINO itself makes of a single element is wrong: of all rows but the first nothing is set.
    """
    places = np.array(np.nonzero(np.atleast_1d(data)), node.get_output_element_type(0).to_dtype())
    value = ov.op.Constant(places)
    value.set_friendly_name(node.get_friendly_name())
    for reader in node.output(0).get_target_inputs():
        reader.replace_source_output(value.output(0))
