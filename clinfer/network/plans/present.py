"""What the nodes of a segment gave last: that of which a plan is made."""
from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from clinfer.base.shape import StaticShape
from clinfer.network.plans.memory_needs import Needs
from clinfer.network.plans.numbers import Get, Numbers, getter_of
from clinfer.network.plans.plan import Plan, Step, TensorAlias
from clinfer.network.plans.planned_node import PlannedNode


@dataclass(frozen=True, eq=False)
class PlannedShapes(Mapping[int, StaticShape]):
    """The shapes of tensors as the numbers of a plan tell, taken out of these when they are asked for, as few are."""

    getters: Mapping[int, Get]
    numbers: Sequence[int]

    def __getitem__(self, tensor: int) -> StaticShape:
        return self.getters[tensor](self.numbers)

    def of(self, tensors: Collection[int]) -> dict[int, StaticShape]:
        """The shapes of those of some tensors that are among them."""
        getters, numbers = self.getters, self.numbers
        return {tensor: getters[tensor](numbers) for tensor in tensors if tensor in getters}

    def __iter__(self) -> Iterator[int]:
        return iter(self.getters)

    def __len__(self) -> int:
        return len(self.getters)


class Present:
    """By the numbers of nodes what is to be done for them, and by tensors their values on the host, and the memory that
    they need; all follows from `numbers`, where what comes in and what nodes give stands in one list.
    """

    def __init__(self, numbers: Numbers, needs: tuple[Needs, Needs], aliases: Sequence[tuple[int, int, int]],
                 nodes: Sequence[PlannedNode]) -> None:
        """`needs` of slots and outputs; `aliases`: (tensor, the one in which it may lie, place of its offset there)."""
        self.numbers = numbers
        self._slots, self._outputs = needs
        self._aliases = aliases
        self._offsets_of = getter_of(tuple([place for _, _, place in aliases]))
        self._offsets: tuple[int, ...] = ()
        self._taken: tuple[TensorAlias, ...] = ()
        self.steps: list[tuple[Step, ...]] = [()] * len(nodes)
        self._shapes = {tensor: shape for node in nodes for tensor, shape in node.shapes}
        self.values: dict[int, np.ndarray] = {}

    def take(self, number: int, node: PlannedNode) -> None:
        """Take over what a node gave."""
        for tensor, array in node.values:
            self.values[tensor] = array(self.numbers)
        self.steps[number] = node.steps(self.numbers) if node.adds_steps else node.launches

    def plan(self, may_have_moved: bool, is_kept: bool) -> Plan:
        """The plan of all that; `may_have_moved`: whether tensors may lie elsewhere within others than before."""
        numbers = self.numbers
        if may_have_moved:
            offsets = self._offsets_of(numbers)
            if offsets != self._offsets:
                self._taken = tuple([TensorAlias(moved, within, offset) for (moved, within, _), offset in zip(
                    self._aliases, offsets, strict=True) if offset >= 0])
                self._offsets = offsets
        shapes = PlannedShapes(self._shapes, numbers.copy())
        return Plan(tuple(chain.from_iterable(self.steps)), shapes, self.values.copy(), self._slots.told(numbers),
                    self._outputs.told(numbers), aliases=self._taken, is_kept=is_kept)
