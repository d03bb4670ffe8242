"""Which buffers must not share memory, decided once per program.

Steps are numbered in processing order. A buffer is a tensor (with all its views) or a scratch buffer.
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from clinfer.base.schema import IndexOf

ExecutionOrder = Literal["in_order", "out_of_order"]

Dependencies = tuple[frozenset[Annotated[int, IndexOf("slots")]], ...]
"""For each buffer the numbers of those that it must not share memory with; symmetric."""


@dataclass(frozen=True)
class Buffer:
    """What step `made` writes first, and every step that touches it, `made` included.

    Of what must outlast the execution a step behind the last one is among those that touch it.
    """

    name: str
    made: int
    touched: frozenset[int]

    @property
    def last(self) -> int:
        """The last step that touches it."""
        return max(self.touched)


def in_order_dependencies(buffers: Sequence[Buffer]) -> Dependencies:
    """For steps that run one behind the other: buffers that are alive at the same step."""
    alive: list[int] = []
    found: list[set[int]] = [set() for _ in buffers]
    for new in sorted(range(len(buffers)), key=lambda i: buffers[i].made):
        alive = [old for old in alive if buffers[old].last >= buffers[new].made]
        for old in alive:
            found[old].add(new)
            found[new].add(old)
        alive.append(new)
    return tuple(map(frozenset, found))


def out_of_order_dependencies(buffers: Sequence[Buffer], before: Mapping[int, int]) -> Dependencies:
    """For steps that may run at the same time unless one comes `before` the other: all pairs but those of which
    one is made after everything that touches the other.

    `before`: for each step that makes a buffer the steps that are done when it begins, as a number with these bits.
    """
    touched = [sum(1 << step for step in buffer.touched) for buffer in buffers]
    found: list[set[int]] = [set() for _ in buffers]
    for i, one in enumerate(buffers):
        for j in range(i):
            if touched[i] & ~before[buffers[j].made] and touched[j] & ~before[one.made]:
                found[i].add(j)
                found[j].add(i)
    return tuple(map(frozenset, found))


def steps_before(sources: Sequence[Sequence[int]], segments: Sequence[int]) -> list[int]:
    """For each step those that are done when it begins: what it reads from, directly or not, and all of earlier
    segments; as numbers with these bits. `sources`: the steps (all earlier) that each reads from."""
    before: list[int] = []
    for step, read in enumerate(sources):
        bits = sum(1 << other for other in range(step) if segments[other] < segments[step])
        for source in read:
            bits |= before[source] | 1 << source
        before.append(bits)
    return before
