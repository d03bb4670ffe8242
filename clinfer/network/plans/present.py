"""What the nodes of a segment gave last: that of which a plan is made."""
from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, compress

import numpy as np

from clinfer.base.shape import StaticShape
from clinfer.network.plans.memory_needs import NeedsTable
from clinfer.network.plans.numbers import GetRows, getter_of, getter_of_rows
from clinfer.network.plans.packed_steps import PackedSteps
from clinfer.network.plans.plan import OtherStep, Plan, TensorAlias
from clinfer.network.plans.planned_node import Arrays, MakeArray, PlannedNode
from clinfer.network.plans.tape_runner import TapeRunner


class ShapePlaces(dict[int, tuple[int, ...]]):
    """Where the sizes of tensors stand among the numbers of a plan."""

    def __init__(self, places: Iterable[tuple[int, tuple[int, ...]]]) -> None:
        super().__init__(places)
        self._getters: dict[tuple[int, ...], tuple[tuple[int, ...], GetRows]] = {}

    def of(self, tensors: tuple[int, ...], numbers: Sequence[int]) -> Iterable[tuple[int, StaticShape]]:
        """The shapes of those of some tensors that are among them; the same ones are asked for again and again."""
        found = self._getters.get(tensors)
        if found is None:
            own = tuple([tensor for tensor in tensors if tensor in self])
            found = self._getters[tensors] = own, getter_of_rows([self[tensor] for tensor in own])
        return zip(found[0], found[1](numbers), strict=True)


class PlannedShapes(Mapping[int, StaticShape]):
    """The shapes of tensors as the numbers of a plan tell, taken out of these when they are asked for, as few are."""

    __slots__ = ("numbers", "places")

    def __init__(self, places: ShapePlaces, numbers: Sequence[int]) -> None:
        self.places = places
        self.numbers = numbers

    def __getitem__(self, tensor: int) -> StaticShape:
        return tuple(map(self.numbers.__getitem__, self.places[tensor]))

    def of(self, tensors: tuple[int, ...]) -> Iterable[tuple[int, StaticShape]]:
        """The shapes of those of some tensors that are among them."""
        return self.places.of(tensors, self.numbers)

    def __contains__(self, tensor: object) -> bool:
        return tensor in self.places

    def __iter__(self) -> Iterator[int]:
        return iter(self.places)

    def __len__(self) -> int:
        return len(self.places)


class PlannedValues(Mapping[int, np.ndarray]):
    """The values of tensors on the host as the numbers of a plan tell, and arrays that it knows; made when they are
    asked for, as few are."""

    __slots__ = ("_arrays", "_made", "_makers", "_numbers")

    def __init__(self, makers: Mapping[int, MakeArray], numbers: Sequence[int], arrays: Arrays) -> None:
        self._makers = makers
        self._numbers = numbers
        self._arrays = arrays
        self._made: dict[int, np.ndarray] = {}

    def __getitem__(self, tensor: int) -> np.ndarray:
        found = self._made.get(tensor)
        if found is None:
            found = self._made[tensor] = self._makers[tensor](self._numbers, self._arrays)
        return found

    def __contains__(self, tensor: object) -> bool:
        return tensor in self._makers

    def __iter__(self) -> Iterator[int]:
        return iter(self._makers)

    def __len__(self) -> int:
        return len(self._makers)


class Present:
    """The steps besides launches, by nodes, and what else of a plan follows from the numbers of the segment: shapes,
    values on the host, and the places of tensors within others."""

    def __init__(self, numbers: array[int], needs: NeedsTable, aliases: Sequence[tuple[int, int, int]],
                 nodes: Sequence[PlannedNode]) -> None:
        """`needs`: the runner tells what they come to; `aliases`: (tensor, the one in which it may lie, place of its
        offset there)."""
        self._numbers = numbers
        self._needs = needs
        self._moved = tuple([moved for moved, _, _ in aliases])
        self._within = tuple([within for _, within, _ in aliases])
        self._offsets_of = getter_of(tuple([place for _, _, place in aliases]))
        self._offsets: tuple[int, ...] = ()
        self._taken: tuple[TensorAlias, ...] = ()
        self._shapes = ShapePlaces(chain.from_iterable(node.shapes for node in nodes))
        self._makers = dict(chain.from_iterable(node.values for node in nodes))
        self._preceded = [(number, node) for number, node in enumerate(nodes) if node.before]
        self._stepping = [(number, node) for number, node in enumerate(nodes) if node.before or node.behind]
        self._before: dict[int, list[OtherStep]] = {}

    def take(self, changed: Sequence[int], arrays: Arrays) -> None:
        """Take over the steps of nodes that changed."""
        for number, node in self._preceded:
            if changed[number]:
                self._before[number] = [make(self._numbers, arrays) for make in node.before]

    def plan(self, runner: TapeRunner, arrays: Arrays, is_kept: bool) -> Plan:
        """The plan of all that, and of what was launched; `arrays` stay as they are."""
        numbers = self._numbers[:]
        offsets = self._offsets_of(numbers)
        if offsets != self._offsets:
            places = zip(self._moved, self._within, offsets, strict=True)
            self._taken = tuple(map(_new_alias, compress(places, map(_HOME.__lt__, offsets))))
            self._offsets = offsets
        others: list[tuple[int, OtherStep]] = []
        for number, node in self._stepping:
            if node.before:
                others += [(runner.launches_before(number), step) for step in self._before[number]]
            if node.behind:
                others += [(runner.launches_before(number + 1), step) for step in node.behind]
        slot_bytes, output_bytes = self._needs.told()
        return Plan(PackedSteps(runner.planned(), tuple(others)), PlannedShapes(self._shapes, numbers),
                    PlannedValues(self._makers, numbers, arrays), slot_bytes, output_bytes, aliases=self._taken,
                    is_kept=is_kept)


_HOME = -1
"""The offset of a tensor that lies in its own memory."""
_new_alias = partial(tuple.__new__, TensorAlias)
