"""Sizes of results that OpenVINO takes for sizes of inputs, and that may differ.

Two dimensions with one symbol are equal to OpenVINO's common transformations: one is computed where the other is asked
for. Some operations hand on the symbol of an input although their result may have another size there.
"""
from __future__ import annotations

from collections.abc import Iterable, Sequence

from clinfer.frontend.conversions import is_constant
from clinfer.frontend.openvino_import import openvino as ov

_SLICES = {"Slice": (1, 2, 3), "StridedSlice": (1, 2, 3)}
"""The inputs with the places where a slice starts and stops, and its steps."""
_RESHAPES = ("Reshape", "Squeeze", "Unsqueeze")
_MOVES_OF_SIZES = (*_RESHAPES, "Convert", "Gather", "Slice", "StridedSlice")
_SUMS_OF_SIZES = ("Concat", "Add", "Multiply", "Maximum", "Minimum")
_UNLIMITED = 2**31 - 1
"""A place or a bound from which on it stands for none."""
_SHAPE_AXES = 2
"""The last axes of attention, which are no batch."""
_MISJUDGED = (*_SLICES, "Unique", "Select", "FakeQuantize", "Broadcast", "ScaledDotProductAttention")


def is_suspect(node: ov.Node) -> bool:
    """Whether an operation is of a kind of which some axes may be misjudged."""
    kind = node.get_type_name()
    return kind in _MISJUDGED or (kind == "Reshape" and not is_constant(node.input_value(1).get_node()))


def misjudged_axes(node: ov.Node) -> list[int]:
    """The axes along which the first result may have another size than the input whose symbol it may get.

    - A slice, where OpenVINO finds the same bounds for what goes in and comes out.
    - The distinct slices of a Unique along an axis.
    - What is stretched to each other in a Select, FakeQuantize, ScaledDotProductAttention or bidirectional Broadcast: a
      size that turns out to be 1 is not that of the result. Equal symbols of the inputs are believed.
    - A Reshape to sizes of other axes, where 0 stands for the size of its own axis.
    """
    kind, declared = node.get_type_name(), node.get_output_partial_shape(0)
    if declared.rank.is_dynamic:
        return []
    if kind in _SLICES:
        axes: Iterable[int] = _sliced_axes(node)
    elif kind == "Unique":
        axes = range(len(declared)) if node.get_input_size() > 1 else ()
    elif kind in ("Select", "FakeQuantize"):
        axes = _stretched_axes([node.get_input_partial_shape(i) for i in range(node.get_input_size())], len(declared))
    elif kind == "Broadcast" and node.get_attributes()["mode"] == "bidirectional":
        axes = _stretched_axes([node.get_input_partial_shape(0), _shape_of_values(node.input_value(1))], len(declared))
    elif kind == "Reshape" and node.get_attributes()["special_zero"]:
        axes = _axes_that_may_be_kept(node)
    elif kind == "ScaledDotProductAttention":
        axes = _stretched_axes_of_attention(node, len(declared))
    else:
        axes = ()
    return [axis for axis in axes if declared[axis].is_dynamic]


def is_taken_for_rest(node: ov.Node) -> bool:
    """Whether the only size of a Reshape that is not that of its own axis may become -1, what the elements leave, where
    there may be no elements and the size may be another one, or where it may be a 0 that stands for that of its own
    axis."""
    if node.get_type_name() != "Reshape" or node.get_input_partial_shape(0).rank.is_dynamic:
        return False
    wanted, shape = _sizes(node.input_value(1)), node.get_input_partial_shape(0)
    if wanted is None:
        return False
    if any(size.is_dynamic and not size.has_symbol() for size in wanted) and node.get_attributes()["special_zero"]:
        return bool(_axes_that_may_be_kept(node))
    given = [shape[axis] for axis in range(len(shape))]
    own = [axis < len(given) and _is_same(size, given[axis]) for axis, size in enumerate(wanted)]
    moved = [size for size, is_own in zip(wanted, own, strict=True) if size.is_dynamic and not is_own]
    rest = [size for axis, size in enumerate(given) if size.is_dynamic and not (axis < len(own) and own[axis])]
    if len(moved) != 1 or not moved[0].has_symbol() or (len(rest) == 1 and _is_same(moved[0], rest[0])):
        return False
    return any(not size.min_length for size in wanted if size is not moved[0])


