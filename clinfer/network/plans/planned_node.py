"""A node of a segment as its planner goes through it, with what it gave last."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import chain
from operator import is_, itemgetter
from typing import Any

import numpy as np

from clinfer.base.layout import Layout
from clinfer.network.plans.numbers import Names, Numbers, getter_of
from clinfer.network.plans.plan import CallHost, Launch, Step, Upload, fetches, run_body
from clinfer.network.plans.segment_nodes import NodeStep, SegmentNodes
from clinfer.program.program import Program, ProgramNode

_Array = Callable[[Numbers], np.ndarray]
_new = tuple.__new__
Constant = Callable[[int], "np.ndarray | None"]


class PlannedNode:
    """A node of a segment: what takes what it is `given` out of the numbers (`get`), the places of what it gives
    (`made`), how `shapes` and `values` of its outputs follow from the numbers, and what it `launches`, which is all
    that is to be done unless it `adds_steps`; with these or values it `gives_more`. `is_arithmetic`: its function goes
    from numbers to numbers; `has_kernels`: it is no arithmetic of the host, view, body or call."""

    __slots__ = ("_fetches", "_first", "_function", "_kernels", "_rest", "_uploads", "adds_steps", "alike", "get",
                 "given", "gives_more", "has_aliases", "has_kernels", "is_arithmetic", "launches", "made",
                 "places_given", "shapes", "values")

    def __init__(self, program: Program, segment: int, step: NodeStep, described: SegmentNodes, numbers: Numbers,
                 constant: Constant, alike: dict[int, Alike]) -> None:
        node = program.nodes[step.index]
        self._function = step.function
        read: Names = step.given
        if node.kind == "body":
            read = tuple(chain.from_iterable(_names(described.values.get(node.inputs[position], ()))
                                             for position in node.read_on_host))
        has_arrays = step.has_arrays or any(isinstance(described.values.get(node.inputs[position]), str)
                                            for position in node.read_on_host)
        self.get: Callable[[Numbers], Sequence[Any]] = _getter(numbers.places(read), has_arrays)
        self.places_given = numbers.places(read)
        self._fetches = fetches(program.segments[segment], node)
        self.has_aliases = bool(node.aliases)
        self.made = numbers.row(step.results)
        self.given: Sequence[Any] | None = None
        self.launches: tuple[Launch, ...] = ()
        self._kernels = range(0) if step.function is None else step.function.kernels
        self._first = self._kernels.start
        self.has_kernels = bool(self._kernels)
        self.alike: Alike | None = None
        if step.function is not None and step.function.is_traced:
            self.alike = alike.setdefault(id(step.function.traces), Alike())
            self.alike.count += 1
        made = node.outputs if step.function is not None else ()
        self.shapes = [(tensor, numbers.getter(described.sizes[tensor])) for tensor in made]
        self.values = [(tensor, _array(program, tensor, described, numbers, constant)) for tensor in made
                       if tensor in described.values]
        self._uploads = [_upload(program, tensor, array) for tensor, array in self.values
                         if program.tensors[tensor].storage != "host"]
        self.is_arithmetic = self._function is not None and not has_arrays and not any(
            isinstance(described.values.get(tensor), str) for tensor in made)
        self._rest: Callable[[Numbers], Step] | None = None
        if node.kind == "call":
            self._rest = lambda _: CallHost(step.index)
        elif node.kind == "body":
            self._rest = _body(step.index, node, program, described, numbers, constant)
        self.adds_steps = bool(self._rest or self._uploads or self._fetches)
        self.gives_more = self.adds_steps or bool(self.values)

    def work_out(self, given: Sequence[Any], numbers: Numbers) -> tuple[Launch, ...]:
        """Call its function, unless one that is alike was given the same last; what it launches."""
        self.given = given
        alike, function = self.alike, self._function
        if alike is not None and given == alike.given:
            numbers[self.made], self.launches = alike.found(self._first)
        elif function is not None:
            *numbers[self.made], self.launches = function.call(*given)
            if alike is not None:
                alike.take(given, numbers[self.made], self.launches, self._kernels)
        return self.launches

    @property
    def places_made(self) -> range:
        """The places of what it gives."""
        return range(self.made.start, self.made.stop)

    @property
    def launches_its_own(self) -> bool:
        """Whether it launched no others than the kernels that it was given."""
        return _are_of(self.launches, self._kernels)

    def ask(self, numbers: Numbers) -> list[Any]:
        """Call its function."""
        assert self._function is not None
        *after, self.launches = self._function.call(*self.get(numbers))
        return after

    def kernels_behind(self, other: PlannedNode) -> int:
        """How much higher the numbers of its kernels are than those of another node that is alike."""
        return self._first - other._first

    def launches_further(self, further: Sequence[int]) -> list[tuple[Launch, ...]]:
        """What nodes launch that are alike and are given the same, by how much higher the numbers of their kernels
        are."""
        if not self.launches:
            return [()] * len(further)
        return [*zip(*[[_new(Launch, (kernel + more, block, work)) for more in further]
                       for kernel, block, work in self.launches], strict=True)]

    def steps(self, numbers: Numbers) -> tuple[Step, ...]:
        """What is to be done for it."""
        if not self.adds_steps:
            return self.launches
        if self._rest is not None:
            return (self._rest(numbers), *self._fetches)
        return (*(upload(numbers) for upload in self._uploads), *self.launches, *self._fetches)


class Alike:
    """What the last of so many nodes that are alike (their traces are shared) was `given` and gave."""

    __slots__ = ("_first", "_launches", "_numbers", "count", "given")

    def __init__(self) -> None:
        self.count = 0
        self.given: Sequence[Any] | None = None
        self._numbers: list[Any] = []
        self._launches: tuple[Launch, ...] = ()
        self._first = 0

    def take(self, given: Sequence[Any], numbers: list[Any], launches: tuple[Launch, ...], kernels: range) -> None:
        """Note it, unless it launches others than the node's own `kernels`."""
        self.given = given if _are_of(launches, kernels) else None
        self._numbers, self._launches, self._first = numbers, launches, kernels.start

    def found(self, first: int) -> tuple[list[Any], tuple[Launch, ...]]:
        """The same for a node whose kernels begin with that number."""
        further = first - self._first
        return self._numbers, tuple([_new(Launch, (kernel + further, block, work))
                                     for kernel, block, work in self._launches])


