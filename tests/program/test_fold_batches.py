"""The pass that makes the batch axes of attention one: which sizes may be open, and when it keeps away."""
from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from clinfer.frontend.reader import to_topology
from clinfer.frontend.transformations import prepare
from clinfer.ops.sdpa import ScaledDotProductAttention
from clinfer.program.passes.fold_batches import fold_batches
from clinfer.program.passes.fuse_attention import fuse_attention
from clinfer.program.passes.infer_layouts import infer_layouts
from clinfer.program.passes.propagate_constants import propagate_constants
from clinfer.runtime.engine import Engine
from tests.network.running import check, network_of
from tests.oracle import CpuPlugin, ov
from tests.program.building import graph_after

PASSES = (infer_layouts, propagate_constants, fuse_attention, fold_batches)
op = ov.opset13

Shape = tuple[int, ...]


def _model(data: Shape, mask: Shape | None, width: int = 8, written_out: bool = False) -> ov.Model:
    """Attention between parts of one tensor, so that all batch sizes are surely the same."""
    given = op.parameter(list(data), np.float32)
    masks = [] if mask is None else [op.parameter(list(mask), np.float32)]
    value = op.slice(given, np.array([0]), np.array([width]), np.array([1]), np.array([len(data) - 1]))
    key = op.relu(given)
    if written_out:
        scores = op.matmul(given, key, False, True)
        mixed = op.matmul(op.softmax(op.add(scores, masks[0]) if masks else scores, -1), value, False, False)
    else:
        mixed = op.scaled_dot_product_attention(given, key, value, *masks)
    return ov.Model([mixed], [given, *masks], "windows")


def _rank(engine: Engine, model: ov.Model) -> int:
    graph = graph_after(engine, to_topology(prepare(model)).topology, PASSES)
    attention, = (node for node in graph if isinstance(node.primitive, ScaledDotProductAttention))
    return attention.layouts[0].rank


def _check(engine: Engine, model: ov.Model, rng: np.random.Generator, shapes: Sequence[tuple[Shape, ...]]) -> None:
    network, oracle = network_of(engine, prepare(model)), CpuPlugin(model)
    for given in shapes:
        check(network, oracle, [rng.standard_normal(shape).astype(np.float32) for shape in given])


@pytest.mark.parametrize("written_out", [False, True])
@pytest.mark.parametrize(("data", "mask"), [
    ((2, 3, 2, 5, 8), None), ((-1, 3, 2, 5, 8), None), ((-1, -1, 2, 5, 8), None), ((2, 3, 2, -1, 8), None),
    ((-1, 3, 2, 5, 8), (5, 5)), ((-1, 3, 2, 5, 8), (1, 2, 5, 5)), ((-1, 3, 2, 5, 8), (1, 1, 2, 5, 5)),
    ((2, 3, 2, 5, 8), (2, 3, 2, 5, 5)), ((-1, 2, 3, 2, 5, 8), None)])
def test_batches_are_folded(engine: Engine, rng: np.random.Generator, data: Shape, mask: Shape | None,
                            written_out: bool) -> None:
    model = _model(data, mask, written_out=written_out)
    assert _rank(engine, model) == 4
    shapes = [tuple(open if size < 0 else size for size in data) for open in (1, 3, 0, 7)]
    _check(engine, model, rng, [(shape,) if mask is None else (shape, mask) for shape in shapes])


@pytest.mark.parametrize(("data", "mask", "width"), [
    ((-1, 3, 2, -1, 8), None, 8), ((-1, -1, 2, 5, 8), None, 4), ((-1, 3, 2, 5, 8), (3, 1, 5, 5), 8),
    ((2, 3, 2, 5, 8), (2, 1, 2, 5, 5), 8), ((2, 3, 2, 5, 8), (-1, 1, 2, 5, 5), 8)],
    ids=["two open sizes", "a result of other sizes", "a mask per window", "a mask per picture", "an open mask"])
def test_batches_stay_where_no_constant_tells_the_shape(engine: Engine, rng: np.random.Generator, data: Shape,
                                                        mask: Shape | None, width: int) -> None:
    model = _model(data, mask, width)
    assert _rank(engine, model) == 5
    shapes = [tuple((tuple(open if size < 0 else size for size in shape)) for shape in (data, mask) if shape)
              for open in (1, 2)]
    _check(engine, model, rng, shapes)
