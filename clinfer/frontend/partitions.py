"""Partitions: they keep operations apart that OpenVINO's common transformations join wrongly.

A partition is an operation that passes its input on. No transformation knows it, so none reaches across it. They
stand while the transformations run; afterwards the readers of a partition read again what it read.
"""
from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from clinfer.frontend.conversions import bodies_of, is_constant, sources_of, static_shape_of
from clinfer.frontend.misjudged_sizes import is_suspect, is_taken_for_rest, misjudged_axes, name_sizes
from clinfer.frontend.openvino_import import openvino as ov

UNFOLDED = "DisableConstantFolding_0"
"""Runtime information that keeps an operation on constants from becoming one."""

Guarded = Callable[[ov.Node], Iterable[int]]
"""Which inputs of a node get a partition."""

_RESHAPERS = frozenset({"Reshape", "Squeeze", "Transpose", "Unsqueeze"})
MOVERS = frozenset({
    "Broadcast", "Concat", "Gather", "Pad", "Reshape", "Slice", "Split", "Squeeze", "StridedSlice", "Tile",
    "Transpose", "Unsqueeze", "VariadicSplit"})
"""Operations that only move, repeat or leave out elements."""


class Partition(ov.Op):
    """Passes its input on; of the input's shape it tells the rank and the sizes along some axes, `told`."""

    def __init__(self, inputs: list[ov.Output] | None = None, told: Collection[int] = ()) -> None:
        super().__init__(self)
        _MADE.get([]).append(self)
        self._told = told
        if inputs is not None:
            self.set_arguments(inputs)
            self.constructor_validate_and_infer_types()

    def validate_and_infer_types(self) -> None:
        """The element type and what is told of the input's shape."""
        shape = self.get_input_partial_shape(0)
        if shape.rank.is_static:
            # Indexed, because iterating over OpenVINO's class is ten times slower.
            shape = ov.PartialShape([shape[axis] if axis in self._told else -1 for axis in range(len(shape))])
        self.set_output_type(0, self.get_input_element_type(0), shape)

    def evaluate(self, outputs: list[ov.Tensor], inputs: list[ov.Tensor]) -> bool:
        """Never. Without this method OpenVINO believes that `outputs` were filled, and takes what lies in fresh memory
        for the value of a shape."""
        return False

    def clone_with_new_inputs(self, new_inputs: list[ov.Output]) -> Partition:
        """Another partition."""
        return Partition(new_inputs, self._told)


_MADE: ContextVar[list[Partition]] = ContextVar("_MADE")
"""The partitions of the block of `kept_apart` that runs, those that OpenVINO made of others among them."""


@contextmanager
def kept_apart(model: ov.Model, guarded: Guarded) -> Iterator[None]:
    """Partitions stand in a model, bodies included, until the block ends: before guarded inputs, and where sizes are
    misjudged.

    OpenVINO keeps an operation that is written in Python for ever, and with it all that it reads: the weights of the
    model. So partitions read nothing in the end, those of copies and of what failed included.
    """
    made: list[Partition] = []
    token = _MADE.set(made)
    try:
        _put_before_guarded(model, guarded)
        _hide_misjudged_sizes(model)
        yield
        _take_away(model)
    finally:
        _MADE.reset(token)
        for partition in made:
            partition.set_arguments([])


def _put_before_guarded(model: ov.Model, guarded: Guarded) -> None:
    """Put a partition before each guarded input, bodies included.

    Slices that the body of a loop takes and does not need say how often it runs, and the transformations take them
    away; so a partition before a result of the body reads them as well.
    """
    put = False
    for node in model.get_ordered_ops():
        for body in bodies_of(node):
            _put_before_guarded(body, guarded)
        _keep_slices(node)
        for index in guarded(node):
            _put_before(node, index)
            put = True
    if put:
        model.validate_nodes_and_infer_types()


def _put_before(node: ov.Node, index: int) -> None:
    partition = Partition([node.input_value(index)])
    partition.get_rt_info()[UNFOLDED] = True
    node.input(index).replace_source_output(partition.output(0))


def _hide_misjudged_sizes(model: ov.Model) -> None:
    """Put a partition behind each result some of whose sizes OpenVINO may take for others, bodies included; it does not
    tell these. One before the sizes of a Reshape keeps all of them to itself."""
    nodes = model.get_ordered_ops()
    for node in nodes:
        for body in bodies_of(node):
            _hide_misjudged_sizes(body)
    if not any(map(is_suspect, nodes)):
        return
    judged = _judged_with_names(model.clone())
    for node, (hidden, is_rest) in zip(nodes, judged, strict=True):
        if hidden:
            _hide(node, hidden)
        if is_rest:
            _put_before(node, 1)
    if any(hidden or is_rest for hidden, is_rest in judged):
        model.validate_nodes_and_infer_types()


