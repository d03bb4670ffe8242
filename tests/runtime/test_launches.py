"""Kernels launched one behind the other: by the loop in C, where there is a compiler, and by Python's."""
from __future__ import annotations

import ctypes
import shutil
import subprocess
from array import array
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from clinfer.base.element_type import ElementType
from clinfer.base.errors import ClinferError
from clinfer.base.layout import Layout
from clinfer.runtime import driver, launches
from clinfer.runtime.argument_changes import ArgumentChanges
from clinfer.runtime.engine import Engine
from clinfer.runtime.kernel import Kernel
from clinfer.runtime.launches import PLANNED, SIZE_CODE, KernelTable, Launches, LaunchLoop, PlannedLaunches, WorkSize
from clinfer.runtime.memory import Memory
from clinfer.runtime.stage_image import StageImage

SOURCE = "kernel void advance(global int* x, int n) { x[get_global_id(0)] = x[get_global_id(0)] * 3 + n; }"


@pytest.fixture(params=["c", "python"], autouse=True)
def loop(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    library = None
    if request.param == "c":
        compiler = shutil.which("cc") or shutil.which("gcc")
        if compiler is None:
            pytest.skip("no C compiler")
        built = tmp_path / "launch_loop.so"
        source = Path(str(resources.files("clinfer.runtime").joinpath("launch_loop.c")))
        subprocess.run([compiler, "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", source, "-o", built], check=True)
        library = ctypes.CDLL(str(built))
    monkeypatch.setattr(launches, "_function_in_c", lambda name: None if library is None else getattr(library, name))
    return str(request.param)


def _launches(engine: Engine, memory: Memory) -> tuple[Launches, list[Kernel]]:
    """Seven launches of four kernels, one of them of nothing."""
    program = engine.build_program(SOURCE)
    kernels = [engine.create_kernel(program, "advance") for _ in range(4)]
    for number, kernel in enumerate(kernels):
        kernel.set_buffer(0, memory)
        kernel.set_bytes(1, np.int32(number).tobytes())
    sizes = [WorkSize((8,)), WorkSize((8,), (4,)), WorkSize((0,)), WorkSize((4,)), WorkSize((8, 1), (2, 1)),
             WorkSize((2, 1, 1)), WorkSize((8,))]
    found = Launches()
    found.extend((kernels[n % 4], size) for n, size in enumerate(sizes))
    return found, kernels


def _expected(times: int) -> list[int]:
    x = np.zeros(8, np.int32)
    for _ in range(times):
        for number, count in ((0, 8), (1, 8), (3, 4), (0, 8), (1, 2), (2, 8)):
            x[:count] = x[:count] * np.int32(3) + np.int32(number)
    return [int(v) for v in x]


def test_all_are_launched_in_order(engine: Engine, loop: str) -> None:
    memory, stream = engine.allocate_bytes(32), engine.create_stream()
    assert (stream._loop is None) == (loop == "python")
    stream.write(memory, np.zeros(8, np.int32))
    found, _ = _launches(engine, memory)
    for times in range(1, 4):
        stream.enqueue_all(found)
        assert stream.read(memory).view(np.int32).tolist() == _expected(times)


def test_what_is_launched_for_the_first_time_takes_the_loop_in_c(engine: Engine, loop: str,
                                                                 monkeypatch: pytest.MonkeyPatch) -> None:
    memory, stream = engine.allocate_bytes(32), engine.create_stream()
    stream.write(memory, np.zeros(8, np.int32))
    found, _ = _launches(engine, memory)
    by_python: list[object] = []
    launch = stream._launch
    monkeypatch.setattr(stream, "_launch", lambda *arguments: (by_python.append(arguments), launch(*arguments))[1])
    stream.enqueue_all(found)
    assert stream.read(memory).view(np.int32).tolist() == _expected(1)
    assert len(by_python) == (0 if loop == "c" else 6)


def test_an_argument_that_is_set_is_not_set_again(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[tuple[Any, ...]] = []
    set_argument = driver.set_kernel_arg
    monkeypatch.setattr(driver, "set_kernel_arg", lambda *arguments: (given.append(arguments),
                                                                      set_argument(*arguments))[1])
    memory = engine.allocate_bytes(32)
    kernel = engine.create_kernel(engine.build_program(SOURCE), "advance")
    for value in (b"\1\0\0\0", b"\1\0\0\0", b"\2\0\0\0"):
        kernel.set_bytes(1, value)
    for seen in (memory, memory.reinterpret(Layout.planar((8,), ElementType.of("i32"))), memory):
        kernel.set_buffer(0, seen)
        assert kernel.argument(0) is seen
    kernel.forget_buffers()
    kernel.set_buffer(0, memory)
    assert [arguments[1] for arguments in given] == [1, 1, 0, 0]


def test_an_argument_is_set_anew_behind_an_interrupt(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """That came when the driver had taken it."""
    stream = engine.create_stream()
    memory, other = engine.allocate_bytes(32), engine.allocate_bytes(32)
    for each in (memory, other):
        stream.write(each, np.zeros(8, np.int32))
    kernel = engine.create_kernel(engine.build_program(SOURCE), "advance")
    kernel.set_buffer(0, memory)
    kernel.set_bytes(1, np.int32(1).tobytes())
    set_argument = driver.set_kernel_arg

    def interrupted(*arguments: Any) -> int:
        set_argument(*arguments)
        raise KeyboardInterrupt
    with monkeypatch.context() as patch:
        patch.setattr(driver, "set_kernel_arg", interrupted)
        for change in (lambda: kernel.set_buffer(0, other), lambda: kernel.set_bytes(1, np.int32(5).tobytes())):
            with pytest.raises(KeyboardInterrupt):
                change()
    kernel.set_buffer(0, memory)
    kernel.set_bytes(1, np.int32(1).tobytes())
    stream.enqueue(kernel, (8,))
    assert stream.read(other).view(np.int32).tolist() == [0] * 8
    assert stream.read(memory).view(np.int32).tolist() == [1] * 8


def test_a_kernel_whose_handle_was_renewed(engine: Engine) -> None:
    memory, stream = engine.allocate_bytes(32), engine.create_stream()
    stream.write(memory, np.zeros(8, np.int32))
    found, kernels = _launches(engine, memory)
    for _ in range(2):
        stream.enqueue_all(found)
    for kernel in kernels:
        before = kernel.handle.value
        kernel._renew()
        assert kernel.handle.value != before
    stream.enqueue_all(found)
    assert stream.read(memory).view(np.int32).tolist() == _expected(3)


def test_a_refused_launch_is_named_and_ends_the_loop(engine: Engine) -> None:
    memory, stream = engine.allocate_bytes(32), engine.create_stream()
    stream.write(memory, np.zeros(8, np.int32))
    sound, _ = _launches(engine, memory)
    refused = engine.create_kernel(engine.build_program("kernel void no_memory(global int* x) { x[0] = 1; }"),
                                   "no_memory")
    found = Launches()
    found.extend([*sound[:3], (refused, WorkSize((1,))), *sound[3:]])
    for _ in range(3):
        with pytest.raises(ClinferError, match="no_memory"):
            stream.enqueue_all(found)
    x = [0] * 8
    for _ in range(3):
        for number in (0, 1):
            x = [v * 3 + number for v in x]
    assert stream.read(memory).view(np.int32).tolist() == x


class Planned:
    """Kernels that multiply by 3 and add their block, launched as plans say."""

    def __init__(self, engine: Engine, count: int = 4) -> None:
        self.memory, self.stream, self.kernels = engine.allocate_bytes(32), engine.create_stream(), KernelTable()
        program = engine.build_program(SOURCE)
        for _ in range(count):
            kernel = engine.create_kernel(program, "advance")
            kernel.set_buffer(0, self.memory)
            self.kernels.add(kernel, 1, 4)

    def launches(self, *planned: tuple[int, int, WorkSize]) -> PlannedLaunches:
        """Of (kernel, number to add, work size)."""
        records = (PLANNED.pack(kernel, 4 * place, 4, work) for place, (kernel, _, work) in enumerate(planned))
        return PlannedLaunches(array(SIZE_CODE, b"".join(records)),
                               np.array([number for _, number, _ in planned], np.int32).tobytes())

    def result(self, found: Launches) -> list[int]:
        self.stream.write(self.memory, np.zeros(8, np.int32))
        self.stream.enqueue_all(found)
        return self.stream.read(self.memory).view(np.int32).tolist()


def test_launches_become_others(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    planned, found = Planned(engine), Launches(3)
    many, few = WorkSize((8,)), WorkSize((4,), (2,))
    found.become(planned.launches((0, 1, many), (1, 2, few), (2, 5, many)), 0, planned.kernels)
    assert planned.result(found) == [3 * (3 * 1 + 2) + 5] * 4 + [3 * 1 + 5] * 4
    assert [work for _, work in found] == [many, few, many] and [kernel for kernel, _ in found] == planned.kernels[:3]
    assert planned.kernels[2].argument(1) == b"\5\0\0\0"
    # Those from the second one on, of which one has another kernel, and one another argument.
    found.again = 7
    others = planned.launches((3, 9, few), (0, 1, many), (1, 3, many), (2, 5, few))
    found.become(others, 1, planned.kernels)
    assert found.again == 7 and planned.result(found) == [3 * (3 * 1 + 3) + 5] * 4 + [3 * 1 + 3] * 4
    found.become(others, 0, planned.kernels)
    assert found.again == 0 and planned.result(found) == [3 * (3 * 9 + 1) + 3] * 4 + [3 * 1 + 3] * 4
    assert found[0][0] is planned.kernels[3]
    # An argument that was set in between, and a kernel whose handle was renewed.
    planned.kernels[0].set_block(b"\0\0\0\0")
    planned.kernels[1]._renew()
    assert planned.result(found) == [3 * (3 * 9 + 0) + 3] * 4 + [3] * 4
    found.become(others, 0, planned.kernels)
    assert planned.result(found) == [3 * (3 * 9 + 1) + 3] * 4 + [3 * 1 + 3] * 4


def test_an_argument_that_stands_in_a_table(engine: Engine) -> None:
    planned, found, work = Planned(engine), Launches(3), WorkSize((8,))
    found.become(planned.launches((0, 1, work), (1, 2, work), (2, 3, work)), 0, planned.kernels)
    changes, image = ArgumentChanges([]), StageImage(32, 2)
    assert image.count > image.most
    for number, kernel in enumerate(planned.kernels[:2]):
        kernel.note_changes(changes, number)
        assert kernel.show_block(image, (0, 12 + 8 * number)) == 1
    assert image.words.tolist() == [0, 0, 0, 1, 0, 2, 0, 0] and image.count > image.most
    image.sent()
    found.become(planned.launches((0, 1, work), (1, 2, work), (2, 4, work)), 0, planned.kernels)
    assert not image.count
    for third in (5, 6):
        found.become(planned.launches((0, 1, work), (1, third, work), (2, 3, work)), 0, planned.kernels)
        assert image.places.tolist() == [5] and image.words[5] == third
    found.become(planned.launches((0, 7, work), (1, 6, work), (2, 3, work)), 0, planned.kernels)
    planned.kernels[0].set_block(b"\7\0\0\0")
    assert image.places.tolist() == [5, 3] and planned.result(found) == [3 * (3 * 7 + 6) + 3] * 8 and not changes
    # More words than there are places for.
    image.put(28, b"\1")
    assert image.count > image.most
    image.sent()
    image.put(27, b"\1\1")
    assert image.places.tolist() == [6, 7] and image.words.tolist() == [0, 0, 0, 7, 0, 6, 1 << 24, 1]


def test_an_argument_that_stands_in_several_tables(engine: Engine) -> None:
    planned, found, work = Planned(engine), Launches(1), WorkSize((8,))
    images = [StageImage(16, 2) for _ in range(5)]
    kernel = planned.kernels[0]

    def seen(second: int) -> list[int]:
        """What stands in tables when the argument is another one, set by the loop; 0 where it does not."""
        found.become(planned.launches((0, second, work)), 0, planned.kernels)
        return [int(image.words[number % 3]) for number, image in enumerate(images)]

    seen(1)
    for number, image in enumerate(images):
        kernel.show_block(image, (0, 4 * (number % 3)))
    assert seen(2) == [2] * 5
    kernel.show_block(images[1], (0, 0))
    assert seen(3) == [3, 2, 3, 3, 3] and images[1].words[0] == 3
    for image in (images[0], images[4], images[0]):
        kernel.leave(ArgumentChanges([]), image)
    kernel.set_block(b"\4\0\0\0")
    assert seen(4) == [3, 2, 4, 4, 3] and images[1].words[0] == 4


def test_an_argument_that_is_refused(engine: Engine) -> None:
    planned, found, work = Planned(engine), Launches(2), WorkSize((8,))
    wanted = planned.launches((0, 1, work), (1, 2, work))
    planned.kernels.add(engine.create_kernel(planned.kernels[0].program, "advance"), 7, 4)
    for _ in range(2):
        with pytest.raises(ClinferError, match="set argument 7 of kernel advance"):
            found.become(planned.launches((2, 1, work), (4, 2, work)), 0, planned.kernels)
        found.become(wanted, 0, planned.kernels)
        assert planned.result(found) == [5] * 8 and found[1] == (planned.kernels[1], work)


def test_an_argument_that_is_interrupted(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    planned, found, work = Planned(engine), Launches(2), WorkSize((8,))
    found.become(planned.launches((0, 1, work), (1, 2, work)), 0, planned.kernels)
    set_argument = driver.set_kernel_arg

    def interrupted(*arguments: Any) -> int:
        set_argument(*arguments)
        raise KeyboardInterrupt
    with monkeypatch.context() as patch:
        patch.setattr(driver, "set_kernel_arg", interrupted)
        with pytest.raises(KeyboardInterrupt):
            found.become(planned.launches((2, 5, work), (3, 5, work)), 0, planned.kernels)
    assert planned.kernels[2].argument(1) is None
    found.become(planned.launches((0, 1, work), (1, 2, work)), 0, planned.kernels)
    assert planned.result(found) == [5] * 8 and [kernel for kernel, _ in found] == planned.kernels[:2]


def test_a_function_of_python_is_called_by_python() -> None:
    assert LaunchLoop.around(lambda *arguments: 0, driver.HANDLE(1)) is None


@pytest.mark.parametrize(("total", "local"), [
    ((), None), ((1,) * 4, None), ((-1,), None), ((2**63,), None), ((10**30, 1), None), ((4,), (3,)), ((4,), (0,)),
    ((4,), (2, 2))])
def test_a_work_size_that_is_none(total: tuple[int, ...], local: tuple[int, ...] | None) -> None:
    with pytest.raises(ClinferError, match="one to three dimensions"):
        WorkSize(total, local)
