"""How many bytes the slots and outputs of a segment need, from the numbers that its nodes give."""
from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from clinfer.network.plans.numbers import getter_of
from clinfer.program.program import AliasedTensor, Program


@dataclass(frozen=True)
class Need:
    """A slot, or an output by its tensor, holds the largest of the numbers at the places `sizes`.

    Nothing is needed unless the tensor lies at home (the number at `home` is negative), and unless it is as
    `is_holder` says whether others lie within it (a number at `held` is not negative).
    """

    number: int
    sizes: tuple[int, ...]
    home: int | None = None
    held: tuple[int, ...] = ()
    is_holder: bool = False

    @property
    def places(self) -> tuple[int, ...]:
        """Of all numbers on which it depends."""
        return (*self.sizes, *self.held, *(() if self.home is None else (self.home,)))

    def of(self, numbers: Sequence[int]) -> tuple[int, int]:
        """(number, bytes)."""
        if self.home is not None and numbers[self.home] >= 0:
            return self.number, 0
        if self.held and (max(map(numbers.__getitem__, self.held)) >= 0) != self.is_holder:
            return self.number, 0
        return self.number, max(map(numbers.__getitem__, self.sizes))


class Needs:
    """Needs, and what they come to. That of most depends on sizes alone; those of the others seldom change."""

    def __init__(self, needs: Sequence[Need]) -> None:
        steady = [need for need in needs if need.home is None and not need.held]
        self._steady = [need.number for need in steady]
        # A first size, a second one and so on of each, which has its last one again and again.
        columns = max([2, *[len(need.sizes) for need in steady]])
        self._sizes = [getter_of(tuple([need.sizes[min(column, len(need.sizes) - 1)] for need in steady]))
                       for column in range(columns)]
        self._others = [need for need in needs if need.home is not None or need.held]
        self._of_others = getter_of(tuple([place for need in self._others for place in need.places]))
        self._last: tuple[tuple[int, ...], list[tuple[int, int]]] = (), []

    def told(self, numbers: Sequence[int]) -> tuple[tuple[int, int], ...]:
        """What they come to, once all nodes gave their numbers: (number, bytes) of each."""
        given = self._of_others(numbers)
        if given != self._last[0]:
            self._last = given, [need.of(numbers) for need in self._others]
        sizes = map(max, *[get(numbers) for get in self._sizes])
        return (*zip(self._steady, sizes, strict=True), *self._last[1])


def needs_of(program: Program, nodes: Iterable[int],
             place: Callable[[str], int]) -> tuple[Needs, Needs]:
    """The needs of slots and those of outputs, of nodes by index; `place` of a name, see `SegmentNodes`. A tensor that
    lies within another needs nothing."""
    roots: dict[int, list[int]] = {}
    scratch: dict[int, list[int]] = {}
    aliases: list[AliasedTensor] = []
    for index in nodes:
        node = program.nodes[index]
        for tensor in node.outputs:
            roots.setdefault(program.tensors[tensor].root, []).append(place(f"b{tensor}"))
        for number, slot in enumerate(node.scratch_slots):
            scratch.setdefault(slot, []).append(place(f"b{index}_{number}"))
        aliases += node.aliases
    movable = {aliased.moved for aliased in aliases}
    slots, outputs = [Need(slot, tuple(sizes)) for slot, sizes in scratch.items()], []
    for root, found in roots.items():
        described, sizes = program.tensors[root], tuple(found)
        if described.storage == "output":
            outputs.append(Need(root, sizes))
        elif described.storage == "slot":
            home = place(f"o{root}") if root in movable else None
            held = tuple(place(f"o{aliased.moved}") for aliased in aliases if aliased.within == root)
            longer = program.long_homes.get(root)
            if longer is None or not held:
                slots.append(Need(described.slot, sizes, home))
            else:
                slots.append(Need(program.tensors[longer].slot, sizes, home, held, True))
                slots.append(Need(described.slot, sizes, home, held))
    return Needs(slots), Needs(outputs)
