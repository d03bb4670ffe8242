"""The pass that makes the division by the root of the mean square one primitive."""
from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from clinfer.frontend.reader import to_topology
from clinfer.frontend.transformations import prepare
from clinfer.ops.mvn import KERNELS, MVN
from clinfer.ops.reduce import Reduce
from clinfer.program.graph import Graph
from clinfer.program.options import BuildOptions
from clinfer.program.passes.fuse_rms import fuse_rms
from clinfer.program.passes.infer_layouts import infer_layouts
from clinfer.program.passes.propagate_constants import propagate_constants
from clinfer.runtime.engine import Engine
from clinfer.topology import Topology
from tests.network.running import check, network_of
from tests.ops.case_runner import execute
from tests.oracle import CpuPlugin, ov
from tests.program.building import graph_after

SKIPPED = BuildOptions(skipped_passes=frozenset({"fuse_rms"}))
WIDTH, OF_VECTORS = 33, 64

op = ov.opset13
Root = Callable[[ov.Node, ov.Node], ov.Node]


def _number(value: float) -> ov.Node:
    return op.constant(np.float32(value))


ROOTS: dict[str, Root] = {
    "power": lambda x, v: op.multiply(x, op.power(v, _number(-0.5))),
    "inverse": lambda x, v: op.multiply(op.divide(_number(1), op.sqrt(v)), x),
    "power of root": lambda x, v: op.multiply(x, op.power(op.sqrt(v), _number(-1))),
    "quotient": lambda x, v: op.divide(x, op.sqrt(v)),
}
"""How data and the mean of its squares become the result."""


def _model(root: Root, square: str = "power", axis: int = -1, keep: bool = True, width: int = WIDTH) -> ov.Model:
    data = op.parameter([-1, -1, width], np.float32)
    squares = op.power(data, _number(2)) if square == "power" else op.multiply(data, data)
    mean = op.reduce_mean(squares, np.array([axis]), keep)
    scaled = root(data, op.add(_number(1e-3), mean))
    return ov.Model([op.multiply(scaled, _number(1.5))], [data], "rms")


def _graph(engine: Engine, model: ov.Model | Topology) -> Graph:
    topology = model if isinstance(model, Topology) else to_topology(prepare(model)).topology
    return graph_after(engine, topology, (infer_layouts, propagate_constants, fuse_rms))


def _of(graph: Graph, kind: type) -> list[str]:
    return [node.id for node in graph if isinstance(node.primitive, kind)]


def _arrays(rng: np.random.Generator, width: int = WIDTH) -> list[list[np.ndarray]]:
    return [[rng.standard_normal((*size, width)).astype(np.float32) + 1] for size in ((2, 5), (1, 1), (3, 17))]


@pytest.mark.parametrize("square", ["power", "product"])
@pytest.mark.parametrize("root", ROOTS)
def test_it_becomes_one_primitive(engine: Engine, root: str, square: str, rng: np.random.Generator) -> None:
    model = _model(ROOTS[root], square)
    graph = _graph(engine, model)
    normalisation, = (node.primitive for node in graph if isinstance(node.primitive, MVN))
    assert not normalisation.centre and normalisation.eps == pytest.approx(1e-3) and not _of(graph, Reduce)
    network, apart = (network_of(engine, prepare(model), options) for options in (None, SKIPPED))
    oracle = CpuPlugin(model)
    assert sum(node.kind == "kernel" for node in network.program.nodes) == 1
    for given in _arrays(rng):
        check(network, oracle, given)
        check(apart, oracle, given)


@pytest.mark.parametrize("axis", [-1, 1])
@pytest.mark.parametrize("kernel", [kernel.name for kernel in KERNELS.kernels if kernel.name != "mvn_left_to_readers"])
def test_every_kernel_leaves_the_mean_in(engine: Engine, kernel: str, axis: int, rng: np.random.Generator) -> None:
    width = OF_VECTORS if kernel in ("mvn_held", "mvn_wide") else WIDTH
    model = _model(ROOTS["power"], axis=axis, width=width)
    topology = to_topology(prepare(model)).topology
    normalisation, = _of(_graph(engine, topology), MVN)
    if (kernel in ("mvn_rows", "mvn_held", "mvn_wide")) != (axis == -1) and kernel != "mvn_ref":
        pytest.skip("made for other axes")
    if kernel == "mvn_columns16":
        pytest.skip("33 columns are no whole vectors")
    network, oracle = network_of(engine, topology, BuildOptions({normalisation: ("", kernel)})), CpuPlugin(model)
    for given in _arrays(rng, width):
        check(network, oracle, given)


def test_the_mean_of_other_squares_stays(engine: Engine, rng: np.random.Generator) -> None:
    data, other = (op.parameter([-1, WIDTH], np.float32) for _ in range(2))
    mean = op.add(op.reduce_mean(op.multiply(other, other), np.array([-1]), True), _number(1e-3))
    model = ov.Model([ROOTS["power"](data, mean)], [data, other], "other")
    assert not _of(_graph(engine, model), MVN)
    check(network_of(engine, prepare(model)), CpuPlugin(model),
          [rng.standard_normal((4, WIDTH)).astype(np.float32) for _ in range(2)])


def test_what_others_read_stays(engine: Engine, rng: np.random.Generator) -> None:
    data = op.parameter([-1, WIDTH], np.float32)
    mean = op.add(op.reduce_mean(op.multiply(data, data), np.array([-1]), True), _number(1e-3))
    model = ov.Model([ROOTS["power"](data, mean), mean], [data], "mean")
    graph = _graph(engine, model)
    assert len(_of(graph, MVN)) == 1 and len(_of(graph, Reduce)) == 1
    check(network_of(engine, prepare(model)), CpuPlugin(model), [rng.standard_normal((4, WIDTH)).astype(np.float32)])


@pytest.mark.parametrize("raised", ["exponent", "eps", "power"])
def test_numbers_that_put_axes_before_those_of_the_data(engine: Engine, raised: str, rng: np.random.Generator) -> None:
    """Beside NumPy: OpenVINO's CPU plugin loses the axis."""
    def number(name: str, value: float) -> ov.Node:
        return op.constant(np.full((1, 1, 1) if raised == name else (), value, np.float32))
    data = op.parameter([-1, WIDTH], np.float32)
    mean = op.reduce_mean(op.power(data, number("exponent", 2)), np.array([-1]), True)
    factor = op.power(op.add(mean, number("eps", 1e-3)), number("power", -0.5))
    model = ov.Model([op.multiply(data, factor)], [data], "raised")
    network = network_of(engine, prepare(model))
    for rows in (4, 1):
        given = rng.standard_normal((rows, WIDTH)).astype(np.float32)
        (result,) = execute(network, [given])
        wanted = given / np.sqrt(np.square(given.astype(np.float64)).mean(-1, keepdims=True) + 1e-3)
        np.testing.assert_allclose(result, wanted[None], rtol=1e-5)
        assert result.shape == (1, rows, WIDTH)
