"""Operations spelled so that OpenVINO's common transformations read them rightly, and afterwards spelled back."""
from __future__ import annotations

from collections.abc import Container, Iterator

import numpy as np

from clinfer.frontend.conversions import bodies_of, is_constant
from clinfer.frontend.openvino_import import openvino as ov

_AXES_AT = {"Gather": 2, "Slice": 4, "Split": 1, "Squeeze": 1, "Unsqueeze": 1, "VariadicSplit": 1}
_SETS = ("Squeeze", "Unsqueeze")
_KEPT = "/kept"

Layer = tuple[str, str]
"""The type and the name of an operation."""


def respell(model: ov.Model) -> None:
    """Spell otherwise, in a model and its bodies, what the transformations misread; the meaning stays.

    - Negative, repeated and unsorted constant axes become ascending ones: where a Reduce or an Unsqueeze moves ahead
      of its source, they would count from the end of another rank.
    - A Transpose by an empty order gets the reversed axes: a Reduce or a Squeeze that moves ahead of it looks its own
      axes up there.
    - A Reduce without `keep_dims` whose result has two axes or more becomes one with, and a Squeeze: a Reshape behind
      the former is taken for none if it has the same rank.
    - Where a StridedSlice drops an axis whose begin is masked, the begin becomes the 0 that it stands for: folding and
      the rest of OpenVINO read it differently.
    - A 0 in the constant sizes of a Reshape, which stands for that of its axis, becomes that size where it is known:
      the shape of a Reshape is taken for its constant sizes.

    Also what follows from sizes that are open and would have to be known for the graph: see `_place_slopes`.
    """
    for node in model.get_ordered_ops():
        for body in bodies_of(node):
            respell(body)
        _count_axes_from_the_front(node)
        _write_out_order(node)
        _write_out_begin(node)
        _write_out_kept_sizes(node)
        _keep_dims(node)
        _place_slopes(node)
    model.validate_nodes_and_infer_types()


def restore(model: ov.Model, before: Container[Layer]) -> None:
    """Undo in a transformed model and its bodies what `respell` changed, and mend what cannot be spelled beforehand.
    `before`: the layers that were there before the transformations.

    - A Reduce that keeps its axes and what drops them are one Reduce again.
    - A Reshape to a permuted shape that was a Transpose takes a size of 0 as that and not for "as it was".
    - A Broadcast that went behind an operation stretches to sizes of 0, too, which are not the larger ones.
    """
    for node in model.get_ordered_ops():
        for body in bodies_of(node):
            restore(body, before)
        _drop_dims(node)
        if _is_permuting_reshape(node) and _layer(node) not in before:
            node.set_attribute("special_zero", False)
        if node.get_type_name() == "Broadcast":
            _stretch_to_nothing(node.input(1), before)
    names = {node.get_friendly_name() for node in model.get_ordered_ops()}
    for node in model.get_ordered_ops():
        name = node.get_friendly_name()
        if name.endswith(_KEPT) and name.removesuffix(_KEPT) not in names:
            node.set_friendly_name(name.removesuffix(_KEPT))
    model.validate_nodes_and_infer_types()


def layers(model: ov.Model) -> Iterator[Layer]:
    """All operations, those of bodies included."""
    for node in model.get_ordered_ops():
        yield _layer(node)
        for body in bodies_of(node):
            yield from layers(body)


def _layer(node: ov.Node) -> Layer:
    return node.get_type_name(), node.get_friendly_name()


def _is_reduction(node: ov.Node) -> bool:
    return bool(node.get_type_name().startswith("Reduce"))


def _count_axes_from_the_front(node: ov.Node) -> None:
    kind = node.get_type_name()
    index = 1 if _is_reduction(node) else _AXES_AT.get(kind, -1)
    if not 0 <= index < node.get_input_size():
        return
    source, rank = node.input_value(index).get_node(), node.get_input_partial_shape(0).rank
    if not is_constant(source) or rank.is_dynamic:
        return
    old, is_set = source.data, _is_reduction(node) or kind in _SETS
    given = old.reshape(-1).tolist()
    limit = rank.get_length() + (old.size if kind == "Unsqueeze" else 0)
    new = [axis + limit if axis < 0 else axis for axis in given]
    if is_set:
        new = sorted(set(new))
    if new != given:
        _give_constant(node, index, np.array(new, old.dtype).reshape(-1 if is_set else old.shape))


def _write_out_order(node: ov.Node) -> None:
    if node.get_type_name() != "Transpose" or node.get_input_partial_shape(0).rank.is_dynamic:
        return
    source, rank = node.input_value(1).get_node(), node.get_input_partial_shape(0).rank.get_length()
    if is_constant(source) and not source.data.size:
        _give_constant(node, 1, np.arange(rank)[::-1])


def _write_out_kept_sizes(node: ov.Node) -> None:
    if node.get_type_name() != "Reshape" or not node.get_attributes()["special_zero"]:
        return
    source, shape = node.input_value(1).get_node(), node.get_input_partial_shape(0)
    if not is_constant(source) or shape.rank.is_dynamic:
        return
    wanted = source.data.reshape(-1)
    kept = [axis for axis in np.flatnonzero(wanted == 0) if axis < len(shape) and shape[int(axis)].is_static]
    if kept and not (wanted < 0).any():
        _give_constant(node, 1, np.array([shape[axis].get_length() if axis in kept else size
                                          for axis, size in enumerate(wanted)]))


