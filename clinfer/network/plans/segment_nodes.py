"""The nodes of a segment as its planner sees them: by name what each is given, and what it gives."""
from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from clinfer.base.layout import Layout
from clinfer.network.plans.node_arguments import Argument, Elements, NodeArguments, Number, is_small
from clinfer.network.plans.node_form import NodeForm, form_of
from clinfer.network.plans.numbers import Names
from clinfer.program.program import Program, ProgramNode


@dataclass(frozen=True)
class NodeStep:
    """A node, the names of what the functions that plan it are given, and of what they give besides the launches;
    what tells its shapes only when it has run has no form. `has_arrays`: whether whole arrays are among what is
    given."""

    index: int
    form: NodeForm | None
    given: tuple[str, ...] = ()
    results: tuple[str, ...] = ()
    has_arrays: bool = False


@dataclass(frozen=True)
class SegmentNodes:
    """The nodes of a segment, in order, and how the tensors among them are spelled.

    `sizes` of what comes in and of what is made, which `made` lists; `values` of what the host knows: the elements of
    small integers, or the name of an array. The size of axis a of tensor t is called `s<t>_<a>`, element i `e<t>_<i>`,
    an array `e<t>`; sizes that the model declares static have no names. The bytes of output t are called `b<t>`, those
    of scratch buffer n of node i `b<i>_<n>`, the offset of a tensor t that may lie within another `o<t>`.
    """

    steps: tuple[NodeStep, ...]
    sizes: Mapping[int, Names]
    values: Mapping[int, Names | str]
    made: tuple[int, ...]


def size_name(tensor: int, axis: int) -> str:
    """The name of a size that is open."""
    return f"s{tensor}_{axis}"


def sizes_of(layout: Layout, tensor: int) -> Names:
    """The sizes of a tensor, spelled."""
    return tuple(size if isinstance(size, int) else size_name(tensor, axis) for axis, size in enumerate(layout.shape))


def elements_of(layout: Layout, tensor: int) -> Names | str:
    """The value of a tensor, spelled."""
    return tuple(f"e{tensor}_{i}" for i in range(layout.count)) if is_small(layout) else f"e{tensor}"


def describe_nodes(program: Program, segment: int, constant: Callable[[int], np.ndarray | None]) -> SegmentNodes:
    """The nodes of a segment; `constant` gives the value of a tensor that is one. A program keeps what was described
    for all that plan it."""
    found: SegmentNodes | None = program.descriptions.get(segment)
    if found is None:
        found = program.descriptions.setdefault(segment, _Describer(program, segment, constant).described())
    return found


class _Describer:
    """Describes one segment."""

    def __init__(self, program: Program, segment: int, constant: Callable[[int], np.ndarray | None]) -> None:
        self._program = program
        self._segment = program.segments[segment]
        self._constant = constant
        self._sizes = {tensor: sizes_of(self._layout(tensor), tensor) for tensor in self._segment.incoming}
        self._values = {tensor: elements_of(self._layout(tensor), tensor) for tensor in self._segment.values}
        self._made: list[int] = []

    def described(self) -> SegmentNodes:
        steps = tuple(self._step(index, self._program.nodes[index]) for index in self._segment.nodes)
        return SegmentNodes(steps, self._sizes, self._values, tuple(self._made))

    def _layout(self, tensor: int) -> Layout:
        return self._program.tensors[tensor].layout

    def _step(self, index: int, node: ProgramNode) -> NodeStep:
        if node.primitive.data_dependent_output:
            return NodeStep(index, None)
        arguments, given = self._arguments(node)
        results: list[str] = []
        for tensor in node.outputs:
            self._sizes[tensor] = sizes_of(self._layout(tensor), tensor)
            self._made.append(tensor)
            results += [name for name in self._sizes[tensor] if isinstance(name, str)]
        if node.kind == "host":
            results += self._elements(node)
        results += (f"b{tensor}" for tensor in node.outputs)
        results += (f"b{index}_{number}" for number in range(len(node.scratch_slots)))
        results += (f"o{aliased.moved}" for aliased in node.aliases)
        form = form_of(self._program, index, arguments)
        return NodeStep(index, form, given, tuple(results), arguments.has_arrays)

    def _elements(self, node: ProgramNode) -> Iterator[str]:
        for tensor in node.outputs:
            self._values[tensor] = elements = elements_of(self._layout(tensor), tensor)
            yield from (elements,) if isinstance(elements, str) else map(str, elements)

    def _arguments(self, node: ProgramNode) -> tuple[NodeArguments, tuple[str, ...]]:
        """How a node's function is called: the form of its arguments, and what is given."""
        names: dict[str, Argument] = {}

        def numbers(spelled: Names) -> tuple[Number, ...]:
            return tuple(item if isinstance(item, int) else names.setdefault(item, Argument(len(names)))
                         for item in spelled)

        shapes = tuple(numbers(self._size(tensor)) for tensor in node.inputs)
        values: dict[int, Elements | np.ndarray | Argument] = {}
        for position in node.read_on_host:
            tensor = node.inputs[position]
            constant, layout = self._constant(tensor), self._layout(tensor)
            if constant is not None:
                values[position] = constant
                continue
            spelled = self._values[tensor]
            if isinstance(spelled, str):
                values[position] = names.setdefault(spelled, Argument(len(names)))
            else:
                values[position] = Elements(numbers(spelled), layout.static_shape, layout.element_type.numpy)
        return NodeArguments(shapes, values), tuple(names)

    def _size(self, tensor: int) -> Names:
        known = self._sizes.get(tensor)
        return self._layout(tensor).static_shape if known is None else known
