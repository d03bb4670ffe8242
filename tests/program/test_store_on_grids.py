"""Tensors that FakeQuantize rounded, stored as whole numbers: which are, and what is computed of them."""
from __future__ import annotations

import numpy as np
import pytest

from clinfer.base.grid import Grid
from clinfer.base.shape import ANY
from clinfer.frontend.shape_inference import OpenVinoShapeInference
from clinfer.kernels.tuned import subject_of
from clinfer.network.compile import compile_topology
from clinfer.network.network import Network
from clinfer.ops.concat import Concat
from clinfer.ops.convert import Convert
from clinfer.ops.convolution import Convolution
from clinfer.ops.eltwise import Eltwise
from clinfer.ops.fake_quantize import FakeQuantize
from clinfer.ops.matmul import MatMul
from clinfer.ops.pooling import AvgPool, MaxPool
from clinfer.ops.pooling.kernels import PoolingProblem
from clinfer.ops.reorder import Reorder
from clinfer.ops.reshape import Reshape
from clinfer.ops.split import Split
from clinfer.ops.transpose import Transpose
from clinfer.program.blobs.programs import load_program, save_program
from clinfer.program.options import BuildOptions
from clinfer.program.program import Program
from clinfer.runtime.engine import Engine
from clinfer.topology import Port, Primitive, Topology
from tests.ops.case_runner import execute
from tests.oracle import assert_close
from tests.program.building import constant, given, numbers

CHANNELS = 20
PASS = "store_on_grids"


@pytest.fixture(autouse=True)
def with_byte_products(engine: Engine) -> None:
    if not engine.capabilities.multiplies_bytes:
        pytest.skip("the device has no instructions for bytes")


def rounded(name: str, source: str, low: float = -1.28, high: float = 1.27, levels: int = 256,
             to_low: float | None = None, to_high: float | None = None) -> list[Primitive]:
    bounds = [constant(f"{name}_{n}", np.float32(value)) for n, value in enumerate(
        (low, high, low if to_low is None else to_low, high if to_high is None else to_high))]
    return [*bounds, FakeQuantize(name, (source, *(bound.id for bound in bounds)), levels=levels)]


def convolution(rng: np.random.Generator, name: str, source: str | Port, outputs: int = CHANNELS,
                inputs: int = CHANNELS) -> list[Primitive]:
    """Of weights that are whole numbers times a scale."""
    scale = rng.uniform(0.01, 0.02, (outputs, 1, 1, 1)) / 4
    weights = (rng.integers(-127, 128, (outputs, inputs, 3, 3)) * scale).astype(np.float32)
    return [constant(f"{name}_w", weights),
            Convolution(name, (source, f"{name}_w"), strides=(1, 1), dilations=(1, 1), pads_begin=(1, 1),
                        pads_end=(1, 1))]


def _two(rng: np.random.Generator, between: list[Primitive], last: str) -> Topology:
    """Two convolutions of bytes, with what is given in between."""
    return Topology(given("x", ANY, CHANNELS, ANY, ANY), *rounded("first", "x"), *convolution(rng, "a", "first"),
                    Eltwise("relu", ("a",), mode="Relu"), *between, *convolution(rng, "b", last, 33))


def _program(engine: Engine, topology: Topology, is_stored: bool = True, **forced: str) -> Program:
    """`forced`: the kernels of primitives."""
    options = BuildOptions({name: ("", kernel) for name, kernel in forced.items()},
                           frozenset(["join_shuffles"] if is_stored else [PASS]))
    return compile_topology(engine, topology, OpenVinoShapeInference(), options)


def _on_grids(program: Program) -> list[Grid]:
    """The grids of results that are stored on one; reorders only move them."""
    return [grid for node in program.nodes if not isinstance(node.primitive, Reorder)
            if (grid := program.tensors[node.outputs[0]].layout.element_type.grid) is not None]


