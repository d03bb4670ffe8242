"""Slices of one row, at a place that the body of a loop computes, become Gather, which takes the place as data: bounds
of slices decide their shapes, so that the host would wait for them, and plan, in each run."""
from __future__ import annotations

import numpy as np

from clinfer.frontend.conversions import bodies_of, identity_of, take_place
from clinfer.frontend.known_values import known_value
from clinfer.frontend.openvino_import import openvino as ov


def pick_rows(model: ov.Model, loop: ov.Node | None = None) -> None:
    """Put a Gather in the place of each StridedSlice in the bodies of loops that takes one row and drops its axis.
    `loop`: that of which the model is the body, or a branch in it."""
    for node in model.get_ordered_ops():
        for body in bodies_of(node):
            pick_rows(body, loop if node.get_type_name() == "If" else node)
        if loop is not None and node.get_type_name() == "StridedSlice":
            _pick(loop, node)


def _pick(loop: ov.Node, node: ov.Node) -> None:
    axis = _dropped_axis(node)
    if axis is None:
        return
    data, place = node.input_value(0), _place(node.input_value(1), axis)
    if place is None or place.get_element_type() not in (ov.Type.i32, ov.Type.i64) or known_value(place) is not None:
        return
    # A slice at a place beyond the axis takes the row next to it, where Gather gives zeros.
    first, last = _ends(loop, data, axis, place.get_element_type())
    inside = ov.opset13.minimum(ov.opset13.maximum(place, first), last)
    take_place(ov.opset13.gather(data, inside, np.int64(axis)), node)


def _ends(loop: ov.Node, data: ov.Output, axis: int, kind: ov.Type) -> list[ov.Output]:
    """The first and the last place on an axis; of what is the same in all runs they are computed once."""
    outside = next((loop.input_value(each.input_index) for each in loop.get_input_descriptions()
                    if isinstance(each, ov.op.util.InvariantInputDescription) and identity_of(
                        loop.get_function().get_parameters()[each.body_parameter_index].output(0)
                    ) == identity_of(data)), None)
    size = ov.opset13.gather(ov.opset13.shape_of(outside or data, kind), np.int64(axis), np.int64(0))
    ends = [ov.opset13.multiply(size, _number(-1, kind)), ov.opset13.subtract(size, _number(1, kind))]
    if outside is None:
        return [end.output(0) for end in ends]
    return [_given(loop, end) for end in ends]


def _given(loop: ov.Node, value: ov.Node) -> ov.Output:
    """A value as an input of the body."""
    inner = ov.op.Parameter(value.get_output_element_type(0), value.get_output_partial_shape(0))
    loop.get_function().add_parameters([inner])
    loop.set_invariant_input(inner, value.output(0))
    # Until a source is replaced, OpenVINO keeps the order of nodes in which it has listed them before.
    loop.input(0).replace_source_output(loop.input_value(0))
    return inner.output(0)


def _number(value: int, kind: ov.Type) -> ov.Node:
    return ov.opset13.constant(np.array(value, kind.to_dtype()))


def _dropped_axis(node: ov.Node) -> int | None:
    """The axis that is dropped, where the others are taken as they are."""
    attributes, begins = node.get_attributes(), node.get_input_partial_shape(1)
    shrinks = [axis for axis, is_dropped in enumerate(attributes["shrink_axis_mask"]) if is_dropped]
    if len(shrinks) != 1 or any(attributes["new_axis_mask"]) or any(attributes["ellipsis_mask"]):
        return None
    if begins.is_dynamic or node.get_input_partial_shape(0).rank.is_dynamic or not _steps_by_one(node):
        return None
    count = begins[0].get_length()
    first, last = ([*attributes[name], *[0] * count] for name in ("begin_mask", "end_mask"))
    is_whole = all(first[axis] and last[axis] for axis in range(count) if axis != shrinks[0])
    return shrinks[0] if is_whole and shrinks[0] < count and not first[shrinks[0]] else None


def _steps_by_one(node: ov.Node) -> bool:
    steps = known_value(node.input_value(3)) if node.get_input_size() > 3 else np.ones(1)
    return steps is not None and bool((steps == 1).all())


def _place(begins: ov.Output, axis: int) -> ov.Output | None:
    """Where the row is: the one number, or the one that was joined with others at this place."""
    node, length = begins.get_node(), begins.get_partial_shape()[0].get_length()
    if length == 1:
        return _scalar(begins)
    if node.get_type_name() == "Concat" and node.get_input_size() == length:
        return _scalar(node.input_value(axis))
    return None


def _scalar(port: ov.Output) -> ov.Output:
    if port.get_node().get_type_name() == "Unsqueeze" and not len(port.get_node().get_input_partial_shape(0)):
        return port.get_node().input_value(0)
    return ov.opset13.reshape(port, np.zeros(0, np.int64), False).output(0)
