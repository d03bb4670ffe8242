"""Models in the user's queue: everything is enqueued when `start_async` returns, and nobody waits."""
from __future__ import annotations

import gc
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pyopencl as cl
import pytest
from openvino import opset13 as ops

from clinfer.api.async_infer_queue import AsyncInferQueue
from clinfer.api.compiled_model import CompiledModel
from clinfer.api.core import Core
from clinfer.api.infer_request import InferRequest
from clinfer.base.errors import CancelledError, ClinferError
from clinfer.frontend.openvino_import import openvino as ov
from clinfer.network.memory.memory_pool import SETTLED_AFTER
from clinfer.remote.context import ClContext
from clinfer.remote.tensors import RemoteTensor
from tests.remote.pipelines import F32, User, assert_softmax, non_zero_model, softmax_model

MOST_CALLS = 60
"""Of functions of Python before the first launch."""


@pytest.fixture
def shared(core: Core, queue: cl.CommandQueue) -> ClContext:
    """A remote context that was made from a queue."""
    return ClContext(core, queue)


@pytest.fixture
def compiled(core: Core, shared: ClContext) -> CompiledModel:
    return core.compile_model(softmax_model(), shared, F32)


@contextmanager
def held(user: User, queue: cl.CommandQueue) -> Iterator[cl.UserEvent]:
    """What is enqueued inside begins when it is left (or by itself, so that a failure does not hang)."""
    gate = cl.UserEvent(user.context)
    done = cl.command_execution_status.COMPLETE
    timer = threading.Timer(20, gate.set_status, [done])
    timer.start()
    cl.enqueue_barrier(queue, [gate])
    try:
        yield gate
    finally:
        timer.cancel()
        if gate.command_execution_status != done:
            gate.set_status(done)


def _array(rng: np.random.Generator, rows: int = 3) -> np.ndarray:
    return rng.standard_normal((rows, 5), dtype=np.float32)


def _over(context: ClContext, buffer: cl.Buffer, like: np.ndarray) -> RemoteTensor:
    return context.create_tensor(ov.Type.f32, like.shape, buffer)


def test_the_users_kernels_before_and_after(compiled: CompiledModel, shared: ClContext, queue: cl.CommandQueue,
                                            user: User, rng: np.random.Generator) -> None:
    """The pipeline of the specification: one queue, barriers, and the host waits once, at its end."""
    request = compiled.create_infer_request()
    for rows in (3, 3, 8):
        array = _array(rng, rows)
        raw = user.buffer(array)
        given, taken, after = (user.buffer(array.nbytes) for _ in range(3))
        request.set_tensor("x", _over(shared, given, array))
        request.set_tensor("y", _over(shared, taken, array))
        with held(user, queue):
            user.halve(queue, (array.size,), None, raw, given)
            cl.enqueue_barrier(queue)
            request.start_async()
            cl.enqueue_barrier(queue)
            user.negate(queue, (array.size,), None, taken, after)
        queue.finish()
        assert_softmax(-user.contents(after, array), array / 2)


def test_starting_does_not_wait(compiled: CompiledModel, shared: ClContext, queue: cl.CommandQueue, user: User,
                                rng: np.random.Generator) -> None:
    array = _array(rng)
    compiled(array)
    request, taken = compiled.create_infer_request(), user.buffer(array.nbytes)
    request.set_tensor("x", _over(shared, user.buffer(array), array))
    request.set_tensor("y", _over(shared, taken, array))
    with held(user, queue) as gate:
        request.start_async()
        assert not request.wait_for(1)
        assert gate.command_execution_status != cl.command_execution_status.COMPLETE
    request.wait()
    assert request.wait_for(0) and request.latency > 0
    assert_softmax(user.contents(taken, array), array)


