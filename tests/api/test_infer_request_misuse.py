"""Infer requests used wrongly: errors that say what was expected, after which the request works on."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from clinfer.api.compiled_model import CompiledModel
from clinfer.api.infer_request import InferRequest
from clinfer.base.errors import ClinferError, WrongTypeError
from clinfer.frontend.openvino_import import openvino as ov
from clinfer.network.network import Network
from tests.api.models import assert_softmax


@pytest.mark.parametrize(("given", "words"), [
    ({"c": np.zeros((2, 3))}, ["no input 'c'", "'a' f32[2,3]", "'b' f32[1..6,4]"]),
    ({2: np.zeros((2, 3))}, ["no input 2"]),
    ({-1: np.zeros((2, 3))}, ["index, name or port", "-1"]),
    ({0.5: np.zeros((2, 3))}, ["index, name or port", "0.5"]),
    ([np.zeros((2, 3))] * 3, ["more inputs", "given: 3"]),
    (np.zeros((2, 3)), ["say which input"]),
    ({"a": np.zeros((2, 3, 1))}, ["input 'a' has the wrong rank", "f32[2,3,1]"]),
    ({"b": np.zeros((7, 4))}, ["input 'b'", "outside", "[7,4]", "1..6"]),
    ({"b": np.zeros((0, 4))}, ["input 'b'", "outside"]),
    ({"a": np.array([["x"] * 3] * 2)}, ["input 'a' cannot be made"]),
    ({"a": ov.Tensor(np.zeros((2, 3), np.int32))}, ["input 'a'", "wrong element type", "i32"]),
    ({"a": None}, ["input 'a' cannot be made", "NoneType"]),
])
def test_wrong_inputs_leave_the_request_usable(two: CompiledModel, a: np.ndarray, b: np.ndarray, given: Any,
                                               words: list[str]) -> None:
    request = two.create_infer_request()
    request.infer([a, b])
    for use in (request.infer, request.start_async):
        with pytest.raises(ClinferError) as caught:
            use(given)
        for word in words:
            assert word in str(caught.value)
    again = request.infer()
    assert_softmax(again[0], a)
    assert_softmax(again[1], b)


def test_a_wrong_input_beside_a_right_one_changes_nothing(two: CompiledModel, a: np.ndarray, b: np.ndarray) -> None:
    request = two.create_infer_request()
    request.infer([a, b])
    with pytest.raises(ClinferError):
        request.infer({"a": a * 2, "b": np.zeros((7, 4))})
    assert_softmax(request.infer()[0], a)


@pytest.mark.parametrize("key", [0, None, 1.5])
def test_tensors_by_something_else_than_name_or_port(one: CompiledModel, x: np.ndarray, key: Any) -> None:
    request = one.create_infer_request()
    for use in (lambda: request.get_tensor(key), lambda: request.set_tensor(key, ov.Tensor(x))):
        with pytest.raises(WrongTypeError, match=f"by name or port(.|\n)*{key}"):
            use()


def test_inputs_that_were_never_given_are_zeros(one: CompiledModel, two: CompiledModel, a: np.ndarray,
                                                b: np.ndarray) -> None:
    request = two.create_infer_request()
    results = request.infer()
    assert_softmax(results[0], np.zeros((2, 3), np.float32))
    assert_softmax(results[1], np.zeros((1, 4), np.float32))
    request.start_async([a])
    request.wait()
    assert_softmax(request.results[0], a)
    np.testing.assert_array_equal(request.get_input_tensor(1).data, np.zeros((1, 4), np.float32))
    results = request.infer({"b": b})
    assert_softmax(results[0], a)
    assert_softmax(results[1], b)
    assert one.create_infer_request().infer()[0].shape == (0, 5)


def test_an_input_tensor_that_was_never_filled(two: CompiledModel, a: np.ndarray) -> None:
    request = two.create_infer_request()
    request.get_input_tensor(1)
    with pytest.raises(ClinferError, match=r"input 'b'(.|\n)*\[0,4\]"):
        request.infer([a])


@pytest.mark.parametrize(("use", "words"), [
    (lambda r: r.set_tensor("c", ov.Tensor(np.zeros((2, 3), np.float32))), ["no input or output 'c'", "'a_out'"]),
    (lambda r: r.get_tensor("c"), ["no input or output 'c'"]),
    (lambda r: r.get_input_tensor(), ["say which input"]),
    (lambda r: r.get_output_tensor(2), ["no output 2"]),
    (lambda r: r.set_input_tensor(0, np.zeros((2, 3), np.float32)), ["openvino.Tensor", "ndarray"]),
    (lambda r: r.set_input_tensor(0, ov.Tensor(np.zeros((2, 3), np.int32))), ["wrong element type", "i32"]),
    (lambda r: r.set_input_tensor(0, ov.Tensor(np.zeros((2, 4), np.float32))), ["input 'a'", "[2,4]"]),
    (lambda r: r.set_output_tensor(0, ov.Tensor(np.zeros((2, 4), np.float32))), ["output 'a_out'", "[2,4]"]),
    (lambda r: r.set_output_tensor(0, ov.Tensor(np.zeros((2, 3), np.float64))), ["output 'a_out'", "f64"]),
    (lambda r: r.results, ["output 'a_out' was not computed yet"]),
])
def test_wrong_tensors(two: CompiledModel, use: Callable[[InferRequest], Any], words: list[str]) -> None:
    with pytest.raises(ClinferError) as caught:
        use(two.create_infer_request())
    for word in words:
        assert word in str(caught.value)


def test_an_output_tensor_that_is_too_small(one: CompiledModel, x: np.ndarray) -> None:
    request = one.create_infer_request()
    request.set_output_tensor(ov.Tensor(np.zeros((2, 5), np.float32), shared_memory=True))
    with pytest.raises(ClinferError, match=r"output 'x_out' does not fit(.|\n)*\[3,5\](.|\n)*\[2,5\]"):
        request.infer(x)
    assert_softmax(request.infer(x[:2])[0], x[:2])


def test_a_callback_that_cannot_be_called(one: CompiledModel, x: np.ndarray) -> None:
    request = one.create_infer_request()
    with pytest.raises(ClinferError, match="callable"):
        request.set_callback(5, 1)  # type: ignore[arg-type]
    request.start_async(x)
    request.wait()
    assert_softmax(request.results[0], x)


def test_errors_while_running_come_to_the_caller(one: CompiledModel, x: np.ndarray,
                                                 monkeypatch: pytest.MonkeyPatch) -> None:
    request = one.create_infer_request()
    called = []
    request.set_callback(called.append)

    def fail(*_: Any, **__: Any) -> None:
        raise ClinferError("the device is gone")

    with monkeypatch.context() as patch:
        patch.setattr(Network, "execute", fail)
        with pytest.raises(ClinferError, match="is gone"):
            request.infer(x)
        np.testing.assert_array_equal(request.get_input_tensor().data, x)
        request.start_async(x)
        with pytest.raises(ClinferError, match="is gone"):
            request.wait()
    assert called == []
    assert_softmax(request.infer()[0], x)
    request.start_async(x[:1])
    request.wait()
    assert_softmax(request.results[0], x[:1])
    assert called == [None]


def test_inputs_survive_a_failure_before_the_run(two: CompiledModel, a: np.ndarray, b: np.ndarray) -> None:
    request = two.create_infer_request()
    mine = a.copy()
    request.set_input_tensor(1, ov.Tensor(ov.Type.f32, [0, 4]))
    with pytest.raises(ClinferError, match="'b' has a shape outside the model's bounds"):
        request.infer([mine])
    mine[:] = np.nan
    np.testing.assert_array_equal(request.get_input_tensor(0).data, a)
    assert_softmax(request.infer({1: b})[0], a)
