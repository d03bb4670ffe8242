"""The remote tensors of a request."""
from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from clinfer.api.host_slots import AnyInputSlot, AnyOutputSlot
from clinfer.remote.claims import check_apart
from clinfer.remote.host_memories import Span
from clinfer.remote.lent import Lent
from clinfer.remote.tensors import Span as MemorySpan
from clinfer.runtime.memory import RELEASES


class Remotes:
    """The remote tensors that a request reads, and those that it writes to, where they lie when it looks at them.

    `has_all_written`: whether each of its outputs is one; `is_all`: inputs, too, so that the host neither gives nor
    gets anything. `lends`: whether another API lends some. `are_checked`: whether an inference may use them, once one
    did. `identity`: by which a network knows whether they are what it was given last.
    """

    def __init__(self, inputs: Sequence[AnyInputSlot], outputs: Sequence[AnyOutputSlot]) -> None:
        self._releases = RELEASES.count
        read, written = [slot.remotes for slot in inputs], [slot.remotes for slot in outputs]
        self.read = [tensor for tensors in read for tensor in tensors]
        self.written = [tensor for tensors in written for tensor in tensors]
        self.has_all_written = () not in written
        self.is_all = self.has_all_written and all(len(tensors) == 1 for tensors in read)
        self.tensors = (*self.read, *self.written)
        self.lends = any(isinstance(tensor.given, Lent) for tensor in self.tensors)
        self._regions = [tensor.region for tensor in self.tensors]
        self.are_checked = False
        self.identity = object()

    def lie_there(self) -> bool:
        """Whether they are the regions of memory that they were, and that memory is there for sure."""
        return not self.tensors or (
            self._releases == RELEASES.count and self._regions == [tensor.region for tensor in self.tensors])

    def check_apart(self) -> None:
        """See `claims.check_apart`."""
        if not self.are_checked:
            check_apart(self.read, self.written)

    @cached_property
    def spans(self) -> tuple[list[MemorySpan], list[MemorySpan]]:
        """The memory that they may touch: of those that are read, and of those that are written."""
        return [tensor.span for tensor in self.read], [tensor.span for tensor in self.written]

    @cached_property
    def read_on_host(self) -> list[Span]:
        """Where on the host the device reads some of them."""
        return [span for tensor in self.read if (span := tensor.host_span)]

    @cached_property
    def written_on_host(self) -> list[Span]:
        """Where on the host the device writes some of them."""
        return [span for tensor in self.written if (span := tensor.host_span)]
