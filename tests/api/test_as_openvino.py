"""The same program on OpenVINO and on clinfer: the same values, the same memory shared, the same kinds of errors."""
from __future__ import annotations

import base64
import copy
import io
import pickle
from collections.abc import Callable
from functools import partial
from types import ModuleType
from typing import Any

import numpy as np
import openvino
import pytest
from openvino import opset13 as ops

import clinfer
from clinfer.runtime.device import DeviceInfo

F32 = {"INFERENCE_PRECISION_HINT": "f32"}
Scenario = Callable[[ModuleType, Any, str], Any]
"""(openvino or clinfer, a Core of it, the device's name) -> plain values."""

KINDS = {"f32": np.float32, "f64": np.float64, "f16": np.float16, "i8": np.int8, "u8": np.uint8, "i32": np.int32,
         "u32": np.uint32, "i16": np.int16, "u16": np.uint16, "i64": np.int64, "u64": np.uint64, "boolean": np.bool_}


def _two_inputs(dynamic: bool = False) -> openvino.Model:
    """Outputs `sum` and one without a name, of a split."""
    a, b = (ops.parameter([-1 if dynamic else 2, 2], np.float32, name=name) for name in "ab")
    total = ops.add(a, b)
    total.output(0).set_names({"sum"})
    return openvino.Model([total.output(0), ops.split(total, 1, 2).output(1)], [a, b], "two_inputs")


def _absolute(kind: str, shape: list[int]) -> openvino.Model:
    data = ops.parameter(shape, KINDS[kind], name="data")
    return openvino.Model(ops.abs(data), [data], "absolute")


def _what_happens(use: Callable[[], object]) -> str:
    """The kind of error that a use raises, or "fine"."""
    try:
        use()
    except Exception as error:
        return next(kind.__name__ for kind in (TypeError, KeyError, AttributeError, RuntimeError, Exception)
                    if isinstance(error, kind))
    return "fine"


def both(scenario: Scenario, device: DeviceInfo) -> tuple[Any, Any]:
    """What a scenario gives on OpenVINO's CPU plugin, and on clinfer."""
    return scenario(openvino, openvino.Core(), "CPU"), scenario(clinfer, clinfer.Core(), device.name)


def _array(*shape: int) -> np.ndarray:
    return np.arange(np.prod(shape), dtype=np.float32).reshape(shape) - 1


def keys_of_a_wrong_type(ov: ModuleType, core: Any, device: str) -> Any:
    compiled = core.compile_model(_two_inputs(), device, F32)
    request, array = compiled.create_infer_request(), _array(2, 2)
    results = request.infer([array, array])
    uses = []
    for key in (0.5, (1,), 1.0, -1):
        uses += [lambda key=key: request.infer({key: array}), lambda key=key: request.infer({key: array}, True),
                 lambda key=key: request.start_async({key: array}), lambda key=key: compiled.input(key),
                 lambda key=key: compiled.output(key), lambda key=key: request.get_tensor(key),
                 lambda key=key: request.set_tensor(key, ov.Tensor(array)),
                 lambda key=key: request.get_input_tensor(key), lambda key=key: request.get_output_tensor(key),
                 lambda key=key: request.set_input_tensor(key, ov.Tensor(array))]
    uses += [lambda key=key: results[key] for key in (0.5, None, b"sum", (0,), "no", 5, -3)]
    uses += [lambda: request.infer({None: array}), lambda: request.infer({b"a": array})]
    return [_what_happens(use) for use in uses]


def keys_that_do_not_exist(ov: ModuleType, core: Any, device: str) -> Any:
    compiled = core.compile_model(_two_inputs(), device, F32)
    request, array = compiled.create_infer_request(), _array(2, 2)
    uses = [lambda: request.infer({"no": array}), lambda: request.infer({5: array}), lambda: compiled.input("no"),
            lambda: compiled.output("no"), lambda: compiled.input(5), lambda: compiled.output(5),
            lambda: request.get_tensor("no"), lambda: request.get_input_tensor(5), lambda: compiled.input(),
            lambda: compiled.output(), lambda: request.get_input_tensor(), lambda: request.get_output_tensor(),
            lambda: request.infer(array), lambda: request.infer([array] * 3),
            lambda: request.set_tensor("no", ov.Tensor(array)), lambda: request.set_input_tensor(5, ov.Tensor(array))]
    return [_what_happens(use) for use in uses]