def test_arrays_of_the_host(compiled: CompiledModel, user: User, queue: cl.CommandQueue,
                            rng: np.random.Generator) -> None:
    """Their transfers are enqueued, too; the request is busy until they are done."""
    array = _array(rng)
    request = compiled.create_infer_request()
    with held(user, queue):
        given = array.copy()
        request.start_async([given])
        given[...] = np.nan
        for use in (request.infer, request.start_async, lambda: request.get_tensor("x"), lambda: request.results):
            with pytest.raises(ClinferError, match=r"is running(.|\n)*wait"):
                use()
    request.wait()
    assert_softmax(request.results[0], array)
    request.start_async([2 * array])
    queue.finish()
    assert_softmax(request.results["y"], 2 * array)
    assert_softmax(request.infer([array])[0], array)


def test_what_is_begun_next_runs_behind(compiled: CompiledModel, shared: ClContext, queue: cl.CommandQueue,
                                        user: User, rng: np.random.Generator) -> None:
    """A request whose tensors are all remote is begun again and again, with other tensors and shapes."""
    request, other = (compiled.create_infer_request() for _ in range(2))
    arrays = [_array(rng, rows) for rows in (3, 40, 3, 1, 500)]
    results = [user.buffer(array.nbytes) for array in arrays]
    with held(user, queue):
        for number, (array, result) in enumerate(zip(arrays, results, strict=True)):
            chosen = other if number == 2 else request
            chosen.set_tensor("x", _over(shared, user.buffer(array), array))
            chosen.set_tensor("y", _over(shared, result, array))
            chosen.start_async()
            gc.collect()
    request.wait()
    other.wait()
    for array, result in zip(arrays, results, strict=True):
        assert_softmax(user.contents(result, array), array)


def test_few_numbers_of_the_host_are_copied(compiled: CompiledModel, shared: ClContext, queue: cl.CommandQueue,
                                            user: User, rng: np.random.Generator) -> None:
    """So the request can be begun again at once, and the arrays may change, where results are remote tensors."""
    request = compiled.create_infer_request()
    arrays = [_array(rng, rows) for rows in (3, 3, 3, 8)]
    arrays[2] = arrays[1].copy()
    results = [user.buffer(array.nbytes) for array in arrays]
    with held(user, queue):
        for array, result in zip(arrays, results, strict=True):
            given = ov.Tensor(array.copy())
            request.set_tensor("x", given)
            request.set_tensor("y", _over(shared, result, array))
            request.start_async()
            given.data[...] = np.nan
    request.wait()
    for array, result in zip(arrays, results, strict=True):
        assert_softmax(user.contents(result, array), array)
    many = _array(rng, 300)
    request.set_tensor("y", _over(shared, user.buffer(many.nbytes), many))
    with held(user, queue):
        request.start_async([many])
    request.wait()
    large = ov.Tensor(many)
    request.set_tensor("x", large)
    with held(user, queue):
        request.start_async()
        with pytest.raises(ClinferError, match="is running"):
            request.set_tensor("x", large)
    request.wait()


def test_what_is_seen_again_costs_few_calls(compiled: CompiledModel, shared: ClContext, queue: cl.CommandQueue,
                                            user: User, rng: np.random.Generator) -> None:
    """Functions of Python that stand between the user's call and the launches of a seen shape."""
    if queue.properties:
        pytest.skip("the fast way is that of a queue in order")
    array = _array(rng)
    request = compiled.create_infer_request()
    request.set_tensor("x", _over(shared, user.buffer(array), array))
    request.set_tensor("y", _over(shared, user.buffer(array.nbytes), array))
    for _ in range(SETTLED_AFTER + 3):
        request.start_async()
        queue.finish()
    called = []
    sys.setprofile(lambda frame, event, _: called.append(frame.f_code.co_name) if event == "call" else None)
    try:
        request.start_async()
    finally:
        sys.setprofile(None)
    queue.finish()
    before = called[:called.index("enqueue_all")]
    assert len(before) <= MOST_CALLS, " ".join(before)


