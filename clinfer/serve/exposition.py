"""Statistics as Prometheus reads them."""
from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from clinfer.serve.messages import DURATIONS, LATENCIES, Duration, Statistics

if TYPE_CHECKING:
    from clinfer.serve.service import Model

_LABELS = ("model", "version")


def exposition(found: Sequence[tuple[Model, Statistics]]) -> bytes:
    """The metrics of these models in Prometheus' text format.

    Counters start again when a replica does, as Prometheus expects of counters.
    """
    registry = CollectorRegistry()
    registry.register(_Collector(found))
    return bytes(generate_latest(registry))


class _Collector(Collector):
    def __init__(self, found: Sequence[tuple[Model, Statistics]]) -> None:
        self._found = found

    def collect(self) -> Iterable[Metric]:
        inferences = CounterMetricFamily("clinfer_inferences", "Rows computed", labels=_LABELS)
        executions = CounterMetricFamily("clinfer_executions", "Computations, of one or several requests",
                                         labels=_LABELS)
        requests = CounterMetricFamily("clinfer_requests", "Requests answered", labels=(*_LABELS, "outcome"))
        spent = CounterMetricFamily("clinfer_request_stage_seconds", "Time of requests, by stage",
                                    labels=(*_LABELS, "stage"))
        latency = HistogramMetricFamily("clinfer_request_seconds", "Time from arrival at the replica to the answer",
                                        labels=_LABELS)
        ongoing = GaugeMetricFamily("clinfer_requests_ongoing", "Requests computed or waiting in a replica",
                                    labels=_LABELS)
        memory = GaugeMetricFamily("clinfer_device_memory_bytes", "Device memory held", labels=_LABELS)
        for model, statistics in self._found:
            labels = (model.name, model.version)
            durations = {name: statistics.durations.get(name, Duration()) for name in DURATIONS}
            inferences.add_metric(labels, statistics.inferences)
            executions.add_metric(labels, statistics.executions)
            for outcome in ("success", "fail"):
                requests.add_metric((*labels, outcome), durations[outcome].count)
            for stage in DURATIONS[2:]:
                spent.add_metric((*labels, stage), durations[stage].ns / 1e9)
            latency.add_metric(labels, _buckets(statistics),
                               (durations["success"].ns + durations["fail"].ns) / 1e9)
            ongoing.add_metric(labels, statistics.ongoing)
            memory.add_metric(labels, statistics.device_bytes)
        return inferences, executions, requests, spent, latency, ongoing, memory


def _buckets(statistics: Statistics) -> list[tuple[str, float]]:
    so_far, buckets = 0, []
    for bound in LATENCIES:
        so_far += statistics.latencies.get(bound, 0)
        buckets.append(("+Inf" if math.isinf(bound) else str(bound), float(so_far)))
    return buckets
