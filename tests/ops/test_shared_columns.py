"""Reductions of columns that work-groups share, against NumPy in float64, in sequences of shapes."""
from __future__ import annotations

import numpy as np
import pytest

from clinfer.base.element_type import ElementType
from clinfer.base.layout import Layout
from clinfer.base.shape import ANY, Shape, Size
from clinfer.network.network import Network
from clinfer.network.plans.plan import Launch
from clinfer.ops.eltwise import Eltwise
from clinfer.ops.reduce import Reduce
from clinfer.ops.reduce.kernels import KERNELS
from clinfer.ops.reduce.op import REDUCTIONS
from clinfer.ops.reduce.shared_columns import Shares
from clinfer.program.options import BuildOptions
from clinfer.runtime.engine import Engine
from clinfer.topology import Input, Port, Topology
from tests.network.running import network_of
from tests.ops.case_runner import execute
from tests.oracle import assert_close
from tests.program.building import numbers

CONFIGS = ("4", "4_sliced", "1", "1_sliced")
TOLERANCES = {"f16": 2e-3, "f32": 1e-5}
FLOATS = tuple(mode for mode in REDUCTIONS if not mode.startswith("Logical"))
INTEGERS = (*((mode, kind) for mode in FLOATS for kind in ("i32", "u8", "i64")),
            ("LogicalAnd", "boolean"), ("LogicalOr", "boolean"))


def _network(engine: Engine, config: str, shape: Shape, axes: tuple[int, ...], mode: str, kind: str,
             fused: bool = False, keep_dims: bool = False) -> Network:
    """A reduction; `fused`: times what is given for each column, or 0 if that is more."""
    element = ElementType.of(kind)
    given = [Input("x", shape=shape, element_type=element), numbers("axes", *axes)]
    reduce = Reduce("reduced", (Port("x"), Port("axes")), mode=mode, keep_dims=keep_dims)
    chain = [Input("factor", shape=shape[-1:], element_type=element),
             Eltwise("product", (Port("reduced"), Port("factor")), mode="Multiply"),
             Eltwise("result", (Port("product"),), mode="Relu")]
    network = network_of(engine, Topology(*given, reduce, *(chain if fused else ())),
                         BuildOptions({"reduced": ("", f"reduce_columns_shared_{config}")}))
    node, = (node for node in network.program.nodes if node.implementations)
    assert node.implementations[0].name == f"reduce_columns_shared_{config}"
    assert len(node.implementations[0].stages) == 1 + config.endswith("sliced")
    return network


def _check(network: Network, rng: np.random.Generator, shape: tuple[int, ...], axes: tuple[int, ...], mode: str,
           kind: str, fused: bool = False, keep_dims: bool = False) -> None:
    numpy = ElementType.of(kind).numpy
    if kind in TOLERANCES:
        spread = (0.9, 1.1) if mode == "Prod" else (-2, 2)
        data = rng.uniform(*spread, shape).astype(numpy)
        wide = data.astype(np.float64)
    else:
        data = wide = rng.integers(0, 2 if kind == "boolean" or mode == "Prod" else 5, shape).astype(numpy)
        wide = wide if kind == "boolean" else wide.astype(np.int64)
    factor = rng.uniform(-1, 1, shape[-1:]).astype(numpy)
    wanted = np.asarray(REDUCTIONS[mode].evaluate(wide, axes, keepdims=keep_dims))
    if fused:
        wanted = np.maximum(wanted * factor.astype(np.float64), 0)
    wanted = wanted if kind in TOLERANCES else wanted.astype(numpy)
    found, = execute(network, [data, factor] if fused else [data])
    assert_close(found.astype(wanted.dtype), wanted, TOLERANCES.get(kind, 0), f"{mode} of {shape} along {axes}")


def _columns(rng: np.random.Generator, config: str) -> int:
    """Columns of whole vectors, or an odd number."""
    return 4 * int(rng.integers(1, 40)) if config[0] == "4" else 2 * int(rng.integers(1, 40)) + 1


@pytest.mark.parametrize("kind", TOLERANCES)
@pytest.mark.parametrize("mode", FLOATS)
@pytest.mark.parametrize("config", CONFIGS)
def test_open_sizes(engine: Engine, rng: np.random.Generator, config: str, mode: str, kind: str) -> None:
    """Of which some are computed by another kernel: no elements, or columns of no whole vectors."""
    fused, keep_dims = (bool(x) for x in rng.integers(0, 2, 2))
    columns = _columns(rng, config)
    network = _network(engine, config, (ANY, ANY, columns if fused else ANY), (1,), mode, kind, fused, keep_dims)
    for batch, length in ((1, 300), (3, 1), (2, 7), (1, 33), (2, 0), (4, 129), (1, int(rng.integers(1, 3000)))):
        shape = batch, length, columns if fused else _columns(rng, config)
        _check(network, rng, shape, (1,), mode, kind, fused, keep_dims)
    for shape in () if fused else ((2, 9, 3), (1, 40, 1), (1, 5, 0)):
        _check(network, rng, shape, (1,), mode, kind, fused, keep_dims)


