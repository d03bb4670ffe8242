"""What the host waits for where a shape depends on a value that the device computes."""
from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pyopencl as cl
import pytest
from openvino import opset13 as ops

from clinfer.network.plans.plan import Plan
from clinfer.network.reports.record import NOTHING
from clinfer.runtime.engine import Engine
from clinfer.runtime.event import Event
from clinfer.runtime.kernel import Kernel
from clinfer.runtime.launches import WorkSize
from clinfer.runtime.memory import Memory
from tests.network.running import check, network_of, run_once
from tests.oracle import CpuPlugin, ov


def test_the_host_waits_for_what_decides_a_shape(engine: Engine, rng: np.random.Generator) -> None:
    x = ops.parameter([-1], np.float32)
    where = ops.non_zero(ops.greater(x, np.float32(0)), "i64")
    where.set_friendly_name("where")
    network = network_of(engine, ov.Model([where, ops.exp(x)], [x]))
    array = rng.permutation(np.linspace(-1, 1, 10)).astype(np.float32)
    first, second = run_once(network, [array]).segments
    assert first.waited_for == () and second.waited_for == ("where/count",)
    assert [n.waited_for for n in second.nodes if n.layer == "where"][-1] == ("where/count",)
    assert not any(node.waited_for for node in first.nodes)
    assert run_once(network, [rng.permutation(array)]) is NOTHING, "as many elements are not zero"
    told = run_once(network, [np.ones(10, np.float32)]).segments
    assert [(s.segment, s.reason) for s in told] == [(1, "other values")], "the first segment ran as it did before"
    longer = run_once(network, [np.ones(11, np.float32)]).segments
    assert [(s.segment, s.reason) for s in longer] == [(0, "first sight"), (1, "first sight")]


def test_the_host_waits_for_nothing_else(engine: Engine, rng: np.random.Generator,
                                         monkeypatch: pytest.MonkeyPatch) -> None:
    """The device is kept from what the count does not need until the host, which waits for the count, is through."""
    x, y = ops.parameter([-1], np.float32), ops.parameter([-1, 8], np.float32)
    rest = ops.softmax(ops.matmul(ops.softmax(y, 1), ops.constant(np.eye(8, dtype=np.float32)), False, False), 1)
    where = ops.non_zero(ops.greater(x, np.float32(0)), "i64")
    model = ov.Model([rest, where], [x, y])
    network, oracle = network_of(engine, model), CpuPlugin(model)
    held = cl.UserEvent(engine.cl_context)
    timer = threading.Timer(30, held.set_status, [cl.command_execution_status.COMPLETE])
    timer.start()
    begin_read, enqueue_all, plan = network.stream.begin_read, network.stream.enqueue_all, network._planner.plan
    order: list[str] = []

    def begin_and_hold(memory: Memory, into: np.ndarray) -> Event:
        event = begin_read(memory, into)
        network.stream.barrier([Event(held)])
        order.append("read")
        return event

    def noted(launches: list[tuple[Kernel, WorkSize]]) -> None:
        order.append(f"launch {len(launches)}")
        enqueue_all(launches)

    def planned(segment: int, *given: Any) -> Plan:
        order.append(f"plan {segment}")
        made = plan(segment, *given)
        if segment == 1:
            assert timer.is_alive(), "the host waited for what was held"
            timer.cancel()
            held.set_status(cl.command_execution_status.COMPLETE)
        return made
    for name, instead in (("begin_read", begin_and_hold), ("enqueue_all", noted)):
        monkeypatch.setattr(network.stream, name, instead)
    monkeypatch.setattr(network._planner, "plan", planned)
    arrays = [rng.standard_normal(20).astype(np.float32), rng.standard_normal((5, 8)).astype(np.float32)]
    run_once(network, arrays)
    assert order[0] == "plan 0" and order[2] == "read" and order[4] == "plan 1" and len(order) == 6
    monkeypatch.undo()
    check(network, oracle, arrays)


def test_a_value_that_the_caller_gives_is_not_waited_for(engine: Engine) -> None:
    x, pattern = ops.parameter([-1, 8], np.float32), ops.parameter([2], np.int64)
    network = network_of(engine, ov.Model([ops.relu(ops.reshape(x, pattern, False))], [x, pattern]))
    given = [np.zeros((4, 8), np.float32), np.array([2, 16], np.int64)]
    assert [s.waited_for for s in run_once(network, given).segments] == [()]
    name = list(network.program.inputs)[1]
    memory = engine.allocate_bytes(16)
    network.stream.write(memory, np.array([16, 2], np.int64), blocking=True)
    network.set_input(name, memory, (2,))
    network.execute()
    assert [s.waited_for for s in network.page.tell().segments] == [(name,)]
