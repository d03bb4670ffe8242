"""Results lie in memory of earlier ones only if the caller kept nothing of these."""
from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from clinfer.api.core import Core
from clinfer.api.infer_request import InferRequest
from clinfer.api.result_memory import ResultMemory
from clinfer.frontend.openvino_import import openvino as ov
from clinfer.runtime.device import DeviceInfo
from tests.api.models import F32

WIDE = 40_000
"""Floats of a row: more bytes than small results have."""


@pytest.fixture
def adding(core: Core, device: DeviceInfo) -> InferRequest:
    """Adds 1."""
    given = ov.opset13.parameter([-1, WIDE], ov.Type.f32)
    model = ov.Model([ov.opset13.add(given, np.float32(1))], [given])
    return core.compile_model(model, device.name, F32).create_infer_request()


def _infer(request: InferRequest, value: float, rows: int = 1) -> np.ndarray:
    result = request.infer([np.full((rows, WIDE), value, np.float32)])[0]
    np.testing.assert_array_equal(result, np.full((rows, WIDE), value + 1, np.float32))
    return result


@pytest.mark.parametrize(("keep", "read"), [
    (lambda result: result, np.asarray),
    (lambda result: result[0, :1], np.asarray),
    (lambda result: result.T, np.asarray),
    (lambda result: result.view(np.int32), lambda kept: kept.view(np.float32)),
    (memoryview, np.asarray),
    (np.from_dlpack, np.asarray),
    (lambda result: result.ctypes.data_as(ctypes.POINTER(ctypes.c_float)), lambda kept: np.array(kept[:WIDE])),
], ids=["array", "part", "transpose", "view", "memoryview", "dlpack", "ctypes"])
def test_what_the_caller_keeps_stays(
        adding: InferRequest, keep: Callable[[Any], Any], read: Callable[[Any], np.ndarray]) -> None:
    kept = keep(_infer(adding, 1))
    for value, rows in ((5, 1), (6, 2), (7, 1)):
        _infer(adding, value, rows)
    values = read(kept)
    np.testing.assert_array_equal(values, np.full(values.shape, 2, np.float32))


def test_dropped_results_leave_their_memory(adding: InferRequest) -> None:
    first = _infer(adding, 1, 3).ctypes.data
    assert [_infer(adding, 2, rows).ctypes.data for rows in (3, 1, 2)] == [first] * 3


def test_small_results_are_arrays_of_their_own() -> None:
    assert ResultMemory().array((4, 4), np.dtype(np.float32), 64).flags.owndata


def test_much_memory_is_not_kept_for_little() -> None:
    memory = ResultMemory()
    sizes = (1 << 26, 1 << 20, 1 << 19)
    kept = [_owner(memory.array((nbytes,), np.dtype(np.uint8), nbytes)) for nbytes in sizes]
    assert kept == [1 << 26, 1 << 20, 1 << 20]


def _owner(array: np.ndarray) -> int:
    """Bytes of the memory in which an array lies."""
    assert isinstance(array.base, np.ndarray)
    return array.base.nbytes
