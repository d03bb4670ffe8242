"""The measuring loops of `clinfer benchmark`, and what they find."""
from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from clinfer.api.async_infer_queue import AsyncInferQueue
from clinfer.api.compiled_model import CompiledModel
from clinfer.api.infer_request import InferRequest
from clinfer.cli.session import milliseconds
from clinfer.network.reports.record import ExecutionRecord

Tick = Callable[[int], None]
WARM_UP_S = 0.3
"""How long a warm-up goes on, one inference at least."""


@dataclass(frozen=True)
class Limit:
    """When to stop: after so many inferences or so many seconds, whichever comes first (None: no such limit)."""

    iterations: int | None
    seconds: float | None

    def reached(self, done: int, start: float) -> bool:
        """Whether to stop, `done` inferences after `start` (of time.perf_counter); never before the first."""
        if self.iterations is not None and done >= self.iterations:
            return True
        return done > 0 and self.seconds is not None and time.perf_counter() - start >= self.seconds

    def fraction(self, done: int, start: float) -> float:
        """How much of the way is done."""
        parts = []
        if self.iterations is not None:
            parts.append(done / self.iterations)
        if self.seconds is not None:
            parts.append((time.perf_counter() - start) / self.seconds if self.seconds else 1.0)
        return min(1.0, max(parts, default=0.0))


@dataclass(frozen=True)
class Latency:
    """Milliseconds of `count` inferences."""

    count: int
    min: float
    mean: float
    p50: float
    p90: float
    p99: float
    max: float

    @staticmethod
    def of(samples: Sequence[float]) -> Latency | None:
        """The figures of these samples; None without any."""
        if not samples:
            return None
        p50, p90, p99 = (float(x) for x in np.percentile(samples, (50, 90, 99)))
        return Latency(len(samples), min(samples), float(np.mean(samples)), p50, p90, p99, max(samples))


@dataclass(frozen=True)
class Loop:
    """What a loop measured: the milliseconds of each inference, the seconds of all together, and how many
    inferences came before that were not measured."""

    samples: tuple[float, ...]
    seconds: float
    warm_up: int


@dataclass(frozen=True)
class StreamSample:
    """One inference of a stream of shapes: the index of its shape, its milliseconds, what it did anew."""

    index: int
    ms: float
    record: ExecutionRecord


def measure_one_by_one(request: InferRequest, inputs: list[np.ndarray], limit: Limit, tick: Tick) -> Loop:
    """One inference after the other, transfers of inputs and outputs included."""
    def infer() -> None:
        request.infer(inputs, share_inputs=True, share_outputs=True)
    warm_up = _warm_up(infer)
    samples: list[float] = []
    start = time.perf_counter()
    while not limit.reached(len(samples), start):
        samples.append(milliseconds(infer))
        tick(len(samples))
    return Loop(tuple(samples), time.perf_counter() - start, warm_up)


def measure_in_parallel(compiled: CompiledModel, inputs: list[np.ndarray], requests: int, limit: Limit,
                        tick: Tick) -> Loop:
    """Several requests in flight; the time of each inference includes its wait for a stream."""
    queue = AsyncInferQueue(compiled, requests)
    samples: list[float] = []
    queue.set_callback(lambda request, _: samples.append(request.latency))

    def round_of_all() -> None:
        for _ in range(requests):
            queue.start_async(inputs, share_inputs=True)
        queue.wait_all()
    warm_up = _warm_up(round_of_all) * requests
    samples.clear()
    started, start = 0, time.perf_counter()
    while not limit.reached(started, start):
        queue.start_async(inputs, share_inputs=True)
        started += 1
        tick(started)
    queue.wait_all()
    return Loop(tuple(samples), time.perf_counter() - start, warm_up)


def measure_stream(request: InferRequest, order: Iterator[int], make: Callable[[int], list[np.ndarray]],
                   limit: Limit, tick: Tick) -> list[StreamSample]:
    """Each inference of a stream of shapes; fresh inputs are made between them."""
    samples: list[StreamSample] = []
    start = time.perf_counter()
    while not limit.reached(len(samples), start):
        index = next(order)
        inputs = make(index)
        samples.append(StreamSample(index, _time_inference(request, inputs), request.dynamic_record))
        tick(len(samples))
    return samples


def _time_inference(request: InferRequest, inputs: list[np.ndarray]) -> float:
    return milliseconds(lambda: request.infer(inputs, share_inputs=True, share_outputs=True))


def _warm_up(action: Callable[[], object]) -> int:
    """Repeat an action for a while; how often it was done."""
    start = time.perf_counter()
    done = 0
    while done == 0 or time.perf_counter() - start < WARM_UP_S:
        action()
        done += 1
    return done


@contextmanager
def progress(limit: Limit, what: str) -> Iterator[Tick]:
    """A bar on standard error while it is a terminal; what is yielded is called after each inference."""
    console = Console(stderr=True)
    if not (console.is_terminal and sys.stderr.isatty()):
        yield lambda done: None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[done]} inferences"),
               TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, refresh_per_second=4) as bar:
        task, start, shown = bar.add_task(what, total=1.0, done=0), time.perf_counter(), 0.0

        def tick(done: int) -> None:
            nonlocal shown
            if time.perf_counter() - shown > 0.1:
                shown = time.perf_counter()
                bar.update(task, completed=limit.fraction(done, start), done=done)
        yield tick