def _write_out_begin(node: ov.Node) -> None:
    if node.get_type_name() != "StridedSlice" or not is_constant(node.input_value(1).get_node()):
        return
    old, attributes = node.input_value(1).get_node().data, node.get_attributes()
    masks = zip(attributes["begin_mask"], attributes["shrink_axis_mask"], strict=False)
    new = old.copy()
    new[[i for i, (masked, dropped) in enumerate(masks) if masked and dropped and i < old.size]] = 0
    if not np.array_equal(old, new):
        _give_constant(node, 1, new)


def _give_constant(node: ov.Node, index: int, values: np.ndarray) -> None:
    constant = ov.op.Constant(node.get_input_element_type(index), ov.Shape(values.shape), values.reshape(-1).tolist())
    constant.set_friendly_name(f"{node.get_friendly_name()}/{index}")
    node.input(index).replace_source_output(constant.output(0))


def _keep_dims(node: ov.Node) -> None:
    if not _is_reduction(node) or node.get_attributes()["keep_dims"]:
        return
    rank, axes = node.get_output_partial_shape(0).rank, node.input_value(1)
    if rank.is_dynamic or rank.get_length() < 2 or not is_constant(axes.get_node()) or not axes.get_node().data.size:
        return
    port, name = node.output(0), node.get_friendly_name()
    readers, names = port.get_target_inputs(), port.get_names()
    node.set_attribute("keep_dims", True)
    node.validate_and_infer_types()
    node.set_friendly_name(name + _KEPT)
    dropped = ov.opset1.squeeze(node, axes.get_node())
    dropped.set_friendly_name(name)
    for reader in readers:
        reader.replace_source_output(dropped.output(0))
    port.set_names(set())
    dropped.output(0).set_names(names)


def _place_slopes(node: ov.Node) -> None:
    """Of a PRelu whose slopes are as many as the last axis has elements, and axis 1 may turn out to have: OpenVINO
    gives them to axis 1 then, which an inference has to find out."""
    if node.get_type_name() != "PRelu" or any(node.get_input_partial_shape(i).rank.is_dynamic for i in (0, 1)):
        return
    data, slopes = node.get_input_partial_shape(0), node.get_input_partial_shape(1)
    if len(data) < 3 or len(slopes) != 1 or slopes[0].is_dynamic or slopes[0] == 1:
        return
    count = slopes[0].get_length()
    if data[1].is_static or not data[1].compatible(slopes[0]) or not data[len(data) - 1].compatible(slopes[0]):
        return
    ones = [1] * (len(data) - 2)
    size = ov.opset8.gather(ov.opset3.shape_of(node.input_value(0), "i64"), np.array([1]), np.array(0))
    shape = ov.opset1.select(ov.opset1.equal(size, np.array([count])), np.array([1, count, *ones]),
                             np.array([1, *ones, count]))
    placed = ov.opset1.reshape(node.input_value(1), shape, False)
    placed.set_friendly_name(f"{node.get_friendly_name()}/slopes")
    node.input(1).replace_source_output(placed.output(0))


def _drop_dims(node: ov.Node) -> None:
    """Of a Squeeze or Reshape that drops just what a Reduce keeps: let the Reduce do it."""
    source = node.input_value(0).get_node() if node.get_type_name() in ("Squeeze", "Reshape") else None
    if source is None or not _is_reduction(source) or not source.get_attributes()["keep_dims"]:
        return
    readers = source.output(0).get_target_inputs()
    axes, shape = source.input_value(1).get_node(), source.get_output_partial_shape(0)
    if (len(readers) > 1 or shape.rank.is_dynamic or not is_constant(axes)
            or not is_constant(node.input_values()[-1].get_node())):
        return
    rest = [size for axis, size in enumerate(shape) if axis not in axes.data.reshape(-1) % len(shape)]
    if sum(size.is_dynamic for size in rest) > 1 and node.get_type_name() == "Reshape":
        return
    if ov.PartialShape(rest) != node.get_output_partial_shape(0):
        return
    port = node.output(0)
    readers, names = port.get_target_inputs(), port.get_names()
    source.set_attribute("keep_dims", False)
    source.validate_and_infer_types()
    source.set_friendly_name(node.get_friendly_name())
    for reader in readers:
        reader.replace_source_output(source.output(0))
    port.set_names(set())
    source.output(0).set_names(names)


def _stretch_to_nothing(port: ov.Input, before: Container[Layer]) -> None:
    """Of two sizes that stretch to each other, let the one that is not 1 be the target, where the transformations
    took the larger one."""
    larger = port.get_source_output().get_node()
    if larger.get_type_name() != "Maximum" or _layer(larger) in before:
        return
    for each in larger.inputs():
        _stretch_to_nothing(each, before)
    one, other = larger.input_values()
    is_stretched = ov.opset1.equal(one, ov.op.Constant(one.get_element_type(), ov.Shape([]), [1]))
    port.replace_source_output(ov.opset1.select(is_stretched, other, one).output(0))


def _is_permuting_reshape(node: ov.Node) -> bool:
    """Whether the new shape is a permutation of one of the old rank."""
    if node.get_type_name() != "Reshape" or node.get_input_partial_shape(0).rank.is_dynamic:
        return False
    gather = node.input_value(1).get_node()
    if gather.get_type_name() != "Gather" or not is_constant(gather.input_value(1).get_node()):
        return False
    order = gather.input_value(1).get_node().data
    return bool(np.array_equal(np.sort(order), np.arange(node.get_input_partial_shape(0).rank.get_length())))
