"""How a plan continues the one before where the same sizes change again, as a length does from token to token.

Which nodes are worked out then, and in which order, is known from the time before, and so is which of them are given
the same. Of nodes that are alike and are given the same the first *leads*: the others follow it without being asked. In
a decoder that is all layers but one.
"""
from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from clinfer.base.shape import StaticShape
from clinfer.network.plans.numbers import Numbers
from clinfer.network.plans.planned_node import PlannedNode
from clinfer.network.plans.present import Present

SizePlaces = tuple[tuple[int, int], ...]
"""Of open sizes of a tensor: the axis, and the place among the numbers."""


class _Size(NamedTuple):
    """The sizes of a tensor that comes in: those that stay, and those that change, and the tensors that have its shape,
    whose sizes that change are among these."""

    tensor: int
    steady: SizePlaces
    moving: list[tuple[int, int]]
    followers: list[int]


class _Leader(NamedTuple):
    """A node that is asked, by its number; the indices of what it gave as before, and the nodes that follow it, with
    how much higher the numbers of their kernels are."""

    number: int
    node: PlannedNode
    steady: list[int]
    followers: list[tuple[int, PlannedNode]]
    further: list[int]


class Course:
    """The way from one plan of a segment to the next; made from two of them."""

    def __init__(self, present: Present, before: Sequence[Any], nodes: Mapping[int, PlannedNode],
                 sizes: Sequence[tuple[int, SizePlaces]], shapes: Mapping[int, StaticShape]) -> None:
        """`present`: what makes up the last plan; `before`: the numbers of the one before that; `nodes`: those that
        were worked out for the last one, by their numbers, in order; `sizes`, `shapes` of what comes in, by tensors.
        The nodes forget what they were given, so that they are asked where another way is taken."""
        self._present = present
        self._before = before
        self._same: dict[int, int] = {}
        self._sizes = self._incoming(sizes, shapes)
        self._leaders = self._led(nodes)
        self.has_moved = any(node.has_aliases for node in nodes.values())

    def follow(self, shapes: Mapping[int, StaticShape]) -> bool:
        """Let what is present be that for these shapes; False where they lead elsewhere: then the numbers are to be
        restored, and what is wrong besides follows from them."""
        numbers = self._present.numbers
        return self._take(shapes, numbers) and all(self._ask(leader, numbers) for leader in self._leaders)

    def _take(self, shapes: Mapping[int, StaticShape], numbers: Numbers) -> bool:
        for tensor, steady, moving, followers in self._sizes:
            shape = shapes[tensor]
            for axis, place in steady:
                if numbers[place] != shape[axis]:
                    return False
            if [shapes[follower] for follower in followers].count(shape) < len(followers):
                return False
            for axis, place in moving:
                numbers[place] = shape[axis]
        return True

    def _ask(self, leader: _Leader, numbers: Numbers) -> bool:
        """Take over what a node gives now, for itself and those that follow it."""
        number, node, steady, followers, further = leader
        before, after = numbers[node.made], node.ask(numbers)
        for index in steady:
            if before[index] != after[index]:
                return False
        if followers and not node.launches_its_own:
            return False
        numbers[node.made] = after
        self._present.take(number, node)
        if followers:
            steps = self._present.steps
            for (other, follower), launches in zip(followers, node.launches_further(further), strict=True):
                numbers[follower.made] = after
                steps[other] = launches
        return True

    # -- making it ------------------------------------------------------------------------------

    def _incoming(self, sizes: Sequence[tuple[int, SizePlaces]], shapes: Mapping[int, StaticShape]) -> list[_Size]:
        """What comes in: the tensors whose sizes are looked at, with those that are to have the shape of one of
        them."""
        leading: dict[object, _Size] = {}
        for tensor, places in sizes:
            moving = [(axis, place) for axis, place in places if self._has_changed(place)]
            size = _Size(tensor, tuple([each for each in places if each not in moving]), moving, [])
            alike = (shapes[tensor], tuple([axis for axis, _ in moving])) if moving else tensor
            first = leading.setdefault(alike, size)
            if first is not size:
                self._same |= {place: own for (_, place), (_, own) in zip(moving, first.moving, strict=False)}
                first.followers.append(tensor)
                first.moving.extend(moving)
        return list(leading.values())

    def _led(self, nodes: Mapping[int, PlannedNode]) -> list[_Leader]:
        leaders: dict[object, _Leader] = {}
        for number, node in nodes.items():
            steady = [index for index, place in enumerate(node.places_made) if not self._has_changed(place)]
            may_follow = node.alike is not None and not node.values and not node.adds_steps
            key = (id(node.alike), tuple(self._keys(node.places_given))) if may_follow else number
            first = leaders.setdefault(key, _Leader(number, node, steady, [], []))
            if first.number != number:
                first.followers.append((number, node))
                first.further.append(node.kernels_behind(first.node))
                self._same |= dict(zip(node.places_made, first.node.places_made, strict=True))
            node.given = None
        return list(leaders.values())

    def _keys(self, places: Sequence[int]) -> Iterator[object]:
        """Equal for numbers that are equal as long as the course is followed."""
        for place in places:
            yield self._same.get(place, place) if self._has_changed(place) else (self._present.numbers[place],)

    def _has_changed(self, place: int) -> bool:
        return bool(self._before[place] != self._present.numbers[place])
