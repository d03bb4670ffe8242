"""Launches that are enqueued round after round, with what changes between rounds, at the least cost of the host.

It takes `launch_loop.c`: without a C compiler there are none, and each round is to be told anew.
"""
from __future__ import annotations

import ctypes
import struct
from collections.abc import Iterable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from clinfer.base.errors import ClinferError
from clinfer.runtime import driver
from clinfer.runtime.extensions import function_of
from clinfer.runtime.kernel import Kernel
from clinfer.runtime.launches import Launches, pointer_of
from clinfer.runtime.memory import Memory, NativeBuffer
from clinfer.runtime.status import driver_error

if TYPE_CHECKING:
    from clinfer.runtime.stream import Stream

InTurns = tuple[Memory, ...]
"""Memories of rounds, from round 0 on, again and again."""
Pair = tuple[Memory, Memory]
"""A memory of rounds of even numbers, and one of the others."""
_TURN = struct.Struct("PNPN")
_COPY = struct.Struct("12N")
_MASK = (1 << 8 * struct.calcsize("N")) - 1


class Turn(NamedTuple):
    """A buffer argument that takes turns."""

    kernel: Kernel
    position: int
    memories: InTurns


class MovingCopy(NamedTuple):
    """Rows of `nbytes` that are copied in each round: where they begin in round 0, in bytes, and how much farther in
    each other one; rows begin `pitch` bytes apart. They lie within their memories."""

    sources: Pair
    targets: Pair
    nbytes: int
    rows: int
    source: int
    source_step: int
    source_pitch: int
    target: int
    target_step: int
    target_pitch: int


class _Calls(ctypes.Structure):
    _fields_ = [(name, ctypes.c_void_p) for name in ("set", "enqueue", "copy", "copy_rows", "queue")]


class _Rounds(ctypes.Structure):
    _fields_ = [("turns", ctypes.c_void_p), ("turn_count", ctypes.c_size_t), ("copies", ctypes.c_void_p),
                ("ahead_count", ctypes.c_size_t), ("copy_count", ctypes.c_size_t), ("launches", ctypes.c_void_p),
                ("launch_count", ctypes.c_size_t)]


class Rounds:
    """Rounds of the same launches, in which arguments take turns; `copy` tells what is copied in each.

    Arguments that took turns are not what kernels know of until they are `restored`. The memories are to be there until
    then, and the launches as they are.
    """

    def __init__(self, stream: Stream, launches: Launches, turns: Sequence[Turn]) -> None:
        """Where `can_take_rounds` says yes; all memories are buffers."""
        self._stream = stream
        self._launches = launches
        self._turns = turns
        self._handles = {turn.memories: _handles(turn.memories) for turn in turns}
        self._packed_turns = ctypes.create_string_buffer(b"".join([
            _packed_turn(turn, self._handles[turn.memories]) for turn in turns]))
        self._calls = _calls(stream.cl_queue.int_ptr)
        self._each = _Rounds(ctypes.addressof(self._packed_turns), len(turns), launch_count=len(launches))
        self.copy((), ())

    def copy(self, ahead: Iterable[MovingCopy], behind: Iterable[MovingCopy]) -> None:
        """From now on copy this ahead of the launches of each round and behind them, and nothing else."""
        ahead, behind = [*filter(_has_bytes, ahead)], [*filter(_has_bytes, behind)]
        self._copies = *ahead, *behind
        self._packed_copies = ctypes.create_string_buffer(b"".join(map(_packed_copy, self._copies)))
        self._each.copies = ctypes.addressof(self._packed_copies)
        self._each.ahead_count, self._each.copy_count = len(ahead), len(self._copies)

    def enqueue(self, first: int, last: int) -> None:
        """Enqueue the rounds from `first` on, up to `last`, which is none of them."""
        self._each.launches = ctypes.addressof(self._launches.packed)
        self._stream.command("enqueue rounds of launches", lambda: self._enqueue(first, last),
                             (len(self._launches) + len(self._copies)) * (last - first))

    def _enqueue(self, first: int, last: int) -> None:
        function, failed = _function(), ctypes.c_size_t()
        assert function is not None
        status = function(ctypes.byref(self._calls), ctypes.byref(self._each), first, last, ctypes.byref(failed))
        if status:
            what = (f"launch kernel {self._launches[failed.value][0].entry}" if failed.value < len(self._launches)
                    else "copy between rounds of launches, or set their arguments")
            raise driver_error(status, what, where=f"device {self._stream.engine.device}")

    def restore(self) -> None:
        """Let the arguments be again what kernels know of."""
        for turn in self._turns:
            turn.kernel.restore_buffer(turn.position)


def can_take_rounds(stream: Stream, kernels: Iterable[Kernel]) -> bool:
    """Whether there are rounds on a stream, in which buffers that are arguments of these kernels take turns."""
    return (stream.in_order and stream.engine.megakernels is None and _function() is not None
            and hasattr(driver.set_kernel_arg, "argtypes") and hasattr(driver.enqueue_nd_range_kernel, "argtypes")
            and all(kernel.is_plain for kernel in kernels))


def _has_bytes(copy: MovingCopy) -> bool:
    return bool(copy.rows and copy.nbytes)


def _handles(memories: InTurns) -> ctypes.Array[ctypes.c_void_p]:
    return (ctypes.c_void_p * len(memories))(*(memory.cl_buffer.int_ptr for memory in memories))


def _packed_turn(turn: Turn, handles: ctypes.Array[ctypes.c_void_p]) -> bytes:
    return _TURN.pack(ctypes.addressof(turn.kernel.handle), turn.position, ctypes.addressof(handles), len(handles))


def _packed_copy(copy: MovingCopy) -> bytes:
    """PoCL crashes on rows of sub-buffers, so all are copied between what these are parts of."""
    (sources, begin), (targets, first) = _whole(copy.sources), _whole(copy.targets)
    return _COPY.pack(*sources, *targets, copy.source + begin, copy.source_step & _MASK, copy.target + first,
                      copy.target_step & _MASK, copy.nbytes, copy.rows, copy.source_pitch, copy.target_pitch)


def _whole(memories: Pair) -> tuple[tuple[int, int], int]:
    """The buffers in which they begin, and where."""
    (one, begin), (other, further) = (memory.origin for memory in memories)
    if begin != further:
        raise ClinferError("memories that take turns must begin at the same place of their buffers",
                           values={"begin": (begin, further)})
    handles = (whole.native.cl_buffer.int_ptr for whole in (one, other) if isinstance(whole.native, NativeBuffer))
    even, odd = handles
    return (even, odd), begin


def _calls(queue: int) -> _Calls:
    functions = (driver.set_kernel_arg, driver.enqueue_nd_range_kernel, driver.copy_buffer, driver.copy_rectangle)
    return _Calls(*(pointer_of(function) for function in functions), queue)


@cache
def _function() -> Any:
    function: Any = function_of("clinfer.runtime._launch_loop", "clinfer_launch_rounds")
    if function is not None:
        pointer, size = ctypes.c_void_p, ctypes.c_size_t
        function.argtypes = (pointer, pointer, size, size, pointer)
    return function
