"""A node of a segment as its planner has it."""
from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from itertools import chain
from typing import Any

import numpy as np

from clinfer.base.layout import Layout
from clinfer.network.plans.node_function import NodeFunction
from clinfer.network.plans.numbers import Names, Places
from clinfer.network.plans.plan import CallHost, Launch, OtherStep, Upload, fetches, run_body
from clinfer.network.plans.segment_nodes import NodeStep, SegmentNodes
from clinfer.network.plans.tape_runner import TapeNode
from clinfer.program.program import Program, ProgramNode

Constant = Callable[[int], "np.ndarray | None"]
Numbers = Any
"""The row of numbers of the segment: integers, of arrays their identities."""
Arrays = Mapping[int, np.ndarray]
"""Arrays of the host by the places of their names."""
MakeArray = Callable[[Numbers, Arrays], np.ndarray]
"""Gives a value of the host."""
_Make = Callable[[Numbers, Arrays], OtherStep]


class PlannedNode:
    """A node of a segment: as its `tapes` are asked, where the sizes of its outputs, `shapes`, stand among the numbers,
    how their `values` follow from these, and the steps `before` and `behind` its launches."""

    __slots__ = ("_function", "_made", "arrays_made", "before", "behind", "shapes", "tapes", "values")

    def __init__(self, program: Program, segment: int, step: NodeStep, described: SegmentNodes, places: Places,
                 constant: Constant, function: NodeFunction | None) -> None:
        """`function`: what plans it; what tells its shapes only when it has run has none."""
        node = program.nodes[step.index]
        read: Names = step.given
        if node.kind == "body" and function is None:
            read = tuple(chain.from_iterable(_names(described.values.get(node.inputs[position], ()))
                                             for position in node.read_on_host))
        self._function = function
        self.tapes = TapeNode(places.places(read), places.row(step.results),
                              range(0) if function is None else function.kernels,
                              [] if function is None else function.traces,
                              _nothing if function is None else function.asked, function is None)
        made = node.outputs if function is not None else ()
        self.arrays_made = [places.place(spelled) for tensor in made
                            if isinstance(spelled := described.values.get(tensor), str)]
        self.shapes = [(tensor, places.places(described.sizes[tensor])) for tensor in made]
        self.values = [(tensor, _array(program, tensor, described, places, constant)) for tensor in made
                       if tensor in described.values]
        self.before: list[_Make] = [partial(_uploaded, tensor, program.tensors[tensor].layout, array)
                                    for tensor, array in self.values if program.tensors[tensor].storage != "host"]
        if node.kind == "call":
            self.before = [lambda *_: CallHost(step.index)]
        elif node.kind == "body":
            self.before = [_body(step.index, node, program, described, places, constant)]
        self.behind = fetches(program.segments[segment], node)

    @property
    def shares_tapes(self) -> int | None:
        """Equal for nodes that are alike; None: it is like no other."""
        return id(self._function.traces) if self._function is not None and self._function.is_traced else None

    def ask(self, given: tuple[Any, ...]) -> tuple[tuple[Any, ...], tuple[Launch, ...]]:
        """What its planner gives for it: numbers and arrays, and launches."""
        assert self._function is not None
        return self._function.plan(given)


def _nothing(_: object) -> Any:
    raise AssertionError("a node without a function asks for nothing")


def _names(spelled: Names | str) -> Names:
    return (spelled,) if isinstance(spelled, str) else spelled


def _array(program: Program, tensor: int, described: SegmentNodes, places: Places, constant: Constant) -> MakeArray:
    """What gives a value of the host as an array."""
    known = constant(tensor)
    if known is not None:
        return lambda *_: known
    spelled, layout = described.values[tensor], program.tensors[tensor].layout
    if isinstance(spelled, str):
        place = places.place(spelled)
        return lambda _, arrays: arrays[place]
    get, shape, kind = places.getter(spelled), layout.static_shape, layout.element_type.numpy
    return lambda numbers, _: np.array(get(numbers), kind).reshape(shape)


def _uploaded(tensor: int, layout: Layout, array: MakeArray, numbers: Numbers, arrays: Arrays) -> Upload:
    value = array(numbers, arrays)
    return Upload(tensor, layout.with_shape(value.shape).pack(value))


def _body(index: int, node: ProgramNode, program: Program, described: SegmentNodes, places: Places,
          constant: Constant) -> _Make:
    known = {position: _array(program, node.inputs[position], described, places, constant)
             for position in node.read_on_host}
    return lambda numbers, arrays: run_body(index, node.primitive,
                                            {i: array(numbers, arrays) for i, array in known.items()})
