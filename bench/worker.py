"""One engine in a process of its own, which compiles and infers when it is told to.

Every engine sees the same CPUs (the process is bound to them before an engine is loaded), gets the same
model, the same inputs, and the same request for a precision.
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.engines import Loaded, load

Shape = tuple[int, ...]
Arrays = list[NDArray[Any]]


@dataclass(frozen=True)
class Job:
    """What a worker serves: `model` is a name in `bench.models` or a file, `cache` clinfer's cache folder. A file takes
    the inputs of the model `inputs_of`, or one of random floats. An empty precision is what the engine takes by
    itself."""

    engine: str
    model: str
    device: str
    threads: int
    cache: str
    precision: str = "f32"
    inputs_of: str = ""
    streams: int = 1


class Worker:
    """The parent's handle of one worker process; every call waits for the answer. Close it when done."""

    def __init__(self, job: Job) -> None:
        context = get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(job, theirs), daemon=True)
        self._process.start()
        theirs.close()
        self.compile_s: float = self._answer()
        self.device: str = self._answer()

    def infer_ms(self, shape: Shape) -> float:
        """Milliseconds of one inference, from the caller's array to the caller's array."""
        self._pipe.send(("time", shape))
        return self._answer()

    def infer_host_ms(self, shape: Shape) -> float:
        """Milliseconds of CPU that one inference takes of the thread that asked for it; for clinfer without waits for
        the device, in which a driver of CPUs lets the thread compute. Each has other data."""
        self._pipe.send(("host", shape))
        return self._answer()

    def many_ms(self, shape: Shape, count: int) -> float:
        """Milliseconds of so many inferences by a queue of as many requests as there are streams."""
        self._pipe.send(("many", shape, count))
        return self._answer()

    def outputs(self, shape: Shape) -> list[NDArray[Any]]:
        """All outputs for the inputs that belong to `shape`."""
        self._pipe.send(("outputs", shape))
        return self._answer()

    def close(self) -> None:
        self._pipe.close()
        self._process.join()

    def _answer(self) -> Any:
        try:
            answer = self._pipe.recv()
        except EOFError:
            raise RuntimeError("a worker process died; its message stands above") from None
        if isinstance(answer, Exception):
            raise answer
        return answer


REST_S = 0.03
"""Between turns: threads of an engine wait for more to do before they sleep, on the cores of the next one."""


def in_turns(workers: Mapping[str, Worker], shape: Shape, rounds: int) -> dict[str, float]:
    """By worker, the median milliseconds of an inference; they take turns. Each turn begins with an inference that does
    not count: where idle cores of a virtual machine are lent to others, the first one takes two to three times as long
    on every engine."""
    times: dict[str, list[float]] = {name: [] for name in workers}
    for turn in range(rounds):
        for name in list(workers)[:: 1 if turn % 2 else -1]:
            time.sleep(REST_S)
            workers[name].infer_ms(shape)
            times[name].append(workers[name].infer_ms(shape))
    return {name: statistics.median(each) for name, each in times.items()}


def usable_cpus() -> int:
    """How many CPUs this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _serve(job: Job, pipe: Connection) -> None:
    os.environ["CLINFER_CACHE_DIR"] = job.cache
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: job.threads])
    try:
        loaded = load(job.engine, job.model, job.device, job.threads, job.precision, job.streams)
        pipe.send(loaded.compile_s)
        pipe.send(loaded.device)
        _loop(pipe, loaded, _input_maker(job.inputs_of or job.model), _host_clock(job.engine))
    except (EOFError, KeyboardInterrupt):
        pass
    except Exception as error:
        pipe.send(RuntimeError(f"{job.engine}: {error}"))


def _input_maker(model: str) -> Callable[[Shape, np.random.Generator], Arrays]:
    from bench.models import MODELS

    if model in MODELS:
        return MODELS[model].inputs
    return lambda shape, random: [random.standard_normal(shape, dtype=np.float32)]


def _loop(
    pipe: Connection,
    loaded: Loaded,
    make_inputs: Callable[[Shape, np.random.Generator], Arrays],
    host_clock: Callable[[], float],
) -> None:
    inputs: dict[Shape, Arrays] = {}
    random = np.random.default_rng(0)
    while True:
        command, shape, *count = pipe.recv()
        if shape not in inputs:
            inputs[shape] = make_inputs(shape, np.random.default_rng(sum(shape)))
        given = make_inputs(shape, random) if command == "host" else inputs[shape]
        clock = host_clock if command == "host" else time.perf_counter
        results: Arrays = []  # Giving back those before is no part of an inference.
        start = clock()
        if command == "many":
            loaded.queued(given, *count)
        else:
            results = loaded.infer(given)
        elapsed_ms = (clock() - start) * 1e3
        pipe.send(results if command == "outputs" else elapsed_ms)


def _host_clock(engine: str) -> Callable[[], float]:
    """Seconds of CPU that this thread took, of clinfer without those of its waits for the device."""
    if engine != "clinfer":
        return time.thread_time
    from clinfer.runtime.stream import Stream

    waited, depth = 0.0, 0

    def apart(method: Callable[..., Any]) -> Callable[..., Any]:
        def wait(*arguments: Any, **named: Any) -> Any:
            nonlocal waited, depth
            start, depth = time.thread_time(), depth + 1
            try:
                return method(*arguments, **named)
            finally:
                depth -= 1
                if not depth:
                    waited += time.thread_time() - start
        return wait

    for name in ("finish", "wait_for", "read"):
        setattr(Stream, name, apart(getattr(Stream, name)))
    return lambda: time.thread_time() - waited
