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
