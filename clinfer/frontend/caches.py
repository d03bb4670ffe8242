"""Variables that grow by what each inference puts behind them (caches of keys and values).

Such a variable is stored with the axis along which it grows outermost: then what is new stands behind what is there,
and attention reads the whole with its axes in another order. A Gather that selects entries of the first axis (beams) is
left to whoever keeps the value.
"""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from clinfer.frontend.conversions import constant_values, identity_of, is_constant, layer_of
from clinfer.frontend.openvino_import import openvino as ov

_INDEX_TYPES = ("i32", "i64")


@dataclass(frozen=True)
class Cache:
    """How a variable is stored: axis `order[i]` at i (empty: as it is); `selected_by`: the Parameter that selects
    entries of axis 0."""

    order: tuple[int, ...] = ()
    selected_by: ov.op.Parameter | None = None


def find_cache(parameter: ov.op.Parameter, result: ov.op.Result) -> Cache | None:
    """Let a variable, read as a Parameter and assigned as a Result, be stored as a cache if it is one; the model is
    changed for it. None: it is none."""
    concat = result.input_value(0).get_node()
    shape = parameter.get_partial_shape()
    if concat.get_type_name() != "Concat" or concat.get_input_size() < 2:
        return None
    axis = int(concat.get_attributes()["axis"]) % len(shape)
    selection = _selection(parameter, concat.input_value(0))
    if not shape[axis].is_dynamic or (selection is None and not _is_from(concat.input_value(0), parameter)):
        return None
    if selection is not None and (axis == 0 or not _reads_sizes_alone(parameter, selection)):
        return None
    return Cache() if axis == 0 else _stored(parameter, result, concat, axis, selection)


def _is_from(port: ov.Output, node: ov.Node) -> bool:
    return identity_of(port)[0] == node.get_instance_id()


def _selection(parameter: ov.op.Parameter, port: ov.Output) -> ov.Node | None:
    """The Gather that selects entries of a variable's first axis by a vector that is a Parameter."""
    node = port.get_node()
    if node.get_type_name() != "Gather" or not _is_from(node.input_value(0), parameter):
        return None
    places, axis = (node.input_value(index).get_node() for index in (1, 2))
    is_vector = (places.get_type_name() == "Parameter" and places.get_output_partial_shape(0).rank.is_static
                 and len(places.get_output_partial_shape(0)) == 1
                 and places.get_output_element_type(0).get_type_name() in _INDEX_TYPES)
    if not is_vector or not is_constant(axis) or node.get_attributes().get("batch_dims"):
        return None
    return node if not constant_values(axis, layer_of(axis)).any() else None


def _reads_sizes_alone(parameter: ov.op.Parameter, selection: ov.Node) -> bool:
    """Whether, besides the selection, a variable is read for sizes alone that a selection leaves as they are."""
    for target in parameter.output(0).get_target_inputs():
        node = target.get_node()
        if node.get_instance_id() == selection.get_instance_id():
            continue
        if node.get_type_name() != "ShapeOf" or not all(
                _takes_others(reader.get_node()) for reader in node.output(0).get_target_inputs()):
            return False
    return True


def _takes_others(node: ov.Node) -> bool:
    """Whether a reader of a shape takes sizes of other axes than the first."""
    if node.get_type_name() != "Gather" or not is_constant(node.input_value(1).get_node()):
        return False
    places = constant_values(node.input_value(1).get_node(), layer_of(node))
    return bool((places > 0).all())


def _stored(parameter: ov.op.Parameter, result: ov.op.Result, concat: ov.Node, axis: int,
            selection: ov.Node | None) -> Cache:
    shape = parameter.get_partial_shape()
    order = (axis, *(each for each in range(len(shape)) if each != axis))
    readers = [*parameter.output(0).get_target_inputs()]
    if selection is not None:
        readers += [*selection.output(0).get_target_inputs()]
    others = [*concat.output(0).get_target_inputs()]
    parameter.set_partial_shape(ov.PartialShape([shape[each] for each in order]))
    added = [_ordered(port, order, f"{concat.get_friendly_name()}/part{number}")
             for number, port in enumerate(concat.input_values()) if number]
    joined = ov.opset13.concat([parameter.output(0), *added], 0)
    joined.set_friendly_name(concat.get_friendly_name())
    passed = {concat.get_instance_id(), *([] if selection is None else [selection.get_instance_id()])}
    _read([target for target in readers if target.get_node().get_instance_id() not in passed], parameter, order)
    _read([target for target in others if target.get_node().get_instance_id() != result.get_instance_id()], joined,
          order)
    result.input(0).replace_source_output(joined.output(0))
    return Cache(order, None if selection is None else selection.input_value(1).get_node())


def _ordered(port: ov.Output, order: Sequence[int], name: str) -> ov.Output:
    """A tensor with its axes in another order; what another Transpose did is done with it."""
    source, axes = port, tuple(order)
    node = port.get_node()
    if node.get_type_name() == "Transpose" and is_constant(node.input_value(1).get_node()):
        before = constant_values(node.input_value(1).get_node(), layer_of(node)).reshape(-1)
        if len(before):
            source, axes = node.input_value(0), tuple(int(before[axis]) for axis in order)
    return _transposed(source, axes, name)


def _transposed(port: ov.Output, axes: Sequence[int], name: str) -> ov.Output:
    made = ov.opset13.transpose(port, ov.opset13.constant(np.array(axes, np.int64)))
    made.set_friendly_name(name)
    return made.output(0)


def _read(targets: Sequence[ov.Input], stored: ov.Node, order: Sequence[int]) -> None:
    """Let inputs of nodes read a stored tensor as if its axes were in the model's order."""
    name, back = stored.get_friendly_name(), np.argsort(order)
    others = [target for target in targets if target.get_node().get_type_name() != "ShapeOf"]
    if others:
        seen = _transposed(stored.output(0), [int(axis) for axis in back], f"{name}/read")
        for target in others:
            target.replace_source_output(seen)
    for number, target in enumerate(target for target in targets if target.get_node().get_type_name() == "ShapeOf"):
        asked = target.get_node()
        kind = asked.get_output_element_type(0).get_type_name()
        own = ov.opset13.shape_of(stored.output(0), kind)
        sizes = ov.opset13.gather(own, ov.opset13.constant(back.astype(np.int64)), ov.opset13.constant(0))
        own.set_friendly_name(f"{name}/sizes{number}")
        sizes.set_friendly_name(asked.get_friendly_name())
        asked.output(0).replace(sizes.output(0))
