"""Objects of other APIs: OpenCL may use them only between the commands that take them over and give them back."""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING

from clinfer.runtime.media_sharing import MediaCalls
from clinfer.runtime.stream import Stream

if TYPE_CHECKING:
    from clinfer.remote.tensors import RemoteTensor

NOTHING_LENT = nullcontext()


@dataclass(frozen=True)
class Lent:
    """An object of another API in which a tensor lies: its handle there and the plane, and as cl_mem."""

    calls: MediaCalls
    handle: int
    plane: int
    cl_mem: int


def taken_over(stream: Stream, tensors: Sequence[RemoteTensor]) -> AbstractContextManager[None]:
    """While commands are enqueued that use tensors: take over in the queue what is lent, and give it back behind them,
    also after an error."""
    lent = {tensor.given.cl_mem: tensor.given.calls for tensor in tensors if isinstance(tensor.given, Lent)}
    return _taking_over(stream, next(iter(lent.values())), list(lent)) if lent else NOTHING_LENT


@contextmanager
def _taking_over(stream: Stream, calls: MediaCalls, lent: list[int]) -> Iterator[None]:
    calls.acquire(stream, lent)
    try:
        yield
    finally:
        calls.release(stream, lent)
        stream.flush()
