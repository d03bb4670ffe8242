"""What users give as inputs: conversions, and errors that name the input, what is expected, what was given."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from clinfer.api.arrays import Declared, from_value, logical_values
from clinfer.base.errors import ClinferError
from clinfer.frontend.openvino_import import openvino as ov


def declare(kind: str, shape: list[Any]) -> Declared:
    node = ov.op.Parameter(getattr(ov.Type, kind), ov.PartialShape(shape))
    node.output(0).set_names({"x"})
    return Declared.of(node.output(0), "input")


class Convertible:
    """Something that NumPy makes an array of, like another library's tensor."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return self.array


@pytest.mark.parametrize("dtype", [np.float64, np.float16, np.int32, np.uint8, np.bool_])
def test_arrays_are_cast(rng: np.random.Generator, dtype: type) -> None:
    array = (rng.random((3, 4)) * 5).astype(dtype)
    data = from_value(array, declare("f32", [-1, 4]))
    assert data.is_private
    assert data.units.dtype == np.float32
    np.testing.assert_array_equal(data.units.reshape(data.shape), array.astype(np.float32))


def test_arrays_of_the_right_type_are_not_copied(rng: np.random.Generator) -> None:
    array = rng.random((3, 4), dtype=np.float32)
    data = from_value(array, declare("f32", [3, 4]))
    assert data.units is array
    assert not data.is_private
    assert not from_value(Convertible(array), declare("f32", [3, 4])).is_private


def test_other_memory_orders_are_straightened(rng: np.random.Generator) -> None:
    array = rng.random((4, 3), dtype=np.float32).T
    data = from_value(array, declare("f32", [3, 4]))
    assert data.units.flags.c_contiguous
    assert data.is_private
    np.testing.assert_array_equal(data.units.reshape(3, 4), array)


@pytest.mark.parametrize("value", [[[1, 2], [3, 4]], ((1.0, 2.0), (3.0, 4.0)),
                                   Convertible(np.array([[1, 2], [3, 4]]))])
def test_what_numpy_converts_is_taken(value: Any) -> None:
    data = from_value(value, declare("f32", [2, 2]))
    np.testing.assert_array_equal(data.units.reshape(data.shape), np.array([[1, 2], [3, 4]], np.float32))


@pytest.mark.parametrize(("shape", "expected"), [([], ()), ([1], (1,)), ([1, -1], (1, 1))])
@pytest.mark.parametrize("value", [2, 2.0, np.float16(2), np.array(2)])
def test_numbers_take_the_shape_of_ones(value: Any, shape: list[int], expected: tuple[int, ...]) -> None:
    data = from_value(value, declare("i64", shape))
    assert data.shape == expected
    assert data.units.dtype == np.int64
    assert data.units.reshape(-1).tolist() == [2]


@pytest.mark.parametrize("given", [np.float32, np.float64])
def test_bf16_takes_values_and_raw_bits(rng: np.random.Generator, given: type[np.generic]) -> None:
    declared = declare("bf16", [-1])
    values = rng.integers(-100, 100, 9).astype(given)
    bits = from_value(values, declared)
    np.testing.assert_array_equal(bits.logical(declared.element_type), values)
    raw = from_value(bits.units.view(np.float16), declared)
    np.testing.assert_array_equal(raw.logical(declared.element_type), values)


@pytest.mark.parametrize("given", [np.int8, np.float64])
@pytest.mark.parametrize(("kind", "low", "high"), [("u4", 0, 16), ("i4", -8, 8)])
def test_packed_types(rng: np.random.Generator, kind: str, low: int, high: int, given: type[np.generic]) -> None:
    declared = declare(kind, [3, 3])
    values = rng.integers(low, high, (3, 3)).astype(given)
    data = from_value(values, declared)
    assert data.units.nbytes == 5
    np.testing.assert_array_equal(data.logical(declared.element_type), values)
    tensor = ov.Tensor(data.units, ov.Shape([3, 3]), getattr(ov.Type, kind))
    np.testing.assert_array_equal(logical_values(tensor, declared), values)


@pytest.mark.parametrize(("value", "words"), [
    (np.zeros((2, 3, 1), np.float32), ["wrong rank", "'x' f32[1..8,3]", "f32[2,3,1]", "2 dimensions"]),
    (np.zeros(3, np.float32), ["wrong rank"]),
    (np.zeros((9, 3), np.float32), ["outside the model's bounds", "'x' f32[1..8,3]", "[9,3]", "expected 1..8"]),
    (np.zeros((0, 3), np.float32), ["outside the model's bounds", "0 (expected 1..8)"]),
    (np.zeros((2, 4), np.float32), ["outside the model's bounds", "1 (expected 3)"]),
    (np.array([["a", "b", "c"]]), ["cannot be made", "ndarray of <U1"]),
    (np.zeros((2, 3), np.complex64), ["cannot be made", "complex64"]),
    (np.zeros((2, 3), object), ["cannot be made", "object"]),
    ("text", ["cannot be made", "str"]),
    ([[1, 2, 3], [4, 5]], ["no array"]),
    (None, ["cannot be made", "NoneType"]),
    (ov.Tensor(np.zeros((2, 3), np.float64)), ["wrong element type", "f64(2, 3)", "'x' f32[1..8,3]"]),
    (ov.Tensor(np.zeros((2, 4), np.float32)), ["outside the model's bounds"]),
])
def test_wrong_inputs(value: Any, words: list[str]) -> None:
    with pytest.raises(ClinferError) as caught:
        from_value(value, declare("f32", [ov.Dimension(1, 8), 3]))
    for word in ["input 'x'", *words]:
        assert word in str(caught.value)
