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
        """All that it depends on."""
        return (*self.sizes, *self.held, *(() if self.home is None else (self.home,)))

    def of(self, numbers: Sequence[int]) -> tuple[int, int]:
        """(number, bytes)."""
        if self.home is not None and numbers[self.home] >= 0:
            return self.number, 0
        if self.held and (max(map(numbers.__getitem__, self.held)) >= 0) != self.is_holder:
            return self.number, 0
        return self.number, max(map(numbers.__getitem__, self.sizes))

    @property
    def is_plain(self) -> bool:
        """Whether it is the one number at `sizes`."""
        return len(self.sizes) == 1 and self.home is None and not self.held


Told = tuple[tuple[int, int], ...]
"""(number, bytes) of each need."""


class Needs:
    """What the needs of slots and of outputs come to at present. `others`: those that are more than one number;
    `changed`: the positions of those among them whose numbers may have changed."""

    def __init__(self, slots: Sequence[Need], outputs: Sequence[Need]) -> None:
        self._plain = [(tuple([need.number for need in plain]), getter_of(tuple([need.sizes[0] for need in plain])))
                       for plain in ([need for need in needs if need.is_plain] for needs in (slots, outputs))]
        others = [[need for need in needs if not need.is_plain] for needs in (slots, outputs)]
        self.others = [*others[0], *others[1]]
        self._slots = len(others[0])
        self.forget()

    def forget(self) -> None:
        """Forget what they came to."""
        self._present = [(need.number, 0) for need in self.others]
        self.changed: set[int] = set()

    def told(self, numbers: Sequence[int]) -> tuple[Told, Told]:
        """What slots and outputs need, once all nodes gave their numbers."""
        for position in self.changed:
            self._present[position] = self.others[position].of(numbers)
        self.changed.clear()
        others = self._present[:self._slots], self._present[self._slots:]
        slots, outputs = ((*zip(plain, get(numbers), strict=True), *rest)
                          for (plain, get), rest in zip(self._plain, others, strict=True))
        return slots, outputs


def needs_of(program: Program, nodes: Iterable[int],
             place: Callable[[str], int]) -> Needs:
    """The needs of slots and outputs, of nodes by index; `place` of a name, see `SegmentNodes`. A tensor that
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
    return Needs(slots, outputs)
