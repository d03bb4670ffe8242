"""What the tensors of a graph look like for sizes that may well come, where the model leaves sizes open."""
from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import replace
from typing import TypeVar

import numpy as np

from clinfer.base.errors import CONTRADICTIONS
from clinfer.base.layout import Layout
from clinfer.base.shape import Shape, admits, is_static, upper_estimate
from clinfer.kernels.contract import Problem
from clinfer.program.context import BuildContext
from clinfer.program.graph import Graph, Node
from clinfer.program.size_names import SizeNames
from clinfer.symbolic.dimensions import NamedDim, names_in
from clinfer.topology import Input, Port

P = TypeVar("P", bound=Problem)
_PICTURE_RANK, _CHANNELS = 4, (3, 4)


class Sample:
    """Static layouts of all tensors of a graph, and the values of its shape arithmetic.

    The open sizes of the graph's inputs are `first` for a first axis (of states for the one that the model has first)
    and `others` for the others (of states `past`, if that is given), within their bounds, and 1 where an operation
    takes nothing else; tables of states are empty; those of pictures (rank 4, with an axis of 3 or 4 channels behind
    the first) are `pictures`, if that is given; all else follows by shape rules. Where these cannot tell, or refuse
    what comes together, sizes are estimated in the same way: ranks are always those of the graph.
    """

    def __init__(self, graph: Graph, context: BuildContext, first: int, others: int, past: int | None = None,
                 pictures: int | None = None) -> None:
        self.values: dict[Port, np.ndarray] = {}
        self._graph = graph
        self._context = context
        self._sizes = first, others
        self._past = others if past is None else past
        self._of_pictures = others if pictures is None else pictures
        self._inputs = {node.id for node in graph if isinstance(node.primitive, Input)}
        self._layouts: dict[Port, Layout] = {}
        self._estimates: set[str] = set()
        self._names: SizeNames | None = None
        self._first_axes = {state.input: state.order.index(0) if state.order else 0 for state in graph.states}
        self._tables = {state.table for state in graph.states}
        self._ones = self._sizes_of_one()
        for node in graph:
            for index, (layout, shape) in enumerate(zip(node.layouts, self._shapes(node), strict=True)):
                self._layouts[Port(node.id, index)] = layout.with_shape(shape)
            if node.on_host:
                self._evaluate(node)

    def layout(self, port: Port) -> Layout:
        """The static layout of a tensor."""
        return self._layouts[port]

    def is_inferred(self, node: Node) -> bool:
        """Whether the shapes that a node makes follow from those that it reads: else they need not fit together."""
        return node.id not in self._estimates

    def known_values(self, node: Node, inputs: tuple[int, ...]) -> Mapping[int, np.ndarray]:
        """The values of these inputs, as far as they are constants or shape arithmetic."""
        found = ((i, self._context.known_value(self._graph, node.inputs[i], self.values)) for i in inputs)
        return {i: value for i, value in found if value is not None}

    def problem(self, node: Node, problem: P, read: tuple[int, ...]) -> P:
        """A node's problem with the shapes of the sample, and the known values of the inputs `read`."""
        inputs = tuple(layout.with_shape(self.layout(port).shape)
                       for layout, port in zip(problem.all_inputs, node.inputs, strict=True))
        outputs = tuple(layout.with_shape(self.layout(Port(node.id, i)).shape)
                        for i, layout in enumerate(problem.outputs))
        own = len(problem.inputs)
        return replace(problem, inputs=inputs[:own], fused_inputs=inputs[own:], outputs=outputs,
                       values=self.known_values(node, read))

    def _shapes(self, node: Node) -> tuple[Shape, ...]:
        declared = tuple(layout.shape for layout in node.layouts)
        if all(layout.is_static for layout in (*node.layouts, *self._graph.input_layouts(node))):
            return declared
        found = None if isinstance(node.primitive, Input) or node.primitive.bodies else self._inferred(node)
        if found is not None and all(is_static(shape) and admits(own, shape)  # type: ignore[arg-type]
                                     for own, shape in zip(declared, found, strict=True)):
            return found  # type: ignore[return-value]
        self._estimates.add(node.id)
        return tuple(self._estimated(Port(node.id, index), shape) for index, shape in enumerate(declared))

    def _inferred(self, node: Node) -> tuple[Shape | None, ...] | None:
        primitive = node.primitive
        values = self.known_values(node, primitive.value_inputs)
        if len(values) < len(primitive.value_inputs):
            return None
        given = [self._layouts[port] for port in node.inputs[:primitive.shape_input_count]]
        rule = self._context.rule(primitive, tuple(layout.element_type for layout in given))
        try:
            return rule(tuple(layout.static_shape for layout in given), values)
        except CONTRADICTIONS:
            return None

    def _evaluate(self, node: Node) -> None:
        known = self.known_values(node, tuple(range(len(node.inputs))))
        if not node.primitive.reads_shapes_only and len(known) < len(node.inputs):
            return
        shapes = tuple(self._layouts[port].static_shape for port in node.inputs)
        inputs = () if node.primitive.reads_shapes_only else tuple(known[i] for i in range(len(node.inputs)))
        try:
            results = node.primitive.evaluate(inputs, shapes)
        except CONTRADICTIONS:
            return
        self.values.update({Port(node.id, index): value for index, value in enumerate(results)})

    def _estimated(self, port: Port, shape: Shape) -> Shape:
        first, others = self._sizes
        if port.primitive in self._tables:
            return (0, first)
        first_axis = self._first_axes.get(port.primitive, 0)
        if port.primitive in self._first_axes:
            others = self._past
        elif port.primitive in self._inputs and _is_picture(shape):
            others = self._of_pictures
        estimate = (*upper_estimate(shape[:first_axis], others),
                    *upper_estimate(shape[first_axis:first_axis + 1], first),
                    *upper_estimate(shape[first_axis + 1:], others))
        if self._names is None:
            return estimate
        return tuple(1 if isinstance(named, NamedDim) and names_in(named) <= self._ones and named.admits(1) else size
                     for size, named in zip(estimate, self._names.shape(port), strict=True))

    def _sizes_of_one(self) -> set[Hashable]:
        """The names of open sizes that must be 1."""
        ones: set[Hashable] = set()
        for node in self._graph:
            shapes = tuple(layout.shape for layout in self._graph.input_layouts(node))
            axes = node.primitive.axes_of_one(shapes, self._context.known_values(self._graph, node))
            if any(not isinstance(shapes[0][axis], int) for axis in axes):
                self._names = self._names or SizeNames(self._graph, self._context)
                sizes = self._names.shape(node.inputs[0])
                ones |= {name for axis in axes if isinstance(size := sizes[axis], NamedDim) for name in names_in(size)}
        return ones


def _is_picture(shape: Shape) -> bool:
    return len(shape) == _PICTURE_RANK and any(size in _CHANNELS for size in shape[1:])
