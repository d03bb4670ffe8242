"""Weights of a softmax too small for normal numbers are 0: x86 processors take many times as long with those."""
from __future__ import annotations

import numpy as np
import pytest

from clinfer.frontend.transformations import prepare
from clinfer.program.options import BuildOptions
from clinfer.runtime.engine import Engine
from tests.network.running import network_of
from tests.ops.case_runner import execute
from tests.oracle import ov

op = ov.opset13
LENGTH = 49
HIDDEN = -100.0


def _check(found: np.ndarray, wanted: np.ndarray) -> None:
    assert not found[wanted == 0].any()
    assert np.allclose(found, wanted, rtol=1e-5, atol=0)


@pytest.mark.parametrize("kernel", ["softmax_ref", "softmax_rows", "softmax_columns"])
def test_a_softmax(engine: Engine, rng: np.random.Generator, kernel: str) -> None:
    axis = 1 if kernel == "softmax_columns" else 2
    data = op.parameter([2, LENGTH, LENGTH], np.float32)
    result = op.softmax(data, axis)
    result.set_friendly_name("softmax")
    scores = rng.random((2, LENGTH, LENGTH), np.float32)
    scores[:, ::3, ::3] += HIDDEN
    options = BuildOptions(force_implementations={"softmax": ("", kernel, "")})
    found = execute(network_of(engine, prepare(ov.Model([result], [data], "softmax")), options), [scores])[0]
    weights = np.exp(scores - scores.max(axis, keepdims=True), dtype=np.float64)
    weights[weights < 1.2e-38] = 0
    _check(found, weights / weights.sum(axis, keepdims=True))


@pytest.mark.parametrize("queries", [1, LENGTH])
def test_attention(engine: Engine, rng: np.random.Generator, queries: int) -> None:
    """Of the values of keys that are hidden nothing is left."""
    shapes = (2, 3, queries, 16), (2, 3, LENGTH, 16), (2, 3, LENGTH, 16), (1, 1, queries, LENGTH)
    given = [op.parameter(list(shape), np.float32) for shape in shapes]
    model = ov.Model([op.scaled_dot_product_attention(*given)], given, "attention")
    query, key = (rng.random(shape, np.float32) for shape in shapes[:2])
    value, mask = np.zeros(shapes[2], np.float32), np.zeros(shapes[3], np.float32)
    value[:, :, ::3], mask[..., ::3] = 1.0, HIDDEN
    assert not execute(network_of(engine, prepare(model)), [query, key, value, mask])[0].any()
