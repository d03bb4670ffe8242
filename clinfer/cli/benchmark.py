"""`clinfer benchmark`: how fast a model runs, what it costs to start, and what new shapes cost."""
from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np

from clinfer.api.compiled_model import CompiledModel
from clinfer.api.ports import port_name
from clinfer.base.shape import StaticShape, show
from clinfer.cli.inputs import InputOrder, make_inputs, random_input, read_shapes
from clinfer.cli.measuring import (
    Latency,
    Limit,
    Loop,
    measure_in_parallel,
    measure_one_by_one,
    measure_stream,
    progress,
)
from clinfer.cli.session import ModelOrder, Session, Subject, milliseconds
from clinfer.cli.shape_stream import read_shape_stream, shuffled
from clinfer.cli.stream_report import StreamReport, latency_rows, print_stream, report_stream
from clinfer.cli.table import print_json, print_line, print_table
from clinfer.cli.usage import UsageError


@dataclass(frozen=True)
class BenchmarkOrder:
    """What to measure. `requests` in flight and `streams` that run at a time (0: as many as suit).
    `shapes`: a stream of shapes, measured with one request."""

    model: ModelOrder
    inputs: InputOrder
    limit: Limit
    requests: int = 1
    streams: int = 0
    shapes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Benchmark:
    """The report: seconds to read and compile, milliseconds of the first inference, then `latency` over
    `seconds`, without `warm_up` inferences before. Bytes of device memory as the engine counts them: held
    after compiling, and the most at any time. Plans made, continued
    and run again in all inferences, see `clinfer.network.reports.record.PlanCounts`."""

    subject: Subject
    shapes: dict[str, str]
    requests: int
    streams: int
    read_s: float
    compile_s: float
    first_ms: float
    warm_up: int
    seconds: float
    throughput: float
    latency: Latency
    compiled_bytes: int
    peak_bytes: int
    plans_made: int
    plans_continued: int
    plans_reused: int
    planned_by_themselves: int
    stream: StreamReport | None


def run_benchmark(order: BenchmarkOrder) -> Benchmark:
    """Measure. What the user wrote is checked before the model is compiled."""
    session = Session(order.model)
    steps = _steps(session, order)
    inputs = make_inputs(session.ports, order.inputs) if not steps else _inputs_of(session, order, steps[0])
    compiled, compile_s = session.compile(**_properties(order))
    compiled_bytes = compiled.engine.ledger.current
    request = compiled.create_infer_request()
    first_ms = milliseconds(lambda: request.infer(inputs))
    stream = None
    if steps:
        loop, stream = _measure_shapes(session, order, compiled, steps)
    elif order.requests > 1:
        with progress(order.limit, "measuring") as tick:
            loop = measure_in_parallel(compiled, inputs, order.requests, order.limit, tick)
    else:
        with progress(order.limit, "measuring") as tick:
            loop = measure_one_by_one(request, inputs, order.limit, tick)
    latency = Latency.of(loop.samples)
    assert latency is not None
    return Benchmark(
        session.subject(compiled),
        {port_name(port): show(array.shape) for port, array in zip(session.ports.inputs, inputs, strict=True)},
        order.requests, compiled.get_property("NUM_STREAMS"), session.read_s, compile_s, first_ms, loop.warm_up,
        loop.seconds, len(loop.samples) / loop.seconds, latency, compiled_bytes, compiled.engine.ledger.peak,
        *compiled.pool.plan_counts(), stream)


def print_benchmark(report: Benchmark, as_json: bool) -> None:
    """Print the report as tables or as JSON."""
    if as_json:
        data = asdict(report)
        print_json({**data.pop("subject"), **data})
        return
    print_line(str(report.subject))
    rows = [("read", f"{report.read_s:.3f} s"), ("compile", f"{report.compile_s:.3f} s"),
            ("first inference", f"{report.first_ms:.3f} ms")]
    if report.stream is None:
        rows += [("inputs", " ".join(f"{name}{shape}" for name, shape in report.shapes.items()))]
    rows += [("warm-up, not measured", f"{report.warm_up} inferences"),
             ("measured", f"{report.latency.count} inferences in {report.seconds:.2f} s, "
              f"{report.requests} at a time on {report.streams} stream{'s' * (report.streams != 1)}"),
             ("throughput", f"{report.throughput:.2f} inferences/s"),
             *latency_rows("latency", report.latency),
             ("device memory", f"{_mib(report.compiled_bytes)} after compiling, {_mib(report.peak_bytes)} at most"),
             ("execution plans", f"{report.plans_made} made, {report.plans_continued} continued, "
              f"{report.plans_reused} reused; {report.planned_by_themselves} times a primitive planned by itself")]
    print_table("benchmark", ("what", "value"), rows)
    if report.stream is not None:
        print_stream(report.stream)


def _mib(nbytes: int) -> str:
    return f"{nbytes / 2**20:.1f} MiB"


def _properties(order: BenchmarkOrder) -> dict[str, object]:
    if order.streams:
        return {"NUM_STREAMS": order.streams}
    return {"PERFORMANCE_HINT": "THROUGHPUT" if order.requests > 1 else "LATENCY"}


# -- streams of shapes ------------------------------------------------------------------------------


def _steps(session: Session, order: BenchmarkOrder) -> list[dict[int, StaticShape]]:
    if not order.shapes:
        return []
    if order.requests > 1 or order.streams > 1:
        raise UsageError("a stream of shapes is measured one inference at a time",
                         values={"--requests": order.requests, "--streams": order.streams or "unset"})
    if order.inputs.files:
        raise UsageError("a stream of shapes has random inputs", values={"--input": " ".join(order.inputs.files)},
                         hint="leave out --input")
    fixed = read_shapes(session.ports, order.inputs.shapes)
    steps = read_shape_stream(session.ports, order.shapes)
    both = sorted(set(fixed) & set(steps[0]))
    if both:
        raise UsageError("an input has a shape and a stream of shapes",
                         values={"input": port_name(session.ports.inputs[both[0]])})
    return [{**fixed, **step} for step in steps]


def _inputs_of(session: Session, order: BenchmarkOrder, step: dict[int, StaticShape],
               random: np.random.Generator | None = None) -> list[np.ndarray]:
    random = random or np.random.default_rng(order.inputs.seed)
    return [random_input(session.ports, index, step.get(index), random) for index in range(len(session.ports.inputs))]


def _measure_shapes(session: Session, order: BenchmarkOrder, compiled: CompiledModel,
                    steps: list[dict[int, StaticShape]]) -> tuple[Loop, StreamReport]:
    random = np.random.default_rng(order.inputs.seed)
    request = compiled.create_infer_request()
    first = _inputs_of(session, order, steps[0], random)
    warm_up = measure_one_by_one(request, first, Limit(1, None), lambda done: None)
    with progress(order.limit, "stream of shapes") as tick:
        samples = measure_stream(request, shuffled(len(steps), random),
                                 lambda index: _inputs_of(session, order, steps[index], random), order.limit, tick)
    times = tuple(sample.ms for sample in samples)
    # One more than the warm-up's own: its single measured inference does not count either.
    loop = Loop(times, sum(times) / 1e3, warm_up.warm_up + 1)
    return loop, report_stream(session.ports, steps, samples)