def _judged_with_names(clone: ov.Model) -> list[tuple[list[int], bool]]:
    """The misjudged axes of each operation, and whether one is taken for the rest, where every size has a name of its
    own; a clone is given the names and keeps them."""
    found = []
    for node in clone.get_ordered_ops():
        node.validate_and_infer_types()
        hidden = misjudged_axes(node)
        found.append((hidden, is_taken_for_rest(node)))
        name_sizes(node)
        if hidden:
            name_sizes(_hide(node, hidden))
    return found


def _hide(node: ov.Node, hidden: list[int]) -> ov.Node:
    """A partition behind a node's first result, which does not tell these axes."""
    port = node.output(0)
    readers = port.get_target_inputs()
    partition = Partition([port], set(range(len(port.get_partial_shape()))) - set(hidden))
    partition.get_rt_info()[UNFOLDED] = True
    for reader in readers:
        reader.replace_source_output(partition.output(0))
    return partition


def _take_away(model: ov.Model) -> None:
    """Remove all partitions, bodies included."""
    for node in model.get_ordered_ops():
        for body in bodies_of(node):
            _take_away(body)
        if node.get_type_name() == Partition.__name__:
            for reader in node.output(0).get_target_inputs():
                reader.replace_source_output(node.input_value(0))
    model.validate_nodes_and_infer_types()


def _keep_slices(node: ov.Node) -> None:
    for body in bodies_of(node) if node.get_type_name() in ("Loop", "TensorIterator") else ():
        parameters = body.get_parameters()
        slices = [parameters[d.body_parameter_index].output(0) for d in node.get_input_descriptions()
                  if isinstance(d, ov.op.util.SliceInputDescription)]
        carried = next((d.body_value_index for d in node.get_output_descriptions()), None)
        if not slices or carried is None or any(_is_needed(port) for port in slices):
            continue
        result = body.get_results()[carried]
        partition = Partition([result.input_value(0), *slices])
        result.input(0).replace_source_output(partition.output(0))
        body.validate_nodes_and_infer_types()


def _is_needed(port: ov.Output) -> bool:
    """Whether a result follows from the port's values, and not from its shape alone."""
    waiting, seen = [port], set()
    while waiting:
        for reader in waiting.pop().get_target_inputs():
            node = reader.get_node()
            if node.get_type_name() == "Result":
                return True
            if node.get_type_name() != "ShapeOf" and node.get_instance_id() not in seen:
                seen.add(node.get_instance_id())
                waiting += node.outputs()
    return False


def inputs_joined_wrongly(node: ov.Node) -> Iterable[int]:
    """Inputs across which the transformations are wrong.

    - Unsqueeze -> Gather along the new axis loses the indices' axes, whatever the constant indices are.
    - Gather by no indices behind Concat of parts of size 1 ends the process.
    - Where a size is 0, Concat leaves out inputs, and Transpose and others become Reshapes in which 0 means "as it
      was".
    - A Reduce or a Squeeze ahead of a Transpose by an empty order of an unknown rank looks its axes up there.
    - A Reduce with `keep_dims` that moves ahead of a Reshape of a static shape puts its new axes in wrong places.
    - Abs of a vector moves ahead of a Concat, and what else reads the Concat gets absolute values, too. Operations
      between the two that only move elements may be left out before.
    - Abs of real numbers that follow from constants and sizes is left out where all are above -1: their bounds are
      looked at without the fraction.
    - The constant indices of a Gather in batches are taken for an order of channels, in which a convolution behind it
      gets its weights.
    - Convolutions of the parts of a Split become one in groups, in whatever order a Concat takes them.
    - Attention takes its rows for a batch of one row each, where an axis of size 1 changes places with that of the
      rows before it and behind it.
    - What FloorMod, Power and a Convert to boolean give for the bounds of integers is taken for the bounds of what they
      give, and for a constant where it is the same for both. Abs of what sizes give is taken for none, and so is a
      ScatterElementsUpdate that adds to them.
    """
    kind = node.get_type_name()
    if node.get_input_size() and bounds_are_misjudged(node):
        yield from (i for i in range(node.get_input_size()) if not is_constant(node.input_value(i).get_node()))
    if kind == "Gather" and node.get_attributes().get("batch_dims"):
        yield 1
    if kind == "Abs" and (_may_move_ahead_of_a_concat(node) or _is_of_known_numbers(node)):
        yield 0
    is_reduction = kind.startswith("Reduce")
    for index in range(node.get_input_size() if kind == "Concat" else 1) if is_reduction or kind in MOVERS else ():
        if (_has_zero(node, index) or _turns_without_order(node.input_value(index).get_node())
                or (kind == "Gather" and (_has_zero(node, 1) or _may_gather_a_new_axis(node)))
                or (is_reduction and _may_move_ahead_of_a_reshape(node)) or _moves_rows_of_attention(node)
                or (kind == "Concat" and index == 0 and _takes_parts_in_another_order(node))):
            yield index


def inputs_of_movers(node: ov.Node) -> Iterable[int]:
    """Every input through which elements are moved or reduced."""
    kind = node.get_type_name()
    if kind in MOVERS or kind.startswith("Reduce"):
        for index in range(node.get_input_size() if kind == "Concat" else 1):
            if not is_constant(node.input_value(index).get_node()):
                yield index


