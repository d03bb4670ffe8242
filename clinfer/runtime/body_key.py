"""What tells one body of a megakernel from another."""
from __future__ import annotations

from typing import NamedTuple

from clinfer.runtime.kernel import Kernel
from clinfer.runtime.launches import WorkSize
from clinfer.runtime.program import Program

Launch = tuple[Kernel, WorkSize]
OPEN_ITEMS, WARP = 128, 32
"""The most work-items of a group that a launch leaves open, and what they are a multiple of."""


class BodyKey(NamedTuple):
    """A kernel with the local size that it has as a body."""

    program: Program
    entry: str
    local: tuple[int, int, int]

    def groups(self, work: WorkSize) -> tuple[int, int, int]:
        """The work-groups of a launch in each dimension."""
        x, y, z = (-(-size // items) for size, items in zip(_of_three(work.global_size), self.local, strict=True))
        return x, y, z


def key_of(launch: Launch) -> BodyKey:
    """The body of a launch; one that leaves the local size open gets one of whole warps."""
    kernel, work = launch
    if work.local_size is not None:
        return BodyKey(kernel.program, kernel.entry, _of_three(work.local_size))
    wide = -(-max(work.global_size[0], 1) // WARP) * WARP
    return BodyKey(kernel.program, kernel.entry, (min(OPEN_ITEMS, wide), 1, 1))


def _of_three(size: tuple[int, ...]) -> tuple[int, int, int]:
    x, y, z = (*size, 1, 1)[:3]
    return x, y, z
