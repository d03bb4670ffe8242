"""Variable states: against NumPy and OpenVINO, through resets, blobs, and moves between requests."""
from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyopencl as cl
import pytest

import clinfer
from clinfer.api.core import Core
from clinfer.base.errors import ClinferError, UnsupportedError
from clinfer.frontend.openvino_import import openvino as ov
from clinfer.runtime.device import DeviceInfo
from tests.api.state_models import F32, Reference, contents, memory_model, op, rows, same, states, unchanged, variable


@pytest.fixture(scope="module")
def compiled(core: Core, device: DeviceInfo) -> Any:
    return core.compile_model(memory_model(), device.name, F32)


def test_states_go_on_from_call_to_call(compiled: Any, rng: np.random.Generator) -> None:
    request, reference = compiled.create_infer_request(), Reference()
    for step in range(12):
        x = rows(rng)
        same(request.infer([x]), reference.infer(x))
        if step == 7:
            request.reset_state()
            reference.reset()
    np.testing.assert_allclose(states(request)["rows"].state.data, reference.rows)


def test_openvino_has_the_same(compiled: Any, rng: np.random.Generator) -> None:
    request = compiled.create_infer_request()
    oracle = ov.Core().compile_model(memory_model(), "CPU", F32).create_infer_request()
    for step in range(6):
        x = rows(rng)
        found, wanted = request.infer([x]), oracle.infer([x])
        same(found, [wanted[k] for k in range(4)])
        own, theirs = contents(request), contents(oracle)
        assert own.keys() == theirs.keys()
        for name, value in own.items():
            np.testing.assert_allclose(value, theirs[name], rtol=1e-5, atol=1e-5)
        if step == 2:
            for each in (request, oracle):
                each.reset_state()
                assert {name: value.shape for name, value in contents(each).items()} == {
                    "rows": (0, 4), "sum": (1,), "count": (1,), "before": (1,), "fixed": (1,)}


def test_requests_have_states_of_their_own(compiled: Any, rng: np.random.Generator) -> None:
    requests, references = [compiled.create_infer_request() for _ in range(3)], [Reference() for _ in range(3)]
    for _ in range(12):
        which, x = int(rng.integers(3)), rows(rng)
        same(requests[which].infer([x]), references[which].infer(x))
    for request, reference in zip(requests, references, strict=True):
        x = rows(rng)
        request.start_async([x])
        request.wait()
        same(request.results, reference.infer(x))


def test_a_state_is_saved_and_moved(compiled: Any, rng: np.random.Generator) -> None:
    one, other, reference = compiled.create_infer_request(), compiled.create_infer_request(), Reference()
    for _ in range(3):
        x = rows(rng)
        same(one.infer([x]), reference.infer(x))
    kept = {name: state.state for name, state in states(one).items()}
    same(one.infer([x]), reference.infer(x))
    # Two requests that are given one tensor have a copy each.
    for request in (one, other):
        for name, state in states(request).items():
            state.state = kept[name]
    references = [Reference(), Reference()]
    for each in references:
        each.rows, each.sum, each.count, each.before = (
            kept["rows"].data.copy(), float(kept["sum"].data[0]), int(kept["count"].data[0]),
            float(kept["before"].data[0]))
    kept["rows"].data[...] = 99
    for request, each in zip((one, other), references, strict=True):
        for _ in range(2):
            x = rows(rng)
            same(request.infer([x]), each.infer(x))
    states(one)["rows"].reset()
    references[0].rows = np.zeros((0, 4), np.float32)
    same(one.infer([x]), references[0].infer(x))


def test_what_state_gives_is_a_copy(compiled: Any, rng: np.random.Generator) -> None:
    request, reference, x = compiled.create_infer_request(), Reference(), rows(rng)
    same(request.infer([x]), reference.infer(x))
    states(request)["sum"].state.data[...] = 1000
    same(request.infer([x]), reference.infer(x))