def name_sizes(node: ov.Node) -> None:
    """Give a symbol to every dynamic dimension of a node's results that has none."""
    for index in range(node.get_output_size()):
        shape = node.get_output_partial_shape(index)
        if shape.rank.is_static and shape.is_dynamic:
            node.set_output_type(index, node.get_output_element_type(index), ov.PartialShape(
                [_with_symbol(shape[axis]) for axis in range(len(shape))]))


def _with_symbol(size: ov.Dimension) -> ov.Dimension:
    if size.is_dynamic and not size.has_symbol():
        size.set_symbol(ov.Symbol())
    return size


def _sliced_axes(node: ov.Node) -> Iterable[int]:
    kind, rank = node.get_type_name(), len(node.get_output_partial_shape(0))
    places = [node.input_value(i).get_node() for i in _SLICES[kind] if i < node.get_input_size()]
    if all(map(is_constant, places)):
        return _axes_with_another_size(node)
    if kind == "Slice" and node.get_input_size() > 4 and is_constant(node.input_value(4).get_node()):
        return sorted({int(axis) % rank for axis in node.input_value(4).get_node().data.reshape(-1)})
    return range(rank)


def _axes_with_another_size(node: ov.Node) -> list[int]:
    """The axes of a slice between constant places that carry the symbol of a size which is not theirs.

    How many elements a slice takes changes its slope in the size at its places alone; so sizes around these tell.
    """
    given, declared = node.get_input_partial_shape(0), node.get_output_partial_shape(0)
    pairs = [(axis, source) for axis in range(len(declared)) for source in range(len(given))
             if declared[axis].is_dynamic and declared[axis].has_symbol() and _is_same(declared[axis], given[source])]
    if not pairs:
        return []
    from openvino.utils.node_factory import NodeFactory
    create = NodeFactory("opset8").create
    constants = [node.input_value(i) for i in range(1, node.get_input_size())]
    places = {abs(int(place)) for port in constants for place in _source(port).data.reshape(-1)}
    found = set()
    for size in sorted({place + near for place in {0, *places} if place < _UNLIMITED for near in range(4)}):
        shape = [max(each.min_length, min(size, _highest(each))) for each in given]
        data = ov.op.Parameter(node.get_input_element_type(0), ov.PartialShape(shape))
        made = create(node.get_type_name(), [data.output(0), *constants], node.get_attributes())
        found |= {axis for axis, source in pairs if made.get_output_partial_shape(0)[axis] != shape[source]}
    return sorted(found)


def _highest(size: ov.Dimension) -> int:
    return _UNLIMITED if size.max_length < 0 else int(size.max_length)


def _stretched_axes(shapes: Sequence[ov.PartialShape], rank: int) -> list[int]:
    """The axes along which the sizes, with the last ones below each other, are not known to be the same or 1."""
    if any(shape.rank.is_dynamic for shape in shapes):
        return list(range(rank))
    return [axis for axis in range(rank) if not _are_same(
        [shape[axis - rank + len(shape)] for shape in shapes if axis - rank + len(shape) >= 0])]


def _stretched_axes_of_attention(node: ov.Node, rank: int) -> list[int]:
    """Queries, keys, values and, if there is one, a mask share the batch; queries and mask the rows."""
    queries, keys, values, *masks = [node.get_input_partial_shape(i) for i in range(min(node.get_input_size(), 4))]
    batch = [axis for axis in _stretched_axes([queries, keys, values, *masks], rank) if axis < rank - _SHAPE_AXES]
    rows = [axis for axis in _stretched_axes([queries, *masks], rank) if axis == rank - _SHAPE_AXES]
    return [*batch, *rows]