def _are_of(launches: tuple[Launch, ...], kernels: range) -> bool:
    # Those of one node are of one implementation.
    return not launches or launches[0][0] in kernels


def _getter(places: tuple[int, ...], has_arrays: bool) -> Callable[[Numbers], Sequence[Any]]:
    """What takes the numbers at these places out of a list, to be compared with those of another time."""
    if has_arrays:
        get = getter_of(places)
        return lambda numbers: _WithArrays(get(numbers))
    return itemgetter(slice(places[0], places[0] + 1)) if len(places) == 1 else getter_of(places)


class _WithArrays(tuple[Any, ...]):
    """Numbers and arrays, of which contents are not compared."""

    __slots__ = ()
    __hash__ = None  # type: ignore[assignment]

    def __ne__(self, other: object) -> bool:
        return not isinstance(other, tuple) or not all(map(is_, self, other))


def _names(spelled: Names | str) -> Names:
    return (spelled,) if isinstance(spelled, str) else spelled


def _array(program: Program, tensor: int, described: SegmentNodes, numbers: Numbers, constant: Constant) -> _Array:
    """What gives a value of the host as an array."""
    known = constant(tensor)
    if known is not None:
        return lambda _: known
    spelled, layout = described.values[tensor], program.tensors[tensor].layout
    if isinstance(spelled, str):
        return itemgetter(numbers.place(spelled))
    get, shape, kind = numbers.getter(spelled), layout.static_shape, layout.element_type.numpy
    return lambda numbers: np.array(get(numbers), kind).reshape(shape)


def _upload(program: Program, tensor: int, array: _Array) -> Callable[[Numbers], Upload]:
    return partial(_uploaded, tensor, program.tensors[tensor].layout, array)


def _uploaded(tensor: int, layout: Layout, array: _Array, numbers: Numbers) -> Upload:
    value = array(numbers)
    return Upload(tensor, layout.with_shape(value.shape).pack(value))


def _body(index: int, node: ProgramNode, program: Program, described: SegmentNodes, numbers: Numbers,
          constant: Constant) -> Callable[[Numbers], Step]:
    arrays = {position: _array(program, node.inputs[position], described, numbers, constant)
              for position in node.read_on_host}
    return lambda numbers: run_body(index, node.primitive, {i: array(numbers) for i, array in arrays.items()})
