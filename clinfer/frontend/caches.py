"""Variables that grow by what each inference puts behind them (caches of keys and values).

Such a variable is stored with the axis along which it grows outermost: then what is new stands behind what is there,
and attention reads the whole with its axes in another order. A Gather that selects entries of the first axis (beams) is
left to whoever keeps the value.
"""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from clinfer.base.byte_rows import TAIL
from clinfer.base.element_type import ElementType
from clinfer.frontend.byte_rows import dequantised, float_sizes, quantised
from clinfer.frontend.conversions import constant_values, is_constant, is_output_of, layer_of
from clinfer.frontend.openvino_import import openvino as ov

_INDEX_TYPES = ("i32", "i64")
_NARROW_FLOATS = ("f16", "bf16")
CACHE_TYPES = (*_NARROW_FLOATS, "u8")
"""The types in which keys and values can be stored: those of f32 as narrow floats, all as rows of bytes."""


@dataclass(frozen=True)
class Cache:
    """How a variable is stored: axis `order[i]` at i (empty: as it is); `selected_by`: the Parameter that selects
    entries of axis 0; `kept_as`: the type (None: as it is declared)."""

    order: tuple[int, ...] = ()
    selected_by: ov.op.Parameter | None = None
    kept_as: ElementType | None = None


def find_cache(parameter: ov.op.Parameter, result: ov.op.Result, cache_type: str = "") -> Cache | None:
    """Let a variable, read as a Parameter and assigned as a Result, be stored as a cache if it is one; the model is
    changed for it. None: it is none. `cache_type`: the name of the type in which keys and values (four axes, of which
    the first does not grow) are stored if they can be; empty: as they are."""
    seen = _seen(parameter)
    concat = result.input_value(0).get_node()
    if seen.get_instance_id() != parameter.get_instance_id() and _narrows_or_widens(concat):
        concat = concat.input_value(0).get_node()
    shape = parameter.get_partial_shape()
    if concat.get_type_name() != "Concat" or concat.get_input_size() < 2:
        return None
    axis = int(concat.get_attributes()["axis"]) % len(shape)
    selection = _selection(seen, concat.input_value(0))
    if not shape[axis].is_dynamic or (selection is None and not is_output_of(concat.input_value(0), seen)):
        return None
    if selection is not None and (axis == 0 or not _reads_sizes_alone(parameter, seen, selection)):
        return None
    if _is_doubled(concat, seen, selection):
        return None
    if axis == 0:
        return Cache() if seen.get_instance_id() == parameter.get_instance_id() else None
    kept_as = concat.get_output_element_type(0).get_type_name()
    if len(shape) == 4 and _can_be_kept(cache_type, kept_as, shape[-1], axis):
        kept_as = cache_type
    return _stored(parameter, seen, result, concat, axis, selection, kept_as)


def _can_be_kept(cache_type: str, read_as: str, size: ov.Dimension, axis: int) -> bool:
    """Whether keys or values that are read as one type, with rows of that size, growing along that axis, can be stored
    in another."""
    if cache_type == "u8":
        return read_as in ("f32", *_NARROW_FLOATS) and size.is_static and size.get_length() > 0 and axis != 3
    return bool(cache_type) and read_as == "f32"


def _is_doubled(concat: ov.Node, seen: ov.Node, selection: ov.Node | None) -> bool:
    """Whether what is put behind a variable is that itself, perhaps with its axes in another order."""
    added = [port.get_node().input_value(0) if port.get_node().get_type_name() == "Transpose" else port
             for port in concat.input_values()[1:]]
    return any(is_output_of(port, each) for port in added for each in (seen, selection) if each is not None)


def _seen(parameter: ov.op.Parameter) -> ov.Node:
    """What stands for a variable in the model: where all but its sizes is read in a narrow type, the Convert that
    makes that."""
    readers = [target.get_node() for target in parameter.output(0).get_target_inputs()]
    others = [node for node in readers if node.get_type_name() != "ShapeOf"]
    return others[0] if len(others) == 1 and _narrows_or_widens(others[0]) else parameter


def _narrows_or_widens(node: ov.Node) -> bool:
    """Whether a node converts f32 to a narrow type, as in models that are computed in that, or back."""
    if node.get_type_name() != "Convert":
        return False
    types = {node.get_input_element_type(0).get_type_name(), node.get_output_element_type(0).get_type_name()}
    return types in [{"f32", narrow} for narrow in _NARROW_FLOATS]


def _readers(parameter: ov.op.Parameter, seen: ov.Node) -> list[ov.Input]:
    """What reads a variable, its Convert left out, or that."""
    found = [*parameter.output(0).get_target_inputs()]
    if seen.get_instance_id() == parameter.get_instance_id():
        return found
    others = [target for target in found if target.get_node().get_instance_id() != seen.get_instance_id()]
    return [*others, *seen.output(0).get_target_inputs()]