def values_of_a_wrong_type(ov: ModuleType, core: Any, device: str) -> Any:
    class Nothing:
        pass

    compiled = core.compile_model(_two_inputs(), device, F32)
    request, array = compiled.create_infer_request(), _array(2, 2)
    uses: list[Callable[[], object]] = []
    for given in (Nothing(), {0: Nothing()}, [Nothing()]):
        uses += [lambda given=given: request.infer(given), lambda given=given: request.infer(given, True),
                 lambda given=given: request.start_async(given)]
    uses += [lambda: request.infer([np.zeros((3, 2), np.float32)]), lambda: request.infer([np.zeros(4, np.float32)]),
             lambda: request.infer([ov.Tensor(np.zeros((2, 2), np.int32))]),
             lambda: request.set_tensor("a", array), lambda: request.set_input_tensor(0, array),
             lambda: request.set_output_tensor(0, array), lambda: request.set_input_tensors(5),
             lambda: request.set_output_tensors(5), lambda: request.set_callback(5, None),
             lambda: request.wait_for(-1), lambda: request.wait_for("1"), lambda: compiled.export_model(5),
             lambda: core.import_model(5, device), lambda: core.read_model(5), lambda: core.set_property(5),
             lambda: core.get_property(5), lambda: core.get_property(device, "NO_SUCH_PROPERTY"),
             lambda: core.get_property("NO_SUCH_PROPERTY"), lambda: core.set_property(device, {"NO_SUCH_PROPERTY": 1}),
             lambda: compiled.get_property("NO_SUCH_PROPERTY"), lambda: compiled.set_property({"PERF_COUNT": True}),
             lambda: core.compile_model(_two_inputs(), "NO_SUCH_DEVICE"), lambda: core.compile_model("/no/such.xml"),
             lambda: core.read_model("/no/such.xml"), lambda: core.query_model(_two_inputs(), "NO_SUCH_DEVICE"),
             lambda: core.add_extension(5), lambda: core.add_extension("/no/such.so"),
             lambda: ov.AsyncInferQueue(compiled, -1), lambda: ov.AsyncInferQueue(compiled, 1).set_callback(5),
             lambda: setattr(request, "userdata", 5)]
    return [_what_happens(use) for use in uses]


def ports(ov: ModuleType, core: Any, device: str) -> Any:
    compiled = core.compile_model(_two_inputs(), device, F32)
    request = compiled.create_infer_request()
    told = []
    for port in (*compiled.inputs, *compiled.outputs, *request.model_inputs, *request.model_outputs):
        told.append((isinstance(port, ov.ConstOutput), type(port).__name__, port.index, port.get_index(),
                     port.get_partial_shape() == port.partial_shape, str(port.shape), port.element_type.type_name,
                     len(port.names), port.get_node().get_type_name(), port.node.get_input_size(),
                     len(port.target_inputs), isinstance(port.rt_info, ov.RTMap), copy.copy(port) == port,
                     type(copy.copy(port)) is type(port), hash(port) == hash(copy.copy(port)),
                     _what_happens(lambda port=port: copy.deepcopy(port)), list(ov.Tensor(port).shape)))
    names = [port.node.input_value(0).node.friendly_name.rpartition("_")[0] for port in compiled.outputs]
    same = (compiled.input(0) == request.model_inputs[0], compiled.input("a") == compiled.input(0),
            compiled.output("sum") == compiled.output(0), compiled.input(0) == compiled.input(1),
            compiled.outputs[0].any_name, compiled.inputs[1].any_name)
    deep = _what_happens(lambda: copy.deepcopy(request.infer([_array(2, 2)] * 2)))
    return told, names, same, deep


def sources_of_outputs(ov: ModuleType, core: Any, device: str) -> Any:
    model = _two_inputs()
    model.get_results()[1].input_value(0).node.friendly_name = "halves"
    compiled = core.compile_model(model, device, F32)
    blob = compiled.export_model()
    return [port.node.input_value(0).node.friendly_name.replace("Add_", "")[-8:]
            for port in (compiled.output(1), core.import_model(blob, device).output(1))]


def shared_results(ov: ModuleType, core: Any, device: str) -> Any:
    told = []
    for share in (True, False):
        request = core.compile_model(_two_inputs(), device, F32).create_infer_request()
        first = request.infer([_array(2, 2)] * 2, share_outputs=share)
        tensors = [request.get_output_tensor(i).data for i in range(2)]
        told.append([(array.flags.owndata, np.shares_memory(array, tensor))
                     for array, tensor in zip(first.values(), tensors, strict=True)])
        before = [array.copy() for array in first.values()]
        second = request.infer([_array(2, 2) * 3] * 2, share_outputs=share)
        told.append([np.array_equal(a, b) for a, b in zip(first.values(), before, strict=True)])
        told.append([np.shares_memory(a, b) for a, b in zip(first.values(), second.values(), strict=True)])
        told.append([array.tolist() for array in second.values()])
    compiled = core.compile_model(_absolute("f32", [1, 4]), device, F32)
    for share_inputs in (True, False):
        given = -np.ones((1, 4), np.float32)
        result = compiled(given, share_inputs, True)
        own = compiled._infer_request
        told.append([np.shares_memory(own.get_input_tensor(0).data, given),
                     np.shares_memory(own.get_output_tensor(0).data, result[0])])
    return told


