"""Which memory running inferences read and write, so that none writes what another one uses."""
from __future__ import annotations

import threading
import weakref
from collections.abc import Sequence
from typing import NamedTuple

from clinfer.base.errors import ClinferError
from clinfer.base.turns import Token
from clinfer.remote.tensors import RemoteTensor, Span
from clinfer.runtime.event import Event


class Use(Token):
    """The token of an inference that uses memory. `event`: that of the device's work, where nobody waited for it."""

    __slots__ = ("event",)

    def __init__(self) -> None:
        super().__init__()
        self.event: Event | None = None


class _Claim(NamedTuple):
    """What an inference reads and writes."""

    use: weakref.ref[Use]
    read: Sequence[Span]
    written: Sequence[Span]

    @property
    def is_over(self) -> bool:
        use = self.use()
        return use is None or (use.is_over and (use.event is None or use.event.is_over))


_running: list[_Claim] = []
_lock = threading.Lock()


def check_apart(read: Sequence[RemoteTensor], written: Sequence[RemoteTensor]) -> None:
    """Raise if an output of an inference lies in the memory of another of its outputs, or of an input."""
    for number, output in enumerate(written):
        for other in (*read, *written[:number]):
            if _overlap(output.span, other.span):
                raise ClinferError("an output lies in the memory of another tensor of the same inference",
                                   where="infer request", values={"output": str(output), "other tensor": str(other)},
                                   hint="give each output memory of its own")


def claim(use: Use, read: Sequence[Span], written: Sequence[Span]) -> None:
    """Note what an inference on its own stream uses until its use is over. Errors: another running one writes what
    this one uses, or uses what this one writes."""
    own = _Claim(weakref.ref(use), read, written)
    with _lock:
        _running[:] = [other for other in _running if not other.is_over]
        for other in _running:
            clash = (_first_overlap(own.written, [*other.read, *other.written])
                     or _first_overlap(own.read, other.written))
            if clash is not None:
                raise ClinferError("another inference is running with the same memory", where="infer request",
                                   values={"bytes": f"{clash[1]} to {clash[2]}"},
                                   hint="wait() for it first, or give each request outputs of its own")
        _running.append(own)


def _first_overlap(some: Sequence[Span], others: Sequence[Span]) -> Span | None:
    return next((span for span in some for other in others if _overlap(span, other)), None)


def _overlap(one: Span, other: Span) -> bool:
    return one[0] == other[0] and one[1] < other[2] and other[1] < one[2]
