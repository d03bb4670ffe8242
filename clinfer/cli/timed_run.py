"""A model run a few times with inputs of the same shapes, and what that took."""
from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from clinfer.api.compiled_model import CompiledModel
from clinfer.api.infer_request import InferRequest
from clinfer.api.ports import port_name
from clinfer.base.shape import show
from clinfer.network.reports.profiling import NodeProfile
from clinfer.network.reports.timeline import Timeline

_TIMED_RUNS = 3


@dataclass(frozen=True)
class NodeTime:
    """Microseconds of one primitive on the device and on the host, the least of several inferences; the kernel
    that ran, and the shapes of the outputs (empty where it did not run); what that kernel was estimated to take, and
    the least that any takes on the device (0 where nobody can tell); how it had its constant weights, if any; the
    floating-point operations that nothing goes without, and the bytes of its tensors, each once."""

    device_us: float
    host_us: float
    kernel: str
    shapes: tuple[str, ...]
    estimated_us: float = 0.0
    roofline_us: float = 0.0
    weights: str = ""
    flops: float = 0.0
    moved_bytes: int = 0

    @property
    def of_peak(self) -> float | None:
        """The part of what the device could do that was reached; None: nobody can tell."""
        return self.roofline_us / self.device_us if self.roofline_us and self.device_us else None

    @property
    def gflops(self) -> float | None:
        """GFLOP/s; None: nobody can tell."""
        return self.flops / self.device_us / 1e3 if self.flops and self.device_us else None

    @property
    def gbytes(self) -> float | None:
        """GB/s; None: nobody can tell."""
        return self.moved_bytes / self.device_us / 1e3 if self.moved_bytes and self.device_us else None


@dataclass(frozen=True)
class FirstInference:
    """What the first inference with these shapes took: milliseconds, transfers included; how many plans it made, and
    the bytes by which device memory grew."""

    ms: float
    plans_made: int
    grown_bytes: int


@dataclass(frozen=True)
class TimedRun:
    """`inputs`: the shapes, by the names of the inputs. `times` by primitive, those of bodies as
    `<primitive>/body<n>/<id>`. `timeline`: of the last inference."""

    inputs: dict[str, str]
    first: FirstInference
    times: dict[str, NodeTime]
    timeline: Timeline

    @property
    def total_us(self) -> float:
        """Device time of all primitives."""
        return sum(time.device_us for time in self.times.values())


def time_run(compiled: CompiledModel, request: InferRequest, arrays: list[np.ndarray]) -> TimedRun:
    """Run with these inputs. Errors: ClinferError."""
    request.infer(arrays)
    record = request.dynamic_record
    first = FirstInference(request.latency, record.plans_made, record.grown_bytes)
    runs: list[tuple[NodeProfile, ...]] = []
    for _ in range(_TIMED_RUNS):
        request.infer(arrays)
        runs.append(compiled.profile)
    shapes = {port_name(port): show(array.shape) for port, array in zip(compiled.inputs, arrays, strict=True)}
    return TimedRun(shapes, first, {rows[0].name: _node_time(rows) for rows in zip(*runs, strict=True)},
                    compiled.timeline)


def _node_time(rows: tuple[NodeProfile, ...]) -> NodeTime:
    last = rows[-1]
    return NodeTime(min(row.device_ns for row in rows) / 1e3, min(row.host_ns for row in rows) / 1e3,
                    last.kernel, tuple(show(shape) for shape in last.shapes), last.estimated_ns / 1e3,
                    last.roofline_ns / 1e3, last.weights, last.flops, last.moved_bytes)