def shared_inputs(ov: ModuleType, core: Any, device: str) -> Any:
    told = []
    compiled = core.compile_model(_two_inputs(), device, F32)
    frozen = _array(2, 2)
    frozen.setflags(write=False)
    for share in (True, False):
        for given in (_array(2, 2), _array(2, 2).astype(np.float64), _array(4, 2)[::2], _array(2, 2).T, frozen):
            request = compiled.create_infer_request()
            request.infer({0: given, "b": _array(2, 2)}, share_inputs=share)
            told.append(np.shares_memory(request.get_input_tensor(0).data, given))
    scalar = core.compile_model(_absolute("f32", []), device, F32).create_infer_request()
    for share in (True, False):
        for number in (np.array(-1.0, np.float32), np.array(-1, np.int32), np.float32(-1), -1.0, -1):
            result = scalar.infer(number, share_inputs=share)[0]
            told.append((result.shape, float(result), np.shares_memory(number, scalar.get_input_tensor().data)))
    return told


def every_type(ov: ModuleType, core: Any, device: str) -> Any:
    told = []
    for kind, dtype in KINDS.items():
        a, b = (ops.parameter([5], dtype) for _ in "ab")
        request = core.compile_model(ov.Model(ops.concat([a, b], 0), [a, b]), device).create_infer_request()
        tensor = ov.Tensor(getattr(ov.Type, kind), [5])
        tensor.data[:] = np.array([6, 7, 8, 9, 0])
        for share in (True, False):
            result = request.infer([tensor, np.array([1, 2, 3, 4, 5], dtype)], share_inputs=share)[0]
            request.start_async([tensor, np.array([1, 2, 3, 4, 5], dtype)], share_inputs=share)
            request.wait()
            told.append((str(result.dtype), result.tolist(), request.output_tensors[0].data.tolist()))
    return told


def waiting(ov: ModuleType, core: Any, device: str) -> Any:
    request = core.compile_model(_absolute("f32", [1, 4]), device, F32).create_infer_request()
    told: list[Any] = [request.wait(), request.wait_for(0), request.latency]
    request.infer(_array(1, 4))
    told += [request.wait_for(0), request.latency > 0]
    request.start_async(_array(1, 4))
    request.wait()
    return [*told, request.wait_for(timeout=10)]


def callbacks_and_user_data(ov: ModuleType, core: Any, device: str) -> Any:
    compiled = core.compile_model(_absolute("f32", [1, 4]), device, F32)
    request, heard = compiled.create_infer_request(), []
    request.set_callback(heard.append, "first")
    request.start_async(_array(1, 4))
    request.wait()
    told: list[Any] = [request.userdata]
    request.set_callback(callback=heard.append, userdata={"second": 2})
    request.start_async(_array(1, 4), None)
    request.wait()
    told += [request.userdata, heard]
    queue = ov.AsyncInferQueue(compiled, 2)
    told += [len(queue), queue.userdata, queue.is_ready(), repr(queue), [r.userdata for r in queue]]
    done: list[Any] = []
    queue.set_callback(lambda own, data: done.append((data, own.get_output_tensor().data.tolist(), own.latency > 0)))
    for number in range(6):
        queue.start_async({"data": _array(1, 4) * number}, number)
    queue.wait_all()
    told += [sorted(done), [own.wait_for(0) for own in queue], len(list(iter(queue)))]
    for fail in (lambda own, _: own.get_tensor("no"), lambda own, _: own + 21, lambda own, _: {}["no"]):
        failing = ov.AsyncInferQueue(compiled, 1)
        failing.set_callback(fail)

        def run(failing: Any = failing) -> None:
            failing.start_async(_array(1, 4))
            failing.wait_all()
        told.append(_what_happens(run))
    return told


def profiling(ov: ModuleType, core: Any, device: str) -> Any:
    told = []
    for settings in ({}, {"PERF_COUNT": True}, {"PERF_COUNT": "YES"}):
        request = core.compile_model(_absolute("f32", [1, 4]), device, F32 | settings).create_infer_request()
        kinds = [{str(row.status) for row in request.get_profiling_info()}]
        request.infer(_array(1, 4))
        rows = request.profiling_info
        kinds.append({str(row.status) for row in rows} & {"Status.EXECUTED"})
        told.append((kinds, {type(v).__name__ for row in rows for v in (row.real_time, row.cpu_time, row.exec_type)}))
    return told


