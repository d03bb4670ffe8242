"""What the nodes of a segment gave last: that of which a plan is made."""
from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from clinfer.base.shape import StaticShape
from clinfer.network.plans.memory_needs import NeedsTable
from clinfer.network.plans.numbers import GetRows, getter_of, getter_of_rows
from clinfer.network.plans.packed_steps import PackedSteps
from clinfer.network.plans.plan import OtherStep, Plan, TensorAlias
from clinfer.network.plans.planned_node import Arrays, PlannedNode
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


@dataclass(frozen=True, eq=False)
class PlannedShapes(Mapping[int, StaticShape]):
    """The shapes of tensors as the numbers of a plan tell, taken out of these when they are asked for, as few are."""

    places: ShapePlaces
    numbers: Sequence[int]

    def __getitem__(self, tensor: int) -> StaticShape:
        return tuple(map(self.numbers.__getitem__, self.places[tensor]))

    def of(self, tensors: tuple[int, ...]) -> Iterable[tuple[int, StaticShape]]:
        """The shapes of those of some tensors that are among them."""
        return self.places.of(tensors, self.numbers)

    def __iter__(self) -> Iterator[int]:
        return iter(self.places)

    def __len__(self) -> int:
        return len(self.places)


class Present:
    """The steps besides launches and the values on the host, by nodes, and the places of tensors within others; all
    follows from the numbers of the segment."""

    def __init__(self, numbers: array[int], needs: NeedsTable, aliases: Sequence[tuple[int, int, int]],
                 nodes: Sequence[PlannedNode]) -> None:
        """`needs`: the runner tells what they come to; `aliases`: (tensor, the one in which it may lie, place of its
        offset there)."""
        self._numbers = numbers
        self._needs = needs
        self._aliases = aliases
        self._offsets_of = getter_of(tuple([place for _, _, place in aliases]))
        self._offsets: tuple[int, ...] = ()
        self._taken: tuple[TensorAlias, ...] = ()
        self._shapes = ShapePlaces(chain.from_iterable(node.shapes for node in nodes))
        self._telling = [(number, node) for number, node in enumerate(nodes) if node.values or node.before]
        self._stepping = [(number, node) for number, node in enumerate(nodes) if node.before or node.behind]
        self._before: dict[int, list[OtherStep]] = {}
        self._values: dict[int, np.ndarray] = {}

    def take(self, changed: Sequence[int], arrays: Arrays) -> None:
        """Take over what follows from the numbers of nodes that changed."""
        numbers = self._numbers
        for number, node in self._telling:
            if changed[number]:
                for tensor, value in node.values:
                    self._values[tensor] = value(numbers, arrays)
                if node.before:
                    self._before[number] = [make(numbers, arrays) for make in node.before]

    def plan(self, runner: TapeRunner, is_kept: bool) -> Plan:
        """The plan of all that, and of what was launched."""
        numbers = self._numbers
        offsets = self._offsets_of(numbers)
        if offsets != self._offsets:
            self._taken = tuple([TensorAlias(moved, within, offset) for (moved, within, _), offset in zip(
                self._aliases, offsets, strict=True) if offset >= 0])
            self._offsets = offsets
        others: list[tuple[int, OtherStep]] = []
        for number, node in self._stepping:
            if node.before:
                others += [(runner.launches_before(number), step) for step in self._before[number]]
            if node.behind:
                others += [(runner.launches_before(number + 1), step) for step in node.behind]
        slot_bytes, output_bytes = self._needs.told()
        return Plan(PackedSteps(runner.planned(), tuple(others)), PlannedShapes(self._shapes, numbers[:]),
                    self._values.copy(), slot_bytes, output_bytes, aliases=self._taken, is_kept=is_kept)
