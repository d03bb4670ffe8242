"""PERF_COUNT: what each primitive cost, as OpenVINO's clients read it."""
from __future__ import annotations

from datetime import timedelta
from typing import Any

import numpy as np
import pytest

from clinfer.api.compiled_model import CompiledModel
from clinfer.api.core import Core
from clinfer.base.errors import ClinferError
from clinfer.base.turns import Token
from clinfer.frontend.openvino_import import openvino as ov
from clinfer.network.runner import Runner
from clinfer.runtime.device import DeviceInfo
from clinfer.runtime.stream import Stream
from tests.api.models import F32, assert_softmax, softmax_model
from tests.api.profiled import branching, branching_model

Status = ov.ProfilingInfo.Status
NOTHING = timedelta()
PROFILED = {**F32, "PERF_COUNT": True}


@pytest.fixture(scope="module")
def profiled(core: Core, device: DeviceInfo) -> CompiledModel:
    return core.compile_model(branching_model(), device.name, PROFILED)


def by_name(rows: list[ov.ProfilingInfo]) -> dict[str, ov.ProfilingInfo]:
    found = {row.node_name: row for row in rows}
    assert len(found) == len(rows)
    return found


def check_results(request: Any, x: np.ndarray, deep: bool) -> None:
    soft, where = branching(x, deep)
    np.testing.assert_allclose(request.results["soft_result"], soft, rtol=0, atol=1e-5)
    if not np.any(abs(soft - 0.25) < 1e-5):
        np.testing.assert_array_equal(request.results["where_result"], where)


def test_a_profile_tells_what_ran(profiled: CompiledModel, x: np.ndarray) -> None:
    request = profiled.create_infer_request()
    request.infer({"x": x, "deep": np.array(True)})
    check_results(request, x, True)
    rows = by_name(request.get_profiling_info())
    expected = {
        "x": Status.NOT_RUN, "deep": Status.NOT_RUN, "product": Status.EXECUTED, "biased": Status.OPTIMIZED_OUT,
        "positive": Status.OPTIMIZED_OUT, "pairs": Status.OPTIMIZED_OUT, "branch": Status.EXECUTED,
        "branch/body0/tanh": Status.EXECUTED, "branch/body0/exp": Status.OPTIMIZED_OUT,
        "branch/body1/sin": Status.NOT_RUN,
        "back": Status.OPTIMIZED_OUT, "soft": Status.EXECUTED, "where/count": Status.EXECUTED,
        "where": Status.EXECUTED, "shape_of": Status.EXECUTED}
    assert {name: rows[name].status for name in expected} == expected
    kernels = {row.primitive: [kernel.name for kernel in row.kernels] for row in profiled.program.explain().nodes}
    for name in ("product", "soft"):
        assert rows[name].exec_type in kernels[name]
        assert rows[name].cpu_time > NOTHING
    assert rows["product"].node_type == "MatMul"
    assert rows["biased"].exec_type == rows["positive"].exec_type == "fused into product"
    assert [rows[n].exec_type for n in ("x", "shape_of", "pairs", "branch")] == ["input", "host", "view", "body"]
    assert sum((row.real_time for row in rows.values()), NOTHING) > NOTHING
    for row in rows.values():
        assert isinstance(row, ov.ProfilingInfo)
        assert row.status == Status.EXECUTED or row.real_time == NOTHING


def test_a_profile_is_that_of_the_last_inference(profiled: CompiledModel, x: np.ndarray) -> None:
    request, other = profiled.create_infer_request(), profiled.create_infer_request()
    request.infer({"x": x, "deep": np.array(False)})
    other.start_async({"x": x[:2], "deep": np.array(True)})
    other.wait()
    check_results(request, x, False)
    check_results(other, x[:2], True)
    shallow, deep = by_name(request.profiling_info), by_name(other.profiling_info)
    assert shallow["branch/body1/sin"].status == deep["branch/body0/tanh"].status == Status.EXECUTED
    assert shallow["branch/body0/tanh"].status == deep["branch/body1/sin"].status == Status.NOT_RUN
    request.infer({"x": x, "deep": np.array(True)})
    assert by_name(request.profiling_info)["branch/body1/sin"].status == Status.NOT_RUN


def test_a_profile_is_the_callers_own(profiled: CompiledModel, x: np.ndarray) -> None:
    request = profiled.create_infer_request()
    request.infer({"x": x, "deep": np.array(True)})
    before = [(row.node_name, row.real_time) for row in request.profiling_info]
    for row in request.profiling_info:
        row.real_time += timedelta(seconds=1)
        row.node_name = "mine"
    assert [(row.node_name, row.real_time) for row in request.profiling_info] == before


