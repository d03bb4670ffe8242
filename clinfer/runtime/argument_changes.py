"""Arguments that are others than a table of stages has."""
from __future__ import annotations

from itertools import takewhile

import pyopencl as cl

from clinfer.runtime.memory import Memory

Argument = tuple[int, int]
"""The position of a launch, and the index of one of its arguments."""
LeftBuffers = list[cl.Buffer]
"""Buffers that tables no longer hold, which are kept until what was launched is done."""


class ArgumentChanges(dict[Argument, bytes | Memory | None]):
    """What those are now; None: let go of.

    `held` has the buffers of arguments in the table, which OpenCL does not see there; those that are others now are
    `left` behind until what was launched is done. `count`: how often one changed.
    """

    def __init__(self, left: LeftBuffers) -> None:
        super().__init__()
        self.held: dict[Argument, cl.Buffer] = {}
        self.left = left
        self.count = 0
        self._last: dict[Argument, int] = {}
        """For each argument what `count` was when it changed last, the latest one last."""

    def note(self, argument: Argument, value: bytes | Memory | None) -> None:
        """An argument is another one."""
        self[argument] = value
        self.count += 1
        self._last.pop(argument, None)
        self._last[argument] = self.count
        self.let_go(argument)

    def since(self, count: int) -> list[Argument]:
        """The arguments that changed since that was the `count`, the latest one first."""
        return [argument for argument, _ in takewhile(lambda last: last[1] > count, reversed(self._last.items()))]

    def let_go(self, argument: Argument) -> None:
        """Hold an argument's buffer no longer than until what was launched is done."""
        before = self.held.get(argument)
        if before is not None:
            self.left.append(before)
            del self.held[argument]
