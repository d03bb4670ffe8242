"""Plans a segment whose shapes change: what differs from the time before is worked out, all else is kept.

The numbers that come in and those that nodes give stand in one list. Where something else comes in, the nodes that
depend on it are gone through in order, and the function of each is called if what it is given changed. A length that
grows by one is thus as much work as there are nodes that depend on it.
"""
from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import chain
from operator import itemgetter
from typing import Any

import numpy as np

from clinfer.base.layout import Layout
from clinfer.base.shape import StaticShape
from clinfer.network.plans.memory_needs import Needs, needs_of
from clinfer.network.plans.node_function import WantedTrace
from clinfer.network.plans.node_planner import NodePlanner
from clinfer.network.plans.numbers import Get, Names, Numbers
from clinfer.network.plans.plan import CallHost, Launch, Place, Plan, Step, Upload, fetches, run_body
from clinfer.network.plans.segment_nodes import NodeStep, SegmentNodes, describe_nodes
from clinfer.program.program import Program, ProgramNode
from clinfer.symbolic.shape_inference import Values
from clinfer.symbolic.symbols import array_of

SMALL_SHARE = 2
"""A plan in which fewer than one node of that many differ from the plan before is quickly made again."""

_Array = Callable[[Numbers], np.ndarray]
_Constant = Callable[[int], "np.ndarray | None"]


class SegmentPlanner:
    """Plans one segment; belongs to one planner. Nothing that it holds refers back to it: a cycle would keep device
    memory until the garbage collector runs."""

    def __init__(self, program: Program, segment: int, planner: NodePlanner, constant: _Constant,
                 wanted: deque[WantedTrace]) -> None:
        """`constant` gives the value of a tensor that is one, `wanted` takes what makes traces that are missing."""
        self.described = described = describe_nodes(program, segment, planner, constant, wanted)
        self._numbers = numbers = Numbers()
        incoming = program.segments[segment]
        self._sizes = [(tensor, tuple((axis, numbers.place(name)) for axis, name in enumerate(described.sizes[tensor])
                                      if isinstance(name, str))) for tensor in incoming.incoming]
        self._values = [(tensor, _value_places(described.values[tensor], numbers)) for tensor in incoming.values]
        alike: dict[int, _Alike] = {}
        self._nodes = [_Node(program, segment, step, described, numbers, constant, alike) for step in described.steps]
        makers = {place: number for number, node in enumerate(self._nodes)
                  for place in range(node.made.start, node.made.stop)}
        planned = [step.index for step in described.steps if step.function is not None]
        self._slots, self._outputs = (Needs(needs, makers) for needs in needs_of(program, planned, numbers.place))
        self._aliases = [(aliased.moved, aliased.within, numbers.place(f"o{aliased.moved}"))
                         for step in described.steps for aliased in program.nodes[step.index].aliases]
        self._readers: dict[int, list[int]] = {}
        for number, node in enumerate(self._nodes):
            for place in node.reads:
                self._readers.setdefault(place, []).append(number)
        for node in self._nodes:
            node.readers = tuple([tuple(self._readers.get(place, ()))
                                  for place in range(node.made.start, node.made.stop)])
        self.forget()

    def forget(self) -> None:
        """Forget what nodes gave last."""
        self._is_whole = False
        self._present_steps: list[tuple[Step, ...]] = [()] * len(self._nodes)
        self._present_shapes: dict[int, StaticShape] = {}
        self._present_values: dict[int, np.ndarray] = {}
        self._places: tuple[Place, ...] = ()
        for node in self._nodes:
            node.given = None

    def plan(self, shapes: Mapping[int, StaticShape], values: Values) -> Plan:
        """The plan for the shapes and values of what comes in."""
        numbers, was_whole, self._is_whole = self._numbers, self._is_whole, False
        if not was_whole:
            self.forget()
        waiting = bytearray(len(self._nodes)) if was_whole else bytearray(b"\1" * len(self._nodes))
        for place in self._take(shapes, values):
            for reader in self._readers.get(place, ()):
                waiting[reader] = 1
        touched = self._work_out(waiting)
        self._is_whole = True
        return Plan(tuple(chain.from_iterable(self._present_steps)), self._present_shapes.copy(),
                    self._present_values.copy(), self._slots.told(numbers), self._outputs.told(numbers),
                    places=self._places, is_kept=touched * SMALL_SHARE >= len(self._nodes))

    def _take(self, shapes: Mapping[int, StaticShape], values: Values) -> Iterator[int]:
        """Put in what comes in; the places where that is something else."""
        numbers = self._numbers
        for tensor, sizes in self._sizes:
            shape = shapes[tensor]
            for axis, place in sizes:
                if numbers[place] != shape[axis]:
                    numbers[place] = shape[axis]
                    yield place
        for tensor, places in self._values:
            if isinstance(places, int):
                numbers[places] = values[tensor]
                yield places
                continue
            for place, item in zip(places, values[tensor].reshape(-1).tolist(), strict=True):
                if numbers[place] != item:
                    numbers[place] = item
                    yield place

    def _work_out(self, waiting: bytearray) -> int:
        """Let the nodes that are marked, and those that depend on what comes of it, say what they give now, and take
        that over; how many gave something else."""
        nodes, numbers, steps = self._nodes, self._numbers, self._present_steps
        shapes, values, slots, outputs = self._present_shapes, self._present_values, self._slots, self._outputs
        touched, has_moved, number = 0, False, waiting.find(1)
        while number >= 0:
            node = nodes[number]
            if node.work_out(numbers, waiting):
                touched += 1
                has_moved = has_moved or node.has_aliases
                for tensor, shape in node.shapes:
                    shapes[tensor] = shape(numbers)
                for tensor, array in node.values:
                    values[tensor] = array(numbers)
                slots.take(number, numbers)
                outputs.take(number, numbers)
                steps[number] = node.steps(numbers)
            number = waiting.find(1, number + 1)
        if has_moved:
            places = tuple([Place(moved, within, numbers[place]) for moved, within, place in self._aliases
                            if numbers[place] >= 0])
            if places != self._places:
                self._places = places
        return touched