def _axes_that_may_be_kept(node: ov.Node) -> Sequence[int]:
    """The axes of a Reshape whose sizes are those of other axes, and may be 0; then that of the rest, too."""
    wanted, given = _sizes(node.input_value(1)), node.get_input_partial_shape(0)
    if wanted is None or given.rank.is_dynamic or is_constant(_source(node.input_value(1))):
        return ()
    kept = [axis for axis, size in enumerate(wanted[:len(given)])
            if size.has_symbol() and size.min_length == 0 and not _is_same(size, given[axis])]
    return [*kept, *(axis for axis, size in enumerate(wanted) if not size.has_symbol())] if kept else ()


def _shape_of_values(port: ov.Output) -> ov.PartialShape:
    """The shape that has the values of a list of numbers as its sizes, with the symbols of the sizes that they are.

    Found by the operations that make the list: asking OpenVINO for its bounds changes what transformations find.
    """
    sizes = _sizes(port)
    return ov.PartialShape.dynamic() if sizes is None else ov.PartialShape(sizes)


def _sizes(port: ov.Output) -> list[ov.Dimension] | None:
    """What is known of each number of a list, or of a single number; None if not even how many there are."""
    node = _source(port)
    kind, shape = node.get_type_name(), node.get_output_partial_shape(0)
    if is_constant(node):
        return [ov.Dimension(int(value)) if value >= 0 else ov.Dimension() for value in node.data.reshape(-1)]
    if kind == "ShapeOf" and node.get_input_partial_shape(0).rank.is_static:
        given = node.get_input_partial_shape(0)
        return [given[axis] for axis in range(len(given))]
    if kind == "Concat":
        parts = [_sizes(node.input_value(i)) for i in range(node.get_input_size())]
        return None if None in parts else [size for part in parts for size in part or ()]
    if kind in ("Convert", *_RESHAPES):
        return _sizes(node.input_value(0))
    if kind == "Select" and (kept := _kept_values(node)) is not None:
        return _sizes(kept)
    if kind == "Gather" and is_constant(places := _source(node.input_value(1))):
        known = _sizes(node.input_value(0))
        wanted = [int(place) for place in places.data.reshape(-1)]
        if known is None or any(not -len(known) <= place < len(known) for place in wanted):
            return None
        return [known[place] for place in wanted]
    return None if shape.is_dynamic else [ov.Dimension()] * (shape[0].get_length() if len(shape) else 1)


def _source(port: ov.Output) -> ov.Node:
    """The node that makes a tensor, behind partitions."""
    node = port.get_node()
    while node.get_type_name() == "Partition":
        node = node.input_value(0).get_node()
    return node


def _kept_values(select: ov.Node) -> ov.Output | None:
    """What a Select gives that replaces -1 in sizes, which are never -1 (PyTorch's `expand` is exported so)."""
    compared, kept = _source(select.input_value(0)), select.input_value(2)
    if compared.get_type_name() != "Equal":
        return None
    for own, other in ((0, 1), (1, 0)):
        unwanted = _source(compared.input_value(other))
        if (_source(compared.input_value(own)) == _source(kept) and is_constant(unwanted)
                and (unwanted.data == -1).all() and _are_sizes(kept)):
            return kept
    return None


def _are_sizes(port: ov.Output) -> bool:
    """Whether no value of a tensor is negative, because all are sizes or products and sums of sizes."""
    node = _source(port)
    kind = node.get_type_name()
    if kind == "ShapeOf":
        return True
    if is_constant(node):
        return bool((node.data >= 0).all())
    if kind in _MOVES_OF_SIZES:
        return _are_sizes(node.input_value(0))
    return kind in _SUMS_OF_SIZES and all(_are_sizes(node.input_value(i)) for i in range(node.get_input_size()))


def _are_same(sizes: Sequence[ov.Dimension]) -> bool:
    others = [size for size in sizes if size != 1]
    return all(_is_same(others[0], other) for other in others[1:])


def _is_same(one: ov.Dimension, other: ov.Dimension) -> bool:
    if one.is_static or other.is_static:
        return bool(one == other)
    return bool(one.has_symbol() and other.has_symbol() and one.get_symbol() == other.get_symbol())
