"""Attention that finds keys and values by a table, in every kernel, against NumPy."""
from __future__ import annotations

import numpy as np
import pytest

from clinfer.base.byte_rows import TAIL, decode_rows, encode_rows
from clinfer.base.element_type import ElementType
from clinfer.base.errors import ClinferError
from clinfer.base.part import Part
from clinfer.base.shape import ANY
from clinfer.network.network import Network
from clinfer.ops.sdpa import KERNELS, ScaledDotProductAttention
from clinfer.program.options import BuildOptions
from clinfer.runtime.engine import Engine
from clinfer.topology import Input, Port, Topology
from tests.network.running import network_of
from tests.ops.case_runner import execute, is_unsupported, refusal_of
from tests.oracle import assert_close

HEADS, GROUPS, DEPTH, WIDTH = 2, 3, 20, 16
CACHED = Part((1, 2, 0, 3))
"""[keys, batch, heads, size] as [batch, heads, keys, size]."""
SIZES = ((3, 1, 40, 0), (3, 1, 40, 40), (4, 1, 70, 33), (1, 5, 9, 0), (2, 37, 65, 64), (3, 2, 7, 1))
"""Batch, queries, keys, and of how many of these the table tells."""
TOLERANCES = {"f32": 1e-5, "f16": 4e-3, "bf16": 3e-2}


def _network(engine: Engine, kernel: str, kind: str, extras: bool, in_byte_rows: bool) -> Network:
    cached, tail = ("u8", TAIL) if in_byte_rows else (kind, 0)
    inputs = [Input("query", shape=(ANY, HEADS * GROUPS, ANY, DEPTH), element_type=ElementType.of(kind)),
              *(Input(name, shape=(ANY, ANY, HEADS, size + tail), element_type=ElementType.of(cached))
                for name, size in (("key", DEPTH), ("value", WIDTH)))]
    if extras:
        inputs += [Input(name, shape=shape) for name, shape in (
            ("mask", (ANY, 1, 1, ANY)), ("scale", ()), ("sink", (1, HEADS * GROUPS, 1, 1)))]
    inputs.append(Input("table", shape=(ANY, ANY), element_type=ElementType.of("i32")))
    parts = [CACHED.cut(3, 0, size) if in_byte_rows else CACHED for size in (DEPTH, WIDTH)]
    attention = ScaledDotProductAttention("attention", tuple(Port(each.id) for each in inputs), parts=(None, *parts),
                                          groups=GROUPS, in_byte_rows=in_byte_rows, by_table=True)
    topology = Topology(*inputs, attention, outputs={"mixed": Port("attention")})
    return network_of(engine, topology, BuildOptions({"attention": ("", kernel)}))


def _attention(query: np.ndarray, key: np.ndarray, value: np.ndarray, mask: np.ndarray | float, scale: float,
               sink: np.ndarray | None, table: np.ndarray) -> np.ndarray:
    """Of keys and values [keys, batch, heads, size], in float64."""
    places = np.concatenate([table, np.broadcast_to(np.arange(len(query)), (len(key) - len(table), len(query)))])
    key, value = (each[np.arange(len(key))[:, None], places].transpose(1, 2, 0, 3).repeat(GROUPS, 1)
                  for each in (key, value))
    scores = query @ key.swapaxes(2, 3) * scale + mask
    if sink is not None:
        scores = np.concatenate([scores, np.broadcast_to(sink, (*scores.shape[:-1], 1))], -1)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return (weights / weights.sum(-1, keepdims=True))[..., :len(places)] @ value


@pytest.mark.parametrize("kernel", [*(kernel.name for kernel in KERNELS.kernels if kernel.name != "sdpa_split"),
                                    "sdpa_split_4", "sdpa_split_16"])
@pytest.mark.parametrize("kind, extras, in_byte_rows", [
    ("f32", False, False), ("f32", True, False), ("f32", False, True), ("f16", False, False), ("bf16", False, False)])
def test_keys_and_values_are_found_by_a_table(engine: Engine, kernel: str, kind: str, extras: bool, in_byte_rows: bool,
                                              rng: np.random.Generator) -> None:
    """Where the kernel reads no table, another one stands in."""
    try:
        network = _network(engine, kernel, kind, extras, in_byte_rows)
    except ClinferError as error:
        if not is_unsupported(error):
            raise
        pytest.skip(refusal_of(error, kernel))
    element = ElementType.of(kind)
    for batch, queries, keys, told in SIZES:
        query, key, value = (rng.standard_normal(shape).astype(np.float32) for shape in (
            (batch, HEADS * GROUPS, queries, DEPTH), (keys, batch, HEADS, DEPTH), (keys, batch, HEADS, WIDTH)))
        query = element.decode(element.encode(query.reshape(-1)), query.size).reshape(query.shape)
        stored = [encode_rows(each) if in_byte_rows else each for each in (key, value)]
        key, value = (decode_rows(each) if in_byte_rows else element.decode(
            element.encode(each.reshape(-1)), each.size).reshape(each.shape) for each in stored)
        mask = rng.standard_normal((batch, 1, 1, keys)).astype(np.float32)
        scale, sink = np.array(0.3, np.float32), rng.standard_normal((1, HEADS * GROUPS, 1, 1)).astype(np.float32)
        table = rng.integers(batch, size=(told, batch)).astype(np.int32)
        mixed, = execute(network, [query, *stored, *((mask, scale, sink) if extras else ()), table])
        wanted = _attention(query.astype(np.float64), key, value, mask if extras else 0.0,
                            float(scale) if extras else DEPTH ** -0.5, sink if extras else None, table)
        assert_close(mixed, wanted, TOLERANCES[kind], f"batch {batch}, {queries} queries, {keys} keys, {told} told")