def test_shared_virtual_memory_lasts_while_it_is_used(compiled: CompiledModel, shared: ClContext, user: User,
                                                      queue: cl.CommandQueue, rng: np.random.Generator) -> None:
    if shared.engine.svm_calls is None or not user.device.cl_device.svm_capabilities:
        pytest.skip("no shared virtual memory")
    array = _array(rng)
    request, result = compiled.create_infer_request(), user.buffer(array.nbytes)
    request.set_tensor("y", _over(shared, result, array))
    with held(user, queue):
        given = shared.create_tensor(ov.Type.f32, array.shape, cl.SVMAllocation(
            user.context, array.nbytes, 64, cl.svm_mem_flags.READ_WRITE))
        cl.enqueue_copy(queue, given.given, array, is_blocking=False)
        request.set_tensor("x", given)
        del given
        request.start_async()
        request.set_tensor("x", shared.create_tensor(ov.Type.f32, array.shape))
        gc.collect()
    request.wait()
    assert_softmax(user.contents(result, array), array)


def test_callbacks_and_queues_of_requests(compiled: CompiledModel, shared: ClContext, user: User,
                                          rng: np.random.Generator) -> None:
    array, called = _array(rng), threading.Event()
    request, result = compiled.create_infer_request(), user.buffer(array.nbytes)
    request.set_tensor("x", _over(shared, user.buffer(array), array))
    request.set_tensor("y", _over(shared, result, array))
    request.set_callback(lambda data: data.set(), called)
    request.start_async()
    request.wait()
    assert called.is_set()
    assert_softmax(user.contents(result, array), array)
    seen: dict[int, np.ndarray] = {}
    jobs = AsyncInferQueue(compiled, 2)
    jobs.set_callback(lambda done, number: seen.update({number: done.results[0]}))
    arrays = [_array(rng, rows) for rows in (2, 3, 4, 2)]
    for number, given in enumerate(arrays):
        jobs.start_async([given], number)
    jobs.wait_all()
    for number, given in enumerate(arrays):
        assert_softmax(seen[number], given)


def test_what_the_host_waits_for_is_told(core: Core, compiled: CompiledModel, shared: ClContext, user: User,
                                         rng: np.random.Generator) -> None:
    assert compiled.get_property("host_waits") == ()
    waiting = core.compile_model(non_zero_model(), shared, F32)
    assert waiting.get_property("host_waits") == ("where/count",)
    array = rng.standard_normal(20).astype(np.float32)
    request, taken = waiting.create_infer_request(), shared.create_tensor(ov.Type.i64, [1, 20])
    request.set_tensor("x", shared.create_tensor(ov.Type.f32, [20], user.buffer(array)))
    request.set_tensor("y", taken)
    request.start_async()
    request.wait()
    found = np.empty(tuple(taken.shape), np.int64)
    taken.copy_to(found)
    np.testing.assert_array_equal(found[0], np.nonzero(array > 0)[0])


def _loop_model(condition: bool) -> ov.Model:
    x, state = ops.parameter([1, 5], np.float32), ops.parameter([1, 5], np.float32)
    body_output = ops.exp(state)
    goes_on = ops.reduce_logical_or(ops.less(body_output, np.float32(0)), [0, 1], False) if condition else (
        ops.constant(True))
    loop = ops.loop(ops.constant(2), ops.constant(True))
    loop.set_function(ov.Model([goes_on, body_output], [state]))
    loop.set_special_body_ports([-1, 0])
    loop.set_merged_input(state, x.output(0), body_output.output(0))
    loop.set_friendly_name("loop")
    return ov.Model([loop.get_iter_value(body_output.output(0), -1)], [x])


@pytest.mark.parametrize("condition", [False, True], ids=["always", "data decides"])
def test_of_loops_those_are_told_whose_condition_is_data(core: Core, user: User, condition: bool) -> None:
    compiled = core.compile_model(_loop_model(condition), ClContext(core, user.queue), F32)
    assert compiled.get_property("host_waits") == (("loop",) if condition else ())
    assert compiled(np.zeros((1, 5), np.float32))[0].shape == (1, 5)


