"""A planner that makes every plan twice, by the segment's function and node by node, and compares them."""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from clinfer.base.shape import StaticShape
from clinfer.network.plans.plan import CallHost, Fetch, Launch, Plan, RunBody, Step, Upload
from clinfer.network.plans.planner import Planner


class CheckedPlanner(Planner):
    """Raises AssertionError where the two ways differ."""

    def plan(self, segment: int, shapes: Mapping[int, StaticShape], values: Mapping[int, np.ndarray]) -> Plan:
        plan = super().plan(segment, shapes, values)
        self.record_traces()
        assert told(plan) == told(self.plan_by_nodes(segment, shapes, values)), f"segment {segment}, shapes {shapes}"
        return plan


def told(plan: Plan) -> dict[str, Any]:
    """A plan in a form that can be compared; slots that need no memory are left out."""
    return {"steps": [_step(step) for step in plan.steps], "shapes": dict(plan.shapes),
            "values": {t: _value(v) for t, v in plan.values.items()},
            "slots": {slot: n for slot, n in plan.slot_bytes if n}, "outputs": dict(plan.output_bytes),
            "aliases": sorted({*plan.aliases})}


def _step(step: Step) -> Any:
    if isinstance(step, Launch):
        return step.kernel, step.block, step.work.global_size, step.work.local_size
    if isinstance(step, Upload):
        return step.tensor, _value(step.units)
    if isinstance(step, Fetch):
        return step.tensor
    if isinstance(step, CallHost):
        return step.node
    assert isinstance(step, RunBody)
    return step.node, step.body, step.limit


def _value(value: np.ndarray) -> Any:
    return value.dtype.str, value.shape, value.tobytes()
