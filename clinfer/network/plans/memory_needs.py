"""How many bytes the slots and outputs of a segment need, from the numbers that its nodes give."""
from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
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
        """All that it depends on."""
        return (*self.sizes, *self.held, *(() if self.home is None else (self.home,)))

    def of(self, numbers: Sequence[int]) -> tuple[int, int]:
        """(number, bytes)."""
        if self.home is not None and numbers[self.home] >= 0:
            return self.number, 0
        if self.held and any(numbers[place] >= 0 for place in self.held) != self.is_holder:
            return self.number, 0
        return self.number, max([numbers[place] for place in self.sizes])

    @property
    def is_plain(self) -> bool:
        """Whether it is the one number at `sizes`."""
        return len(self.sizes) == 1 and self.home is None and not self.held


class Needs:
    """Needs, and what they come to at present; `makers`: the nodes that change more of it than plain needs."""

    def __init__(self, needs: Sequence[Need], makers: Mapping[int, int]) -> None:
        """`makers`: the node that gives the number at a place."""
        plain = [need for need in needs if need.is_plain]
        self._plain = tuple([need.number for need in plain])
        self._get = getter_of(tuple([need.sizes[0] for need in plain]))
        self._others = [need for need in needs if not need.is_plain]
        self._present = [(need.number, 0) for need in self._others]
        self._changed: set[int] = set()
        self.makers: dict[int, list[int]] = {}
        for position, need in enumerate(self._others):
            for place in need.places:
                self.makers.setdefault(makers[place], []).append(position)

    def take(self, node: int) -> None:
        """Look again at what depends on the numbers of one of the `makers`."""
        self._changed.update(self.makers[node])

    def told(self, numbers: Sequence[int]) -> tuple[tuple[int, int], ...]:
        """What they come to, once all nodes gave theirs: (number, bytes) of each."""
        for position in self._changed:
            self._present[position] = self._others[position].of(numbers)
        self._changed.clear()
        return (*zip(self._plain, self._get(numbers), strict=True), *self._present)


def needs_of(program: Program, nodes: Iterable[int],
             place: Callable[[str], int]) -> tuple[list[Need], list[Need]]:
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
    return slots, outputs