def _selection(seen: ov.Node, port: ov.Output) -> ov.Node | None:
    """The Gather that selects entries of a variable's first axis by a vector that is a Parameter."""
    node = port.get_node()
    if node.get_type_name() != "Gather" or not is_output_of(node.input_value(0), seen):
        return None
    places, axis = (node.input_value(index).get_node() for index in (1, 2))
    is_vector = (places.get_type_name() == "Parameter" and places.get_output_partial_shape(0).rank.is_static
                 and len(places.get_output_partial_shape(0)) == 1
                 and places.get_output_element_type(0).get_type_name() in _INDEX_TYPES)
    if not is_vector or not is_constant(axis) or node.get_attributes().get("batch_dims"):
        return None
    return node if not constant_values(axis, layer_of(axis)).any() else None


def _reads_sizes_alone(parameter: ov.op.Parameter, seen: ov.Node, selection: ov.Node) -> bool:
    """Whether, besides the selection, a variable is read for sizes alone that a selection leaves as they are."""
    for target in _readers(parameter, seen):
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


def _stored(parameter: ov.op.Parameter, seen: ov.Node, result: ov.op.Result, concat: ov.Node, axis: int,
            selection: ov.Node | None, kept_as: str) -> Cache:
    shape, declared = parameter.get_partial_shape(), parameter.get_element_type().get_type_name()
    order = (axis, *(each for each in range(len(shape)) if each != axis))
    read_as = concat.get_output_element_type(0).get_type_name()
    readers = _readers(parameter, seen)
    if selection is not None:
        readers += [*selection.output(0).get_target_inputs()]
    others = [*concat.output(0).get_target_inputs()]
    sizes = [shape[each] for each in order]
    if _is_in_byte_rows(kept_as, read_as):
        sizes[-1] = ov.Dimension(sizes[-1].get_length() + TAIL)
    parameter.set_partial_shape(ov.PartialShape(sizes))
    parameter.set_element_type(getattr(ov.Type, kept_as))
    parameter.validate_and_infer_types()
    added = [_typed(_ordered(port, order, f"{concat.get_friendly_name()}/part{number}"), kept_as)
             for number, port in enumerate(concat.input_values()) if number]
    joined = ov.opset13.concat([parameter.output(0), *added], 0)
    joined.set_friendly_name(concat.get_friendly_name())
    passed = {concat.get_instance_id(), *([] if selection is None else [selection.get_instance_id()])}
    _read([target for target in readers if target.get_node().get_instance_id() not in passed], parameter, order,
          read_as)
    _read([target for target in others if target.get_node().get_instance_id() != result.get_instance_id()], joined,
          order, read_as)
    result.input(0).replace_source_output(joined.output(0))
    return Cache(order, None if selection is None else selection.input_value(1).get_node(),
                 None if kept_as == declared else ElementType.of(kept_as))


def _is_in_byte_rows(kept_as: str, read_as: str) -> bool:
    return kept_as == "u8" and read_as != "u8"


def _typed(port: ov.Output, kind: str) -> ov.Output:
    """A tensor in another type; between floats and u8 as rows of bytes."""
    given = port.get_element_type().get_type_name()
    if given == kind:
        return port
    if _is_in_byte_rows(kind, given):
        made = quantised(port)
    elif _is_in_byte_rows(given, kind):
        made = dequantised(port, kind)
    else:
        made = ov.opset13.convert(port, kind)
    made.set_friendly_name(f"{port.get_node().get_friendly_name()}/{kind}")
    return made.output(0)


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


def _read(targets: Sequence[ov.Input], stored: ov.Node, order: Sequence[int], read_as: str) -> None:
    """Let inputs of nodes read a stored tensor as if it were of that type and its axes in the model's order."""
    name, back = stored.get_friendly_name(), np.argsort(order)
    kept_as = stored.get_output_element_type(0).get_type_name()
    others = [target for target in targets if target.get_node().get_type_name() != "ShapeOf"]
    if others:
        seen = _transposed(_typed(stored.output(0), read_as), [int(axis) for axis in back], f"{name}/read")
        for target in others:
            target.replace_source_output(seen)
    for number, target in enumerate(target for target in targets if target.get_node().get_type_name() == "ShapeOf"):
        asked = target.get_node()
        kind = asked.get_output_element_type(0).get_type_name()
        own = (float_sizes(stored.output(0), kind) if _is_in_byte_rows(kept_as, read_as)
               else ov.opset13.shape_of(stored.output(0), kind))
        sizes = ov.opset13.gather(own, ov.opset13.constant(back.astype(np.int64)), ov.opset13.constant(0))
        own.set_friendly_name(f"{name}/sizes{number}")
        sizes.set_friendly_name(asked.get_friendly_name())
        asked.output(0).replace(sizes.output(0))
