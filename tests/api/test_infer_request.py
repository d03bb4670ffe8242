"""Infer requests: forms of input and output, shapes, and whose memory is whose."""
from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from clinfer.api.compiled_model import CompiledModel
from clinfer.api.core import Core
from clinfer.base.errors import ClinferError
from clinfer.frontend.openvino_import import openvino as ov
from clinfer.runtime.device import DeviceInfo
from tests.api.models import F32, assert_softmax, softmax_model

# -- forms --------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", [
    lambda m, a, b: [a, b],
    lambda m, a, b: (a, b),
    lambda m, a, b: {"a": a, "b": b},
    lambda m, a, b: {0: a, 1: b},
    lambda m, a, b: {m.input("a"): a, m.input(1): b},
    lambda m, a, b: {"a_layer": a, "b_layer": ov.Tensor(b)},
    lambda m, a, b: [a.tolist(), b.astype(np.float64)],
    lambda m, a, b: [ov.Tensor(a), ov.Tensor(b, shared_memory=True)],
])
@pytest.mark.parametrize("share", [False, True])
def test_forms_of_inputs(two: CompiledModel, a: np.ndarray, b: np.ndarray, form: Callable[..., Any],
                         share: bool) -> None:
    results = two.create_infer_request().infer(form(two, a, b), share_inputs=share)
    assert_softmax(results["a_out"], a)
    assert_softmax(results["b_out"], b)


def test_forms_of_a_single_input(one: CompiledModel, x: np.ndarray) -> None:
    for given in (x, [x], {"x": x}, {0: x}, ov.Tensor(x), x.tolist(), (x,), {one.input(): x}, x.astype(np.float64)):
        assert_softmax(one(given)[0], x)
        assert_softmax(one.infer_new_request(given)[0], x)


def test_ports_of_the_source_model_work(core: Core, device: DeviceInfo, x: np.ndarray) -> None:
    model = softmax_model({"x": [-1, 5]})
    request = core.compile_model(model, device.name, F32).create_infer_request()
    results = request.infer({model.input(0): x})
    assert_softmax(results[model.output(0)], x)
    assert_softmax(request.get_tensor(model.output("x_out")).data, x)


def test_results_are_a_dictionary_with_three_kinds_of_keys(two: CompiledModel, a: np.ndarray, b: np.ndarray) -> None:
    results = two([a, b])
    for key in (0, -2, "a_out", two.output(0), two.output("a_out")):
        assert results[key] is results[0]
    assert list(results) == two.outputs
    assert len(results) == 2
    assert results.to_tuple()[1] is results[1] is results.to_dict()[two.output(1)]
    assert [values.shape for values in results.values()] == [(2, 3), (6, 4)]
    assert results.names() == ({"a_out"}, {"b_out"})
    first, second = results.values()
    assert first is results[0] and second is results[1]
    for key in (2, -3, "c"):
        with pytest.raises(KeyError):
            results[key]
    for key in (0.5, None, b"a_out", (0,)):
        with pytest.raises(TypeError):
            results[key]
    assert isinstance(results, ov.utils.data_helpers.OVDict)


def test_ports_tell_what_the_model_declares(two: CompiledModel) -> None:
    assert [port.any_name for port in two.inputs] == ["a", "b"]
    assert [port.get_names() for port in two.outputs] == [{"a_out"}, {"b_out"}]
    assert str(two.input("b").partial_shape) == "[1..6,4]"
    assert two.input("b").element_type == ov.Type.f32
    assert list(two.output(0).shape) == [2, 3]
    request = two.create_infer_request()
    assert request.model_inputs == two.inputs
    assert request.model_outputs == two.outputs
    assert request.get_compiled_model() is two
    assert "'b' f32[1..6,4]" in repr(request)
    assert "'b' f32[1..6,4]" in repr(two)


# -- shapes -------------------------------------------------------------------------------------