def test_one_stream_alone(core: Core, user: User) -> None:
    shared = ClContext(core, user.queue)
    for settings in ({"NUM_STREAMS": 2}, {"PERFORMANCE_HINT": "THROUGHPUT"}):
        with pytest.raises(ClinferError, match=r"has one stream(.|\n)*NUM_STREAMS: 2(.|\n)*try:"):
            core.compile_model(softmax_model(), shared, settings)
    both = core.compile_model(softmax_model(), shared, {"NUM_STREAMS": 1, "PERFORMANCE_HINT": "THROUGHPUT"})
    assert both.get_property("OPTIMAL_NUMBER_OF_INFER_REQUESTS") == 1
    blob = core.compile_model(softmax_model(), ClContext(core, user.context), {"NUM_STREAMS": 2}).export_model()
    with pytest.raises(ClinferError, match="has one stream"):
        core.import_model(blob, shared)


def test_times_are_measured_in_a_queue_that_measures(core: Core, shared: ClContext, queue: cl.CommandQueue,
                                                     rng: np.random.Generator) -> None:
    measured = F32 | {"PERF_COUNT": True}
    if not queue.properties & cl.command_queue_properties.PROFILING_ENABLE:
        with pytest.raises(ClinferError, match=r"measures no times(.|\n)*PROFILING_ENABLE"):
            core.compile_model(softmax_model(), shared, measured)
        return
    compiled = core.compile_model(softmax_model(), shared, measured)
    request, array = compiled.create_infer_request(), _array(rng)
    request.start_async([array])
    request.wait()
    assert_softmax(request.results[0], array)
    assert any(info.real_time.total_seconds() > 0 for info in request.profiling_info)


def test_independent_primitives_in_a_queue_out_of_order(core: Core, shared: ClContext, user: User,
                                                        rng: np.random.Generator) -> None:
    x = ops.parameter([-1, 5], np.float32)
    x.output(0).set_names({"x"})
    branches = [ops.softmax(ops.matmul(x, ops.constant(rng.standard_normal((5, 5)).astype(np.float32)), False, False),
                            1) for _ in range(4)]
    model = ov.Model([ops.concat(branches, 1)], [x])
    compiled = core.compile_model(model, shared, F32 | {"execution_order": "out_of_order"})
    expected = core.compile_model(model, user.device.name, F32)
    for rows in (3, 7, 3):
        array = _array(rng, rows)
        np.testing.assert_allclose(compiled(array)[0], expected(array)[0], rtol=1e-5)


def test_cancelling(compiled: CompiledModel, user: User, queue: cl.CommandQueue, rng: np.random.Generator) -> None:
    array = _array(rng)
    request = compiled.create_infer_request()
    with held(user, queue):
        request.start_async([array])
        request.cancel()
    with pytest.raises(CancelledError):
        request.wait()
    assert_softmax(request.infer([array])[0], array)


def test_memory_is_given_back_while_the_device_works(compiled: CompiledModel, shared: ClContext, user: User,
                                                     queue: cl.CommandQueue, rng: np.random.Generator) -> None:
    array = _array(rng)
    request, result = compiled.create_infer_request(), user.buffer(array.nbytes)
    request.set_tensor("y", _over(shared, result, array))
    request.start_async([array])
    compiled.release_memory()
    request.wait()
    assert_softmax(user.contents(result, array), array)
    request.start_async()
    request.wait()
    assert_softmax(user.contents(result, array), array)


def test_a_request_that_fails_can_be_used_again(compiled: CompiledModel, shared: ClContext, user: User,
                                                rng: np.random.Generator) -> None:
    request: InferRequest = compiled.create_infer_request()
    array = _array(rng)
    small = user.buffer(20)
    request.set_tensor("y", shared.create_tensor(ov.Type.f32, [1, 5], small))
    with pytest.raises(ClinferError, match="too small"):
        request.start_async([array])
    request.wait()
    request.start_async([array[:1]])
    request.wait()
    assert_softmax(user.contents(small, array[:1]), array[:1])
