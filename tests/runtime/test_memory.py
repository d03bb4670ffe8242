"""Allocation, its limits and accounting, and memory that several tensors share."""
from __future__ import annotations

import gc
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from clinfer.base.element_type import ElementType
from clinfer.base.errors import ClinferError
from clinfer.base.layout import Layout
from clinfer.runtime.engine import Engine
from clinfer.runtime.stream import Stream

F32 = ElementType.of("f32")


def small_engine(engine: Engine, single: int, total: int) -> Engine:
    return Engine(engine.device, replace(engine.capabilities, max_alloc_size=single, global_mem_size=total))


@pytest.mark.parametrize(("nbytes", "held", "expected"), [
    (2001, 0, "larger than the device's whole memory"),
    (1001, 0, "larger than one allocation"),
    (900, 1200, "does not fit beside"),
])
def test_limits_are_checked_before_allocating(engine: Engine, nbytes: int, held: int, expected: str) -> None:
    small = small_engine(engine, single=1000, total=2000)
    kept = [small.allocate_bytes(held // 2, allocation_type="cl_mem") for _ in range(2)] if held else []
    before = small.ledger.current
    with pytest.raises(ClinferError, match=expected) as caught:
        small.allocate_bytes(nbytes, what="weights of conv1", allocation_type="cl_mem")
    assert "weights of conv1" in str(caught.value) and str(nbytes) in str(caught.value)
    assert small.ledger.current == before == held
    assert len(kept) == (2 if held else 0)


def test_a_tensor_beyond_the_limit_is_named_by_its_layout(engine: Engine) -> None:
    small = small_engine(engine, single=100, total=1000)
    with pytest.raises(ClinferError, match=r"f32.*5,?.*8") as caught:
        small.allocate_memory(Layout.planar((5, 8), F32))
    assert "160" in str(caught.value)


def test_current_and_peak_follow_allocations(engine: Engine) -> None:
    own = Engine(engine.device, engine.capabilities)
    first = own.allocate_bytes(1000)
    second = own.allocate_bytes(500)
    assert (own.ledger.current, own.ledger.peak) == (1500, 1500)
    first.release()
    first.release()
    assert first.is_released and (own.ledger.current, own.ledger.peak) == (500, 1500)
    del second
    gc.collect()
    assert (own.ledger.current, own.ledger.peak) == (0, 1500)


def test_allocations_are_logged(engine: Engine, monkeypatch: pytest.MonkeyPatch,
                                capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("CLINFER_DEBUG", "1")
    own = Engine(engine.device, engine.capabilities)
    own.allocate_bytes(58982400).release()
    lines = capsys.readouterr().err
    kind = "58982400 bytes of cl_mem allocation type"
    assert f"clinfer: Allocate {kind} (current=58982400; max=58982400)" in lines
    assert f"clinfer: Free {kind} (current=0; max=58982400)" in lines


def test_a_view_keeps_the_buffer_alive(engine: Engine) -> None:
    own = Engine(engine.device, engine.capabilities)
    view = own.allocate_bytes(64).reinterpret(Layout.planar((2, 4), F32))
    gc.collect()
    assert own.ledger.current == 64 and view.nbytes == 32 and view.capacity == 64
    other = view.reinterpret(Layout.planar((16,), F32))
    assert other.shares_buffer(view) and other.nbytes == 64
    view.release()
    assert other.is_released and own.ledger.current == 0


def test_a_view_must_fit(engine: Engine) -> None:
    memory = engine.allocate_bytes(64)
    with pytest.raises(ClinferError, match="does not fit"):
        memory.reinterpret(Layout.planar((17,), F32))


def test_released_memory_refuses_use(engine: Engine, stream: Stream) -> None:
    memory = engine.allocate_bytes(64)
    memory.release()
    with pytest.raises(ClinferError, match="was released"):
        stream.read(memory)
    with pytest.raises(ClinferError, match="was released"):
        _ = memory.native


def test_zeroed_memory_is_zero(engine: Engine, stream: Stream) -> None:
    for _ in range(4):
        dirty = engine.allocate_bytes(4096)
        stream.fill(dirty, 0xA5)
        stream.finish()
        dirty.release()
        assert not stream.read(engine.allocate_memory(Layout.planar((32, 32), F32), zero=True)).any()


def test_empty_tensors_have_memory_too(engine: Engine, stream: Stream) -> None:
    memory = engine.allocate_memory(Layout.planar((0, 3), F32), zero=True)
    assert memory.nbytes == 0 and not memory.is_released
    stream.write(memory, np.empty((0, 3), np.float32))
    assert stream.read(memory).size == 0
    stream.copy(memory, memory)
    stream.fill(memory, 1)
    stream.finish()


def test_a_dynamic_layout_has_no_memory(engine: Engine) -> None:
    with pytest.raises(ClinferError, match="dynamic"):
        engine.allocate_memory(Layout.planar((None, 3), F32))  # type: ignore[arg-type]


def test_a_part_of_a_memory(engine: Engine, stream: Stream, rng: np.random.Generator) -> None:
    unit = engine.capabilities.buffer_alignment
    data = rng.integers(0, 256, 4 * unit, dtype=np.uint8)
    whole = engine.allocate_bytes(data.size)
    stream.write(whole, data)
    part = whole.part(unit, 3 * unit)
    inner = part.part(2 * unit, unit)
    assert (part.capacity, inner.capacity) == (3 * unit, unit)
    assert np.array_equal(stream.read(inner, unit), data[3 * unit:])
    stream.write(part, np.zeros(unit, np.uint8), blocking=True)
    data[unit:2 * unit] = 0
    assert np.array_equal(stream.read(whole), data)


def test_a_part_keeps_the_whole(engine: Engine) -> None:
    own = Engine(engine.device, engine.capabilities)
    unit = engine.capabilities.buffer_alignment
    part = own.allocate_bytes(2 * unit).part(unit, unit)
    gc.collect()
    assert own.ledger.current == 2 * unit
    part.release()
    assert part.is_released and own.ledger.current == 2 * unit, "the whole is not the part's to free"
    del part
    assert own.ledger.current == 0


LATE = """
import sys, tempfile
from clinfer.runtime.device import find_device
from clinfer.runtime.engine import Engine

memory = Engine(find_device(sys.argv[1])).allocate_bytes(4096, "bytes")
tempfile.last_user = lambda: memory
"""


def test_memory_that_outlives_its_modules(engine: Engine) -> None:
    """At the interpreter's end, kept by a module that goes behind those that memory needs to be let go of."""
    ended = subprocess.run([sys.executable, "-c", LATE, engine.device.name], check=True, timeout=120,
                           capture_output=True, text=True, cwd=Path(__file__).parents[2])
    assert "Exception ignored" not in ended.stderr