class _Node:
    """A node of a segment: the places that it `reads` and those of what it gives (`made`), how `shapes` and `values`
    of its outputs follow from the numbers, what its function was `given` and `launches` last, and by what it gives the
    nodes that read it."""

    __slots__ = ("_alike", "_fetches", "_function", "_get", "_has_arrays", "_kernels", "_launches", "_rest",
                 "_uploads", "given", "has_aliases", "made", "readers", "reads", "shapes", "values")

    def __init__(self, program: Program, segment: int, step: NodeStep, described: SegmentNodes, numbers: Numbers,
                 constant: _Constant, alike: dict[int, _Alike]) -> None:
        node = program.nodes[step.index]
        self._function = step.function
        self._get: Get = numbers.getter(step.given)
        self._has_arrays = step.has_arrays
        self._fetches = fetches(program.segments[segment], node)
        self.has_aliases = bool(node.aliases)
        self.made = numbers.row(step.results)
        self.readers: tuple[tuple[int, ...], ...] = ()
        self.given: tuple[Any, ...] | None = None
        self._launches: tuple[Launch, ...] = ()
        self._kernels = range(0) if step.function is None else step.function.kernels
        self._alike: _Alike | None = None
        if step.function is not None and step.function.is_traced:
            self._alike = alike.setdefault(id(step.function.traces), _Alike())
        made = node.outputs if step.function is not None else ()
        self.shapes = [(tensor, numbers.getter(described.sizes[tensor])) for tensor in made]
        self.values = [(tensor, _array(program, tensor, described, numbers, constant)) for tensor in made
                       if tensor in described.values]
        self._uploads = [_upload(program, tensor, array) for tensor, array in self.values
                         if program.tensors[tensor].storage != "host"]
        self._rest: Callable[[Numbers], Step] | None = None
        read: list[Names] = [step.given]
        if node.kind == "call":
            self._rest = lambda _: CallHost(step.index)
        elif node.kind == "body":
            self._rest = _body(step.index, node, program, described, numbers, constant)
            read = [spelled if isinstance(spelled, tuple) else (spelled,)
                    for spelled in (described.values.get(node.inputs[position], ()) for position in node.read_on_host)]
        self.reads = {numbers.place(name) for names in read for name in names if isinstance(name, str)}

    def work_out(self, numbers: Numbers, waiting: bytearray) -> bool:
        """Call its function, unless one that is alike was given the same last, and mark the nodes that read what is
        something else now; False where it was given the same the time before."""
        if self._function is None:
            return True
        given = self._get(numbers)
        if not self._has_arrays and given == self.given:
            return False
        alike, made = self._alike, self.made
        if alike is not None and given == alike.given:
            after, self._launches = alike.found(self._kernels)
        else:
            *after, self._launches = self._function.call(*given)
            if alike is not None:
                alike.take(given, after, self._launches, self._kernels)
        self.given = given
        for readers, old, new in zip(self.readers, numbers[made], after, strict=True):
            if readers and old is not new and (type(new) is np.ndarray or old != new):
                for reader in readers:
                    waiting[reader] = 1
        numbers[made] = after
        return True

    def steps(self, numbers: Numbers) -> tuple[Step, ...]:
        """What is to be done for it."""
        if self._rest is not None:
            return (self._rest(numbers), *self._fetches)
        if self._uploads or self._fetches:
            return (*(upload(numbers) for upload in self._uploads), *self._launches, *self._fetches)
        return self._launches


