"""Loops whose conditions compare counters with limits run a number of times that is known before the first run."""
from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from openvino import opset13 as ops

from clinfer.frontend.transformations import prepare
from clinfer.network.network import Network
from clinfer.runtime.engine import Engine
from tests.network.loop_models import Rng, floats, loop_of, scalar
from tests.network.running import network_of
from tests.ops.case_runner import execute
from tests.oracle import assert_close, ov


def _while(step: int, bound: int | None, trips: int = -1, gives_condition: bool = False) -> ov.Model:
    """While number < limit (and number < bound): x = 2 * x, number += step; x, all x joined, and the number."""
    x, first, limit = ops.parameter([-1], np.float32), ops.parameter([], np.int32), ops.parameter([], np.int32)
    state, number, last = (ops.parameter([-1], np.float32), *(ops.parameter([], np.int32) for _ in range(2)))
    new, following = ops.multiply(state, np.float32(2)), ops.add(number, np.int32(step))
    goes_on, begins = ops.less(following, last), ops.less(first, limit)
    if bound is not None:
        goes_on = ops.logical_and(goes_on, ops.less(following, np.int32(bound)))
        begins = ops.logical_and(begins, ops.less(first, np.int32(bound)))
    loop = loop_of(ops.constant(trips), begins, ov.Model([goes_on, new, following], [state, number, last]))
    loop.set_merged_input(state, x.output(0), new.output(0))
    loop.set_merged_input(number, first.output(0), following.output(0))
    loop.set_invariant_input(last, limit.output(0))
    outputs = [loop.get_iter_value(new.output(0), -1), loop.get_concatenated_slices(new.output(0), 0, 1, 1, -1, 0),
               loop.get_iter_value(following.output(0), -1)]
    if gives_condition:
        outputs.append(loop.get_iter_value(goes_on.output(0), -1))
    return ov.Model(outputs, [x, first, limit])


def _condition(model: ov.Model) -> ov.Node:
    """What the condition of the prepared model's loop comes from."""
    loop, = (node for node in prepare(model).get_ops() if node.get_type_name() == "Loop")
    return loop.get_function().get_results()[loop.get_special_body_ports()[1]].input_value(0).get_node()


@pytest.mark.parametrize(("step", "bound", "trips"), [(1, None, -1), (3, None, -1), (2, 5, -1), (1, 6, 4)])
def test_a_counted_loop_runs_as_often_as_its_condition_says(engine: Engine, rng: Rng, step: int, bound: int | None,
                                                            trips: int) -> None:
    model = _while(step, bound, trips)
    assert _condition(model).get_type_name() == "Constant"
    network = network_of(engine, prepare(model))
    for first, limit in ((0, 7), (0, 1), (2, 2), (5, 1), (-3, 4), (0, 7)):
        last = min(limit, limit if bound is None else bound)
        numbers = list(range(first, last, step))[:trips if trips >= 0 else None]
        x = floats(rng, 2)
        doubled, joined, number = execute(network, [x, np.int32(first), np.int32(limit)])
        assert_close(doubled, x * np.float32(2**len(numbers)), 0)
        assert_close(joined, np.concatenate([np.zeros(0, np.float32), *(x * 2**(n + 1) for n in range(len(numbers)))])
                     .astype(np.float32), 0)
        assert number == first + step * len(numbers)


def test_nobody_waits_for_the_condition_of_a_counted_loop(engine: Engine, rng: Rng,
                                                          monkeypatch: pytest.MonkeyPatch) -> None:
    network = network_of(engine, prepare(_while(1, None)))
    for _ in range(2):
        execute(network, [floats(rng, 2), np.int32(0), np.int32(9)])
    executed, plain = list[Network](), Network._execute
    monkeypatch.setattr(Network, "_execute", lambda self, *rest: (executed.append(self), plain(self, *rest))[1])
    execute(network, [floats(rng, 2), np.int32(0), np.int32(40)])
    assert len(executed) <= 4