def test_a_remote_tensor_is_copied_into_a_state(core: Core, device: DeviceInfo, compiled: Any,
                                                rng: np.random.Generator) -> None:
    request, value = compiled.create_infer_request(), rows(rng)
    remote = compiled.get_context().create_tensor(ov.Type.f32, ov.Shape(list(value.shape)))
    remote.copy_from(ov.Tensor(value))
    states(request)["rows"].state = remote
    x = rows(rng)
    np.testing.assert_allclose(request.infer([x])["y"], np.maximum(np.concatenate([value, x]), 0))


def test_a_remote_tensor_of_another_context_is_refused(core: Core, device: DeviceInfo, compiled: Any) -> None:
    units = core.get_default_context(device.name).get().devices
    remote = clinfer.ClContext(core, cl.Context(units)).create_tensor(ov.Type.f32, ov.Shape([1, 4]))
    with pytest.raises(ClinferError, match="state 'rows' was given a tensor of another context"):
        states(compiled.create_infer_request())["rows"].state = remote


@pytest.mark.parametrize(("value", "error"), [
    (np.zeros((1, 5), np.float32), r"shape(.|\n)*\[\?,4\](.|\n)*\[1,5\]"),
    (np.zeros((4,), np.float32), r"shape(.|\n)*\[4\]"),
    (np.zeros((1, 4), np.int32), r"type(.|\n)*f32(.|\n)*i32")])
def test_wrong_values_are_refused(compiled: Any, rng: np.random.Generator, value: np.ndarray, error: str) -> None:
    request, reference, x = compiled.create_infer_request(), Reference(), rows(rng)
    same(request.infer([x]), reference.infer(x))
    with pytest.raises(ClinferError, match=error):
        states(request)["rows"].state = ov.Tensor(value)
    with pytest.raises(TypeError):
        states(request)["rows"].state = value
    same(request.infer([x]), reference.infer(x))


def test_inputs_that_do_not_fit_leave_states_as_they_were(core: Core, device: DeviceInfo) -> None:
    x = op.parameter([-1, -1], np.float32, name="x")
    value = variable(op.constant(np.zeros((0, 3), np.float32)), "s", [-1, -1])
    joined = op.concat([value, x], 0)
    model = ov.Model([op.result(joined)], [op.assign(joined, "s")], [x], "open")
    request = core.compile_model(model, device.name, F32).create_infer_request()
    request.infer([np.ones((2, 3), np.float32)])
    before = contents(request)
    with pytest.raises(ClinferError):
        request.infer([np.ones((2, 4), np.float32)])
    unchanged(request, before)
    assert request.infer([np.ones((1, 3), np.float32)])[0].shape == (3, 3)


def test_a_state_stays_within_its_bounds(core: Core, device: DeviceInfo) -> None:
    x = op.parameter([-1, 4], np.float32, name="x")
    value = op.read_value(op.constant(np.zeros((0, 4), np.float32)), "s", ov.Type.f32, ov.PartialShape("[..6,4]"))
    joined = op.concat([value, x], 0)
    model = ov.Model([op.result(joined)], [op.assign(joined, "s")], [x], "bounded")
    request = core.compile_model(model, device.name, F32).create_infer_request()
    request.infer([np.ones((4, 4), np.float32)])
    before = contents(request)
    with pytest.raises(ClinferError, match=r"'s'(.|\n)*0..6(.|\n)*\[7,4\]"):
        request.infer([np.ones((3, 4), np.float32)])
    unchanged(request, before)
    assert request.infer([np.ones((2, 4), np.float32)])[0].shape == (6, 4)


