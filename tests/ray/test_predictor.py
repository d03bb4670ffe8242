"""Columns through a model: rows of all shapes, in order, each as it would be alone."""
from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from clinfer.base.errors import ClinferError
from clinfer.frontend.openvino_import import openvino as ov
from clinfer.ray import Predictor
from clinfer.runtime.device import available_devices
from tests.api.models import assert_softmax, softmax_model

op = ov.opset13


@pytest.fixture(scope="module")
def device() -> str:
    return available_devices()[0].name


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Softmax along the last axis of `a`: every row for itself."""
    ov.save_model(softmax_model({"a": [-1, -1]}), tmp_path / "softmax.xml", compress_to_fp16=False)
    return tmp_path / "softmax.xml"


def ragged(count: int) -> np.ndarray:
    random = np.random.default_rng()
    rows = np.empty(count, np.object_)
    for index in range(count):
        rows[index] = random.standard_normal(random.integers(1, 5)).astype(np.float32)
    return rows


def test_rows_of_all_sizes(path: Path, device: str) -> None:
    predictor = Predictor(path, device, precision="f32", inputs={"a": "given"}, outputs={"a_out": "found"}, max_batch=4)
    batch = {"id": np.arange(40), "given": ragged(40)}
    found = predictor(batch)
    assert set(found) == {"id", "given", "found"} and found["id"] is batch["id"]
    for given, row in zip(batch["given"], found["found"], strict=True):
        assert_softmax(row, given)
    equal = predictor({"given": np.zeros((3, 6), np.float64)})["found"]
    assert equal.shape == (3, 6) and equal.dtype == np.float32
    whole = predictor({"given": np.zeros((2, 3, 6), np.float32)})["found"]
    assert whole.shape == (2, 3, 6)
    assert len(predictor({"given": np.empty((0, 6), np.float32)})["found"]) == 0


@pytest.mark.parametrize(("first", "shape"), [(1, (3, 4)), (-1, (3, 1, 4))])
def test_models_whose_rows_know_each_other(tmp_path: Path, device: str, first: int, shape: tuple[int, ...]) -> None:
    x = op.parameter([first, 4], np.float32, name="x")
    x.output(0).set_names({"x"})
    centred = op.subtract(x, op.reduce_mean(x, op.constant(np.array([0])), True))
    centred.output(0).set_names({"y"})
    ov.save_model(ov.Model([centred], [x], "centred"), tmp_path / "m.xml", compress_to_fp16=False)
    found = Predictor(tmp_path / "m.xml", device)({"x": np.ones((3, 4), np.float32)})["y"]
    np.testing.assert_array_equal(found, np.zeros(shape))


def test_columns_that_do_not_fit(path: Path, device: str) -> None:
    with pytest.raises(ClinferError, match="a column is missing"):
        Predictor(path, device)({"b": np.zeros((2, 6))})
    with pytest.raises(ClinferError, match="no such inputs"):
        Predictor(path, device, inputs={"z": "b"})
    with pytest.raises(ClinferError):
        Predictor(path, device)({"a": np.zeros((2, 2, 2, 2))})
