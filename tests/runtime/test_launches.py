"""Kernels launched one behind the other: by the loop in C, where there is a compiler, and by Python's."""
from __future__ import annotations

import ctypes
import shutil
import subprocess
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from clinfer.base.element_type import ElementType
from clinfer.base.errors import ClinferError
from clinfer.base.layout import Layout
from clinfer.runtime import driver, launches
from clinfer.runtime.engine import Engine
from clinfer.runtime.kernel import Kernel
from clinfer.runtime.launches import Launches, LaunchLoop, WorkSize
from clinfer.runtime.memory import Memory

SOURCE = "kernel void advance(global int* x, int n) { x[get_global_id(0)] = x[get_global_id(0)] * 3 + n; }"


@pytest.fixture(params=["c", "python"], autouse=True)
def loop(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    function = None
    if request.param == "c":
        compiler = shutil.which("cc") or shutil.which("gcc")
        if compiler is None:
            pytest.skip("no C compiler")
        built = tmp_path / "launch_loop.so"
        source = Path(str(resources.files("clinfer.runtime").joinpath("launch_loop.c")))
        subprocess.run([compiler, "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", source, "-o", built], check=True)
        function = ctypes.CDLL(str(built)).clinfer_launch_each
    monkeypatch.setattr(launches, "_loop_in_c", lambda: function)
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
    found, _ = _launches(engine, memory)
    found.insert(3, (engine.create_kernel(engine.build_program("kernel void no_memory(global int* x) { x[0] = 1; }"),
                                          "no_memory"), WorkSize((1,))))
    for _ in range(3):
        with pytest.raises(ClinferError, match="no_memory"):
            stream.enqueue_all(found)
    x = [0] * 8
    for _ in range(3):
        for number in (0, 1):
            x = [v * 3 + number for v in x]
    assert stream.read(memory).view(np.int32).tolist() == x


def test_a_function_of_python_is_called_by_python() -> None:
    assert LaunchLoop.around(lambda *arguments: 0, driver.HANDLE(1)) is None


@pytest.mark.parametrize(("total", "local"), [
    ((), None), ((1,) * 4, None), ((-1,), None), ((2**63,), None), ((10**30, 1), None), ((4,), (3,)), ((4,), (0,)),
    ((4,), (2, 2))])
def test_a_work_size_that_is_none(total: tuple[int, ...], local: tuple[int, ...] | None) -> None:
    with pytest.raises(ClinferError, match="one to three dimensions"):
        WorkSize(total, local)
