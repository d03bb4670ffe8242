"""Models that compute in fewer threads than a CPU has cores: results, CPU time, and memory of other contexts."""
from __future__ import annotations

import gc
import time

import numpy as np
import pyopencl as cl
import pytest
from openvino import opset13 as op

import clinfer
from clinfer.api.compiled_model import CompiledModel
from clinfer.api.core import Core
from clinfer.base.errors import ClinferError
from clinfer.remote.context import ClContext
from clinfer.runtime.cores import bound_on_threads
from clinfer.runtime.device import DeviceInfo
from tests.api.state_models import memory_model
from tests.oracle import ov

F32 = {"INFERENCE_PRECISION_HINT": "f32"}
BOUND = {**F32, "INFERENCE_NUM_THREADS": 1}
SIZE, PRODUCTS = 768, 12


@pytest.fixture
def core() -> Core:
    """One with engines of its own."""
    return Core()


def products(rng: np.random.Generator) -> ov.Model:
    """Products that take a CPU much longer than the host takes to give them."""
    x = op.parameter([SIZE, SIZE], np.float32, name="x")
    node = x
    for _ in range(PRODUCTS):
        node = op.matmul(node, op.constant(rng.standard_normal((SIZE, SIZE), np.float32) / 28), False, False)
    return ov.Model([node], [x], "products")


def small_model() -> ov.Model:
    x = op.parameter([-1, 64], np.float32, name="x")
    return ov.Model([op.softmax(op.relu(x), 1)], [x], "small")


def _results(model: CompiledModel, given: list[np.ndarray]) -> list[np.ndarray]:
    queue, found = clinfer.AsyncInferQueue(model), [np.empty(0)] * len(given)

    def keep(request: clinfer.InferRequest, number: int) -> None:
        found[number] = np.array(request.get_output_tensor().data)
    queue.set_callback(keep)
    for number, x in enumerate(given):
        queue.start_async([x], number)
    queue.wait_all()
    return found


@pytest.mark.parametrize("settings", [
    {"NUM_STREAMS": 2}, {"PERFORMANCE_HINT": "THROUGHPUT"}, {"INFERENCE_NUM_THREADS": 1},
    {"NUM_STREAMS": 3, "INFERENCE_NUM_THREADS": 1},
    {"NUM_STREAMS": 2, "INFERENCE_NUM_THREADS": 1, "execution_order": "out_of_order"}])
def test_results_are_those_of_one_stream_on_all_cores(core: Core, device: DeviceInfo, rng: np.random.Generator,
                                                      settings: dict[str, object]) -> None:
    model = products(rng)
    one, other = (core.compile_model(model, device.name, {**F32, **more}) for more in ({}, settings))
    given = [rng.standard_normal((SIZE, SIZE), np.float32) for _ in range(4)]
    for found, expected in zip(_results(other, given), _results(one, given), strict=True):
        np.testing.assert_array_equal(found, expected)


def test_a_model_tells_on_how_much_it_computes(core: Core, device: DeviceInfo) -> None:
    whole = device.cl_device.max_compute_units
    for settings, expected in ((F32, whole), (BOUND, bound_on_threads(device, 1) or whole),
                               ({"INFERENCE_NUM_THREADS": whole}, whole)):
        model = core.compile_model(small_model(), device.name, settings)
        assert model.get_property("compute_units") == expected
        assert model.get_property("INFERENCE_NUM_THREADS") == settings.get("INFERENCE_NUM_THREADS", 0)


@pytest.mark.parametrize("streams", [1, 2])
def test_threads_are_bounded(core: Core, device: DeviceInfo, rng: np.random.Generator, streams: int) -> None:
    if not bound_on_threads(device, 1):
        pytest.skip("the device has one core, or is not divided")
    model = core.compile_model(products(rng), device.name, {**BOUND, "NUM_STREAMS": streams})
    given = [rng.standard_normal((SIZE, SIZE), np.float32)] * 4
    _results(model, given)
    gc.collect()
    cpu, wall = time.process_time(), time.perf_counter()
    _results(model, given)
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    assert cpu / wall < 1.4, "two threads take nearly two seconds of CPU a second"


def test_tensors_of_either_context_are_good_for_both_models(core: Core, device: DeviceInfo,
                                                            rng: np.random.Generator) -> None:
    context = core.get_default_context(device.name)
    one, bound = (core.compile_model(small_model(), device.name, settings) for settings in (F32, BOUND))
    assert (bound.get_context().handle != context.handle) == bool(bound_on_threads(device, 1))
    for rows in (3, 8, 0, 3):
        x = rng.standard_normal((rows, 64), np.float32)
        for home in (context, bound.get_context()):
            given, taken, whole = (home.create_tensor(ov.Type.f32, [rows + n, 64]) for n in (0, 0, 1))
            given.copy_from(ov.Tensor(x))
            part = clinfer.RemoteTensor(whole, [0, 0], [rows, 64])
            for model, output in ((one, taken), (bound, taken), (bound, part)):
                request = model.create_infer_request()
                request.set_input_tensor(given)
                request.set_output_tensor(output)
                request.infer()
                found = ov.Tensor(ov.Type.f32, [rows, 64])
                output.copy_to(found)
                np.testing.assert_array_equal(found.data, one([x])[0])


def test_a_batch_and_a_state_take_tensors_of_the_default_context(core: Core, device: DeviceInfo,
                                                                 rng: np.random.Generator) -> None:
    context = core.get_default_context(device.name)
    rows = [rng.standard_normal((1, 64), np.float32) for _ in range(3)]
    tensors = [context.create_tensor(ov.Type.f32, [1, 64]) for _ in rows]
    for tensor, row in zip(tensors, rows, strict=True):
        tensor.copy_from(ov.Tensor(row))
    model = core.compile_model(small_model(), device.name, BOUND)
    request = model.create_infer_request()
    request.set_input_tensors(tensors)
    np.testing.assert_array_equal(request.infer()[0], model([np.concatenate(rows)])[0])

    state = core.compile_model(memory_model(), device.name, BOUND).create_infer_request().query_state()[0]
    value = rng.standard_normal((3, *state.state.shape[1:]), np.float32)
    tensor = context.create_tensor(ov.Type.f32, list(value.shape))
    tensor.copy_from(ov.Tensor(value))
    state.state = tensor
    np.testing.assert_array_equal(state.state.data, value)


def test_tensors_of_the_users_context_stay_apart(core: Core, device: DeviceInfo) -> None:
    theirs = ClContext(core, cl.Context([device.cl_device]))
    for settings in (F32, BOUND):
        request = core.compile_model(small_model(), device.name, settings).create_infer_request()
        with pytest.raises(ClinferError, match="another context"):
            request.set_input_tensor(theirs.create_tensor(ov.Type.f32, [2, 64]))
    within = core.compile_model(small_model(), theirs, BOUND)
    assert within.get_property("compute_units") == device.cl_device.max_compute_units


def test_a_blob_has_no_bound(core: Core, device: DeviceInfo, rng: np.random.Generator) -> None:
    compiled = core.compile_model(small_model(), device.name, BOUND)
    blob, x = compiled.export_model().getvalue(), rng.standard_normal((5, 64), np.float32)
    whole = device.cl_device.max_compute_units
    for settings, expected in (({}, whole), (BOUND, compiled.get_property("compute_units"))):
        imported = core.import_model(blob, device.name, settings)
        assert imported.get_property("compute_units") == expected
        assert imported.get_property("INFERENCE_NUM_THREADS") == settings.get("INFERENCE_NUM_THREADS", 0)
        np.testing.assert_array_equal(imported([x])[0], compiled([x])[0])