def test_shapes_change_through_one_request(one: CompiledModel, rng: np.random.Generator) -> None:
    request = one.create_infer_request()
    rows = [int(n) for n in rng.integers(1, 40, 12)]
    for n in rows + rows[::-1]:
        x = rng.standard_normal((n, 5), dtype=np.float32)
        assert_softmax(request.infer(x)[0], x)


def test_an_empty_tensor(one: CompiledModel, x: np.ndarray) -> None:
    request = one.create_infer_request()
    assert request.infer(x[:0])[0].shape == (0, 5)
    assert_softmax(request.infer(x)[0], x)


# -- whose memory is whose ----------------------------------------------------------------------


def test_given_arrays_are_not_kept(one: CompiledModel, x: np.ndarray) -> None:
    request = one.create_infer_request()
    mine = x.copy()
    request.infer(mine)
    mine[:] = np.nan
    assert_softmax(request.infer()[0], x)
    np.testing.assert_array_equal(request.get_input_tensor().data, x)
    assert_softmax(request.infer()[0], x)


def test_shared_arrays_are_read_again(one: CompiledModel, x: np.ndarray) -> None:
    request = one.create_infer_request()
    mine = x.copy()
    request.infer(mine, share_inputs=True)
    mine[:] = x[::-1]
    assert_softmax(request.infer()[0], x[::-1])


def test_nobody_writes_to_a_shared_array(one: CompiledModel, x: np.ndarray) -> None:
    request = one.create_infer_request()
    mine = x.copy()
    request.infer(mine, share_inputs=True)
    assert_softmax(request.infer(x + 1)[0], x + 1)
    request.infer(mine, share_inputs=True)
    request.start_async(x[:1])
    request.wait()
    np.testing.assert_array_equal(mine, x)
    request.infer(mine, share_inputs=True)
    request.get_input_tensor()
    request.infer(x * 2)
    np.testing.assert_array_equal(mine, x * 2)


@pytest.mark.parametrize("rows", [1, 3000])
def test_arrays_are_let_go_of(one: CompiledModel, rng: np.random.Generator, rows: int) -> None:
    request, x = one.create_infer_request(), rng.random((rows, 5), np.float32)
    known = weakref.ref(x)
    request.infer(x)
    del x
    assert known() is None


def test_results_stay_when_the_request_runs_again(one: CompiledModel, x: np.ndarray) -> None:
    request = one.create_infer_request()
    first = request.infer(x)[0]
    request.infer(x + np.arange(5, dtype=np.float32))
    assert_softmax(first, x)
    seen = request.results[0]
    request.get_output_tensor().data[:] = np.nan
    assert np.isfinite(seen).all()


def test_shared_results_are_overwritten(one: CompiledModel, x: np.ndarray) -> None:
    request = one.create_infer_request()
    shared = request.infer(x, share_outputs=True)[0]
    other = x + np.arange(5, dtype=np.float32)
    request.infer(other)
    assert_softmax(shared, other)
    request.infer(np.zeros((4000, 5), np.float32), share_outputs=True)
    assert_softmax(shared, other)
    assert np.shares_memory(request.infer(x, share_outputs=True)[0], request.infer(x, share_outputs=True)[0])


def test_tensors_of_a_new_request(two: CompiledModel) -> None:
    request = two.create_infer_request()
    assert [list(t.shape) for t in request.input_tensors] == [[2, 3], [0, 4]]
    assert [list(t.shape) for t in request.output_tensors] == [[2, 3], [0, 4]]


def test_tensors_that_were_got_stay_connected(two: CompiledModel, a: np.ndarray, b: np.ndarray) -> None:
    request = two.create_infer_request()
    given, bounded = request.get_tensor("a"), request.get_input_tensor(1)
    result = request.get_output_tensor(0)
    bounded.shape = [6, 4]
    for scale in (1.0, 2.0):
        given.data[:], bounded.data[:] = a * scale, b * scale
        request.infer()
        assert_softmax(result.data, a * np.float32(scale))
        assert_softmax(request.get_tensor("b_out").data, b * np.float32(scale))
    request.infer([a, b[:2]])
    np.testing.assert_array_equal(given.data, a)
    np.testing.assert_array_equal(bounded.data, b[:2])
    assert_softmax(result.data, a)


