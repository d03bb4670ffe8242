"""Bounds of declared dimensions are checked before anything runs; those inside a model when shapes are planned."""
from __future__ import annotations

import numpy as np
import pytest
from openvino import opset13 as op

from clinfer.api.compiled_model import CompiledModel
from clinfer.api.core import Core
from clinfer.base.errors import ClinferError
from clinfer.frontend.openvino_import import openvino as ov
from clinfer.runtime.device import DeviceInfo
from clinfer.runtime.stream import Stream
from tests.api.models import F32

BOUNDED = ov.PartialShape([ov.Dimension(1, 8), -1, 16])
WRONG = (((0, 3, 16), "0 (expected 1..8)"), ((9, 3, 16), "0 (expected 1..8)"), ((1, 3, 15), "2 (expected 16)"))


def _model() -> ov.Model:
    x = op.parameter(BOUNDED, np.float32, name="x")
    x.output(0).set_names({"x"})
    return ov.Model([op.result(op.relu(x))], [x], "bounded")


@pytest.fixture(scope="module")
def bounded(core: Core, device: DeviceInfo) -> CompiledModel:
    return core.compile_model(_model(), device.name, F32)


def _check(compiled: CompiledModel, shape: tuple[int, ...], rng: np.random.Generator) -> None:
    x = rng.standard_normal(shape, np.float32)
    assert np.array_equal(compiled([x])[0], np.maximum(x, 0))


@pytest.mark.parametrize("shape, axis", WRONG)
def test_shapes_outside(bounded: CompiledModel, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch,
                        shape: tuple[int, ...], axis: str) -> None:
    for inside in ((1, 0, 16), (8, 5, 16)):
        _check(bounded, inside, rng)
    with monkeypatch.context() as patch:
        for name in ("write", "enqueue", "enqueue_all"):
            patch.setattr(Stream, name, lambda *_, **__: pytest.fail("something was enqueued"))
        with pytest.raises(ClinferError) as caught:
            bounded([np.zeros(shape, np.float32)])
    assert "'x'" in caught.value.what
    assert caught.value.values["expected"] == "'x' f32[1..8,?,16]"
    assert caught.value.values["given"] == f"f32[{','.join(map(str, shape))}]"
    assert caught.value.values["first wrong axis"] == axis
    _check(bounded, (8, 5, 16), rng)


@pytest.mark.parametrize("shape", [shape for shape, _ in WRONG])
def test_tensors_outside(bounded: CompiledModel, shape: tuple[int, ...]) -> None:
    request = bounded.create_infer_request()
    with pytest.raises(ClinferError, match="outside the model's bounds"):
        request.set_input_tensor(ov.Tensor(np.zeros(shape, np.float32)))
        request.infer()


def test_another_rank(bounded: CompiledModel) -> None:
    with pytest.raises(ClinferError, match="wrong rank"):
        bounded([np.zeros((3, 16), np.float32)])


def test_reshaping_a_model_changes_the_bounds_of_what_is_compiled_then(core: Core, device: DeviceInfo,
                                                                       rng: np.random.Generator) -> None:
    model = _model()
    before = core.compile_model(model, device.name, F32)
    model.reshape([ov.Dimension(2, 3), 4, 16])
    after = core.compile_model(model, device.name, F32)
    ov.layout_helpers.set_layout(model.input(0), ov.Layout("N..."))
    ov.set_batch(model, 5)
    fixed = core.compile_model(model, device.name, F32)
    for compiled, inside, outside in ((before, (8, 1, 16), (9, 1, 16)), (after, (3, 4, 16), (4, 4, 16)),
                                      (fixed, (5, 4, 16), (2, 4, 16))):
        _check(compiled, inside, rng)
        with pytest.raises(ClinferError, match="outside the model's bounds"):
            compiled([np.zeros(outside, np.float32)])


def test_what_the_model_states_inside(core: Core, device: DeviceInfo, rng: np.random.Generator) -> None:
    """Rows of 4 that a matrix product takes as 2 to 3 rows."""
    x = op.parameter([-1, -1], np.float32)
    z = op.parameter([4, ov.Dimension(2, 3)], np.float32)
    rows = op.reshape(x, op.constant(np.array([-1, 4])), False)
    square = op.matmul(rows, z, False, False)
    compiled = core.compile_model(ov.Model([op.result(op.matmul(square, rows, False, False))], [x, z], "inside"),
                                  device.name, F32)
    for given, wanted in (((1, 8), (4, 2)), ((3, 4), (4, 3)), ((2, 4), (4, 2))):
        a, b = rng.standard_normal(given, np.float32), rng.standard_normal(wanted, np.float32)
        assert np.allclose(compiled([a, b])[0], a.reshape(-1, 4) @ b @ a.reshape(-1, 4), atol=1e-4)
        for wrong, message in (((1, 9), "Reshape"), ((4, 4), "MatMul")):
            with pytest.raises(ClinferError, match=message):
                compiled([np.zeros(wrong, np.float32), b])
