"""Host tensors on devices that compute in the host's memory: no copies, and nothing is overwritten too early."""
from __future__ import annotations

import gc
import weakref

import numpy as np
import pyopencl as cl
import pytest
from openvino import opset13 as ops

from clinfer.api.compiled_model import CompiledModel
from clinfer.api.core import Core
from clinfer.frontend.openvino_import import openvino as ov
from clinfer.remote import host_memories
from clinfer.remote.context import ClContext
from clinfer.runtime.device import DeviceInfo
from tests.remote.pipelines import F32, User, assert_softmax, softmax_model


@pytest.fixture(autouse=True)
def in_place(context: ClContext, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nothing is said of small arrays, they are no exception."""
    if not context.engine.capabilities.buffers_in_place:
        pytest.skip("the device has memory of its own")
    monkeypatch.setattr(host_memories, "_SMALL_BYTES", 0)


@pytest.fixture
def softmax(core: Core, context: ClContext) -> CompiledModel:
    return core.compile_model(softmax_model(), context, F32)


@pytest.fixture
def turned(core: Core, context: ClContext) -> CompiledModel:
    """`x` -> `y`, x transposed: whoever writes y over x reads what is overwritten."""
    x = ops.parameter([-1, -1], np.float32)
    x.output(0).set_names({"x"})
    y = ops.transpose(x, np.array([1, 0]))
    y.output(0).set_names({"y"})
    return core.compile_model(ov.Model([y], [x], "turned"), context, F32)


def _shared(array: np.ndarray) -> ov.Tensor:
    return ov.Tensor(array, shared_memory=True)


def _aligned(shape: tuple[int, ...], offset: int = 0) -> np.ndarray:
    """An array of f32 that begins that many bytes behind a multiple of 64."""
    room = np.full(int(np.prod(shape)) * 4 + 128, 0xFF, np.uint8)
    begin = -room.ctypes.data % 64 + offset
    return room[begin:begin + int(np.prod(shape)) * 4].view(np.float32).reshape(shape)


def test_nothing_is_copied(softmax: CompiledModel, traffic: list[str], rng: np.random.Generator) -> None:
    given, result = _aligned((300, 5)), _aligned((300, 5))
    request = softmax.create_infer_request()
    request.set_tensor("x", _shared(given))
    request.set_tensor("y", _shared(result))
    request.infer()
    traffic.clear()
    for _ in range(3):
        given[...] = rng.standard_normal((300, 5), dtype=np.float32)
        result[...] = np.nan
        request.infer()
        assert_softmax(result, given)
        request.start_async()
        request.wait()
    assert traffic == []


@pytest.mark.parametrize("rows", [300, 20000])
def test_shared_arrays_are_read_in_place(softmax: CompiledModel, traffic: list[str], rng: np.random.Generator,
                                         monkeypatch: pytest.MonkeyPatch, rows: int) -> None:
    """Small ones when they come again."""
    monkeypatch.setattr(host_memories, "_SMALL_BYTES", 4 * 300 * 5)
    request = softmax.create_infer_request()
    for _ in range(3):
        given = _aligned((rows, 5))
        given[...] = rng.standard_normal((rows, 5), dtype=np.float32)
        traffic.clear()
        assert_softmax(request.infer({"x": given}, share_inputs=True)["y"], given)
        assert ("write" in traffic) == (rows == 300)
        traffic.clear()
        given *= -1
        assert_softmax(request.infer()["y"], given)
        given *= 2
        assert_softmax(request.infer({"x": given}, share_inputs=True)["y"], given)
        assert "write" not in traffic


def test_no_buffers_are_made_over_small_arrays_that_take_turns(softmax: CompiledModel, rng: np.random.Generator,
                                                               monkeypatch: pytest.MonkeyPatch) -> None:
    request, given = softmax.create_infer_request(), [_aligned((300, 5)) for _ in range(3)]
    monkeypatch.setattr(host_memories, "_SMALL_BYTES", 4 * 300 * 5)
    monkeypatch.setattr(host_memories, "memory_over", None)
    for number in range(9):
        array = given[number % 3]
        array[...] = rng.standard_normal((300, 5), dtype=np.float32)
        assert_softmax(request.infer({"x": array}, share_inputs=True)["y"], array)


@pytest.mark.parametrize("offset", [4, 8, 12, 16, 32, 60])
def test_arrays_lie_where_they_like(softmax: CompiledModel, offset: int, rng: np.random.Generator) -> None:
    given, result = _aligned((301, 5), offset), _aligned((301, 5), offset)
    given[...] = rng.standard_normal((301, 5), dtype=np.float32)
    request = softmax.create_infer_request()
    request.set_tensor("x", _shared(given))
    request.set_tensor("y", _shared(result))
    request.infer()
    assert_softmax(result, given)


@pytest.mark.parametrize("shift", [0, 1, 4, 20, 64])
def test_an_output_may_lie_over_an_input(turned: CompiledModel, shift: int, rng: np.random.Generator) -> None:
    room = _aligned((128,))
    values = rng.standard_normal((8, 8), dtype=np.float32)
    request = turned.create_infer_request()
    request.set_tensor("x", _shared(room[:64].reshape(8, 8)))
    request.set_tensor("y", _shared(room[shift:shift + 64].reshape(8, 8)))
    for _ in range(2):
        room[:64] = values.reshape(-1)
        request.infer()
        np.testing.assert_array_equal(room[shift:shift + 64].reshape(8, 8), values.T)


@pytest.mark.parametrize("remote", ["input", "output"])
@pytest.mark.parametrize("kind", ["buffer", "usm"])
def test_so_may_a_view_of_a_remote_tensor(turned: CompiledModel, remote: str, kind: str,
                                          rng: np.random.Generator) -> None:
    context = turned.get_context()
    if kind == "usm" and context.engine.native_types["usm_host"] == "host_cl_mem":
        pytest.skip("no pointers")
    create = context.create_usm_host_tensor if kind == "usm" else context.create_tensor
    tensor = create(np.float32, [8, 8])
    seen = np.asarray(tensor)
    seen[...] = values = rng.standard_normal((8, 8), dtype=np.float32)
    request = turned.create_infer_request()
    request.set_tensor("x", tensor if remote == "input" else _shared(seen))
    request.set_tensor("y", _shared(seen) if remote == "input" else tensor)
    request.infer()
    np.testing.assert_array_equal(seen, values.T)


def test_host_tensors_made_here_may_lie_over_each_other(turned: CompiledModel, rng: np.random.Generator) -> None:
    tensor = turned.get_context().create_host_tensor(np.float32, [8, 8])
    tensor.data[...] = values = rng.standard_normal((8, 8), dtype=np.float32)
    request = turned.create_infer_request()
    request.set_tensor("x", tensor)
    request.set_tensor("y", tensor)
    request.infer()
    np.testing.assert_array_equal(tensor.data, values.T)


def test_tensors_that_grow_and_shrink(turned: CompiledModel, rng: np.random.Generator) -> None:
    """Tensors that OpenVINO allocated move when they grow."""
    request = turned.create_infer_request()
    given, result = request.get_tensor("x"), request.get_tensor("y")
    for _ in range(12):
        values = rng.standard_normal(rng.integers(0, 60, 2), dtype=np.float32)
        given.shape = values.shape
        given.data[...] = values
        request.infer()
        np.testing.assert_array_equal(result.data, values.T)


def test_an_array_that_is_too_large_for_the_result(turned: CompiledModel, rng: np.random.Generator) -> None:
    result = _aligned((100,))
    request = turned.create_infer_request()
    request.set_tensor("y", _shared(result.reshape(10, 10)))
    for rows in (3, 10, 2):
        values = rng.standard_normal((rows, 4), dtype=np.float32)
        request.infer({"x": values})
        np.testing.assert_array_equal(result[:4 * rows].reshape(4, rows), values.T)


def test_regions_of_host_tensors(turned: CompiledModel, rng: np.random.Generator) -> None:
    given, result = rng.standard_normal((9, 9), dtype=np.float32), np.zeros((9, 9), np.float32)
    request = turned.create_infer_request()
    request.set_tensor("x", ov.Tensor(_shared(given), [1, 2], [4, 8]))
    request.set_tensor("y", ov.Tensor(_shared(result), [3, 1], [9, 4]))
    request.infer()
    expected = np.zeros((9, 9), np.float32)
    expected[3:, 1:4] = given[1:4, 2:8].T
    np.testing.assert_array_equal(result, expected)


def test_arrays_are_kept_no_longer_than_they_are_set(softmax: CompiledModel, rng: np.random.Generator) -> None:
    class Watched(np.ndarray):
        """An array to which there are weak references."""

    def watched() -> np.ndarray:
        return _aligned((300, 5)).view(Watched)

    request = softmax.create_infer_request()
    given, result = watched(), watched()
    given[...] = values = rng.standard_normal((300, 5), dtype=np.float32)
    gone = [weakref.ref(given), weakref.ref(result)]
    request.set_tensor("x", _shared(given))
    request.set_tensor("y", _shared(result))
    del given, result
    gc.collect()
    request.infer()
    assert_softmax(np.array(request.get_tensor("y").data), values)
    assert all(reference() is not None for reference in gone)
    request.set_tensor("x", _shared(np.zeros((2, 5), np.float32)))
    request.set_tensor("y", _shared(np.zeros((2, 5), np.float32)))
    gc.collect()
    assert [reference() is None for reference in gone] == [True, True]
    np.testing.assert_allclose(request.infer()["y"], 0.2)


def test_in_the_users_queue_arrays_may_go_before_the_inference(core: Core, user: User, device: DeviceInfo,
                                                               rng: np.random.Generator) -> None:
    """Nobody waits, so that they are transferred."""
    queue = cl.CommandQueue(user.context)
    model = core.compile_model(softmax_model(), ClContext(core, queue), F32)
    values = rng.standard_normal((300, 5), dtype=np.float32)
    result = model.get_context().create_tensor(np.float32, [300, 5])
    request = model.create_infer_request()
    request.set_tensor("y", result)
    given = values.copy()
    gate = cl.UserEvent(user.context)
    cl.enqueue_barrier(queue, wait_for=[gate])
    try:
        request.start_async({"x": given}, share_inputs=True)
        del request, given
        gc.collect()
        poison = [np.full((300, 5), np.nan, np.float32) for _ in range(20)]
    finally:
        gate.set_status(cl.command_execution_status.COMPLETE)
    queue.finish()
    del poison
    assert_softmax(np.asarray(result), values)