@pytest.mark.parametrize("mode, kind", INTEGERS)
@pytest.mark.parametrize("config", ["1", "1_sliced"])
def test_integers(engine: Engine, rng: np.random.Generator, config: str, mode: str, kind: str) -> None:
    network = _network(engine, config, (ANY, ANY, ANY), (1,), mode, kind)
    for batch, length in ((2, 30), (1, 65), (1, 1), (3, 8)):
        _check(network, rng, (batch, length, _columns(rng, config)), (1,), mode, kind)


@pytest.mark.parametrize("config", CONFIGS)
@pytest.mark.parametrize("shape, axes", [((3, 5, 7, 11, 8), (1, 3)), ((2, 9, 16, 12), (1, 2)), ((130, 36), (0,)),
                                         ((5, 4, 64), (0,)), ((2, 3, 4, 5, 8), (3,))])
def test_other_axes(engine: Engine, rng: np.random.Generator, config: str, shape: tuple[int, ...],
                    axes: tuple[int, ...]) -> None:
    """Those that are no neighbours are left to another kernel, as are columns with a factor for several of them."""
    sizes = tuple(ANY if rng.random() < 0.5 else size for size in shape[1:-1])
    shape = (*shape[:-1], shape[-1] - (config[0] == "1"))
    network = _network(engine, config, (ANY, *sizes, shape[-1]), axes, "Mean", "f32", fused=True)
    for _ in range(2):
        _check(network, rng, shape, axes, "Mean", "f32", fused=True)


@pytest.mark.parametrize("config", CONFIGS)
def test_slices_of_many_elements(engine: Engine, rng: np.random.Generator, config: str) -> None:
    """More than `RUN` for a work-item, and so many that slices grow."""
    columns = 8 if config[0] == "4" else 7
    network = _network(engine, config, (ANY, columns), (0,), "Mean", "f32")
    for length in (300_001, 5, 140_000):
        given = rng.uniform(100, 101, (length, columns)).astype(np.float32)
        found, = execute(network, [given])
        np.testing.assert_allclose(found, given.mean(0, np.float64), rtol=1e-6)


@pytest.mark.parametrize("config", CONFIGS)
def test_numbers_that_are_none(engine: Engine, rng: np.random.Generator, config: str) -> None:
    for mode, compute in (("Max", np.max), ("Min", np.min)):
        network = _network(engine, config, (ANY, ANY), (0,), mode, "f32")
        given = rng.uniform(-1, 1, (700, 40)).astype(np.float32)
        given[rng.integers(0, 700, 9), rng.integers(0, 40, 9)] = np.nan
        given[:, 3] = -np.inf
        np.testing.assert_array_equal(execute(network, [given])[0], compute(given, 0))


@pytest.mark.parametrize("kind, columns, vectors", [
    ("f32", ANY, {4, 1}), ("f16", 12, {4}), ("f32", 13, {4, 1}), ("i32", 12, {1})])
def test_columns_of_a_work_item(engine: Engine, kind: str, columns: Size, vectors: set[int]) -> None:
    """What fits whichever sizes come has no configuration beside it."""
    data = Layout.planar((ANY, ANY, columns), ElementType.of(kind))
    axes = Layout.planar((1,), ElementType.of("i64"))
    problem = KERNELS.problem(Reduce("p", (Port("x"), Port("axes"))), (data, axes), (data,), engine.capabilities, {})
    found = [each.config for each in KERNELS.candidates(problem) if isinstance(each.config, Shares)]
    assert {each.vector for each in found} == vectors and len(found) == 2 * len(vectors)


def test_equal_inputs_give_equal_results(engine: Engine, rng: np.random.Generator) -> None:
    network = _network(engine, "4_sliced", (ANY, 32), (0,), "Sum", "f32")
    given = rng.standard_normal((12544, 32)).astype(np.float32)
    first = execute(network, [given])[0]
    assert all(np.array_equal(execute(network, [given])[0], first) for _ in range(3))
    assert sum(isinstance(step, Launch) for plan in network._ready.current if plan for step in plan.steps) == 2
