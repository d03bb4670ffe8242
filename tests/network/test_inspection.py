"""What CLINFER_VALIDATE and CLINFER_DEBUG=2 show of a running network, and what the host cannot compute."""
from __future__ import annotations

import numpy as np
import pytest
from openvino import opset13 as ops

from clinfer.base.errors import ClinferError
from clinfer.kernels.contract import HOST
from clinfer.program.options import BuildOptions
from clinfer.runtime.engine import Engine
from tests.network.running import check, network_of
from tests.ops.case_runner import execute
from tests.oracle import CpuPlugin, ov


def test_nan_is_found_where_it_arises(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLINFER_VALIDATE", "1")
    x = ops.parameter([-1, 3], np.float32)
    root = ops.sqrt(ops.subtract(ops.softmax(x, 1), np.float32(0.5)))
    root.set_friendly_name("root")
    model = ov.Model([ops.reduce_sum(root, ops.constant([1], np.int64), False)], [x])
    network = network_of(engine, model)
    with pytest.raises(ClinferError, match=r"a kernel produced NaN[^$]*'root'"):
        execute(network, [np.zeros((2, 3), np.float32)])


def test_kernels_of_several_stages_are_checked_when_they_are_done(engine: Engine, rng: np.random.Generator,
                                                                  monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLINFER_VALIDATE", "1")
    from clinfer.network.reports import inspection
    seen: list[str] = []
    original = inspection.check_outputs

    def watched(*args: object) -> None:
        seen.append(args[3].primitive.id)  # type: ignore[attr-defined]
        original(*args)  # type: ignore[arg-type]
    monkeypatch.setattr("clinfer.network.reports.inspection.check_outputs", watched)
    x = ops.parameter([-1, 40], np.float32)
    model = ov.Model([ops.softmax(ops.convert(ops.non_zero(ops.relu(x), "i64"), "f32"), 1)], [x])
    network = network_of(engine, model)
    stages = {n.primitive.id: len(n.implementations[0].stages) for n in network.program.nodes if n.implementations}
    assert max(stages.values()) > 1, "the test needs a kernel of several stages"
    check(network, CpuPlugin(model), [rng.standard_normal((5, 40)).astype(np.float32)])
    assert seen and len(seen) == 2 * len(set(seen)), "each node once per execution"


def test_the_time_of_every_kernel_is_shown(engine: Engine, monkeypatch: pytest.MonkeyPatch,
                                           capsys: pytest.CaptureFixture[str]) -> None:
    x = ops.parameter([2, 3], np.float32)
    soft = ops.softmax(x, 1)
    soft.set_friendly_name("soft")
    monkeypatch.setenv("CLINFER_DEBUG", "2")
    network = network_of(engine, ov.Model([soft], [x]))
    capsys.readouterr()
    execute(network, [np.zeros((2, 3), np.float32)])
    lines = [line for line in capsys.readouterr().err.splitlines() if " us  softmax" in line]
    assert len(lines) == 2 and all("'soft'" in line and "WorkSize" in line for line in lines)


def test_arithmetic_that_the_host_cannot_do_is_an_error_of_clinfer(engine: Engine, rng: np.random.Generator) -> None:
    x = ops.parameter([-1], np.float32)
    length = ops.squeeze(ops.shape_of(x, "i64"), ops.constant([0], np.int64))
    steps = ops.range(ops.constant(np.int64(0)), ops.constant(np.int64(6)), ops.subtract(length, np.int64(3)), "i64")
    steps.set_friendly_name("steps")
    model = ov.Model([ops.relu(ops.gather(x, steps, np.int64(0)))], [x])
    network = network_of(engine, model, BuildOptions(force_implementations={"steps": ("", "", HOST)}))
    oracle = CpuPlugin(model)
    assert any(n.kind == "host" and n.primitive.id == "steps" for n in network.program.nodes)
    with pytest.raises(ClinferError, match=r"host cannot compute[^$]*'steps'"):
        execute(network, [np.zeros(3, np.float32)])
    check(network, oracle, [rng.standard_normal(9).astype(np.float32)])


def test_large_values_are_not_computed_on_the_host(engine: Engine, rng: np.random.Generator) -> None:
    x = ops.parameter([-1, -1], np.float32)
    ones = ops.broadcast(ops.constant(np.float32(1)), ops.shape_of(x, "i64"))
    model = ov.Model([ops.subtract(ones, x)], [x])
    network, oracle = network_of(engine, model), CpuPlugin(model)
    assert not any(n.kind == "host" for n in network.program.nodes
                   if any(network.program.tensors[t].layout.rank > 1 for t in n.outputs))
    for shape in ((3, 5), (300, 200)):
        check(network, oracle, [rng.standard_normal(shape).astype(np.float32)])
