"""Rounds of launches: arguments that take turns, copies that move on, and what is left behind."""
from __future__ import annotations

import numpy as np
import pytest

from clinfer.base.errors import ClinferError
from clinfer.runtime.engine import Engine
from clinfer.runtime.kernel import Kernel
from clinfer.runtime.launches import Launches, WorkSize
from clinfer.runtime.memory import Memory
from clinfer.runtime.rounds import MovingCopy, Rounds, Turn, can_take_rounds
from clinfer.runtime.stream import Stream

SOURCE = """kernel void add(global const int* x, global const int* y, global int* z) {
    z[get_global_id(0)] = x[get_global_id(0)] + y[get_global_id(0)]; }"""
COUNT = 4


def _full(stream: Stream, value: int | np.ndarray, count: int = COUNT) -> Memory:
    memory = stream.engine.allocate_bytes(4 * count)
    stream.write(memory, np.broadcast_to(np.array(value, np.int32), count), blocking=True)
    return memory


def _values(stream: Stream, memory: Memory) -> list[int]:
    return [int(value) for value in stream.read(memory).view(np.int32)]


@pytest.fixture
def stream(engine: Engine) -> Stream:
    stream = engine.create_stream()
    if not can_take_rounds(stream, ()):
        pytest.skip("no C compiler, or launches are joined")
    return stream


def _adding(stream: Stream, *memories: Memory) -> tuple[Kernel, Launches]:
    kernel = stream.engine.create_kernel(stream.engine.build_program(SOURCE), "add")
    for index, memory in enumerate(memories):
        kernel.set_buffer(index, memory)
    launches = Launches()
    launches.extend([(kernel, WorkSize((COUNT,)))])
    return kernel, launches


@pytest.mark.parametrize("is_backwards", [False, True])
def test_states_take_turns_and_copies_move_on(stream: Stream, is_backwards: bool) -> None:
    """Round n adds column n to a state, and what it gives is a column of the result."""
    x = np.arange(5 * COUNT, dtype=np.int32).reshape(COUNT, 5)
    source, target = _full(stream, x.reshape(-1), 5 * COUNT), _full(stream, -1, 5 * COUNT)
    part, even, odd = _full(stream, 0), _full(stream, 0), _full(stream, 100)
    kernel, launches = _adding(stream, odd, part, even)
    cut = MovingCopy((source, source), (part, part), 4, COUNT, 0, 4, 20, 0, 0, 4)
    put = MovingCopy((even, odd), (target, target), 4, COUNT, 0, 0, 4, *((16, -4) if is_backwards else (0, 4)), 20)
    rounds = Rounds(stream, launches, [Turn(kernel, 0, (odd, even)), Turn(kernel, 2, (even, odd))])
    rounds.copy([cut], [put])
    for first, last in ((0, 2), (2, 2), (2, 5)):
        rounds.enqueue(first, last)
    sums = 100 + x.cumsum(axis=1)
    assert _values(stream, target) == (sums[:, ::-1] if is_backwards else sums).reshape(-1).tolist()
    assert _values(stream, even) == sums[:, 4].tolist()


def test_arguments_are_what_kernels_know_of_once_they_are_restored(stream: Stream) -> None:
    one, two, other, into, elsewhere = (_full(stream, value) for value in (1, 2, 5, 0, 0))
    kernel, launches = _adding(stream, one, two, into)
    rounds = Rounds(stream, launches, [Turn(kernel, 0, (other,)), Turn(kernel, 2, (elsewhere, elsewhere))])
    rounds.enqueue(0, 1)
    rounds.restore()
    stream.enqueue_all(launches)
    assert (_values(stream, elsewhere), _values(stream, into)) == ([7] * COUNT, [3] * COUNT)
    assert kernel.argument(2) is into


def test_of_memory_that_was_released_nothing_is_known(stream: Stream) -> None:
    one, two, into = (_full(stream, value) for value in (1, 2, 0))
    kernel, launches = _adding(stream, one, two, into)
    rounds = Rounds(stream, launches, [Turn(kernel, 0, (two,))])
    rounds.enqueue(0, 1)
    stream.finish()
    one.release()
    rounds.restore()
    assert kernel.argument(0) is None
    assert _values(stream, into) == [4] * COUNT


def test_a_launch_that_is_refused_is_named(stream: Stream) -> None:
    memory = _full(stream, 1)
    kernel, launches = _adding(stream, memory, memory, memory)
    launches.extend([(kernel, WorkSize((1 << 24,), (1 << 24,)))])
    with pytest.raises(ClinferError, match="launch kernel add"):
        Rounds(stream, launches, [Turn(kernel, 0, (memory,))]).enqueue(0, 3)


def test_a_copy_that_is_refused_is_an_error(stream: Stream) -> None:
    memory, other = _full(stream, 1), _full(stream, 1)
    _, launches = _adding(stream, memory, memory, memory)
    beyond = MovingCopy((memory, memory), (other, other), 4, 1, 4096, 4, 4, 0, 0, 4)
    rounds = Rounds(stream, launches, ())
    rounds.copy([beyond], ())
    with pytest.raises(ClinferError, match="copy between rounds"):
        rounds.enqueue(0, 1)
    rounds.copy((), ())
    rounds.enqueue(0, 1)
    assert _values(stream, memory) == [2] * COUNT
