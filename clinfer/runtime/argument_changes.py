"""Arguments that are others than a table of stages has."""
from __future__ import annotations

import pyopencl as cl

from clinfer.runtime.memory import Memory

Argument = tuple[int, int]
"""The position of a launch, and the index of one of its arguments."""
LeftBuffers = list[cl.Buffer]
"""Buffers that tables no longer hold, which are kept until what was launched is done."""


class ArgumentChanges(dict[Argument, bytes | Memory | None]):
    """What those are now; None: let go of.

    `held` has the buffers of arguments in the table, which OpenCL does not see there; those that are others now are
    `left` behind until what was launched is done.
    """

    def __init__(self, left: LeftBuffers) -> None:
        super().__init__()
        self.held: dict[Argument, cl.Buffer] = {}
        self.left = left

    def note(self, argument: Argument, value: bytes | Memory | None) -> None:
        """An argument is another one."""
        self[argument] = value
        self.let_go(argument)

    def let_go(self, argument: Argument) -> None:
        """Hold an argument's buffer no longer than until what was launched is done."""
        before = self.held.get(argument)
        if before is not None:
            self.left.append(before)
            del self.held[argument]