class _Alike:
    """What the last of nodes that are alike (their traces are shared) was `given` and gave."""

    __slots__ = ("_kernels", "_launches", "_numbers", "given")

    def __init__(self) -> None:
        self.given: tuple[Any, ...] | None = None
        self._numbers: list[Any] = []
        self._launches: tuple[Launch, ...] = ()
        self._kernels = range(0)

    def take(self, given: tuple[Any, ...], numbers: list[Any], launches: tuple[Launch, ...], kernels: range) -> None:
        """Note it, unless it launches others than the node's own `kernels`."""
        self.given = given if all(launch.kernel in kernels for launch in launches) else None
        self._numbers, self._launches, self._kernels = numbers, launches, kernels

    def found(self, kernels: range) -> tuple[list[Any], tuple[Launch, ...]]:
        """The same for a node with these kernels."""
        further = kernels.start - self._kernels.start
        return self._numbers, tuple([Launch(kernel + further, block, work) for kernel, block, work in self._launches])


def _value_places(spelled: Names | str, numbers: Numbers) -> tuple[int, ...] | int:
    return numbers.place(spelled) if isinstance(spelled, str) else numbers.places(spelled)


def _array(program: Program, tensor: int, described: SegmentNodes, numbers: Numbers, constant: _Constant) -> _Array:
    """What gives a value of the host as an array."""
    known = constant(tensor)
    if known is not None:
        return lambda _: known
    spelled, layout = described.values[tensor], program.tensors[tensor].layout
    if isinstance(spelled, str):
        return itemgetter(numbers.place(spelled))
    get, shape, kind = numbers.getter(spelled), layout.static_shape, layout.element_type.numpy
    return lambda numbers: array_of(get(numbers), shape, kind)


def _upload(program: Program, tensor: int, array: _Array) -> Callable[[Numbers], Upload]:
    return partial(_uploaded, tensor, program.tensors[tensor].layout, array)


def _uploaded(tensor: int, layout: Layout, array: _Array, numbers: Numbers) -> Upload:
    value = array(numbers)
    return Upload(tensor, layout.with_shape(value.shape).pack(value))


def _body(index: int, node: ProgramNode, program: Program, described: SegmentNodes, numbers: Numbers,
          constant: _Constant) -> Callable[[Numbers], Step]:
    arrays = {position: _array(program, node.inputs[position], described, numbers, constant)
              for position in node.read_on_host}
    return lambda numbers: run_body(index, node.primitive, {i: array(numbers) for i, array in arrays.items()})
