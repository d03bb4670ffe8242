"""The plans of a network, the least recently used given up first."""
from __future__ import annotations

from collections import OrderedDict

import numpy as np

from clinfer.kernels.implementation_cache import TuningResult
from clinfer.network.plans.plan import Plan, PlanKey
from clinfer.runtime.waiting import Pace

FIRST_INTERVAL = 4
PLAN_CAPACITY = 256
_REMEMBERED = 16 * PLAN_CAPACITY


SegmentKey = tuple[int, PlanKey]
"""A segment's number and the key of one of its plans."""


def fingerprint(value: np.ndarray) -> bytes:
    """A value as part of a plan's key: type, shape and contents."""
    return b"%s%r" % (value.dtype.str.encode(), value.shape) + value.tobytes()


class SeenPlan:
    """A plan that is kept, how long its work takes, and what `special_plans.py` notes of it: how often it must run
    until it is looked at (0: never), how often then, and by node the results of tuning tasks and those taken over."""

    __slots__ = ("countdown", "interval", "pace", "plan", "results", "used")

    def __init__(self, plan: Plan, countdown: int) -> None:
        self.plan = plan
        self.countdown = countdown
        self.interval = FIRST_INTERVAL
        self.pace = Pace()
        self.results: dict[int, TuningResult] | None = None
        self.used: set[int] = set()


_NONE: tuple[SegmentKey | None, SeenPlan | None] = None, None


class PlanCache:
    """The plans of all segments that are worth keeping, and of each segment the last one that is not (`Plan.is_kept`).
    It remembers for a while which ones it gave up."""

    def __init__(self) -> None:
        self._plans: OrderedDict[SegmentKey, SeenPlan] = OrderedDict()
        self._passing: dict[int, tuple[SegmentKey, SeenPlan]] = {}
        self._gone: OrderedDict[int, None] = OrderedDict()

    def __len__(self) -> int:
        return len(self._plans)

    def get(self, key: SegmentKey) -> SeenPlan | None:
        """The plan, if it is there; it counts as used."""
        plan = self._plans.get(key)
        if plan is not None:
            self._plans.move_to_end(key)
            return plan
        last, passing = self._passing.get(key[0], _NONE)
        return passing if last == key else None

    def put(self, key: SegmentKey, plan: SeenPlan) -> None:
        """Keep a plan that is not there yet, or else let it stand until the segment has another of its kind."""
        if not plan.plan.is_kept:
            self._passing[key[0]] = key, plan
            return
        self._plans[key] = plan
        if len(self._plans) > PLAN_CAPACITY:
            gone, _ = self._plans.popitem(last=False)
            self._gone[hash(gone)] = None
            if len(self._gone) > _REMEMBERED:
                self._gone.popitem(last=False)

    def clear(self) -> None:
        """Give up all plans, and forget which ones there were."""
        self._plans.clear()
        self._passing.clear()
        self._gone.clear()

    def was_evicted(self, key: SegmentKey) -> bool:
        """Whether the plan was here and had to be given up."""
        return hash(key) in self._gone
