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

    def of(self, numbers: Sequence[int]) -> tuple[int, int]:
        """(number, bytes)."""
        if self.home is not None and numbers[self.home] >= 0:
            return self.number, 0
        if self.held and (max(map(numbers.__getitem__, self.held)) >= 0) != self.is_holder:
            return self.number, 0
        return self.number, max(map(numbers.__getitem__, self.sizes))


class Needs:
    """Needs, and what they come to. Most are one number, or one as long as their tensor lies at home."""

    def __init__(self, needs: Sequence[Need]) -> None:
        single = [need for need in needs if len(need.sizes) == 1 and not need.held]
        self._others = [need for need in needs if len(need.sizes) > 1 or need.held]
        plain = [(need.number, need.sizes[0]) for need in single if need.home is None]
        homed = [(need.number, need.sizes[0], need.home) for need in single if need.home is not None]
        self._plain = [number for number, _ in plain]
        self._homed = [number for number, _, _ in homed]
        self._plain_sizes = getter_of(tuple([size for _, size in plain]))
        self._homed_sizes = getter_of(tuple([size for _, size, _ in homed]))
        self._homes = getter_of(tuple([home for _, _, home in homed]))

    def told(self, numbers: Sequence[int]) -> tuple[tuple[int, int], ...]:
        """What they come to, once all nodes gave their numbers: (number, bytes) of each."""
        return (*zip(self._plain, self._plain_sizes(numbers), strict=True),
                *[(number, 0 if home >= 0 else size) for number, home, size in zip(
                    self._homed, self._homes(numbers), self._homed_sizes(numbers), strict=True)],
                *[need.of(numbers) for need in self._others])


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
