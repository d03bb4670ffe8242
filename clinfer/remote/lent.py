"""Objects of other APIs: OpenCL may use them only between the commands that take them over and give them back."""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from clinfer.runtime.media_sharing import MediaCalls
from clinfer.runtime.stream import Stream

if TYPE_CHECKING:
    from clinfer.remote.tensors import RemoteTensor


@dataclass(frozen=True)
class Lent:
    """An object of another API in which a tensor lies: its handle there and the plane, and as cl_mem."""

    calls: MediaCalls
    handle: int
    plane: int
    cl_mem: int


@contextmanager
def taken_over(stream: Stream, tensors: Sequence[RemoteTensor]) -> Iterator[None]:
    """While commands are enqueued that use tensors: take over in the queue what is lent, and give it back behind them,
    also after an error."""
    lent = {tensor.given.cl_mem: tensor.given.calls for tensor in tensors if isinstance(tensor.given, Lent)}
    if not lent:
        yield
        return
    calls = next(iter(lent.values()))
    calls.acquire(stream, list(lent))
    try:
        yield
    finally:
        calls.release(stream, list(lent))
        stream.flush()
