"""Parts of tensors: some of the elements, with the axes in another order."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from clinfer.base.shape import Shape, Size


@dataclass(frozen=True)
class Part:
    """What is seen of a tensor: it is cut, then axis `axes[i]` of it stands at i.

    `cuts`: (axis, start, stop) for axes of static size, each at most once. Axes that `axes` leaves out are cut to
    one element.
    """

    axes: tuple[int, ...]
    cuts: tuple[tuple[int, int, int], ...] = ()

    @staticmethod
    def whole(rank: int) -> Part:
        """All of a tensor as it is."""
        return Part(tuple(range(rank)))

    def cut(self, axis: int, start: int, stop: int) -> Part:
        """Those elements of this part that lie in [start, stop) of its axis."""
        return Part(tuple(range(len(self.axes))), ((axis, start, stop),)).behind(self)

    def without(self, axis: int) -> Part:
        """The part without one of its axes, which has one element."""
        return Part(self.axes[:axis] + self.axes[axis + 1:], self.cuts)

    def permute(self, order: Sequence[int]) -> Part:
        """The same elements, axis `order[i]` at i."""
        return Part(tuple(self.axes[axis] for axis in order), self.cuts)

    def behind(self, earlier: Part) -> Part:
        """This part of the earlier part, as a part of what that one is made from."""
        starts = {axis: start for axis, start, _ in earlier.cuts}
        cuts = {axis: (axis, start, stop) for axis, start, stop in earlier.cuts}
        for axis, start, stop in self.cuts:
            there = earlier.axes[axis]
            first = starts.get(there, 0)
            cuts[there] = (there, first + start, first + stop)
        return Part(tuple(earlier.axes[axis] for axis in self.axes), tuple(sorted(cuts.values())))

    def shape(self, shape: Shape) -> Shape:
        """The shape of the part of a tensor of that shape."""
        sizes: list[Size] = list(shape)
        for axis, start, stop in self.cuts:
            sizes[axis] = stop - start
        return tuple(sizes[axis] for axis in self.axes)
