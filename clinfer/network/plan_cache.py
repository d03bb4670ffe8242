"""The plans of a network, the least recently used given up first."""
from __future__ import annotations

from collections import OrderedDict

from clinfer.network.plan import Plan, PlanKey

PLAN_CAPACITY = 256
_REMEMBERED = 16 * PLAN_CAPACITY


class PlanCache:
    """Plans by segment and key. It remembers for a while which ones it gave up."""

    def __init__(self) -> None:
        self._plans: OrderedDict[tuple[int, PlanKey], Plan] = OrderedDict()
        self._gone: OrderedDict[int, None] = OrderedDict()

    def __len__(self) -> int:
        return len(self._plans)

    def get(self, segment: int, key: PlanKey) -> Plan | None:
        """The plan, if it is there; it counts as used."""
        plan = self._plans.get((segment, key))
        if plan is not None:
            self._plans.move_to_end((segment, key))
        return plan

    def put(self, segment: int, key: PlanKey, plan: Plan) -> None:
        """Keep a plan that is not there yet."""
        self._plans[segment, key] = plan
        if len(self._plans) > PLAN_CAPACITY:
            gone, _ = self._plans.popitem(last=False)
            self._gone[hash(gone)] = None
            if len(self._gone) > _REMEMBERED:
                self._gone.popitem(last=False)

    def was_evicted(self, segment: int, key: PlanKey) -> bool:
        """Whether the plan was here and had to be given up."""
        return hash((segment, key)) in self._gone