def test_tensors_that_were_set_are_used(two: CompiledModel, a: np.ndarray, b: np.ndarray) -> None:
    arrays = {name: np.full(shape, np.nan, np.float32)
              for name, shape in {"a": (2, 3), "b": (6, 4), "a_out": (2, 3), "b_out": (6, 4)}.items()}
    tensors = {name: ov.Tensor(array, shared_memory=True) for name, array in arrays.items()}
    request = two.create_infer_request()
    request.set_tensor("a", tensors["a"])
    request.set_input_tensor(1, tensors["b"])
    request.set_tensor(two.output(0), tensors["a_out"])
    request.set_output_tensor(1, tensors["b_out"])
    arrays["a"][:], arrays["b"][:] = a, b
    results = request.infer()
    assert_softmax(arrays["a_out"], a)
    assert_softmax(arrays["b_out"], b)
    assert not np.shares_memory(results[0], arrays["a_out"])
    assert np.shares_memory(request.infer(share_outputs=True)[0], arrays["a_out"])
    assert request.get_tensor("b_out").data.ctypes.data == arrays["b_out"].ctypes.data


@pytest.mark.parametrize("is_got_before", [True, False])
def test_shared_results_stay_when_shapes_change(one: CompiledModel, rng: np.random.Generator,
                                                is_got_before: bool) -> None:
    request = one.create_infer_request()
    x = rng.standard_normal((3, 5), dtype=np.float32)
    if is_got_before:
        request.infer(x)
        request.get_output_tensor()
    shared = request.infer(x, share_outputs=True)[0]
    assert np.shares_memory(shared, request.get_output_tensor().data) and not shared.flags.owndata
    kept = shared.copy()
    for rows in (1, 200, 2):
        other = rng.standard_normal((rows, 5), dtype=np.float32)
        result = request.infer(other, share_outputs=True)[0]
        assert_softmax(result, other)
        assert_softmax(request.get_output_tensor().data, other)
        np.testing.assert_array_equal(shared, kept)
    again = rng.standard_normal((2, 5), dtype=np.float32)
    request.infer(again, share_outputs=True)
    assert_softmax(result, again)


def test_shared_results_lie_in_a_tensor_that_was_set(one: CompiledModel, x: np.ndarray) -> None:
    request, taken = one.create_infer_request(), ov.Tensor(ov.Type.f32, [4, 5])
    request.set_output_tensor(taken)
    assert np.shares_memory(request.infer(x, share_outputs=True)[0], taken.data)
    assert list(taken.shape) == [3, 5]
    request.infer(x[:2], share_outputs=True)
    assert_softmax(taken.data, x[:2])


def test_all_ways_to_set_tensors(one: CompiledModel, x: np.ndarray) -> None:
    for set_input in (lambda r, t: r.set_input_tensor(t), lambda r, t: r.set_input_tensor(0, t),
                      lambda r, t: r.set_input_tensor(tensor=t), lambda r, t: r.set_input_tensor(index=0, tensor=t),
                      lambda r, t: r.set_tensors({"x": t}), lambda r, t: r.set_input_tensors({0: t}),
                      lambda r, t: r.set_tensor(one.input(), t)):
        for set_output in (lambda r, t: r.set_output_tensor(t), lambda r, t: r.set_output_tensors({0: t})):
            request, result = one.create_infer_request(), np.full((3, 5), np.nan, np.float32)
            set_input(request, ov.Tensor(x))
            set_output(request, ov.Tensor(result, shared_memory=True))
            request.infer()
            assert_softmax(result, x)


def test_a_larger_array_than_the_set_tensor_holds(one: CompiledModel, x: np.ndarray) -> None:
    request = one.create_infer_request()
    request.set_input_tensor(ov.Tensor(x[:1].copy(), shared_memory=True))
    assert_softmax(request.infer(x)[0], x)
    np.testing.assert_array_equal(request.get_input_tensor().data, x)


