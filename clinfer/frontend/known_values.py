"""Values that follow from constants and from what is known of sizes."""
from __future__ import annotations

import numpy as np

from clinfer.frontend.conversions import is_constant, sources_of
from clinfer.frontend.openvino_import import openvino as ov
from clinfer.frontend.partitions import bounds_are_misjudged


def known_value(port: ov.Output) -> np.ndarray | None:
    """What a tensor surely is. Of one that is computed of sizes OpenVINO has noted bounds, to which those of the
    sizes have led it; None where they differ, or where it may have misjudged them."""
    if is_constant(port.get_node()):
        return port.get_node().get_data()
    bounds = _bounds(port)
    if bounds is None or not np.array_equal(*bounds) or _may_be_misjudged(port.get_node()):
        return None
    return bounds[0]


def _bounds(port: ov.Output) -> tuple[np.ndarray, np.ndarray] | None:
    tensor = port.get_tensor()
    try:
        return tensor.get_lower_value().data, tensor.get_upper_value().data
    except RuntimeError:
        # OpenVINO knows tensors that were never made, and does not tell them.
        return None


def depends_on_misjudged_size(node: ov.Node) -> bool:
    """Whether a value or shape may follow from the size of a slice that OpenVINO misjudges."""
    return any(map(_has_misjudged_size, sources_of(node, _is_rank)))


def _may_be_misjudged(node: ov.Node) -> bool:
    """Whether bounds on the way from constants and sizes may be others than those that are noted."""
    return depends_on_misjudged_size(node) or any(
        bounds_are_misjudged(source) and any(
            bounds is None or not np.array_equal(*bounds) for bounds in map(_bounds, source.input_values()))
        for source in sources_of(node, lambda source: source.get_type_name() == "ShapeOf"))


def _is_rank(node: ov.Node) -> bool:
    return node.get_type_name() == "ShapeOf" and node.input_value(0).get_node().get_type_name() == "ShapeOf"


def _has_misjudged_size(node: ov.Node) -> bool:
    """Whether a slice starts or stops at a place counted from the end of an axis whose size has a limit: OpenVINO
    takes the sizes at the least and at the largest one for the bounds of its own, which may lie between them."""
    if node.get_type_name() not in ("Slice", "StridedSlice"):
        return False
    shape = node.get_input_partial_shape(0)
    if shape.rank.is_static and not any(size.is_dynamic and size.max_length >= 0 for size in shape):
        return False
    places = [node.input_value(index).get_node() for index in (1, 2)]
    return not all(is_constant(place) and (place.get_data() >= 0).all() for place in places)
