"""Which memory running inferences read and write, so that none writes what another one uses."""
from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TypeAlias

from clinfer.base.errors import ClinferError
from clinfer.remote.tensors import RemoteTensor

Span: TypeAlias = tuple[int, int, int]
"""See `RemoteTensor.span`."""

_running: dict[object, tuple[list[Span], list[Span]]] = {}
_lock = threading.Lock()


def check_apart(read: Sequence[RemoteTensor], written: Sequence[RemoteTensor]) -> None:
    """Raise if an output of an inference lies in the memory of another of its outputs, or of an input."""
    for number, output in enumerate(written):
        for other in (*read, *written[:number]):
            if _overlap(output.span, other.span):
                raise ClinferError("an output lies in the memory of another tensor of the same inference",
                                   where="infer request", values={"output": str(output), "other tensor": str(other)},
                                   hint="give each output memory of its own")


@contextmanager
def claimed(read: Sequence[RemoteTensor], written: Sequence[RemoteTensor]) -> Iterator[None]:
    """While an inference runs on its own stream. Errors: another running one writes what this one uses, or uses what
    this one writes."""
    spans = [tensor.span for tensor in read], [tensor.span for tensor in written]
    key = object()
    with _lock:
        for others_read, others_written in _running.values():
            clash = (_first_overlap(spans[1], [*others_read, *others_written])
                     or _first_overlap(spans[0], others_written))
            if clash is not None:
                raise ClinferError("another inference is running with the same memory", where="infer request",
                                   values={"bytes": f"{clash[1]} to {clash[2]}"},
                                   hint="wait() for it first, or give each request outputs of its own")
        _running[key] = spans
    try:
        yield
    finally:
        with _lock:
            del _running[key]


def _first_overlap(some: Sequence[Span], others: Sequence[Span]) -> Span | None:
    return next((span for span in some for other in others if _overlap(span, other)), None)


def _overlap(one: Span, other: Span) -> bool:
    return one[0] == other[0] and one[1] < other[2] and other[1] < one[2]
