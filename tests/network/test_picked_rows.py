"""Rows that the body of a loop takes at a place that it computes are data: no run plans anew."""
from __future__ import annotations

import numpy as np
import pytest
from openvino import opset13 as ops

from clinfer.frontend.transformations import prepare
from clinfer.network.network import Network
from clinfer.runtime.engine import Engine
from tests.network.loop_models import Rng, always, floats, loop_of, scalar
from tests.network.running import check, network_of
from tests.ops.case_runner import execute
from tests.oracle import CpuPlugin, ov


def _model(axis: int, start: int, step: int = 1, is_state: bool = False) -> ov.Model:
    """In each run the state is halved, and the row of x at start + step * number of the run is added; `is_state`: x is
    doubled as well."""
    x, trips = ops.parameter([-1, -1], np.float32), ops.parameter([], np.int64)
    rows, state = ops.parameter([-1, -1], np.float32), ops.parameter([-1], np.float32)
    number = ops.parameter([], np.int64)
    place = ops.unsqueeze(ops.add(ops.multiply(number, np.int64(step)), np.int64(start)), np.int64(0))
    behind = ops.add(place, np.int64(1))
    begin, end = ((ops.concat([ops.constant([0] * axis, np.int64), each], 0) if axis else each)
                  for each in (place, behind))
    whole = [1] * axis + [0]
    row = ops.strided_slice(rows, begin, end, ops.constant([1] * (axis + 1), np.int64), whole, whole, [],
                            [0] * axis + [1])
    new = ops.add(ops.multiply(state, np.float32(0.5)), row)
    doubled = ops.multiply(rows, np.float32(2))
    loop = loop_of(trips, always(), ov.Model([always(), new, doubled], [state, number, rows]), 1)
    if is_state:
        loop.set_merged_input(rows, x.output(0), doubled.output(0))
    else:
        loop.set_invariant_input(rows, x.output(0))
    zeros = ops.multiply(ops.reduce_sum(x, np.int64(axis), False), np.float32(0))
    loop.set_merged_input(state, zeros.output(0), new.output(0))
    return ov.Model([loop.get_iter_value(new.output(0), -1)], [x, trips])


@pytest.mark.parametrize(("axis", "start", "step", "is_state"), [
    (0, 0, 1, False), (1, 0, 1, False), (0, -1, -1, False), (1, 2, 1, False), (0, -3, 2, False), (0, 0, 1, True)])
def test_rows_at_computed_places(engine: Engine, rng: Rng, axis: int, start: int, step: int, is_state: bool) -> None:
    """Places beyond the axis, too."""
    model = _model(axis, start, step, is_state)
    network, oracle = network_of(engine, prepare(model)), CpuPlugin(model)
    for shape, trips in (((4, 5), 4), ((2, 3), 2), ((4, 5), 7), ((3, 1), 1)):
        check(network, oracle, [floats(rng, *shape), scalar(trips)], 1e-6)


@pytest.mark.parametrize("axis", [0, 1])
def test_no_run_plans_anew(engine: Engine, rng: Rng, axis: int, monkeypatch: pytest.MonkeyPatch) -> None:
    network = network_of(engine, prepare(_model(axis, 0)))
    for _ in range(2):
        execute(network, [floats(rng, 20, 20), scalar(20)])
    executed, plain = list[Network](), Network._execute
    monkeypatch.setattr(Network, "_execute", lambda self, *rest: (executed.append(self), plain(self, *rest))[1])
    execute(network, [floats(rng, 20, 20), scalar(20)])
    assert len(executed) <= 5


def test_slices_outside_of_loops_stay() -> None:
    x, place = ops.parameter([-1, 3], np.float32), ops.parameter([1], np.int64)
    row = ops.strided_slice(x, place, ops.add(place, np.int64(1)), np.array([1], np.int64), [0], [0], [], [1])
    kinds = {node.get_type_name() for node in prepare(ov.Model([row], [x, place])).get_ops()}
    assert "StridedSlice" in kinds and "Gather" not in kinds
