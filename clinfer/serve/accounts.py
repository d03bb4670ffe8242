"""Counting in one replica: how many inferences, how long their parts took."""
from __future__ import annotations

import bisect
import time

from clinfer.serve.messages import LATENCIES, Duration, Statistics


class Accounts:
    """The statistics of one replica so far. Used by one thread."""

    def __init__(self) -> None:
        self.so_far = Statistics()

    def add_execution(self, rows: int, requests: int, parts_ns: dict[str, int]) -> None:
        """One execution that computed the rows of so many requests; `parts_ns` are its compute_... durations."""
        durations = {part: Duration(requests, ns * requests) for part, ns in parts_ns.items()}
        self.so_far += Statistics(executions=1, durations=durations,
                                  batches={rows: Duration(1, parts_ns.get("compute_infer", 0))})

    def add_request(self, rows: int, succeeded: bool, total_ns: int, queue_ns: int) -> None:
        """One request that was answered, with what it took from its arrival on."""
        outcome = {("success" if succeeded else "fail"): Duration(1, total_ns), "queue": Duration(1, queue_ns)}
        bound = LATENCIES[bisect.bisect_left(LATENCIES, total_ns / 1e9)]
        self.so_far += Statistics(inferences=rows if succeeded else 0, durations=outcome, latencies={bound: 1},
                                  last_ms=int(time.time() * 1e3))
