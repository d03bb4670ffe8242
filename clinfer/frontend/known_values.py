"""Values that follow from constants and from what is known of sizes."""
from __future__ import annotations

import numpy as np

from clinfer.frontend.conversions import is_constant
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
