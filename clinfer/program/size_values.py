"""What shape arithmetic gives, as far as it is certain before sizes are known: numbers and named sizes."""
from __future__ import annotations

from typing import Any

import numpy as np

from clinfer.base.errors import CONTRADICTIONS
from clinfer.base.shape import Dim, Shape, Size
from clinfer.program.context import BuildContext
from clinfer.program.graph import Graph, Node
from clinfer.program.size_names import SizeNames
from clinfer.symbolic.dimensions import NamedDim
from clinfer.topology import Port

_ELEMENTS = 64
_NUMBERS = (int, np.integer)
_OPEN = "it depends on a size that is not known yet"


class SizeValues:
    """The elements of integer tensors that the host can compute from shapes and constants.

    A tensor is computed by `evaluate` of its primitive, with elements in place of numbers that are not known yet.
    What needs more of them than to be handed on makes all of its results unknown. Without `names` open sizes have none.
    """

    def __init__(self, graph: Graph, context: BuildContext, names: SizeNames | None) -> None:
        self._graph = graph
        self._context = context
        self._names = names
        self._found: dict[Port, np.ndarray] = {}

    def of(self, port: Port) -> tuple[Size | None, ...]:
        """The elements in row-major order; None for what is not certain. Nothing of a tensor whose shape is open."""
        elements = self._elements(port)
        return () if elements is None else tuple(_size(element) for element in elements.reshape(-1).tolist())

    def numbers(self, port: Port) -> np.ndarray | None:
        """The tensor, if all of its elements are certain."""
        elements = self._elements(port)
        return None if elements is None or elements.dtype == object else elements

    def _elements(self, port: Port) -> np.ndarray | None:
        known, layout = self._context.known_value(self._graph, port), self._graph.layout(port)
        if known is not None:
            return known
        if not layout.is_static or layout.count > _ELEMENTS or layout.element_type.is_float:
            return None
        if port not in self._found:
            node = self._graph[port.primitive]
            self._found |= {Port(node.id, i): _with_type(value, layout.element_type.numpy) for i, (value, layout) in
                            enumerate(zip(self._evaluated(node), node.layouts, strict=True))}
        return self._found[port]

    def _evaluated(self, node: Node) -> tuple[np.ndarray, ...]:
        inputs: list[np.ndarray | None] = []
        if node.primitive.can_evaluate and node.primitive.reads_shapes_only:
            inputs = [np.empty(0) for _ in node.inputs]
        elif node.primitive.can_evaluate:
            inputs = [self._elements(port) for port in node.inputs]
        values = tuple(value for value in inputs if value is not None)
        if any(value.dtype == object for value in values):
            values = tuple(value.astype(object) if value.dtype.kind in "iu" else value for value in values)
        if not values or len(values) < len(inputs):
            return self._unknown(node)
        shapes = tuple(tuple(map(_element, self._shape(port))) for port in node.inputs)
        try:
            return node.primitive.evaluate(values, shapes)  # type: ignore[arg-type]
        except (*CONTRADICTIONS, AttributeError):
            # NumPy asks elements for methods of numbers, too.
            return self._unknown(node)

    def _shape(self, port: Port) -> Shape:
        return self._names.shape(port) if self._names else self._graph.layout(port).shape

    def _unknown(self, node: Node) -> tuple[np.ndarray, ...]:
        found = []
        for layout in node.layouts:
            elements = np.empty(layout.count if layout.is_static else 0, object)
            elements[:] = [_Element(None) for _ in elements]
            found.append(elements.reshape(layout.static_shape if layout.is_static else (0,)))
        return tuple(found)


class _Element:
    """A number that is not known yet; of a size there is the name. What its value would have to decide raises."""

    def __init__(self, size: NamedDim | None) -> None:
        self.size = size

    def __eq__(self, other: object) -> bool:
        size = self.size
        if size is not None and isinstance(other, _Element) and other.size == size:
            return True
        if size is not None and isinstance(other, _NUMBERS) and not size.admits(int(other)):
            return False
        raise TypeError(_OPEN)

    def __bool__(self) -> bool:
        raise TypeError(_OPEN)

    def __hash__(self) -> int:
        return hash(self.size)

    def __add__(self, other: object) -> _Element:
        size = other.size if isinstance(other, _Element) else int(other) if isinstance(other, _NUMBERS) else None
        total = None if self.size is None or size is None else self.size + size
        return _Element(total if isinstance(total, NamedDim) and total.low >= 0 else None)

    __radd__ = __add__


def _element(size: Size) -> int | _Element:
    return _Element(size if isinstance(size, NamedDim) else None) if isinstance(size, Dim) else size


def _with_type(elements: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Elements in a tensor's type, if all are numbers: of others evaluations may ask what only numbers have."""
    is_known = elements.dtype == object and not any(isinstance(element, _Element) for element in elements.flat)
    return elements.astype(dtype) if is_known else elements


def _size(element: Any) -> Size | None:
    return element.size if isinstance(element, _Element) else int(element)
