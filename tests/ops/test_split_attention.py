"""Attention of a few queries whose keys work-groups share, against NumPy in float64, in sequences of shapes."""
from __future__ import annotations

import numpy as np
import pytest

from clinfer.base.element_type import ElementType
from clinfer.base.shape import ANY
from clinfer.ops.sdpa import ScaledDotProductAttention
from clinfer.ops.sdpa.kernels import gpu
from clinfer.program.options import BuildOptions
from clinfer.runtime.engine import Engine
from clinfer.topology import Input, Port, Topology
from tests.network.running import network_of
from tests.ops.case_runner import execute
from tests.oracle import assert_close

HEADS = 2
TOLERANCES = {"f32": 1e-5, "f16": 4e-3}


def _attention(query: np.ndarray, key: np.ndarray, value: np.ndarray, mask: np.ndarray | None, sink: np.ndarray | None,
               causal: bool) -> np.ndarray:
    """In float64; a row without any key is 0."""
    groups = query.shape[1] // key.shape[1]
    key, value = (each.repeat(groups, 1).astype(np.float64) for each in (key, value))
    scores = query.astype(np.float64) @ key.swapaxes(2, 3) / np.sqrt(query.shape[-1])
    if causal:
        scores = np.where(np.tri(*scores.shape[2:], dtype=bool), scores, -np.inf)
    elif mask is not None:
        scores = scores + mask
    keys = scores.shape[-1]
    if sink is not None:
        scores = np.concatenate([scores, np.broadcast_to(sink, (*scores.shape[:-1], 1))], -1)
    highest = scores.max(-1, keepdims=True)
    weights = np.exp(scores - np.where(highest == -np.inf, 0, highest))
    return weights[..., :keys] / np.maximum(weights.sum(-1, keepdims=True), 1e-300) @ value


@pytest.fixture(params=[False, True], ids=["in two stages", "by the last group"])
def adding(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu, "last_adds", lambda device: request.param)


@pytest.mark.parametrize("kind", ["f32", "f16"])
@pytest.mark.parametrize("others", ["", "mask", "causal", "sink"])
@pytest.mark.parametrize("rows, groups", [(1, 1), (4, 4), (4, 2), (16, 1), (16, 5), (16, 16)])
def test_keys_are_shared(engine: Engine, adding: None, rows: int, groups: int, others: str, kind: str,
                         rng: np.random.Generator) -> None:
    depth, width = (int(rng.choice(sizes)) for sizes in ((16, 20, 33, 64, 128), (5, 16, 64, 70, 128)))
    heads, element = HEADS * groups, ElementType.of(kind)
    inputs = [Input(name, shape=(ANY, count, ANY, size), element_type=element) for name, count, size in (
        ("query", heads, depth), ("key", HEADS, depth), ("value", HEADS, width))]
    if others in ("mask", "sink"):
        inputs += [Input("mask", shape=(ANY, 1, ANY, ANY), element_type=element)]
    if others == "sink":
        inputs += [Input("scale", shape=()), Input("sink", shape=(1, heads, 1, 1))]
    attention = ScaledDotProductAttention("attention", tuple(Port(each.id) for each in inputs), groups=groups,
                                          causal=others == "causal")
    may_be_aligned = engine.capabilities.tensor_cores and depth % 8 == width % 8 == 0
    kernel = f"sdpa_split_{rows}{'_aligned' * (may_be_aligned and rng.random() < 0.7)}"
    network = network_of(engine, Topology(*inputs, attention, outputs={"mixed": Port("attention")}),
                         BuildOptions({"attention": ("", kernel)}))
    for batch, keys in ((1, 500), (2, 1), (1, 64), (3, 65), (1, 1500), (2, 63)):
        queries = int(rng.integers(1, rows // groups + 1))
        given = [rng.standard_normal(shape).astype(element.numpy) for shape in (
            (batch, heads, queries, depth), (batch, HEADS, keys, depth), (batch, HEADS, keys, width))]
        mask = np.where(rng.random((batch, 1, queries, keys)) < 0.4, rng.choice([-np.inf, -2]), 0).astype(element.numpy)
        mask[0, 0, 0] = -np.inf
        sink = rng.standard_normal((1, heads, 1, 1)).astype(np.float32)
        more = {"mask": [mask], "sink": [mask, np.array(depth ** -0.5, np.float32), sink]}.get(others, [])
        found, = execute(network, [*given, *more])
        wanted = _attention(*given, mask if more else None, sink if others == "sink" else None, others == "causal")
        assert_close(found.astype(np.float64), wanted, TOLERANCES[kind], f"{queries} queries, {keys} keys")