def streams(ov: ModuleType, core: Any, device: str) -> Any:
    compiled = core.compile_model(_absolute("f32", [1, 4]), device, F32)
    blob = compiled.export_model()
    into = io.BytesIO()
    told: list[Any] = [type(blob).__name__, blob.tell(), compiled.export_model(into), into.tell()]
    for source in (blob, blob, into, into, blob.getvalue(), ov.Tensor(np.frombuffer(blob.getvalue(), np.uint8))):
        imported = core.import_model(source, device)
        told.append((imported(_array(1, 4))[0].tolist(), imported.input().any_name, blob.tell(), into.tell()))
    return told


def encrypted_streams(ov: ModuleType, core: Any, device: str) -> Any:
    seen: list[str] = []

    def encrypt(content: bytes) -> bytes:
        seen.append(f"encrypt {type(content).__name__}")
        return base64.b64encode(content)

    def decrypt(content: bytes) -> bytes:
        seen.append(f"decrypt {type(content).__name__}")
        return base64.b64decode(content)

    settings = {**F32, "CACHE_ENCRYPTION_CALLBACKS": [encrypt, decrypt]}
    blob = core.compile_model(_absolute("f32", [1, 4]), device, settings).export_model()
    imported = core.import_model(blob, device, settings)
    return seen, imported(_array(1, 4))[0].tolist(), _what_happens(lambda: core.import_model(blob, device))


def versions(ov: ModuleType, core: Any, device: str) -> Any:
    (found,) = core.get_versions(device).items()
    version = found[1]
    return (found[0] == device, [type(getattr(version, name)).__name__ for name in
                                 ("build_number", "description", "major", "minor", "patch")])


def tensors_of_requests(ov: ModuleType, core: Any, device: str) -> Any:
    request = core.compile_model(_two_inputs(dynamic=True), device, F32).create_infer_request()
    told = [[list(t.shape) for t in (*request.input_tensors, *request.output_tensors)]]
    kept = request.get_output_tensor(0)
    for rows in (3, 1, 5):
        request.infer([_array(rows, 2)] * 2)
        told.append([list(t.shape) for t in (*request.input_tensors, *request.output_tensors, kept)])
        told.append([t.data.tolist() for t in (*request.input_tensors, *request.output_tensors, kept)])
    request.infer({"a": _array(2, 2), 1: _array(2, 2)})
    told.append(kept.data.tolist())
    return told


def tensors_set_by_all_keys(ov: ModuleType, core: Any, device: str) -> Any:
    compiled = core.compile_model(_two_inputs(), device, F32)
    request, total = compiled.create_infer_request(), ov.Tensor(np.zeros((2, 2), np.float32))
    given = [ov.Tensor(_array(2, 2) + more) for more in range(3)]
    request.set_tensors({0: given[0], "b": given[1], compiled.output("sum"): total})
    request.infer()
    told = [total.data.tolist()]
    request.set_tensors({1: given[2]})
    request.infer()
    return told, total.data.tolist(), [_what_happens(lambda key=key: request.set_tensors({key: given[0]}))
                                       for key in (2, "no")]


def the_dictionary_of_results(ov: ModuleType, core: Any, device: str) -> Any:
    compiled = core.compile_model(_two_inputs(), device, F32)
    results = compiled([_array(2, 2)] * 2)

    def assign() -> None:
        results["sum"] = 5
    return (list(results) == compiled.outputs, len(results), [len(names) for names in results.names()],
            [results[key].tolist() for key in (0, -1, "sum", compiled.output(1))], type(results.to_dict()).__name__,
            [array.tolist() for array in results.to_tuple()], _what_happens(assign),
            [isinstance(key, ov.ConstOutput) for key in results], "sum" in results, 0 in results,
            _what_happens(lambda: dict(results)["sum"]))


def copies(ov: ModuleType, core: Any, device: str) -> Any:
    compiled = core.compile_model(_two_inputs(), device, F32)
    request = compiled.create_infer_request()
    held = (core, compiled, request, ov.AsyncInferQueue(compiled, 1), compiled.input(0), compiled([_array(2, 2)] * 2))
    return [_what_happens(partial(use, each)) for each in held for use in (copy.copy, copy.deepcopy, pickle.dumps)]


SCENARIOS = (keys_of_a_wrong_type, keys_that_do_not_exist, values_of_a_wrong_type, ports, sources_of_outputs,
             shared_results, shared_inputs, every_type, waiting, callbacks_and_user_data, profiling, streams,
             encrypted_streams, versions, tensors_of_requests, tensors_set_by_all_keys, the_dictionary_of_results,
             copies)


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.__name__)
def test_it_is_the_same(scenario: Scenario, device: DeviceInfo) -> None:
    theirs, ours = both(scenario, device)
    assert ours == theirs
