"""Assignments to parts of tensors, y[:, 1:] = x, as PyTorch's exporter writes them: ScatterNDUpdate at the numbers that
the same slices take of the numbers of all elements. They become SliceScatter, which is two copies: places that are
computed may come twice, so that kernels must find out which update is the last one.
"""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from clinfer.frontend.conversions import bodies_of, identity_of, is_constant, take_place
from clinfer.frontend.openvino_import import openvino as ov

_END = np.iinfo(np.int64).max


@dataclass(frozen=True)
class _Slices:
    """Start, stop and step of slices along `axes`, vectors of i64; nothing of the whole tensor."""

    bounds: tuple[Sequence[ov.Output], Sequence[ov.Output], Sequence[ov.Output]]
    axes: list[int]

    def of(self, data: ov.Output) -> ov.Node:
        """The part of a tensor."""
        return ov.opset15.slice(data, *self.arguments)

    @property
    def arguments(self) -> list[ov.Node | ov.Output]:
        """What Slice and SliceScatter read besides tensors."""
        joined = [each[0] if len(each) == 1 else ov.opset15.concat(list(each), 0) for each in self.bounds]
        return [*joined, _vector(*self.axes)]


def assign_slices(model: ov.Model) -> None:
    """Put a SliceScatter in the place of each of these, in bodies too."""
    for node in model.get_ordered_ops():
        for body in bodies_of(node):
            assign_slices(body)
        if node.get_type_name() == "ScatterNDUpdate" and node.get_attributes().get("reduction", "none") == "none":
            _replace(node)


def _replace(node: ov.Node) -> None:
    (flat, places), updates = map(_reshaped, node.input_values()[:2]), node.input_value(2)
    shapes = [port.get_partial_shape() for port in node.input_values()]
    if flat is None or places is None or any(shape.rank.is_dynamic for shape in shapes):
        return
    if [*map(len, shapes)] != [1, 2, 1] or shapes[1][1] != ov.Dimension(1):
        return
    found = _slices(places, flat)
    if found is None:
        return
    if found.axes:
        wanted = ov.opset15.shape_of(found.of(flat))
        written = ov.opset15.slice_scatter(flat, ov.opset15.reshape(updates, wanted, False), *found.arguments)
    else:
        written = ov.opset15.reshape(updates, ov.opset15.shape_of(flat), False)
    whole = [reader for each in node.output(0).get_target_inputs()
             if (reader := each.get_node()).get_type_name() == "Reshape" and _has_shape_of(reader, flat)]
    names = set[str]().union(*(reader.output(0).get_names() for reader in whole))
    for reader in whole:
        take_place(written, reader)
    written.output(0).set_names(names)
    take_place(ov.opset15.reshape(written, _vector(-1), False), node)


def _reshaped(port: ov.Output) -> ov.Output | None:
    """What a Reshape sees otherwise."""
    node = port.get_node()
    return node.input_value(0) if node.get_type_name() == "Reshape" else None


def _slices(places: ov.Output, data: ov.Output) -> _Slices | None:
    """The slices of the numbers of all elements of a tensor."""
    if data.get_partial_shape().rank.is_dynamic:
        return None
    steps: list[ov.Node] = []
    while places.get_node().get_type_name() in ("Slice", "Gather"):
        steps.append(places.get_node())
        places = places.get_node().input_value(0)
    axes = [*range(len(data.get_partial_shape()))]
    if not _are_numbers(places, data):
        return None
    found: tuple[list[ov.Output], list[ov.Output], list[ov.Output]] = ([], [], [])
    sliced: list[int] = []
    for step in reversed(steps):
        own = _axes_of(step, len(axes))
        bounds = None if own is None else _bounds_of(step)
        if own is None or bounds is None:
            return None
        sliced += [axes[axis] for axis in own]
        for kept, bound in zip(found, bounds, strict=True):
            kept.append(bound)
        if step.get_type_name() == "Gather":
            del axes[own[0]]
    return _Slices(found, sliced) if len({*sliced}) == len(sliced) else None


def _are_numbers(port: ov.Output, data: ov.Output) -> bool:
    """Whether a tensor is arange(number of elements) in the shape of the data."""
    node, numbers = port.get_node(), _reshaped(port)
    if numbers is None or not _has_shape_of(node, data) or numbers.get_node().get_type_name() != "Range":
        return False
    start, stop, step = numbers.get_node().input_values()
    product = _unconverted(stop).get_node()
    if product.get_type_name() != "ReduceProd" or [*map(_number, (start, step))] != [0, 1]:
        return False
    return _number(product.input_value(1)) == 0 and _is_shape_of(product.input_value(0), data)


def _has_shape_of(reshape: ov.Node, data: ov.Output) -> bool:
    """Whether a Reshape gives the shape of the data; no size of it can be meant to be copied."""
    return _is_shape_of(reshape.input_value(1), data)


def _is_shape_of(port: ov.Output, data: ov.Output) -> bool:
    node = _unconverted(port).get_node()
    return node.get_type_name() == "ShapeOf" and identity_of(_shaped_alike(node.input_value(0))) == identity_of(
        _shaped_alike(data))


def _shaped_alike(port: ov.Output) -> ov.Output:
    """The first tensor of which one has the shape."""
    while True:
        node = port.get_node()
        if node.get_type_name() == "SliceScatter":
            port = node.input_value(0)
        elif node.get_type_name() == "Reshape" or _is_stretched(node):
            source = _unconverted(node.input_value(1)).get_node()
            if source.get_type_name() != "ShapeOf":
                return port
            port = source.input_value(0)
        else:
            return port


def _is_stretched(node: ov.Node) -> bool:
    """Whether a node stretches a tensor to a shape."""
    return node.get_type_name() == "Broadcast" and node.get_attributes()["mode"] == "numpy"


def _unconverted(port: ov.Output) -> ov.Output:
    """Sizes before they become integers of another type."""
    while port.get_node().get_type_name() == "Convert" and port.get_element_type().is_integral_number():
        port = port.get_node().input_value(0)
    return port


def _axes_of(step: ov.Node, rank: int) -> list[int] | None:
    """The axes along which a step takes a part of a tensor of that rank; None: they are not known."""
    place = 2 if step.get_type_name() == "Gather" else 4
    if step.get_input_size() <= place or not is_constant(step.input_value(place).get_node()):
        return None
    return [int(axis) % rank for axis in step.input_value(place).get_node().data.reshape(-1)]


def _bounds_of(step: ov.Node) -> tuple[ov.Output, ov.Output, ov.Output] | None:
    """Start, stop and step as vectors of i64; None: a Gather of several places, or of one that is computed."""
    if step.get_type_name() == "Slice":
        start, stop, stride = (ov.opset15.convert(port, "i64").output(0) for port in step.input_values()[1:4])
        return start, stop, stride
    place = _number(step.input_value(1))
    if place is None or len(step.get_input_partial_shape(1)) > 0 or step.get_attributes().get("batch_dims", 0):
        return None
    return (_vector(place).output(0), _vector(place + 1 if place != -1 else _END).output(0), _vector(1).output(0))


def _number(port: ov.Output) -> int | None:
    """A constant of one element."""
    node = port.get_node()
    return int(node.data.reshape(-1)[0]) if is_constant(node) and node.data.size == 1 else None


def _vector(*values: int) -> ov.Node:
    return ov.opset15.constant(np.array(values, np.int64))