@pytest.mark.parametrize("kind", ["f16", "bf16", "f64"])
def test_other_element_types(core: Core, device: DeviceInfo, kind: str, x: np.ndarray) -> None:
    if kind == "f64" and not core.engine(device.name).capabilities.fp64:
        pytest.skip("the device has no double precision")
    model = softmax_model({"x": [-1, 5]}, getattr(ov.Type, kind))
    request = core.compile_model(model, device.name, F32).create_infer_request()
    result = request.infer(x)[0]
    assert result.dtype == getattr(ov.Type, kind).to_dtype()
    values = result
    if kind == "bf16":
        values = (result.view(np.uint16).astype(np.uint32) << 16).view(np.float32)
    np.testing.assert_allclose(values, np.exp(x) / np.exp(x).sum(-1, keepdims=True), atol=1e-2)


# -- values that decide shapes ------------------------------------------------------------------


@pytest.fixture(scope="module")
def reshaping(core: Core, device: DeviceInfo) -> CompiledModel:
    """`x` reshaped to the value of `shape`."""
    data = ov.op.Parameter(ov.Type.f32, ov.PartialShape([4, 6]))
    data.output(0).set_names({"x"})
    shape = ov.op.Parameter(ov.Type.i64, ov.PartialShape([2]))
    shape.output(0).set_names({"shape"})
    node = ov.opset13.softmax(ov.opset13.reshape(data, shape, False), axis=-1)
    return core.compile_model(ov.Model([node], [data, shape], "reshaping"), device.name, F32)


def test_values_decide_shapes(reshaping: CompiledModel, rng: np.random.Generator) -> None:
    request = reshaping.create_infer_request()
    x = rng.standard_normal((4, 6), dtype=np.float32)
    for shape in ([24, 1], [2, 12], [12, 2], [2, 12], [-1, 8]):
        assert_softmax(request.infer({"x": x, "shape": np.array(shape)})[0], x.reshape(shape))
        assert_softmax(request.infer({"x": x + 1})[0], x.reshape(shape))
    request.get_tensor("shape").data[:] = [12, 2]
    assert_softmax(request.infer()[0], (x + 1).reshape(12, 2))
    request.start_async([x, [3, 8]])
    request.wait()
    assert_softmax(request.results[0], x.reshape(3, 8))


def test_a_value_that_fits_no_shape(reshaping: CompiledModel, rng: np.random.Generator) -> None:
    request = reshaping.create_infer_request()
    x = rng.standard_normal((4, 6), dtype=np.float32)
    with pytest.raises(ClinferError, match=r"Reshape(.|\n)*\[4,6\]"):
        request.infer([x, [5, 5]])
    assert_softmax(request.infer([x, [3, 8]])[0], x.reshape(3, 8))


# -- records ------------------------------------------------------------------------------------


def test_what_an_inference_did_because_its_shape_was_new(core: Core, device: DeviceInfo) -> None:
    model = core.compile_model(softmax_model({"x": [-1, 5]}), device.name, {**F32, "NUM_STREAMS": 1})
    request, other = model.create_infer_request(), model.create_infer_request()
    assert not request.dynamic_record
    told, grew = [], []
    for rows in (2, 2, 7000, 2):
        request.infer([np.zeros((rows, 5), np.float32)])
        told.append([segment.reason for segment in request.dynamic_record.segments])
        grew.append(request.dynamic_record.grown_bytes > 0)
    assert told == [["first sight"], [], ["first sight"], []]
    # There is room for a few rows from the start.
    assert grew == [False, False, True, False]
    other.infer([np.zeros((9000, 5), np.float32)])
    assert other.dynamic_record.grown_bytes > 0 and not request.dynamic_record
    with pytest.raises(ClinferError):
        other.infer([np.zeros((9, 6), np.float32)])
    other.start_async([np.zeros((4, 5), np.float32)])
    other.wait()
    node, = (node for node in other.dynamic_record.nodes if node.launches)
    assert node.primitive == "Softmax" and node.changed_shapes == (0,) and node.shape in ("inferred", "traced")