@pytest.mark.parametrize("step", [0, -1])
def test_a_counter_that_does_not_grow_decides_nothing(step: int) -> None:
    assert _condition(_while(step, None)).get_type_name() == "Less"


def test_a_condition_that_is_an_output_stays(engine: Engine, rng: Rng) -> None:
    model = _while(1, None, gives_condition=True)
    assert _condition(model).get_type_name() == "Less"
    *_, number, goes_on = execute(network_of(engine, prepare(model)), [floats(rng, 2), np.int32(0), np.int32(3)])
    assert number == 3 and not goes_on.any()


def test_a_limit_may_be_computed_of_sizes_in_the_body(engine: Engine, rng: Rng) -> None:
    x, rows, state, number = (ops.parameter(shape, kind) for shape, kind in (
        ([-1, 2], np.float32), ([-1, 2], np.float32), ([2], np.float32), ([], np.int64)))
    new, following = ops.add(state, ops.gather(rows, number, np.int64(0))), ops.add(number, np.int64(1))
    size = ops.gather(ops.shape_of(rows), np.int64(0), np.int64(0))
    goes_on = ops.less(following, ops.subtract(size, np.int64(1)))
    loop = loop_of(ops.constant(-1), ops.constant(True), ov.Model([goes_on, new, following], [rows, state, number]))
    loop.set_invariant_input(rows, x.output(0))
    loop.set_merged_input(state, ops.constant(np.zeros(2, np.float32)).output(0), new.output(0))
    loop.set_merged_input(number, ops.constant(np.int64(0)).output(0), following.output(0))
    model = ov.Model([loop.get_iter_value(new.output(0), -1)], [x])
    assert _condition(model).get_type_name() == "Constant"
    network = network_of(engine, prepare(model))
    for count in (5, 2, 1, 9):
        data = floats(rng, count, 2)
        assert_close(execute(network, [data])[0], data[:max(count - 1, 1)].sum(0), 1e-6)


def test_a_limit_that_changes_decides_nothing() -> None:
    number, following_limit, x = ops.parameter([], np.int64), ops.parameter([], np.int64), ops.parameter([], np.int64)
    following, lower = ops.add(number, np.int64(1)), ops.subtract(following_limit, np.int64(1))
    loop = loop_of(ops.constant(-1), ops.constant(True), ov.Model(
        [ops.less(following, lower), following, lower], [number, following_limit]))
    loop.set_merged_input(number, ops.constant(np.int64(0)).output(0), following.output(0))
    loop.set_merged_input(following_limit, x.output(0), lower.output(0))
    assert _condition(ov.Model([loop.get_iter_value(following.output(0), -1)], [x])).get_type_name() == "Less"


@pytest.mark.parametrize(("comparison", "step", "goes_on"), [
    (ops.less_equal, 2, lambda a, b: a <= b), (ops.greater, -1, lambda a, b: a > b),
    (ops.greater_equal, -2, lambda a, b: a >= b)])
def test_counters_may_fall_and_meet_their_limits(engine: Engine, comparison: Callable[[ov.Node, ov.Node], ov.Node],
                                                 step: int, goes_on: Callable[[int, int], bool]) -> None:
    first, limit, number, last = (ops.parameter([], np.int64) for _ in range(4))
    following = ops.add(number, np.int64(step))
    loop = loop_of(ops.constant(-1), ops.constant(True), ov.Model(
        [comparison(following, last), following], [number, last]))
    loop.set_merged_input(number, first.output(0), following.output(0))
    loop.set_invariant_input(last, limit.output(0))
    model = ov.Model([loop.get_iter_value(following.output(0), -1)], [first, limit])
    assert _condition(model).get_type_name() == "Constant"
    network = network_of(engine, prepare(model))
    for distance in (0, 1, 2, 5, -1):
        start, end = 3, 3 + distance * (1 if step > 0 else -1)
        wanted = start + step
        while goes_on(wanted, end):
            wanted += step
        assert execute(network, [scalar(start), scalar(end)])[0] == wanted
