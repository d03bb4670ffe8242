"""Models for the tests of compiled blobs: weights, dynamic shapes, bodies, shape arithmetic, data-dependent sizes."""
from __future__ import annotations

import io
from collections.abc import Callable, Mapping

import numpy as np
from openvino import opset13 as op

from clinfer.api.compiled_model import CompiledModel
from clinfer.frontend.openvino_import import openvino as ov
from tests.api.models import softmax_model
from tests.frontend.models import Rng, convolution_model, if_model, normal, parameter, result
from tests.network.loop_models import running_sums

Inputs = dict[str, np.ndarray]


def exported(compiled: CompiledModel) -> io.BytesIO:
    """A compiled model in a stream of its own."""
    stream = compiled.export_model()
    assert isinstance(stream, io.BytesIO)
    return stream


def mixed_model(rng: Rng) -> ov.Model:
    """x [?,4]: its positive entries by index, x reshaped by its own shape, a constant, and x as it came."""
    x = parameter("x", [-1, 4])
    found = op.non_zero(op.greater(x, op.constant(np.float32(0))), "i64")
    size = op.reduce_prod(op.shape_of(x), op.constant(np.array([0])), True)
    flat = op.reshape(op.multiply(x, op.constant(normal(rng, 4))), size, False)
    table = op.gather(op.constant(normal(rng, 9, 3)), op.constant(np.array([1, 5])), op.constant(np.array(0)))
    return ov.Model([result(found, "found"), result(flat, "flat"), result(table, "table"), op.result(x)], [x], "mixed")


def sums_model(rng: Rng) -> ov.Model:
    """The sums of the rows of x [?,3] so far, and the last one: a loop over rows."""
    x, start = parameter("x", [-1, 3]), op.constant(normal(rng, 1, 3))
    last, joined = running_sums(x, start, 0, 1, (False, False))
    return ov.Model([result(last, "last"), result(joined, "joined")], [x], "sums")


def _convolution_inputs(rng: Rng) -> Inputs:
    n, h, w = (int(rng.integers(1, high)) for high in (3, 9, 20))
    return {"x": normal(rng, n, 8, h, w)}


def _if_inputs(rng: Rng) -> Inputs:
    rows = int(rng.integers(1, 7))
    return {"condition": np.array(bool(rng.integers(2))), "a": normal(rng, rows, 64), "b": normal(rng, rows, 64)}


def _softmax_inputs(rng: Rng) -> Inputs:
    return {"a": normal(rng, 2, 3), "b": normal(rng, int(rng.integers(1, 7)), 4)}


MODELS: Mapping[str, tuple[Callable[[Rng], ov.Model], Callable[[Rng], Inputs]]] = {
    "convolution": (convolution_model, _convolution_inputs),
    "if": (if_model, _if_inputs),
    "mixed": (mixed_model, lambda rng: {"x": normal(rng, int(rng.integers(1, 9)), 4)}),
    "sums": (sums_model, lambda rng: {"x": normal(rng, int(rng.integers(1, 5)), 3)}),
    "softmaxes": (lambda rng: softmax_model({"a": [2, 3], "b": [ov.Dimension(1, 6), 4]}), _softmax_inputs),
}
"""Name -> a model with random weights, and random inputs of a random shape for it."""