def test_before_the_first_inference_nothing_ran(profiled: CompiledModel) -> None:
    rows = by_name(profiled.create_infer_request().profiling_info)
    assert {row.status for row in rows.values()} == {Status.NOT_RUN, Status.OPTIMIZED_OUT}
    assert {row.real_time for row in rows.values()} == {row.cpu_time for row in rows.values()} == {NOTHING}
    assert "branch/body1/sin" in rows


def test_a_tensor_without_elements_needs_no_kernel(core: Core, device: DeviceInfo, x: np.ndarray) -> None:
    request = core.compile_model(softmax_model({"x": [-1, 5]}), device.name, PROFILED).create_infer_request()
    for rows, status in ((3, Status.EXECUTED), (0, Status.NOT_RUN), (2, Status.EXECUTED)):
        assert_softmax(request.infer(x[:rows])[0], x[:rows]) if rows else request.infer(x[:rows])
        assert [row.status for row in request.profiling_info if row.node_type == "Softmax"] == [status]


def test_an_inference_that_failed_leaves_the_profile_of_the_one_before(
        profiled: CompiledModel, x: np.ndarray, monkeypatch: pytest.MonkeyPatch) -> None:
    request = profiled.create_infer_request()
    request.infer({"x": x, "deep": np.array(True)})
    before = [(row.node_name, row.real_time) for row in request.profiling_info]
    run_body = Runner._run_body

    def fail(*_: Any) -> None:
        raise ClinferError("the device is gone")

    monkeypatch.setattr(Runner, "_run_body", fail)
    with pytest.raises(ClinferError, match="is gone"):
        request.infer({"deep": np.array(False)})
    assert [(row.node_name, row.real_time) for row in request.profiling_info] == before
    monkeypatch.setattr(Runner, "_run_body", run_body)
    request.infer()
    check_results(request, x, False)
    assert by_name(request.profiling_info)["branch/body0/tanh"].status == Status.NOT_RUN


def test_without_perf_count_nothing_is_measured_and_no_event(one: CompiledModel, x: np.ndarray,
                                                             monkeypatch: pytest.MonkeyPatch) -> None:
    request = one.create_infer_request()

    def refuse(*_: Any) -> None:
        pytest.fail("an event on the normal path")

    monkeypatch.setattr(Stream, "enqueue_with_event", refuse)
    request.infer(x)
    for rows in (request.get_profiling_info(), request.profiling_info):
        assert [row.status for row in rows] == [Status.NOT_RUN] * len(rows)
        assert any("softmax" in row.node_type.lower() for row in rows)
    assert one.get_property("PERF_COUNT") is False


def test_a_running_request_has_no_profile_yet(profiled: CompiledModel) -> None:
    request = profiled.create_infer_request()
    token = Token()
    assert request._turn.take(token)
    with pytest.raises(ClinferError, match="is running"):
        request.get_profiling_info()


def test_profiles_and_checked_results_go_together(core: Core, device: DeviceInfo, x: np.ndarray,
                                                  monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLINFER_VALIDATE", "1")
    request = core.compile_model(branching_model(), device.name, PROFILED).create_infer_request()
    request.infer({"x": x, "deep": np.array(True)})
    check_results(request, x, True)
    assert by_name(request.profiling_info)["soft"].status == Status.EXECUTED
    infinite = x.copy()
    infinite[:, -1] = np.inf
    with pytest.raises(ClinferError, match=r"NaN[^$]*'sin'"):
        request.infer({"x": infinite, "deep": np.array(False)})


@pytest.mark.parametrize(("given", "expected"), [
    ({"PERF_COUNT": "YES"}, True), ({"PERF_COUNT": "NO"}, False), ({"PERF_COUNT": True}, True),
    ({"PERF_COUNT": "false"}, False), ({ov.properties.enable_profiling: True}, True),
    (ov.properties.enable_profiling(True), True), ({}, False),
])
def test_spellings_of_the_property(core: Core, device: DeviceInfo, given: Any, expected: bool) -> None:
    compiled = core.compile_model(softmax_model({"x": [2, 5]}), device.name, given)
    assert compiled.get_property(ov.properties.enable_profiling) is expected


@pytest.mark.parametrize("wrong", ["maybe", 7, None, 1.0])
def test_wrong_values_of_the_property(core: Core, device: DeviceInfo, wrong: Any) -> None:
    with pytest.raises(ClinferError, match="PERF_COUNT"):
        core.compile_model(softmax_model({"x": [2, 5]}), device.name, {"PERF_COUNT": wrong})
