"""Where the tensors lie that may lie within others: in their own memory or in part of another, as plans say."""
from __future__ import annotations

from collections.abc import Callable, Iterable, KeysView
from itertools import repeat
from operator import attrgetter, itemgetter
from typing import NamedTuple

from clinfer.network.plans.plan import TensorAlias
from clinfer.program.program import Program
from clinfer.runtime.buffer_uses import BufferUses
from clinfer.runtime.memory import Memory

_MOVED, _WITHIN, _FIRST = attrgetter("moved"), attrgetter("within"), itemgetter(0)


class _Shown(NamedTuple):
    """What the kernels that use a tensor have been given: a memory from a byte on, and that part of it."""

    memory: Memory
    offset: int
    part: Memory


class Aliases:
    """The movable tensors of one network, by the indices of tensors that own memory.

    The plan of the segment that makes a tensor places it; a tensor in which others lie moves to its long home.
    `generation` changes when what was placed may lie elsewhere now.
    """

    def __init__(self, program: Program) -> None:
        self.generation = 0
        self._movable: list[list[int]] = [[] for _ in program.segments]
        self._holders: set[int] = set()
        for node in program.nodes:
            for aliased in node.aliases:
                self._movable[node.segment].append(aliased.moved)
                self._holders.add(aliased.within)
        self._long_homes: list[dict[int, int]] = [{} for _ in program.segments]
        for node in program.nodes:
            own = {tensor: program.long_homes[tensor] for tensor in node.outputs if tensor in program.long_homes}
            if own:
                self._long_homes[node.segment].update(own)
                self._movable[node.segment] += [tensor for tensor in own if tensor not in self._movable[node.segment]]
        self._uses: dict[int, BufferUses] = {tensor: BufferUses() for tensors in self._movable for tensor in tensors}
        self._aliases: dict[int, TensorAlias] = {}
        self._shown: dict[int, _Shown] = {}
        self._seen = [-1] * len(program.segments)
        self._present: list[tuple[TensorAlias, ...]] = [()] * len(program.segments)
        self._wanted: list[dict[int, TensorAlias]] = [{} for _ in program.segments]
        self._inside = _inside(program)

    @property
    def movable(self) -> KeysView[int]:
        """The tensors that plans may place within others."""
        return self._uses.keys()

    def uses(self, tensor: int) -> BufferUses:
        """The kernel arguments that are a movable tensor's memory; to be added to."""
        return self._uses[tensor]

    def all_uses(self) -> Iterable[BufferUses]:
        """The kernel arguments of each movable tensor."""
        return self._uses.values()

    def memory(self, tensor: int) -> Memory | None:
        """The memory of a movable tensor that has been placed; None for any other."""
        shown = self._shown.get(tensor)
        return None if shown is None else shown.part

    def concern(self, tensor: int) -> bool:
        """Whether a tensor may lie within another, or others within it."""
        return tensor in self._holders or tensor in self._uses

    def replaced(self, tensor: int) -> None:
        """A tensor outside the slots has another memory."""
        if self.concern(tensor):
            self.generation += 1

    def forget(self) -> None:
        """Let go of all memory."""
        self._shown.clear()
        self.generation += 1

    def has(self, segment: int, aliases: tuple[TensorAlias, ...]) -> bool:
        """Whether these are the aliases of the time before and nothing has moved since."""
        return self._seen[segment] == self.generation and self._present[segment] is aliases

    def alias(self, segment: int, aliases: tuple[TensorAlias, ...], own_memory: Callable[[int], Memory | None]) -> None:
        """Let the movable tensors of a segment lie here, the others of them in their own memory.

        `own_memory(tensor)`: the memory of a tensor that lies within no other; None if it has none.
        """
        wanted = dict(zip(map(_MOVED, aliases), aliases, strict=True))
        for holder in {*map(_WITHIN, aliases)} & self._long_homes[segment].keys() - wanted.keys():
            wanted[holder] = TensorAlias(holder, self._long_homes[segment][holder], 0)
        movable, is_known = self._movable[segment], self._seen[segment] == self.generation
        others = {*map(_FIRST, wanted.items() ^ self._wanted[segment].items())}
        self.generation += bool(others)
        for tensor in self._wanted[segment].keys() - wanted.keys():
            del self._aliases[tensor]
        self._aliases.update(wanted)
        self._wanted[segment] = wanted
        for tensor in self._behind(others) if is_known else movable:
            self._show(tensor, own_memory)
        self._seen[segment], self._present[segment] = self.generation, aliases

    def _behind(self, others: set[int]) -> list[int]:
        """These tensors and those that lie within them, however deep."""
        may_lie = others.union(*map(self._inside.get, others, repeat(())))
        return sorted(others | (may_lie & self._aliases.keys()))

    def _show(self, tensor: int, own_memory: Callable[[int], Memory | None]) -> None:
        home, offset, place = tensor, 0, self._aliases.get(tensor)
        while place is not None:
            home, offset = place.within, offset + place.offset
            place = self._aliases.get(home)
        memory, shown = own_memory(home), self._shown.get(tensor)
        if shown is not None and shown.memory is memory and shown.offset == offset:
            return
        self._shown.pop(tensor, None)
        if memory is not None:
            part = memory.part(offset, memory.capacity - offset) if offset else memory
            self._uses[tensor].set(part)
            self._shown[tensor] = _Shown(memory, offset, part)


def _inside(program: Program) -> dict[int, set[int]]:
    """The tensors that may lie within others, however deep."""
    homes = [(aliased.moved, aliased.within) for node in program.nodes for aliased in node.aliases]
    holders: dict[int, set[int]] = {}
    for moved, within in (*homes, *program.long_homes.items()):
        holders.setdefault(moved, set()).add(within)
    inside: dict[int, set[int]] = {}
    for moved in holders:
        above, more = set[int](), holders[moved]
        while more:
            above |= more
            more = {further for holder in more for further in holders.get(holder, ())} - above
        for holder in above:
            inside.setdefault(holder, set()).add(moved)
    return inside
