"""What the nodes of a segment gave last: that of which a plan is made."""
from __future__ import annotations

from array import array
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from clinfer.base.shape import StaticShape
from clinfer.network.plans.memory_needs import NeedsTable
from clinfer.network.plans.numbers import Get, getter_of
from clinfer.network.plans.packed_steps import PackedSteps
from clinfer.network.plans.plan import OtherStep, Plan, TensorAlias
from clinfer.network.plans.planned_node import Arrays, PlannedNode
from clinfer.network.plans.tape_runner import TapeRunner


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
        self._shapes = {tensor: shape for node in nodes for tensor, shape in node.shapes}
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
