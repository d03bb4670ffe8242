"""Which dimensions of a graph's tensors are always equal: each gets a name, equal ones the same name."""
from __future__ import annotations

from collections.abc import Hashable
from itertools import takewhile

from clinfer.base.shape import Dim, Shape, Size
from clinfer.program.context import BuildContext
from clinfer.program.graph import Graph, Node
from clinfer.symbolic.dimensions import NamedDim, names_in
from clinfer.topology import Input, Port, attributes_of

Names = tuple[Shape, ...]
_CHANNELS = 1
"""The axis that blocked formats of four and more axes divide."""


class SizeNames:
    """The shapes of a graph's tensors with a name for every dimension that is not static.

    Names come from shape rules, which hand on the dimensions that they keep. What a rule computes is named after
    the operation and its inputs, so that equal operations on equal shapes give equal names. Two names may turn
    out to be equal sizes; one name never is two sizes. Tensors are named as the graph is: all of them at first (those
    of nodes that stand before `until`, if that is given), others when they are asked for.
    """

    def __init__(self, graph: Graph, context: BuildContext, until: str | None = None) -> None:
        self._graph = graph
        self._context = context
        self._shapes: dict[str, Names] = {}
        self._known: dict[Hashable, int] = {}
        for node in takewhile(lambda node: node.id != until, graph):
            self.name(node)

    def name(self, node: Node) -> Names:
        """The shapes of a node's outputs."""
        if node.id not in self._shapes:
            self._shapes[node.id] = self._names(node)
        return self._shapes[node.id]

    def shape(self, port: Port) -> Shape:
        """The shape of a tensor."""
        return self.name(self._graph[port.primitive])[port.index]

    def replace(self, port: Port, other: Port) -> None:
        """Another tensor's shape is that of a port from now on."""
        known = self._shapes[port.primitive]
        self._shapes[port.primitive] = (*known[:port.index], self.shape(other), *known[port.index + 1:])

    def _names(self, node: Node) -> Names:
        found = tuple(x.shape for x in node.layouts)
        if all(x.is_static for x in node.layouts):
            return found
        key = self._key(node)
        inferred = found if key is None else self._inferred(node, found)
        is_input = isinstance(node.primitive, Input)

        def identity(output: int, axis: int) -> Hashable:
            shared = self._graph.shared_size(node.id, axis) if is_input else None
            return shared or (key or node.id, output, axis)
        return tuple(tuple(self._named(size, own, identity(output, axis))
                           for axis, (size, own) in enumerate(zip(shape, layout.shape, strict=True)))
                     for output, (shape, layout) in enumerate(zip(inferred, node.layouts, strict=True)))

    def _key(self, node: Node) -> Hashable | None:
        """What the shapes of the outputs depend on alone; None if they depend on more than shapes and constants."""
        primitive = node.primitive
        if isinstance(primitive, Input) or primitive.data_dependent_output or primitive.bodies:
            return None
        values = self._context.known_values(self._graph, node)
        if set(values) != set(primitive.value_inputs):
            return None
        shapes = tuple(self.shape(port) for port in node.inputs[:primitive.shape_input_count])
        key = (type(primitive), attributes_of(primitive), shapes,
               tuple((i, v.dtype.str, v.shape, v.tobytes()) for i, v in sorted(values.items())))
        try:
            hash(key)
        except TypeError:
            return None
        return key

    def _inferred(self, node: Node, found: Names) -> Names:
        """The shapes by the primitive's rule; `found` where that leaves a rank open."""
        primitive = node.primitive
        shapes = tuple(self.shape(port) for port in node.inputs[:primitive.shape_input_count])
        rule = self._context.rule(primitive, tuple(map(self._graph.element_type, node.inputs)))
        named = rule(shapes, self._context.known_values(self._graph, node))
        return tuple(own if shape is None or len(shape) != len(own) else shape
                     for shape, own in zip(named, found, strict=True))

    def _named(self, size: Size, own: Size, key: Hashable) -> Size:
        """A name that the rule handed on, or one for what it computed."""
        if not isinstance(own, Dim) or isinstance(size, NamedDim):
            return own if not isinstance(own, Dim) else size
        return NamedDim(own.low, own.high, self._known.setdefault(key, len(self._known)))


def is_kept(shape: Shape, others: tuple[Shape, ...]) -> bool:
    """Whether other tensors stretch to a tensor of this named shape without changing it, whatever the sizes are."""
    return all(len(other) <= len(shape) and all(map(_stretches, reversed(other), reversed(shape))) for other in others)


def is_kept_if_it_fits(shape: Shape, others: tuple[Shape, ...]) -> bool:
    """Whether other tensors that can be combined with one of this named shape at all leave it as it is.

    A size that is never 1 stays: what is neither 1 nor that size does not fit, which the caller must tell. Not so
    along channels, which kernels see in blocks: there it must be known whether something stretches.
    """
    return all(len(other) <= len(shape) and all(
        _stretches(size, whole) or (_is_never_one(whole) and not (place == _CHANNELS and len(shape) > _CHANNELS + 2))
        for place, size, whole in zip(range(len(shape) - 1, -1, -1), reversed(other), reversed(shape), strict=False))
        for other in others)


def may_keep(shape: Shape, others: tuple[Shape, ...]) -> bool:
    """Whether there are sizes for which they do that: no axis that they stretch has size 1 for certain."""
    return all(len(other) <= len(shape) and all(
        size == 1 or whole != 1 for size, whole in zip(reversed(other), reversed(shape), strict=False))
        for other in others)


def _is_never_one(size: Size) -> bool:
    return (size.low if isinstance(size, Dim) else size) > 1


def _stretches(size: Size, whole: Size) -> bool:
    """Whether a size is 1 or the whole one for certain."""
    if size in (1, whole):
        return True
    return isinstance(size, NamedDim) and isinstance(whole, NamedDim) and names_in(size) <= names_in(whole)
