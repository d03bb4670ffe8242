"""Models that read from and write to remote tensors: nothing is copied, whatever is exchanged between inferences."""
from __future__ import annotations

import gc

import numpy as np
import pyopencl as cl
import pytest
from openvino import opset13 as ops

from clinfer.api.compiled_model import CompiledModel
from clinfer.api.core import Core
from clinfer.base.errors import ClinferError
from clinfer.frontend.openvino_import import openvino as ov
from clinfer.remote.context import ClContext
from clinfer.remote.tensors import RemoteTensor
from clinfer.runtime.buffer_uses import BufferUses
from clinfer.runtime.device import DeviceInfo
from tests.remote.pipelines import F32, User, assert_softmax, non_zero_model, softmax_model


@pytest.fixture(scope="module")
def compiled(core: Core, context: ClContext) -> CompiledModel:
    return core.compile_model(softmax_model(), context, F32)


def _floats(rng: np.random.Generator, rows: int) -> np.ndarray:
    return rng.standard_normal((rows, 5), dtype=np.float32)


def _tensor(context: ClContext, buffer: cl.Buffer, rows: int) -> RemoteTensor:
    return context.create_tensor(ov.Type.f32, [rows, 5], buffer)


def test_nothing_is_copied_or_allocated(compiled: CompiledModel, context: ClContext, user: User,
                                        rng: np.random.Generator, traffic: list[str]) -> None:
    request = compiled.create_infer_request()
    arrays = [_floats(rng, rows) for rows in (3, 8, 3, 1)]
    inputs = [_tensor(context, user.buffer(array), len(array)) for array in arrays]
    buffers = [user.buffer(array.nbytes) for array in arrays]
    outputs = [_tensor(context, buffer, len(array)) for buffer, array in zip(buffers, arrays, strict=True)]
    copied = compiled.create_infer_request()
    for array in arrays:
        copied.infer([array])
    assert {"write", "note", "_allocate"} <= set(traffic), "the copying way is seen"
    for order in (range(4), reversed(range(4)), rng.permutation(4)):
        for n in order:
            traffic.clear()
            request.set_tensor("x", inputs[n])
            request.set_tensor("y", outputs[n])
            results = request.infer()
            assert not traffic
            assert results[0] is results["y"] is outputs[n] is request.get_tensor("y")
            assert request.get_tensor("x") is inputs[n]
            request.start_async()
            request.wait()
            assert not traffic
            assert_softmax(user.contents(buffers[n], arrays[n]), arrays[n])


def test_only_arguments_of_what_changed_are_set(compiled: CompiledModel, context: ClContext, user: User,
                                                monkeypatch: pytest.MonkeyPatch) -> None:
    request = compiled.create_infer_request()
    tensors = [_tensor(context, user.buffer(60), 3) for _ in range(4)]
    request.set_tensor("x", tensors[0])
    request.set_tensor("y", tensors[1])
    request.infer()
    changed: list[int] = []
    real = BufferUses.set
    monkeypatch.setattr(BufferUses, "set", lambda self, memory: (
        changed.extend(position for _, position in self), real(self, memory))[1])
    request.infer()
    assert not changed
    request.set_tensor("x", tensors[2])
    request.infer()
    first = set(changed)
    assert len(first) == 1, "the input of each kernel that may run"
    changed.clear()
    request.set_tensor("y", tensors[3])
    request.infer()
    assert len(set(changed)) == 1 and not first & set(changed)