def _run(program: Program, *data: np.ndarray) -> np.ndarray:
    return _run_all(program, *data)[0]


def _run_all(program: Program, *data: np.ndarray) -> list[np.ndarray]:
    return execute(Network(program, program.engine.create_stream(), OpenVinoShapeInference()), list(data))


def _on_levels(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """Numbers in the middle of levels, which no rounding moves to another one."""
    return (rng.integers(-150, 150, shape) / 100).astype(np.float32)


@pytest.mark.parametrize("given_as", [{}, {"levels": 255, "low": -1.27}, {"low": 0.0}, {"levels": 16, "low": 0.0},
                                      {"low": 0.0, "to_low": 0.0, "to_high": 2.0}], ids=str)
def test_a_chain_of_convolutions_gives_what_it_does_with_floats(
        engine: Engine, rng: np.random.Generator, given_as: dict[str, float]) -> None:
    topology = _two(rng, rounded("second", "relu", **given_as), "second")  # type: ignore[arg-type]
    stored, floats = _program(engine, topology), _program(engine, topology, False)
    assert len(_on_grids(stored)) == 2 and not _on_grids(floats)
    for shape in ((2, CHANNELS, 11, 14), (1, CHANNELS, 3, 3), (3, CHANNELS, 7, 20), (2, CHANNELS, 11, 14)):
        x = _on_levels(rng, *shape)
        # A number beside the middle of two levels may be rounded to either of them.
        assert_close(_run(stored, x), _run(floats, x), 1e-2, f"{given_as} {shape}")


def test_nothing_turns_data_into_bytes_again(engine: Engine, rng: np.random.Generator) -> None:
    program = _program(engine, _two(rng, rounded("second", "relu"), "second"))
    by_name = {node.primitive.id: node for node in program.nodes}
    assert all(implementation.problem.inputs[0].element_type.grid for implementation in by_name["b"].implementations)
    assert isinstance(by_name["a"].primitive.fused_ops[-1].primitive, Convert)
    assert not any(isinstance(node.primitive, FakeQuantize) for node in program.nodes)


@pytest.mark.parametrize("kernel", ["pool_bytes", "pool_fsv16", "pool_windows", "pool_ref"])
def test_the_largest_of_windows_is_stored_too(engine: Engine, rng: np.random.Generator, kernel: str) -> None:
    pool = MaxPool("pooled", ("second",), strides=(2, 2), pads_begin=(1, 1), pads_end=(1, 1), kernel=(3, 3))
    topology = _two(rng, [*rounded("second", "relu"), pool], "pooled")
    stored, floats = _program(engine, topology, pooled=kernel), _program(engine, topology, False)
    assert len(_on_grids(stored)) == 3
    x = _on_levels(rng, 2, CHANNELS, 13, 10)
    assert_close(_run(stored, x), _run(floats, x), 1e-2)


def _shuffled(source: str) -> list[Primitive]:
    """Channels of two halves by turns, and two halves of those."""
    return [numbers("in_halves", 0, 2, CHANNELS // 2, 8, 9),
            Reshape("halves", (source, "in_halves"), special_zero=True),
            numbers("turn", 0, 2, 1, 3, 4), Transpose("turned", ("halves", "turn")),
            numbers("as_before", 0, CHANNELS, 8, 9), Reshape("whole", ("turned", "as_before"), special_zero=True),
            numbers("axis", 1), Split("split", ("whole", "axis"), num_splits=2)]


def _joined_and_shuffled(rng: np.random.Generator, first: float, second: float, *more: Primitive) -> Topology:
    """Two tensors of 8 x 9 pixels behind one another, shuffled, of which a convolution reads one half."""
    half = CHANNELS // 2
    parts = [given("x", ANY, half, 8, 9), given("z", ANY, half, 8, 9), *rounded("one", "x", 0.0, first),
             *rounded("two", "z", 0.0, second), Concat("joined", ("one", "two"), axis=1), *_shuffled("joined")]
    return Topology(*parts, *convolution(rng, "a", Port("split", 1), 33, half), *more)


def test_the_largest_of_windows_are_found_among_bytes(engine: Engine, rng: np.random.Generator) -> None:
    """Where nothing else is done with them."""
    for more in ([], [Eltwise("less", ("pooled",), mode="Sigmoid"), *rounded("again", "less")]):
        pool = MaxPool("pooled", ("second",), strides=(1, 1), pads_begin=(1, 1), pads_end=(1, 1), kernel=(3, 3))
        last = more[-1].id if more else "pooled"
        program = _program(engine, _two(rng, [*rounded("second", "relu"), pool, *more], last))
        problem = next(node for node in program.nodes if node.primitive.id == "pooled").implementations[0].problem
        assert isinstance(problem, PoolingProblem) and problem.inputs[0].element_type.grid is not None
        assert problem.as_stored.inputs[0].element_type.name == "u8" if not more else problem.as_stored is problem


def test_what_is_joined_and_moved_is_stored_all_the_way(engine: Engine, rng: np.random.Generator) -> None:
    topology = _joined_and_shuffled(rng, 2.55, 2.55)
    stored, floats = _program(engine, topology), _program(engine, topology, False)
    assert len(set(_on_grids(stored))) == 1 and len(_on_grids(stored)) >= 5 and not _on_grids(floats)
    for batch in (1, 3):
        data = [_on_levels(rng, batch, CHANNELS // 2, 8, 9) for _ in range(2)]
        assert_close(_run(stored, *data), _run(floats, *data), 1e-5, str(batch))


def test_tensors_of_two_grids_that_are_joined_stay(engine: Engine, rng: np.random.Generator) -> None:
    assert not _on_grids(_program(engine, _joined_and_shuffled(rng, 2.55, 2.0)))


def test_what_else_reads_what_was_moved_reads_floats(engine: Engine, rng: np.random.Generator) -> None:
    """One that adds, behind enough that is moved."""
    topology = _joined_and_shuffled(rng, 2.55, 2.55, Eltwise("sum", (Port("split", 0), Port("split", 1)), mode="Add"),
                                    Eltwise("half", ("a",), mode="Relu"))
    topology = Topology(*topology, outputs={"half": Port("half"), "sum": Port("sum")})
    stored, floats = _program(engine, topology), _program(engine, topology, False)
    assert len(_on_grids(stored)) >= 5
    data = [_on_levels(rng, 2, CHANNELS // 2, 8, 9) for _ in range(2)]
    for got, expected in zip(_run_all(stored, *data), _run_all(floats, *data), strict=True):
        assert_close(got, expected, 1e-5)


@pytest.mark.parametrize("transpose", [False, True])
def test_products_read_bytes(engine: Engine, rng: np.random.Generator, transpose: bool) -> None:
    weights = (rng.integers(-127, 128, (24, 40)) * rng.uniform(0.01, 0.02, (24, 1))).astype(np.float32)
    topology = Topology(given("x", ANY, ANY, 40), Eltwise("relu", ("x",), mode="Relu"),
                        *rounded("second", "relu", 0.0, 2.55),
                        constant("w", weights if transpose else weights.T.copy()),
                        MatMul("y", ("second", "w"), transpose_b=transpose))
    stored, floats = _program(engine, topology), _program(engine, topology, False)
    plainly = _program(engine, topology, y="matmul_ref")
    assert len(_on_grids(stored)) == len(_on_grids(plainly)) == 1
    for shape in ((2, 7, 40), (1, 1, 40), (3, 33, 40)):
        x = _on_levels(rng, *shape)
        for program in (stored, plainly):
            assert_close(_run(program, x), _run(floats, x), 1e-5, str(shape))


def test_the_reference_of_convolutions_reads_bytes(engine: Engine, rng: np.random.Generator) -> None:
    topology = Topology(given("x", ANY, CHANNELS, ANY, ANY), *rounded("first", "x"), *convolution(rng, "a", "first"))
    program, plainly = _program(engine, topology), _program(engine, topology, a="quantised_convolution_ref")
    assert len(_on_grids(program)) == len(_on_grids(plainly)) == 1
    x = _on_levels(rng, 2, CHANNELS, 5, 9)
    assert_close(_run(plainly, x), _run(program, x), 1e-5)


def test_other_readers_keep_floats(engine: Engine, rng: np.random.Generator) -> None:
    """Means of windows, outputs of the model, and levels that products do not know."""
    mean = AvgPool("mean", ("second",), strides=(2, 2), kernel=(2, 2))
    with_others = _two(rng, [*rounded("second", "relu"), mean], "second")
    given_out = Topology(*_two(rng, rounded("second", "relu"), "second"),
                         outputs={"b": Port("b"), "second": Port("second")})
    without_zero = _two(rng, rounded("second", "relu", 0.5, 3.0), "second")
    bounds = np.linspace(1, 2, CHANNELS).reshape(1, -1, 1, 1).astype(np.float32)
    by_channel = _two(rng, [constant("low", np.float32(0)), constant("high", bounds),
                            FakeQuantize("second", ("relu", "low", "high", "low", "high"), levels=256)], "second")
    for topology in (with_others, given_out, without_zero, by_channel):
        assert len(_on_grids(_program(engine, topology))) == 1


def test_additions_read_bytes(engine: Engine, rng: np.random.Generator) -> None:
    """As in residual blocks; what only additions read stays floats."""
    topology = Topology(*_two(rng, rounded("second", "relu"), "second"), *rounded("third", "b"),
                        *convolution(rng, "c", "third", inputs=33), *rounded("fourth", "c"),
                        Eltwise("sum", ("fourth", "second"), mode="Add"), Eltwise("high", ("sum",), mode="Relu"))
    stored, floats = _program(engine, topology), _program(engine, topology, False)
    assert len(_on_grids(stored)) == 3 and len(stored.nodes) == len(floats.nodes)
    for shape in ((2, CHANNELS, 11, 14), (1, CHANNELS, 3, 3)):
        x = _on_levels(rng, *shape)
        assert_close(_run(stored, x), _run(floats, x), 1e-2, str(shape))


def test_what_is_no_number_is_the_lowest_level(engine: Engine, rng: np.random.Generator) -> None:
    topology = Topology(given("x", ANY, CHANNELS, ANY, ANY), *rounded("first", "x"), *convolution(rng, "a", "first"))
    program = _program(engine, topology)
    assert _on_grids(program)
    x = _on_levels(rng, 1, CHANNELS, 5, 6)
    odd = x.copy()
    odd[0, 3, 2, 1], odd[0, 4, 2, 2], odd[0, 5, 0, 0] = np.nan, np.inf, -np.inf
    x[0, 3, 2, 1], x[0, 4, 2, 2], x[0, 5, 0, 0] = -1.28, 1.27, -1.28
    assert_close(_run(program, odd), _run(program, x), 0)


def test_times_of_one_grid_hold_for_others(engine: Engine, rng: np.random.Generator) -> None:
    subjects = set()
    for high in (1.27, 2.54):
        program = _program(engine, _two(rng, rounded("second", "relu", 0.0, high), "second"))
        node = next(node for node in program.nodes if node.primitive.id == "b")
        subjects.add(subject_of(node.implementations[0].problem))
    assert len(subjects) == 1


def test_a_blob_keeps_the_grids(engine: Engine, rng: np.random.Generator) -> None:
    program = _program(engine, _two(rng, rounded("second", "relu"), "second"))
    again, _ = load_program(memoryview(save_program(program, None, {}).to_bytes()), engine, {})
    assert _on_grids(again) == _on_grids(program)
    x = _on_levels(rng, 1, CHANNELS, 9, 9)
    assert_close(_run(again, x), _run(program, x), 0)