def bounds_are_misjudged(node: ov.Node) -> bool:
    """Whether OpenVINO takes what a node gives for the bounds of integers for the bounds of what it gives."""
    kind = node.get_type_name()
    is_named = kind in ("Abs", "FloorMod", "Power", "ScatterElementsUpdate") or (
        kind == "Convert" and node.get_output_element_type(0) == ov.Type.boolean)
    return is_named and node.get_input_element_type(0).is_integral()


def _has_zero(node: ov.Node, index: int) -> bool:
    """Whether a size is known to be 0; an input of Concat that is only empty along its axis is rightly left out."""
    shape = node.get_input_partial_shape(index)
    if shape.rank.is_dynamic:
        return False
    if shape.is_static and all(static_shape_of(shape.get_shape())):
        return False
    empty = [axis for axis in range(len(shape)) if shape[axis] == 0]
    if node.get_type_name() == "Concat":
        axis = node.get_attributes()["axis"]
        return any(each != axis % len(shape) for each in empty)
    return bool(empty)


def _may_gather_a_new_axis(node: ov.Node) -> bool:
    """Whether an Unsqueeze may have made the axis that is gathered along, and more than one index is given.

    One index of a vector counts as more: it gets an axis where an Unsqueeze behind the Gather makes one.
    """
    data, indices = node.get_input_partial_shape(0), node.get_input_partial_shape(1)
    is_vector = data.rank.is_dynamic or len(data) == 1
    if indices.rank.is_static and len(indices) == 0 and not is_vector:
        return False
    if node.input_value(0).get_node().get_type_name() in ("Constant", "Parameter", "ShapeOf"):
        return False
    axis = node.input_value(2).get_node()
    if data.rank.is_dynamic or not is_constant(axis):
        return True
    size = data[int(axis.data.reshape(-1)[0])]
    return bool(size.is_dynamic or size == 1)


def _moves_rows_of_attention(node: ov.Node) -> bool:
    """Whether a node puts an axis of size 1 in the place of the rows that attention gives, or the other way round."""
    if node.get_type_name() not in _RESHAPERS or not _is_attention(node.input_value(0).get_node()):
        return False
    shapes = node.get_input_partial_shape(0), node.get_output_partial_shape(0)
    if any(shape.rank.is_dynamic or len(shape) < 2 for shape in shapes):
        return False
    before, after = (bool(shape[len(shape) - 2] == 1) for shape in shapes)
    return before != after


def _is_attention(node: ov.Node) -> bool:
    weights = node.input_value(0).get_node() if node.get_type_name() == "MatMul" else None
    while weights is not None and weights.get_type_name() in ("Convert", "Reshape"):
        weights = weights.input_value(0).get_node()
    return node.get_type_name() == "ScaledDotProductAttention" or (
        weights is not None and weights.get_type_name() == "Softmax")


def _may_move_ahead_of_a_reshape(node: ov.Node) -> bool:
    source = node.input_value(0)
    return bool(node.get_attributes()["keep_dims"] and source.get_partial_shape().is_static
                and source.get_node().get_type_name() in MOVERS - {"Transpose"}
                and len(source.get_target_inputs()) == 1)


def _may_move_ahead_of_a_concat(node: ov.Node) -> bool:
    rank = node.get_output_partial_shape(0).rank
    if node.get_output_element_type(0).is_integral() or (rank.is_static and rank.get_length() != 1):
        return False
    source = node.input_value(0).get_node()
    while source.get_type_name() in MOVERS - {"Concat"}:
        source = source.input_value(0).get_node()
    return bool(source.get_type_name() == "Concat")


def _is_of_known_numbers(node: ov.Node) -> bool:
    """Whether a node computes real numbers from what is known or bounded ahead: constants that are not folded, and
    sizes."""
    is_known = not any(source.get_type_name() == "Parameter"
                       for source in sources_of(node, lambda source: source.get_type_name() == "ShapeOf"))
    return is_known and not node.get_output_element_type(0).is_integral()


def _takes_parts_in_another_order(node: ov.Node) -> bool:
    parts = [_convolved_part(port) for port in node.input_values()]
    found = next((part for part in parts if part is not None), None)
    return found is not None and parts != [(found[0], i) for i in range(len(parts))]


def _convolved_part(port: ov.Output) -> tuple[int, int] | None:
    """The Split and the number of its part that a tensor is one Convolution of, give or take what keeps the shape."""
    convolutions = 0
    while convolutions < 2:
        node = port.get_node()
        if node.get_type_name() in ("Split", "VariadicSplit"):
            return (node.get_instance_id(), port.get_index()) if convolutions else None
        if node.get_type_name() == "Convolution":
            convolutions += 1
        elif not node.get_input_size() or node.get_input_partial_shape(0) != port.get_partial_shape():
            return None
        port = node.input_value(0)
    return None


def _turns_without_order(node: ov.Node) -> bool:
    if node.get_type_name() != "Transpose":
        return False
    order = node.input_value(1).get_node()
    return is_constant(order) and not order.data.size