def test_every_kind_of_memory_is_read_and_written(core: Core, context: ClContext, user: User,
                                                  compiled: CompiledModel, rng: np.random.Generator) -> None:
    request = compiled.create_infer_request()
    array = _floats(rng, 6)
    natives = context.engine.native_types
    makers = [lambda: context.create_tensor(ov.Type.f32, [6, 5]),
              lambda: context.create_tensor(ov.Type.f32, [6, 5], user.buffer(4096).get_sub_region(
                  user.device.cl_device.mem_base_addr_align // 8, 120))]
    if natives["usm_host"] not in ("cl_mem", "host_cl_mem"):
        makers.append(lambda: context.create_usm_host_tensor(ov.Type.f32, [6, 5]))
    if natives["usm_device"] not in ("cl_mem", "host_cl_mem"):
        makers.append(lambda: context.create_usm_device_tensor(ov.Type.f32, [6, 5]))
    if context.engine.svm_calls and user.device.cl_device.svm_capabilities:
        makers.append(lambda: context.create_tensor(ov.Type.f32, [6, 5], cl.SVM(
            cl.csvm_empty(user.context, (6, 5), np.float32))))
    for make_input in makers:
        for make_output in makers:
            given, taken = make_input(), make_output()
            given.copy_from(array)
            request.set_tensors({"x": given, "y": taken})
            request.infer()
            found = np.full_like(array, np.nan)
            taken.copy_to(found)
            assert_softmax(found, array)


def test_remote_and_host_tensors_take_turns(compiled: CompiledModel, context: ClContext, user: User,
                                            rng: np.random.Generator) -> None:
    request, other = compiled.create_infer_request(), compiled.create_infer_request()
    for _ in range(3):
        first, second, third = (_floats(rng, rows) for rows in (4, 2, 7))
        buffer = user.buffer(first.nbytes)
        request.set_tensor("x", _tensor(context, user.buffer(first), 4))
        request.set_tensor("y", _tensor(context, buffer, 4))
        request.infer()
        assert_softmax(other.infer([third])[0], third)
        assert_softmax(user.contents(buffer, first), first)
        request.infer([second])
        assert_softmax(user.contents(buffer, first)[:2], second)
        assert tuple(request.get_tensor("y").shape) == (2, 5)
        host = ov.Tensor(second + 1)
        request.set_tensor("x", host)
        request.set_tensor("y", ov.Tensor(ov.Type.f32, [2, 5]))
        assert_softmax(request.infer()["y"], second + 1)
        assert_softmax(user.contents(buffer, first)[:2], second)
        assert request.get_tensor("x") is host
        assert_softmax(request.infer({"x": _tensor(context, user.buffer(third), 7)})["y"], third)


def test_host_tensors_that_the_device_reaches_are_not_copied(compiled: CompiledModel, context: ClContext,
                                                             rng: np.random.Generator, traffic: list[str]) -> None:
    request = compiled.create_infer_request()
    given, taken = (context.create_host_tensor(ov.Type.f32, [4, 5]) for _ in range(2))
    request.set_tensors({"x": given, "y": taken})
    request.infer()
    for _ in range(2):
        given.data[...] = array = _floats(rng, 4)
        taken.data[...] = np.nan
        traffic.clear()
        result = request.infer(share_outputs=True)[0]
        if context.engine.native_types["usm_host"] != "host_cl_mem":
            assert not traffic
        assert_softmax(taken.data, array)
        assert result.ctypes.data == taken.data.ctypes.data
    taken.shape = [2, 5]
    with pytest.raises(ClinferError, match="does not fit"):
        request.set_tensor("x", ov.Tensor(_floats(rng, 9)))
        request.infer()


def test_regions_as_inputs_and_outputs(compiled: CompiledModel, context: ClContext, rng: np.random.Generator) -> None:
    unit = context.engine.capabilities.buffer_alignment
    rows = unit // 4
    array = _floats(rng, 4 * rows)
    whole, results = (context.create_tensor(ov.Type.f32, [4 * rows, 5]) for _ in range(2))
    whole.copy_from(array)
    results.copy_from(np.zeros_like(array))
    request = compiled.create_infer_request()
    request.set_tensor("x", whole.roi([rows, 0], [3 * rows, 5]))
    request.set_tensor("y", results.roi([2 * rows, 0], [4 * rows, 5]))
    del whole
    gc.collect()
    request.infer()
    found = np.empty_like(array)
    results.copy_to(found)
    assert_softmax(found[2 * rows:], array[rows:3 * rows])
    assert not found[:2 * rows].any()
    odd = results.roi([1, 0], [3, 5])
    if unit > 20:
        with pytest.raises(ClinferError, match=r"where it lies(.|\n)*no multiple of(.|\n)*copy_to"):
            request.set_tensor("x", odd)
    with pytest.raises(ClinferError, match=r"where it lies(.|\n)*no single run"):
        request.set_tensor("x", context.create_tensor(ov.Type.f32, [4, 9]).roi([0, 0], [4, 5]))


def test_outputs_whose_size_data_decides(core: Core, context: ClContext, user: User, rng: np.random.Generator) -> None:
    compiled = core.compile_model(non_zero_model(), context, F32)
    request = compiled.create_infer_request()
    taken = context.create_tensor(ov.Type.i64, [1, 12])
    request.set_tensor("y", taken)
    for count in (5, 12, 0, 3):
        array = rng.permutation(np.where(np.arange(20) < count, 1, -1)).astype(np.float32)
        request.infer({"x": context.create_tensor(ov.Type.f32, [20], user.buffer(array))})
        assert tuple(taken.shape) == (1, count)
        found = np.full((1, count), -1)
        taken.copy_to(found)
        np.testing.assert_array_equal(found[0], np.nonzero(array > 0)[0])
    with pytest.raises(ClinferError, match=r"too small|does not fit"):
        request.infer([np.ones(20, np.float32)])
    assert_result = request.infer([np.array([1, -1, 1], np.float32)])[0]
    assert assert_result is taken and tuple(taken.shape) == (1, 2)


def test_values_that_the_host_reads_from_remote_inputs(core: Core, context: ClContext, user: User,
                                                       rng: np.random.Generator) -> None:
    x, shape = ops.parameter([-1], np.float32), ops.parameter([2], np.int64)
    x.output(0).set_names({"x"})
    shape.output(0).set_names({"shape"})
    compiled = core.compile_model(ov.Model([ops.softmax(ops.reshape(x, shape, False), 1)], [x, shape]), context, F32)
    assert compiled.get_property("host_waits") == ("input shape",)
    array = rng.standard_normal(12).astype(np.float32)
    request = compiled.create_infer_request()
    request.set_tensor("x", context.create_tensor(ov.Type.f32, [12], user.buffer(array)))
    wanted = context.create_tensor(ov.Type.i64, [2])
    request.set_tensor("shape", wanted)
    for sizes in ((3, 4), (6, 2), (3, 4)):
        wanted.copy_from(np.array(sizes))
        assert_softmax(request.infer()[0], array.reshape(sizes))


def test_an_output_that_is_an_input_is_copied(core: Core, context: ClContext, user: User,
                                              rng: np.random.Generator) -> None:
    x = ops.parameter([-1, 5], np.float32)
    x.output(0).set_names({"x"})
    compiled = core.compile_model(ov.Model([ops.result(x), ops.softmax(x, 1), ops.reshape(x, [5, -1], False)], [x]),
                                  context, F32)
    request = compiled.create_infer_request()
    array = _floats(rng, 3)
    buffers = [user.buffer(60) for _ in range(3)]
    request.set_tensor("x", _tensor(context, user.buffer(array), 3))
    for number, buffer in enumerate(buffers):
        request.set_output_tensor(number, _tensor(context, buffer, 3 if number < 2 else 0))
    request.infer()
    np.testing.assert_array_equal(user.contents(buffers[0], array), array)
    assert_softmax(user.contents(buffers[1], array), array)
    np.testing.assert_array_equal(user.contents(buffers[2], array), array)
    assert tuple(request.get_output_tensor(2).shape) == (5, 3)
    for number in range(2):
        request.set_output_tensor(number, _tensor(context, user.buffer(40), 2))
        with pytest.raises(ClinferError, match=r"output is too small(.|\n)*needed bytes: 60(.|\n)*given bytes: 40"):
            request.infer()
        request.set_output_tensor(number, _tensor(context, buffers[number], 3))
    request.infer()


def test_a_tensor_lasts_as_long_as_the_request(compiled: CompiledModel, context: ClContext, user: User,
                                               rng: np.random.Generator) -> None:
    request = compiled.create_infer_request()
    array = _floats(rng, 4)
    given, taken = user.buffer(array), user.buffer(array.nbytes)
    request.set_tensor("x", _tensor(context, given, 4))
    request.set_tensor("y", _tensor(context, taken, 4))
    gc.collect()
    request.start_async()
    request.wait()
    assert_softmax(user.contents(taken, array), array)
    assert (given.reference_count, taken.reference_count) == (2, 2)
    request.set_tensor("x", _tensor(context, taken, 4).context.create_tensor(ov.Type.f32, [4, 5]))
    assert given.reference_count == 1, "what was exchanged is let go of"
    del request
    assert (given.reference_count, taken.reference_count) == (1, 1), "and so is all else with the request"


def test_a_network_in_parts_lets_go_of_the_outputs(core: Core, context: ClContext, user: User,
                                                   rng: np.random.Generator) -> None:
    """What is joined is written to its place in the user's buffer, by sub-buffers of it."""
    x = ops.parameter([64, 32], np.float32)
    x.output(0).set_names({"x"})
    joined = ops.concat([ops.softmax(x, 1), ops.exp(x)], 0)
    compiled = core.compile_model(ov.Model([joined], [x]), context, F32)
    array = rng.standard_normal((64, 32)).astype(np.float32)
    taken = user.buffer(2 * array.nbytes)
    request = compiled.create_infer_request()
    request.set_output_tensor(context.create_tensor(ov.Type.f32, [128, 32], taken))
    request.infer([array])
    found = user.contents(taken, np.concatenate([array, array]))
    np.testing.assert_allclose(found[64:], np.exp(array), rtol=1e-5)
    assert_softmax(found[:64], array)
    before = user.buffer(4).reference_count
    del request
    assert taken.reference_count == before


def test_models_of_a_device_take_tensors_of_its_context(core: Core, device: DeviceInfo,
                                                        rng: np.random.Generator) -> None:
    compiled = core.compile_model(softmax_model(), device.name, F32)
    context = compiled.get_context()
    array = _floats(rng, 3)
    given = context.create_tensor(ov.Type.f32, [3, 5])
    given.copy_from(array)
    assert_softmax(compiled({"x": given})[0], array)
    queue = cl.CommandQueue(context.get())
    np.testing.assert_array_equal(_enqueued_copy(queue, given.get(), array), array)


def _enqueued_copy(queue: cl.CommandQueue, buffer: cl.Buffer, like: np.ndarray) -> np.ndarray:
    found = np.empty_like(like)
    cl.enqueue_copy(queue, found, buffer)
    return found


def test_ranks_that_are_open(core: Core, context: ClContext, user: User, rng: np.random.Generator) -> None:
    x = ops.parameter(ov.PartialShape.dynamic(), np.float32)
    x.output(0).set_names({"x"})
    compiled = core.compile_model(ov.Model([ops.softmax(x, -1)], [x]), context, F32)
    assert compiled.get_context() is context and compiled.get_property("host_waits") == ()
    for shape in ((3, 5), (2, 3, 4), (3, 5)):
        array = rng.standard_normal(shape).astype(np.float32)
        buffer = user.buffer(array.nbytes)
        request = compiled.create_infer_request()
        request.set_input_tensor(context.create_tensor(ov.Type.f32, shape, user.buffer(array)))
        request.set_output_tensor(context.create_tensor(ov.Type.f32, shape, buffer))
        request.infer()
        assert_softmax(user.contents(buffer, array), array)


def test_imported_models_run_in_a_context(core: Core, context: ClContext, compiled: CompiledModel, user: User,
                                          rng: np.random.Generator) -> None:
    blob = compiled.export_model()
    imported = core.import_model(blob, context)
    array = _floats(rng, 3)
    assert imported.get_context() is context
    assert_softmax(imported({"x": _tensor(context, user.buffer(array), 3)})[0], array)
