"""Builds in helper processes: results that run here, and processes that misbehave."""
from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import numpy as np
import pytest

from clinfer.runtime import builder
from clinfer.runtime.builder import HelpersAhead, build_in_processes
from clinfer.runtime.device import DeviceInfo
from clinfer.runtime.engine import Engine
from clinfer.runtime.helper import Helper, HelperFailure
from clinfer.runtime.program import BuildJob
from clinfer.runtime.stream import Stream
from tests.runtime.fragile import use_fragile_workers

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def fresh_helpers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Helpers are started and ended as they are outside of tests."""
    monkeypatch.setattr(builder, "KeptHelper", Helper)


def job(value: int) -> BuildJob:
    return BuildJob("kernel void put(global int* x) { x[get_global_id(0)] = VALUE; }", f"-DVALUE={value}")


def value_of(engine: Engine, stream: Stream, binary: bytes) -> int:
    memory = engine.allocate_bytes(64)
    stream.fill(memory, 0xA5)
    kernel = engine.create_kernel(engine.load_binary(binary), "put")
    kernel.set_buffer(0, memory)
    stream.enqueue(kernel, (16,))
    (value,) = set(stream.read(memory).view(np.int32).tolist())
    return int(value)


@pytest.mark.parametrize("count", [0, 1, 5])
def test_binaries_come_in_order_and_run_here(engine: Engine, stream: Stream, rng: np.random.Generator,
                                             count: int) -> None:
    values = [int(v) for v in rng.integers(0, 1 << 20, count)]
    results = build_in_processes(engine.device, [job(v) for v in values])
    assert [r.error for r in results] == [None] * count
    assert [value_of(engine, stream, r.binary) for r in results if r.binary] == values


@pytest.mark.parametrize("others", [0, 2])
def test_a_failing_build_gives_its_log(engine: Engine, stream: Stream, others: int) -> None:
    bad = BuildJob("kernel void put(global int* x) { x[0] = nonsense; }")
    results = build_in_processes(engine.device, [job(5), bad, job(6)] if others else [bad])
    failed = results[1] if others else results[0]
    assert failed.binary is None and failed.error is not None and "nonsense" in failed.error
    assert [value_of(engine, stream, r.binary) for r in results if r.binary] == [5, 6][:others]


@pytest.fixture
def misbehaving(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """Helper processes that do what the parameter says."""
    use_fragile_workers(monkeypatch, tmp_path, request.param)


def with_one_bad() -> list[BuildJob]:
    return [job(1), BuildJob(job(0).source, "-DVALUE=2 -DMISBEHAVE"), job(3), job(4)]


@pytest.mark.parametrize("misbehaving", [
    "ctypes.string_at(0)", "os.abort()"], indirect=True, ids=["segfault", "abort"])
@pytest.mark.usefixtures("misbehaving")
def test_a_crash_costs_only_its_own_job(engine: Engine, stream: Stream) -> None:
    results = build_in_processes(engine.device, with_one_bad(), workers=1)
    assert [value_of(engine, stream, r.binary) for r in results if r.binary] == [1, 3, 4]
    error = str(results[1].error)
    assert "died" in error and engine.device.name in error


@pytest.mark.parametrize("misbehaving", [
    "print('last words', file=sys.stderr, flush=True); os._exit(3)"], indirect=True, ids=["exit"])
@pytest.mark.usefixtures("misbehaving")
def test_the_last_words_of_a_process_are_told(device: DeviceInfo) -> None:
    error = str(build_in_processes(device, with_one_bad(), workers=2)[1].error)
    assert "exit code 3" in error and "last words" in error


@pytest.mark.slow
@pytest.mark.parametrize("misbehaving", ["time.sleep(600)"], indirect=True, ids=["hang"])
@pytest.mark.usefixtures("misbehaving")
def test_a_hang_ends_with_its_timeout(engine: Engine, stream: Stream) -> None:
    results = build_in_processes(engine.device, with_one_bad(), workers=1, timeout=3.0)
    assert [value_of(engine, stream, r.binary) for r in results if r.binary] == [1, 3, 4]
    assert results[1].error is not None and "more than 3 s" in results[1].error


@pytest.mark.parametrize("misbehaving", [
    "os.write(1, b'noise'); print('more', flush=True)"], indirect=True, ids=["print"])
@pytest.mark.usefixtures("misbehaving")
def test_what_a_driver_prints_does_no_harm(engine: Engine, stream: Stream) -> None:
    results = build_in_processes(engine.device, with_one_bad(), workers=1)
    assert [value_of(engine, stream, r.binary) for r in results if r.binary] == [1, 2, 3, 4]


def test_helpers_that_cannot_start_are_errors(device: DeviceInfo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/does/not/exist")
    results = build_in_processes(device, [job(1), job(2)])
    assert all(r.binary is None and "could be started" in str(r.error) for r in results)


def test_a_helper_ends_with_its_parent(device: DeviceInfo) -> None:
    script = textwrap.dedent(f"""
        import os
        from clinfer.runtime.device import find_device
        from clinfer.runtime.helper import Helper
        helper = Helper(find_device({device.name!r}))
        print(helper._process.pid, flush=True)
        os._exit(0)
        """)
    out = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    pid = int(out.stdout)
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline and _is_alive(pid):
        time.sleep(0.02)
    assert not _is_alive(pid)


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except (ProcessLookupError, FileNotFoundError):
        return False


@pytest.mark.skipif(not hasattr(os, "SCHED_IDLE"), reason="the system has no such priority")
@pytest.mark.parametrize("is_in_background", [False, True])
def test_threads_in_the_background_run_when_nothing_else_does(device: DeviceInfo, is_in_background: bool) -> None:
    helper = Helper(device, is_in_background)
    # For this the driver starts its threads.
    assert helper.request(("probe", "runs"), 60) is True
    process = helper._process.pid
    policies = [os.sched_getscheduler(int(thread)) for thread in os.listdir(f"/proc/{process}/task")]
    main = os.sched_getscheduler(process)
    helper.close()
    # Threads that libraries begin when they are imported are older than the first message, and wait.
    assert main == (os.SCHED_IDLE if is_in_background else os.SCHED_OTHER)
    assert (policies.count(os.SCHED_IDLE) > 2) == is_in_background and (len(set(policies)) == 1 or is_in_background)


def test_a_closed_helper_is_gone(device: DeviceInfo) -> None:
    with Helper(device) as helper:
        pid = helper._process.pid
        start = time.perf_counter()
        binary, error = helper.request(("build", job(1)), 60)
        print(f"{device}: a build in a running helper took {(time.perf_counter() - start) * 1e3:.0f} ms")
        assert binary and error is None
    assert not _is_alive(pid)
    with pytest.raises((HelperFailure, ValueError)):
        helper.request(("probe", "runs"), 5)


def test_helper_start_up_cost(device: DeviceInfo) -> None:
    """Shows what a helper process costs before its first job."""
    start = time.perf_counter()
    with Helper(device):
        print(f"{device}: helper ready after {(time.perf_counter() - start) * 1e3:.0f} ms")
    assert builder.build_in_processes(device, []) == []


def test_the_worker_is_light() -> None:
    script = "import sys, clinfer.runtime.build_worker; print('openvino' in sys.modules)"
    out = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "False"


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[Helper]:
    """Every helper that is started from here on."""
    found: list[Helper] = []

    class Noted(Helper):
        def __init__(self, device: DeviceInfo) -> None:
            super().__init__(device)
            found.append(self)

    monkeypatch.setattr(builder, "KeptHelper", Noted)
    return found


def test_helpers_that_are_started_ahead_build(engine: Engine, stream: Stream, started: list[Helper]) -> None:
    ahead = HelpersAhead(engine.device, 1)
    results = build_in_processes(engine.device, [job(4), job(5)], workers=1, ahead=[ahead])
    assert [value_of(engine, stream, r.binary) for r in results if r.binary] == [4, 5]
    assert len(started) == 1 and ahead.take(engine.device) is None
    ahead.close()


def test_helpers_that_nobody_takes_end(device: DeviceInfo, started: list[Helper]) -> None:
    ready, starting = HelpersAhead(device, 1), HelpersAhead(device, 1)
    threads = [each._thread for ahead in (ready, starting) for each in ahead._starting]
    starting.close()
    for thread in threads:
        thread.join(60)
    ready.close()
    assert len(started) == 2 and not any(_is_alive(each._process.pid) for each in started)


def test_helpers_ahead_that_cannot_start_are_no_error(device: DeviceInfo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/does/not/exist")
    ahead = HelpersAhead(device, 2)
    assert ahead.take(device) is None
    results = build_in_processes(device, [job(1), job(2)], ahead=[ahead])
    assert all(r.binary is None and "could be started" in str(r.error) for r in results)
