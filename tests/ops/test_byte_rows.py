"""Rows of bytes, and attention to keys and values that are kept as such, against NumPy."""
from __future__ import annotations

import numpy as np
import pytest

from clinfer.base.byte_rows import TAIL, decode_rows, encode_rows
from clinfer.base.errors import ClinferError
from clinfer.frontend.byte_rows import dequantised, quantised
from clinfer.ops.byte_rows import DequantiseRows
from clinfer.ops.sdpa import KERNELS
from clinfer.program.options import BuildOptions
from clinfer.runtime.engine import Engine
from tests.network.running import network_of
from tests.ops.case_runner import execute, is_unsupported, refusal_of
from tests.oracle import assert_close, ov

op = ov.opset13
HEADS = 2
SIZES = ((1, 1), (7, 40), (3, 65), (40, 33))
"""Queries and keys."""
WIDENED = "widened"
OPTIONS = BuildOptions(skipped_passes=frozenset({"keep_caches_narrow"}))


def _model(depth: int, width: int) -> ov.Model:
    """Rows of bytes of keys and values, stored as [keys, 1, heads, size], and attention to them [1, heads, queries,
    width]."""
    query, key, value = (op.parameter(shape, np.float32) for shape in (
        [1, HEADS, -1, depth], [-1, 1, HEADS, depth], [-1, 1, HEADS, width]))
    stored = [quantised(each.output(0)) for each in (key, value)]
    read = [op.transpose(dequantised(rows.output(0), "f32"), op.constant([1, 2, 0, 3])) for rows in stored]
    attention = op.scaled_dot_product_attention(query, *read)
    attention.set_friendly_name("attention")
    return ov.Model([*stored, attention], [query, key, value], "attention")


def _attention(query: np.ndarray, *rows: np.ndarray) -> np.ndarray:
    key, value = (decode_rows(each).astype(np.float64).transpose(1, 2, 0, 3) for each in rows)
    scores = query.astype(np.float64) @ key.swapaxes(2, 3) / np.sqrt(query.shape[-1])
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return weights @ value / weights.sum(-1, keepdims=True)


@pytest.mark.parametrize("kernel", [WIDENED, *(kernel.name for kernel in KERNELS.kernels)])
@pytest.mark.parametrize("depth, width", [(64, 32), (20, 37)])
def test_attention_to_rows_of_bytes(engine: Engine, depth: int, width: int, kernel: str,
                                    rng: np.random.Generator) -> None:
    try:
        network = network_of(engine, _model(depth, width), OPTIONS if kernel == WIDENED else BuildOptions({
            "attention": ("", kernel)}))
    except ClinferError as error:
        if not is_unsupported(error):
            raise
        pytest.skip(refusal_of(error, kernel))
    copies = [node for node in network.program.nodes if isinstance(node.primitive, DequantiseRows)]
    is_read = engine.capabilities.device_type == "CPU" and kernel != WIDENED
    assert len(copies) == (0 if is_read else 2)
    for queries, keys in SIZES:
        given = [rng.standard_normal(shape).astype(np.float32) + 0.5 for shape in (
            (1, HEADS, queries, depth), (keys, 1, HEADS, depth), (keys, 1, HEADS, width))]
        given[1][0, 0, 0] = 3.0
        *stored, mixed = execute(network, given)
        assert_close(mixed, _attention(given[0], *stored), 1e-5, f"{queries} queries, {keys} keys")
        for rows, floats in zip(stored, given[1:], strict=True):
            # What lies between two levels may be rounded to either.
            assert np.abs(rows[..., :-TAIL].astype(int) - encode_rows(floats)[..., :-TAIL]).max() <= 1
            steps = np.ptp(floats, -1, keepdims=True) / 255
            assert (np.abs(decode_rows(rows) - floats) <= 0.51 * steps + 1e-6).all()
