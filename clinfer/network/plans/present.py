"""What the nodes of a segment gave last: that of which a plan is made."""
from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

import numpy as np

from clinfer.base.shape import StaticShape
from clinfer.network.plans.memory_needs import Needs
from clinfer.network.plans.numbers import Numbers
from clinfer.network.plans.plan import Plan, Step, TensorAlias
from clinfer.network.plans.planned_node import PlannedNode


class Present:
    """By the numbers of nodes what is to be done for them, and by tensors their shapes, their values on the host, and
    the memory that they need; all follows from `numbers`, where what comes in and what nodes give stands in one list.
    """

    def __init__(self, numbers: Numbers, needs: Needs, aliases: Sequence[tuple[int, int, int]],
                 count: int) -> None:
        """`aliases`: (tensor, the one in which it may lie, place of its offset there); `count` of nodes."""
        self.numbers = numbers
        self._needs = needs
        self._aliases = aliases
        self._taken: tuple[TensorAlias, ...] = ()
        self.steps: list[tuple[Step, ...]] = [()] * count
        self.shapes: dict[int, StaticShape] = {}
        self.values: dict[int, np.ndarray] = {}

    def take(self, number: int, node: PlannedNode) -> None:
        """Take over what a node gave."""
        numbers, shapes = self.numbers, self.shapes
        for tensor, shape in node.shapes:
            shapes[tensor] = shape(numbers)
        for tensor, array in node.values:
            self.values[tensor] = array(numbers)
        self.take_steps(number, node)

    def take_steps(self, number: int, node: PlannedNode) -> None:
        """Take over what is to be done for a node, and what memory it needs; it has no values on the host."""
        if node.needs:
            self._needs.changed.update(node.needs)
        self.steps[number] = node.steps(self.numbers) if node.adds_steps else node.launches

    def plan(self, may_have_moved: bool, is_kept: bool) -> Plan:
        """The plan of all that; `may_have_moved`: whether tensors may lie elsewhere within others than before."""
        numbers = self.numbers
        if may_have_moved:
            aliases = tuple([TensorAlias(moved, within, numbers[place]) for moved, within, place in self._aliases
                            if numbers[place] >= 0])
            if aliases != self._taken:
                self._taken = aliases
        return Plan(tuple(chain.from_iterable(self.steps)), self.shapes.copy(), self.values.copy(),
                    *self._needs.told(numbers), aliases=self._taken, is_kept=is_kept)
