"""Networks on memory of every type: what the caller gives, and what goes to the host when the device is full."""
from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from openvino import opset13 as ops

from clinfer.base.layout import Layout
from clinfer.runtime.engine import Engine
from clinfer.runtime.memory_types import ALLOCATION_TYPES, AllocationType
from tests.network.running import check, network_of
from tests.oracle import CpuPlugin, assert_close, ov


@pytest.fixture
def own(engine: Engine) -> Engine:
    """An engine of this test alone."""
    return Engine(engine.device, engine.capabilities)


def _model() -> ov.Model:
    x = ops.parameter([-1, -1, 8], np.float32)
    a = ops.softmax(x, 1)
    b = ops.concat([a, ops.reduce_sum(a, ops.constant([1], np.int64), True), x], 1)
    c = ops.softmax(ops.transpose(b, ops.constant([0, 2, 1], np.int64)), 2)
    return ov.Model([ops.multiply(c, ops.reduce_max(c, ops.constant([2], np.int64), True)), a], [x])


def test_a_full_device_is_no_reason_to_fail(own: Engine, rng: np.random.Generator) -> None:
    network, oracle = network_of(own, _model()), CpuPlugin(_model())
    limits = own.ledger.limits
    own.ledger.limits = replace(limits, device=own.ledger.current + 40_000, is_unified=False)
    for rows, columns in [(2, 3), *rng.integers(1, 40, (6, 2)).tolist(), (40, 40), (1, 1)]:
        check(network, oracle, [rng.standard_normal((rows, columns, 8)).astype(np.float32)])
        held = own.ledger.held()
        assert held["cl_mem"] <= own.ledger.limits.device
    assert own.ledger.most()["usm_host"] > 0 and own.ledger.most()["usm_device"] == 0
    del network
    assert sum(own.memory_statistics().values()) == 0


@pytest.mark.parametrize("kind", ALLOCATION_TYPES)
def test_the_caller_s_memory_is_of_any_type(own: Engine, rng: np.random.Generator, kind: AllocationType) -> None:
    network, oracle = network_of(own, _model()), CpuPlugin(_model())
    (name, declared), = network.program.inputs.items()
    output = next(iter(network.program.outputs))
    other = ALLOCATION_TYPES[(ALLOCATION_TYPES.index(kind) + 1) % len(ALLOCATION_TYPES)]
    for rows, columns in rng.integers(1, 20, (4, 2)).tolist():
        x = rng.standard_normal((rows, columns, 8)).astype(np.float32)
        given = own.allocate_memory(Layout.planar(x.shape, declared.element_type), allocation_type=kind)
        with network.stream.mapped(given) as seen:
            seen[:] = x.reshape(-1).view(np.uint8)
        network.set_input(name, given, x.shape)
        wanted = oracle([x])[0]
        target = own.allocate_bytes(wanted.nbytes, allocation_type=other)
        network.stream.fill(target, 0xA5)
        network.set_output(output, target)
        network.execute()
        with network.stream.mapped(target) as seen:
            assert_close(seen.view(np.float32).reshape(wanted.shape), wanted, 1e-4, f"{kind} to {other}")