def test_first_values_are_computed_from_inputs(core: Core, device: DeviceInfo, rng: np.random.Generator) -> None:
    x, start = (op.parameter([-1, 3], np.float32, name=name) for name in ("x", "start"))
    value = variable(op.multiply(op.exp(start), op.constant(np.float32(2))), "s", [-1, 3])
    added = op.add(value, x)
    model = ov.Model([op.result(added)], [op.assign(added, "s")], [x, start], "computed")
    request = core.compile_model(model, device.name, F32).create_infer_request()
    state = np.zeros(0)
    for step in range(8):
        if step % 4 == 0:
            request.reset_state()
            state = None
        one, first = (rng.standard_normal((2 + step // 4, 3)).astype(np.float32) for _ in range(2))
        state = (np.exp(first) * 2 if state is None else state) + one
        np.testing.assert_allclose(request.infer([one, first])[0], state, rtol=1e-4, atol=1e-5)


def test_first_values_are_made_of_one_another(core: Core, device: DeviceInfo, rng: np.random.Generator) -> None:
    x, start = (op.parameter([-1, 3], np.float32, name=name) for name in ("x", "start"))
    whole = variable(op.multiply(start, op.constant(np.float32(1))), "whole", [-1, 3])
    twice = variable(op.multiply(whole, op.constant(np.float32(2))), "twice", [-1, 3])
    outputs = [op.result(op.add(op.add(whole, twice), x))]
    model = ov.Model(outputs, [op.assign(whole, "whole"), op.assign(twice, "twice")], [x, start], "chain")
    request = core.compile_model(model, device.name, F32).create_infer_request()
    for step in range(6):
        one, given = (rng.standard_normal((2, 3)).astype(np.float32) for _ in range(2))
        if step % 3 == 0:
            request.reset_state()
            first = given
        np.testing.assert_allclose(request.infer([one, given])[0], 3 * first + one, rtol=1e-4, atol=1e-5)
    states(request)["twice"].reset()
    with pytest.raises(ClinferError, match=r"was reset(.|\n)*begins with: whole"):
        request.infer([one, given])


@pytest.mark.parametrize("order", [(0, 1, 2), (1, 0, 2)])
def test_what_grows_by_itself(core: Core, device: DeviceInfo, rng: np.random.Generator, order: tuple[int, ...]) -> None:
    start = op.parameter([2, 2, -1], np.float32, name="start")
    value = variable(start, "s", [2, 2, -1])
    behind = value if order == (0, 1, 2) else op.transpose(value, np.array(order))
    written = op.assign(op.concat([value, behind], 2), "s")
    model = ov.Model([op.result(op.relu(value)), op.result(value)], [written], [start], "doubled")
    request = core.compile_model(model, device.name, F32).create_infer_request()
    state = first = rng.standard_normal((2, 2, 3)).astype(np.float32)
    for _ in range(3):
        results = request.infer([first])
        np.testing.assert_array_equal(results[0], np.maximum(state, 0))
        np.testing.assert_array_equal(results[1], state)
        state = np.concatenate([state, state.transpose(order)], 2)


def test_a_first_value_out_of_a_branch_that_is_decided(core: Core, device: DeviceInfo) -> None:
    """It is the model's input itself, under another name."""
    bodies = []
    for make in (op.negative, op.result):
        inner = op.parameter([8], np.float32)
        bodies.append(ov.Model([make(inner)], [inner], "branch"))
    start, choice = op.parameter([8], np.float32, name="x"), op.if_op(op.constant(np.array([False])))
    start.output(0).set_names({"x"})
    choice.set_then_body(bodies[0])
    choice.set_else_body(bodies[1])
    choice.set_input(start.output(0), *(body.get_parameters()[0] for body in bodies))
    choice.set_output(*(body.get_results()[0] for body in bodies))
    value = variable(choice, "s", [8])
    model = ov.Model([op.result(op.relu(value))], [op.assign(op.negative(value), "s")], [start], "begun")
    request = core.compile_model(model, device.name, F32).create_infer_request()
    first = np.arange(-4, 4, dtype=np.float32)
    np.testing.assert_array_equal(request.infer([first])[0], np.maximum(first, 0))
    np.testing.assert_array_equal(request.infer([first])[0], np.maximum(-first, 0))


def test_an_opset3_state_without_a_first_value_of_its_own(core: Core, device: DeviceInfo) -> None:
    x = op.parameter([1, 2], np.float32, name="x")
    value = ov.opset3.read_value(op.constant(np.full((1, 2), 3, np.float32)), "s")
    added = op.add(value, x)
    model = ov.Model([op.result(added)], [ov.opset3.assign(added, "s")], [x], "older")
    request = core.compile_model(model, device.name, F32).create_infer_request()
    for step in range(3):
        np.testing.assert_array_equal(request.infer([np.ones((1, 2), np.float32)])[0], np.full((1, 2), 4 + step))


def test_blobs_keep_states(core: Core, device: DeviceInfo, compiled: Any, rng: np.random.Generator,
                           tmp_path: Any) -> None:
    cached = clinfer.Core()
    cached.set_property({"CACHE_DIR": str(tmp_path)})
    models = [core.import_model(compiled.export_model(), device.name)]
    models += [cached.compile_model(memory_model(), device.name, F32) for _ in range(2)]
    assert models[-1].get_property("LOADED_FROM_CACHE")
    for model in models:
        request, reference = model.create_infer_request(), Reference()
        for _ in range(4):
            x = rows(rng)
            same(request.infer([x]), reference.infer(x))


def test_a_blob_that_hands_out_states_is_refused(core: Core, device: DeviceInfo, compiled: Any,
                                                 monkeypatch: pytest.MonkeyPatch) -> None:
    parts, state = compiled.parts, compiled.states[0]
    for names in ({"output_names": (state.output, *parts.output_names[1:])}, {"input_names": (state.input,)}):
        with monkeypatch.context() as patch:
            patch.setattr(type(compiled), "parts", property(lambda _, names=names: replace(parts, **names)))
            blob = compiled.export_model()
        with pytest.raises(ClinferError, match="ports stand for"):
            core.import_model(blob, device.name)


def test_a_state_may_be_empty(core: Core, device: DeviceInfo) -> None:
    """It takes no memory, and grows by itself, which is nothing."""
    x = op.parameter([1, 1, 0], np.float32, name="x")
    value = op.read_value(x, "s", ov.Type.f32, ov.PartialShape([1, 1, -1]))
    model = ov.Model([op.result(op.relu(value))], [op.assign(op.concat([value, value], 2), "s")], [x], "empty")
    request = core.compile_model(model, device.name, F32).create_infer_request()
    for _ in range(3):
        assert request.infer([np.zeros((1, 1, 0), np.float32)])[0].shape == (1, 1, 0)
        state, = request.query_state()
        assert state.state.shape == [1, 1, 0]


def test_the_model_has_a_request_with_states(compiled: Any, rng: np.random.Generator) -> None:
    compiled.reset_state()
    reference = Reference()
    for _ in range(2):
        x = rows(rng)
        same(compiled(x), reference.infer(x))
    np.testing.assert_allclose({s.name: s for s in compiled.query_state()}["rows"].state.data, reference.rows)


def test_layers_about_states_are_supported(core: Core, device: DeviceInfo) -> None:
    model = memory_model()
    supported = core.query_model(model, device.name)
    assert {node.get_friendly_name() for node in model.get_ordered_ops()} == supported.keys()


def test_a_state_in_a_body_is_refused(core: Core, device: DeviceInfo) -> None:
    branches = []
    for _ in range(2):
        inner = op.parameter([1], np.float32)
        value = variable(op.constant(np.zeros(1, np.float32)), "s", [1])
        branches.append((inner, ov.Model([op.result(op.add(value, inner))], [inner], "branch")))
    x, flag = op.parameter([1], np.float32, name="x"), op.parameter([], bool, name="flag")
    choice = op.if_op(flag)
    choice.set_then_body(branches[0][1])
    choice.set_else_body(branches[1][1])
    choice.set_input(x.output(0), branches[0][0], branches[1][0])
    choice.set_output(branches[0][1].get_results()[0], branches[1][1].get_results()[0])
    with pytest.raises(UnsupportedError, match=r"variable inside(.|\n)*variable: s"):
        core.compile_model(ov.Model([op.result(choice)], [x, flag], "inside"), device.name, F32)
