"""Small models for the tests of the API, with NumPy's answers beside them."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from clinfer.frontend.openvino_import import openvino as ov

F32 = {"INFERENCE_PRECISION_HINT": "f32"}


def softmax_model(shapes: dict[str, Sequence[Any]], element_type: ov.Type = ov.Type.f32) -> ov.Model:
    """One softmax along the last axis per named input; output `<name>_out`."""
    parameters, results = [], []
    for name, shape in shapes.items():
        parameter = ov.op.Parameter(element_type, ov.PartialShape(list(shape)))
        parameter.set_friendly_name(f"{name}_layer")
        parameter.output(0).set_names({name})
        node = ov.opset13.softmax(parameter, axis=-1)
        node.output(0).set_names({f"{name}_out"})
        result = ov.op.Result(node.output(0))
        result.set_friendly_name(f"{name}_result")
        parameters.append(parameter)
        results.append(result)
    return ov.Model(results, parameters, "softmaxes")


# Probabilities may be off by this where the device decides to compute in f16.
IN_F16 = 1e-3


def softmax(values: np.ndarray) -> np.ndarray:
    """The expected output, in double precision."""
    shifted = values.astype(np.float64) - values.max(axis=-1, keepdims=True).astype(np.float64)
    return np.exp(shifted) / np.exp(shifted).sum(axis=-1, keepdims=True)


def assert_softmax(actual: np.ndarray, given: np.ndarray, atol: float = 1e-5) -> None:
    np.testing.assert_allclose(actual, softmax(given), rtol=0, atol=atol)


def quantised_model() -> ov.Model:
    """Two convolutions of x [?,16,?,?] with weights of i8, whose data FakeQuantize rounds."""
    op, rng = ov.opset13, np.random.default_rng(0)
    x = data = op.parameter([-1, 16, -1, -1], np.float32, name="x")
    for outputs in (16, 8):
        rounded = op.fake_quantize(data, np.float32(-1.28), np.float32(1.27), np.float32(-1.28), np.float32(1.27), 256)
        weights = op.convert(op.constant(rng.integers(-127, 128, (outputs, 16, 3, 3)).astype(np.int8)), "f32")
        scaled = op.multiply(weights, op.constant(rng.uniform(0.001, 0.002, (outputs, 1, 1, 1)).astype(np.float32)))
        data = op.relu(op.convolution(rounded, scaled, [1, 1], [1, 1], [1, 1], [1, 1]))
    return ov.Model([op.result(data)], [x], "quantised")
