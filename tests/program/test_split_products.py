"""The pass that makes several products of one: gated units and projections, and when it keeps away."""
from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from clinfer.frontend.reader import to_topology
from clinfer.frontend.transformations import prepare
from clinfer.ops.matmul import MatMul
from clinfer.program.options import BuildOptions
from clinfer.program.passes.fuse_bias import fuse_bias
from clinfer.program.passes.infer_layouts import infer_layouts
from clinfer.program.passes.propagate_constants import propagate_constants
from clinfer.program.passes.split_products import split_products
from clinfer.runtime.engine import Engine
from tests.network.running import check, network_of
from tests.oracle import CpuPlugin, ov
from tests.program.attention_models import linear, op, row
from tests.program.building import graph_after

SKIPPED = BuildOptions(skipped_passes=frozenset({"split_products"}))
PASSES = (infer_layouts, propagate_constants, fuse_bias, split_products)
HIDDEN, INSIDE = 24, 40

Unit = Callable[[np.random.Generator, ov.Node], ov.Node]


def _halves(product: ov.Node) -> list[ov.Output]:
    return op.split(product, np.int64(-1), 2).outputs()


def _product(rng: np.random.Generator, data: ov.Node, width: int = 2 * INSIDE, bias: bool = True) -> ov.Node:
    return linear(rng, data.output(0), width, bias)


def _glu(rng: np.random.Generator, data: ov.Node) -> ov.Node:
    values, gate = _halves(_product(rng, data))
    return op.multiply(values, op.sigmoid(gate))


def _swiglu(rng: np.random.Generator, data: ov.Node) -> ov.Node:
    """The weights lie transposed; the columns are sliced."""
    weights = (rng.standard_normal((2 * INSIDE, HIDDEN)) / np.sqrt(HIDDEN)).astype(np.float32)
    product = op.matmul(data, weights, False, True)
    gate, values = (op.slice(product, row(start), row(start + INSIDE), row(1), row(2)) for start in (0, INSIDE))
    return op.multiply(op.swish(gate), values)


def _geglu(rng: np.random.Generator, data: ov.Node) -> ov.Node:
    """Parts of several sizes, the smallest of which is one column for all."""
    scale, values, gate = op.variadic_split(_product(rng, data, 2 * INSIDE + 1), np.int64(2),
                                            row(1, INSIDE, -1)).outputs()
    return op.multiply(op.multiply(values, op.gelu(gate, "tanh")), scale)


def _some(rng: np.random.Generator, data: ov.Node) -> ov.Node:
    """Some columns are not read at all."""
    return op.relu(op.slice(_product(rng, data, bias=False), row(3), row(20), row(1), row(-1)))


UNITS: dict[str, tuple[Unit, int]] = {"glu": (_glu, 2), "swiglu": (_swiglu, 2), "geglu": (_geglu, 3),
                                      "some": (_some, 1)}
"""Each with the number of products that it becomes, all of its launches."""


def _model(unit: Unit, rng: np.random.Generator) -> ov.Model:
    data = op.parameter([-1, -1, HIDDEN], np.float32)
    return ov.Model([unit(rng, data)], [data], "unit")


def _products(engine: Engine, model: ov.Model) -> list[MatMul]:
    graph = graph_after(engine, to_topology(prepare(model)).topology, PASSES)
    return [node.primitive for node in graph if isinstance(node.primitive, MatMul)]


def _check(engine: Engine, model: ov.Model, rng: np.random.Generator, options: BuildOptions | None = None) -> int:
    """What a network launches that was compared on several shapes."""
    network, oracle = network_of(engine, prepare(model), options), CpuPlugin(model)
    for shape in ((2, 5), (1, 1), (1, 40), (2, 5), (3, 0)):
        check(network, oracle, [rng.standard_normal((*shape, HIDDEN)).astype(np.float32)])
    return sum(len(node.implementations[0].stages) for node in network.program.nodes if node.kind == "kernel")


@pytest.mark.parametrize("name", UNITS)
def test_gates_are_fused_operations_of_products(engine: Engine, name: str, rng: np.random.Generator) -> None:
    unit, count = UNITS[name]
    model = _model(unit, rng)
    assert len(_products(engine, model)) == count
    assert _check(engine, model, rng) == count < _check(engine, model, rng, SKIPPED)


# -- when it keeps away -----------------------------------------------------------------------------


def _overlapping(rng: np.random.Generator, data: ov.Node) -> ov.Node:
    product = _product(rng, data)
    first, second = (op.slice(product, row(start), row(start + INSIDE), row(1), row(2)) for start in (0, 5))
    return op.multiply(op.swish(first), second)


def _whole_as_well(rng: np.random.Generator, data: ov.Node) -> ov.Node:
    product = _product(rng, data)
    values, gate = _halves(product)
    return op.concat([op.multiply(values, op.sigmoid(gate)), op.relu(product)], -1)


def _of_rows(rng: np.random.Generator, data: ov.Node) -> ov.Node:
    """Columns of a product whose right side is computed."""
    values, gate = _halves(op.matmul(data, op.relu(data), False, True))
    return op.multiply(values, op.sigmoid(gate))


def _moved(rng: np.random.Generator, data: ov.Node) -> ov.Node:
    """One half is transposed."""
    values, gate = _halves(_product(rng, data))
    return op.matmul(op.relu(values), op.transpose(gate, row(0, 2, 1)), False, False)


@pytest.mark.parametrize("unit", [_overlapping, _whole_as_well, _moved])
def test_other_products_stay(engine: Engine, unit: Unit, rng: np.random.Generator) -> None:
    model = _model(unit, rng)
    weights = [primitive for primitive in _products(engine, model) if primitive.bias_input is not None]
    assert len(weights) == 1
    _check(engine, model, rng)


def test_products_of_what_is_computed_stay(engine: Engine, rng: np.random.Generator) -> None:
    data = op.parameter([-1, 6, HIDDEN], np.float32)
    model = ov.Model([_of_rows(rng, data)], [data], "rows")
    assert len(_products(engine, model)) == 1
    network, oracle = network_of(engine, prepare(model)), CpuPlugin(model)
    for batch in (2, 1):
        check(network, oracle, [rng.standard_normal((batch, 6, HIDDEN)).astype(np.float32)])


def test_a_part_that_is_an_output_stays(engine: Engine, rng: np.random.Generator) -> None:
    data = op.parameter([-1, -1, HIDDEN], np.float32)
    values, gate = _halves(_product(rng, data))
    opened = op.multiply(values, op.sigmoid(gate)).output(0)
    model = ov.Model([opened, gate], [data], "output")
    assert len(_products(engine, model)) == 1
    _check(engine, model, rng)
