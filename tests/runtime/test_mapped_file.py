"""Memory over a mapped file: what it holds, and how long the mapping stays."""
from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyopencl as cl
import pytest

from clinfer.base.element_type import ElementType
from clinfer.base.layout import Layout
from clinfer.runtime import mapped_file
from clinfer.runtime.engine import Engine
from clinfer.runtime.mapped_file import ALIGNMENT, MappedFile, map_file
from clinfer.runtime.stream import Stream
from tests.mapped import is_mapped, needs_maps, stays_mapped

COUNT = 1 << 18
SHIFT = 4 * ALIGNMENT


@pytest.fixture
def numbers(tmp_path: Path, rng: np.random.Generator) -> tuple[Path, np.ndarray]:
    """A file, and the numbers in it behind SHIFT bytes."""
    values = rng.standard_normal(COUNT).astype(np.float32)
    (tmp_path / "numbers").write_bytes(bytes(SHIFT) + values.tobytes())
    return tmp_path / "numbers", values


@pytest.fixture
def engine_in_place(engine: Engine) -> Engine:
    if not engine.capabilities.buffers_in_place:
        pytest.skip("the device does not work in the host's memory")
    return engine


def mapped(path: Path) -> MappedFile:
    with path.open("rb") as file:
        found = map_file(file.fileno())
    if found is None and os.name == "nt":
        pytest.skip("files are not mapped here")
    assert found is not None, "clinfer was installed without a C compiler"
    return found


@needs_maps
def test_the_mapping_goes_with_the_last_that_uses_it(engine_in_place: Engine, stream: Stream,
                                                     numbers: tuple[Path, np.ndarray]) -> None:
    path, values = numbers
    file = mapped(path)
    contents = file.contents
    assert contents.readonly and contents == path.read_bytes()
    memory = file.memory(engine_in_place, contents[SHIFT:], Layout.planar((COUNT,), ElementType.of("f32")))
    assert memory is not None and not memory.is_own
    del file
    assert bytes(contents[SHIFT:]) == values.tobytes()
    del contents
    assert is_mapped(path)
    assert np.array_equal(stream.read(memory).view(np.float32), values)
    del memory
    stream.finish()
    assert not stays_mapped(path)


@needs_maps
def test_commands_under_way_keep_the_mapping(engine_in_place: Engine, numbers: tuple[Path, np.ndarray]) -> None:
    """As those of an inference into remote memory, whose model is let go of meanwhile."""
    path, values = numbers
    engine, file = engine_in_place, mapped(path)
    memory = file.memory(engine, file.contents[SHIFT:], None)
    assert memory is not None
    queue, target = cl.CommandQueue(engine.cl_context), engine.allocate_bytes(values.nbytes)
    begin = cl.UserEvent(engine.cl_context)
    cl.enqueue_copy(queue, target.cl_buffer, memory.cl_buffer, wait_for=[begin])
    queue.flush()
    del memory, file
    assert is_mapped(path)
    begin.set_status(cl.command_execution_status.COMPLETE)
    queue.finish()
    assert np.array_equal(engine.create_stream().read(target).view(np.float32), values)
    del begin
    assert not stays_mapped(path)


def test_what_lies_elsewhere_or_askew_is_no_memory(engine_in_place: Engine, numbers: tuple[Path, np.ndarray]) -> None:
    file = mapped(numbers[0])
    for part in (memoryview(bytes(1000)), file.contents[4:SHIFT], file.contents[:0]):
        assert file.memory(engine_in_place, part, None) is None


def test_a_device_with_memory_of_its_own_gets_none(engine: Engine, numbers: tuple[Path, np.ndarray]) -> None:
    file = mapped(numbers[0])
    apart = Engine(engine.device, replace(engine.capabilities, buffers_in_place=False))
    assert file.memory(apart, file.contents, None) is None


def test_an_empty_file_is_not_mapped(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    with (tmp_path / "empty").open("rb") as file:
        assert map_file(file.fileno()) is None


def test_without_a_compiler_files_are_not_mapped(numbers: tuple[Path, np.ndarray],
                                                 monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mapped_file, "_functions", dict)
    with numbers[0].open("rb") as file:
        assert map_file(file.fileno()) is None
