"""Arguments that are one memory, set together."""
from __future__ import annotations

import numpy as np
import pytest

from clinfer.base.errors import ClinferError
from clinfer.runtime import buffer_uses
from clinfer.runtime.argument_changes import ArgumentChanges
from clinfer.runtime.buffer_uses import BufferUses
from clinfer.runtime.engine import Engine
from clinfer.runtime.launches import WorkSize
from clinfer.runtime.memory import Memory
from clinfer.runtime.stage_image import StageImage

SOURCE = "kernel void add(global int* from, global int* to) { to[get_global_id(0)] += from[get_global_id(0)]; }"


@pytest.fixture(params=["c", "python"], autouse=True)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "python":
        monkeypatch.setattr(buffer_uses, "_set_each_in_c", lambda: None)
    elif buffer_uses._set_each_in_c() is None:
        pytest.skip("clinfer was installed without a compiler")


class _Adding:
    """Two kernels that add what lies in one memory to another, and what has all they read and all they write."""

    def __init__(self, engine: Engine) -> None:
        program = engine.build_program(SOURCE)
        self.stream, self.read, self.written = engine.create_stream(), BufferUses(), BufferUses()
        self.kernels = [engine.create_kernel(program, "add") for _ in range(2)]
        for kernel in self.kernels:
            self.read.add(kernel, 0)
            self.written.add(kernel, 1)
        self.memories = [engine.allocate_bytes(16) for _ in range(3)]
        for number, memory in enumerate(self.memories):
            self.stream.write(memory, np.full(4, 10 ** number, np.int32))

    def result(self, memory: Memory) -> int:
        for kernel in self.kernels:
            self.stream.enqueue(kernel, WorkSize((4,)))
        return int(self.stream.read(memory).view(np.int32)[0])


def test_all_are_set_and_kept(engine: Engine) -> None:
    adding = _Adding(engine)
    one, ten, hundred = adding.memories
    adding.read.set(one)
    adding.written.set(hundred)
    assert adding.result(hundred) == 102
    assert all(kernel.argument(0) is one and kernel.argument(1) is hundred for kernel in adding.kernels)
    adding.read.set(ten)
    assert adding.result(hundred) == 122
    assert all(kernel.memories() == (hundred, ten) for kernel in adding.kernels)


def test_a_renewed_kernel_is_one_of_them(engine: Engine) -> None:
    adding = _Adding(engine)
    one, ten, hundred = adding.memories
    adding.read.set(one)
    adding.written.set(hundred)
    adding.kernels[0]._renew()
    assert adding.result(hundred) == 102
    adding.read.set(ten)
    assert adding.result(hundred) == 122


def test_changes_are_noted(engine: Engine) -> None:
    adding = _Adding(engine)
    changes, others = ArgumentChanges([]), ArgumentChanges([])
    adding.kernels[1].note_changes(changes, 7)
    adding.kernels[1].note_changes(others, 2)
    adding.read.set(adding.memories[1])
    assert changes == {(7, 0): adding.memories[1]} and others == {(2, 0): adding.memories[1]}
    adding.kernels[1].leave(others, StageImage(32, 2))
    adding.read.set(adding.memories[0])
    assert changes == {(7, 0): adding.memories[0]} and others == {(2, 0): adding.memories[1]}
    assert not adding.kernels[1].is_plain
    adding.kernels[1].leave(changes, StageImage(32, 2))
    assert adding.kernels[1].is_plain


def test_those_of_some_kernels_are_forgotten(engine: Engine) -> None:
    adding = _Adding(engine)
    adding.read.drop({id(adding.kernels[0])})
    adding.read.set(adding.memories[0])
    assert adding.kernels[0].argument(0) is None and adding.kernels[1].argument(0) is adding.memories[0]
    assert [*adding.read] == [(adding.kernels[1], 0)]


def test_a_refusal_tells_the_argument_and_leaves_nothing_known(engine: Engine) -> None:
    adding, wrong = _Adding(engine), BufferUses()
    wrong.add(adding.kernels[0], 0)
    wrong.add(adding.kernels[1], 5)
    adding.read.set(adding.memories[0])
    with pytest.raises(ClinferError, match="set argument 5 of kernel add"):
        wrong.set(adding.memories[1])
    assert adding.kernels[1].argument(5) is None
    adding.read.set(adding.memories[0])
    adding.written.set(adding.memories[2])
    assert adding.result(adding.memories[2]) == 102


def test_released_memory_is_refused(engine: Engine) -> None:
    adding = _Adding(engine)
    adding.memories[0].release()
    with pytest.raises(ClinferError, match="released"):
        adding.read.set(adding.memories[0])
