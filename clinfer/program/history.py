"""What became of the primitives that passes took out of a graph; the graph's editing API keeps it."""
from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass
from typing import Literal

from clinfer.topology import Constant, Primitive

Fate = Literal["folded", "fused", "unused"]


@dataclass(frozen=True)
class Removal:
    """A primitive that is not in the finished graph.

    `fate`: "folded" into a constant, "fused" into another primitive, or "unused" by every output.
    `into`: the id of that constant or primitive ("" if unused). `by`: the pass.
    """

    primitive: str
    type: str
    layer: str
    fate: Fate
    into: str
    by: str


class History:
    """Learns of every edit of one graph; `current_pass` names the pass that edits."""

    def __init__(self) -> None:
        self.current_pass = ""
        self._removed: dict[str, tuple[str, str, str]] = {}
        self._stand_in: dict[str, tuple[str, bool]] = {}
        self._last_reader: dict[str, str] = {}
        self.unfused: dict[str, tuple[tuple[str, str], ...]] = {}

    def redirected(self, old: str, new: Primitive) -> None:
        """Who read `old` reads `new` from now on."""
        self._stand_in[old] = (new.id, isinstance(new, Constant))

    def left(self, id: str, reader: str) -> None:
        """A node stopped reading another."""
        self._last_reader[id] = reader

    def stayed(self, id: str, refusals: tuple[tuple[str, str], ...]) -> None:
        """A node was not fused with those that it reads: (the id of one, the reason)."""
        self.unfused[id] = refusals

    def removed(self, primitive: Primitive) -> None:
        """A primitive was taken out."""
        self._removed[primitive.id] = (type(primitive).__name__, primitive.origin, self.current_pass)

    def removals(self, present: Container[object]) -> tuple[Removal, ...]:
        """Every removal, in order; `present` holds the ids of the finished graph."""
        return tuple(self._describe(id, present) for id in self._removed)

    def _describe(self, id: str, present: Container[object]) -> Removal:
        into, is_folded = self._follow(id)
        kind, layer, by = self._removed[id]
        if into not in present:
            return Removal(id, kind, layer, "unused", "", by)
        return Removal(id, kind, layer, "folded" if is_folded else "fused", into, by)

    def _follow(self, id: str) -> tuple[str, bool]:
        """What does a removed primitive's work: its stand-in, or that of the last one that read it; and
        whether the first stand-in on the way is a constant."""
        seen: set[str] = set()
        is_folded: bool | None = None
        while id in self._removed and id not in seen:
            seen.add(id)
            following, is_constant = self._stand_in.get(id, (self._last_reader.get(id, ""), None))
            is_folded = is_constant if is_folded is None else is_folded
            id = following
        return id, bool(is_folded)
