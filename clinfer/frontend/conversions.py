"""Element types, shapes, constants and error texts: between OpenVINO's classes and those of `base`."""
from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import numpy as np

from clinfer.base.element_type import ALL_TYPES, HOST_TYPES, ElementType
from clinfer.base.errors import UnsupportedError
from clinfer.base.shape import UNBOUNDED, Dim, Shape, StaticShape
from clinfer.frontend.openvino_import import openvino as ov

_OUR_TYPES = {kind.name: kind for kind in (*ALL_TYPES, *HOST_TYPES)}
_OV_TYPES = {name: getattr(ov.Type, name) for name in _OUR_TYPES}
_LOOPS = ("Loop", "TensorIterator")


def ov_type(element_type: ElementType) -> ov.Type:
    """OpenVINO's class of an element type; that of the whole numbers where floats are stored as such."""
    return _OV_TYPES[element_type.name if element_type.grid is None else "u8"]


def element_type_of(kind: ov.Type, where: str) -> ElementType:
    """The element type of OpenVINO's. Errors: u1 and others that clinfer cannot hold."""
    name = kind.get_type_name()
    found = _OUR_TYPES.get(name)
    if found is None:
        hint = "give the input a type, as in convert_model(..., input=[('x', [-1, 3], 'f32')])"
        raise UnsupportedError(f"tensors of type {name} are not supported", where=where,
                               values={"supported": ", ".join(_OUR_TYPES)}, hint=hint if kind.is_dynamic() else "")
    return found


def is_held(kind: ov.Type) -> bool:
    """Whether clinfer has tensors of a type, be it on the host alone."""
    return kind.get_type_name() in _OUR_TYPES


def is_on_device(kind: ov.Type) -> bool:
    """Whether devices have tensors of a type."""
    return is_held(kind) and not _OUR_TYPES[kind.get_type_name()].is_on_host_only


def static_shape_of(shape: ov.Shape) -> StaticShape:
    """A static shape; indexed, because iterating over OpenVINO's class is ten times slower."""
    return tuple([shape[axis] for axis in range(len(shape))])


def shape_of(partial: ov.PartialShape) -> Shape | None:
    """A shape whose dynamic dimensions carry their bounds; None for a dynamic rank."""
    if partial.is_static:
        return static_shape_of(partial.get_shape())
    if partial.rank.is_dynamic:
        return None
    return tuple(_size_of(partial[axis]) for axis in range(len(partial)))


def partial_shape_of(shape: Shape | None) -> ov.PartialShape:
    """The reverse of `shape_of`."""
    if shape is None:
        return ov.PartialShape.dynamic()
    if Dim not in map(type, shape):
        return ov.PartialShape(ov.Shape(shape))
    return ov.PartialShape([_dimension_of(size) if isinstance(size, Dim) else size for size in shape])


def constant_values(node: ov.op.Constant, where: str) -> np.ndarray:
    """The unpacked values of a Constant; without a copy where the type is not packed."""
    kind = element_type_of(node.get_element_type(), where)
    shape = static_shape_of(node.get_output_shape(0))
    data = node.data
    if not kind.is_encoded:
        return data.reshape(shape)
    units = np.ascontiguousarray(data).view(kind.storage).reshape(-1)
    return kind.decode(units, int(np.prod(shape, dtype=np.int64))).reshape(shape)


def unpacked_values(node: ov.Node) -> np.ndarray | None:
    """What a Convert to a type of devices makes of a constant of a type that they do not have (u1 to u6, nf4, f4e2m1,
    f8e8m0); None for any other operation."""
    if node.get_type_name() != "Convert" or not is_on_device(node.get_output_element_type(0)):
        return None
    source = node.input_value(0).get_node()
    if not is_constant(source) or is_on_device(source.get_element_type()):
        return None
    kind = element_type_of(node.get_output_element_type(0), layer_of(node))
    values = source.get_data(dtype=np.float32).reshape(-1)
    units = kind.encode(values.astype(kind.numpy, copy=False))
    return kind.decode(units, values.size).reshape(static_shape_of(node.get_output_shape(0)))


OPENVINO_ERRORS = (RuntimeError, IndexError, OverflowError, TypeError, ValueError)
"""What OpenVINO raises: errors of its own, and what exceptions of C++ become in Python."""
_PLACE = re.compile(r"\.py\(\d+\): ")
"""A place in a source of Python, as its tracebacks name them in an error of OpenVINO."""


def reason_of(error: Exception) -> str:
    """What an error of OpenVINO says, without the places in its sources and in those of converters."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    told = [line for line in lines if not line.startswith(("Exception from", "Check '", "While validating"))
            and line != "At:" and not _PLACE.search(line)]
    return " | ".join(told or lines) or type(error).__name__


def is_constant(node: ov.Node) -> bool:
    """Whether a node holds values."""
    return bool(node.get_type_name() == "Constant")


def identity_of(port: ov.Output) -> tuple[int, int]:
    """What tells one output of a model from another: Python's wrappers of one port are many."""
    return port.get_node().get_instance_id(), port.get_index()


def is_output_of(port: ov.Output, node: ov.Node) -> bool:
    """Whether a node makes a tensor."""
    return bool(port.get_node().get_instance_id() == node.get_instance_id())


def layer_of(node: ov.Node) -> str:
    """How errors name a node of the model."""
    return f"layer {node.get_friendly_name()!r} ({node.get_type_name()})"


def sources_of(node: ov.Node, is_end: Callable[[ov.Node], bool]) -> Iterator[ov.Node]:
    """A node and all that it is computed from, but for what ends a way and what lies behind it."""
    waiting, seen = [node], set()
    while waiting:
        source = waiting.pop()
        if source.get_instance_id() not in seen and not is_end(source):
            seen.add(source.get_instance_id())
            yield source
            waiting += [port.get_node() for port in source.input_values()]


def bodies_of(node: ov.Node) -> tuple[ov.Model, ...]:
    """The subgraphs of a node: both branches of an If, the body of a loop, else none."""
    kind = node.get_type_name()
    if kind == "If":
        return node.get_function(0), node.get_function(1)
    return (node.get_function(),) if kind in _LOOPS else ()


def take_place(new: ov.Node, old: ov.Node) -> None:
    """Let a node with one output stand for another one, under its name and those of its tensor."""
    new.set_friendly_name(old.get_friendly_name())
    names = old.output(0).get_names()
    for reader in old.output(0).get_target_inputs():
        reader.replace_source_output(new.output(0))
    new.output(0).set_names(names)


def all_nodes(model: ov.Model) -> Iterator[ov.Node]:
    """Every node of a model, those of bodies included."""
    for node in model.get_ordered_ops():
        yield node
        for body in bodies_of(node):
            yield from all_nodes(body)


def _size_of(dimension: ov.Dimension) -> int | Dim:
    if dimension.is_static:
        return int(dimension.get_length())
    high = dimension.get_max_length()
    return Dim(dimension.get_min_length(), UNBOUNDED if high < 0 else high)


def _dimension_of(size: Dim) -> ov.Dimension:
    return ov.Dimension(size.low, -1 if size.high >= UNBOUNDED else size.high)
