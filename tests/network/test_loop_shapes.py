"""Loops whose results have sizes that their inputs tell: what reads them is planned before they run."""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import pytest
from openvino import opset13 as ops

from bench.models import mamba
from clinfer.base.errors import ClinferError
from clinfer.frontend.shape_inference import OpenVinoShapeInference
from clinfer.frontend.transformations import prepare
from clinfer.network.network import Network
from clinfer.network.plans.trace_ahead import trace_ahead
from clinfer.program.blobs.programs import load_program, save_program
from clinfer.program.program import Program
from clinfer.runtime.engine import Engine
from tests.network.loop_models import TRUE, Rng, always, floats, loop_of, running_sums, scalar
from tests.network.running import check, network_of, run_once
from tests.ops.case_runner import execute
from tests.oracle import CpuPlugin, assert_close, ov


def _behind(outputs: Sequence[ov.Output], parameters: Sequence[ov.Node]) -> ov.Model:
    """A model that doubles what a loop gives."""
    return ov.Model([ops.multiply(output, np.float32(2)) for output in outputs], list(parameters))


def _sums() -> ov.Model:
    """The runs stretch the state, of one row, to the slices."""
    x, start = ops.parameter([-1, -1, 3], np.float32), ops.parameter([-1, 1, 3], np.float32)
    return _behind(running_sums(x, start, 1, 1, (False, True)), [x, start])


def _scan(trips_of: str, ends: bool = False) -> ov.Model:
    """Loop: the state is halved and another input added, as often as a length or a number says, or until it is small;
    where it does not end by itself, what each run gave is joined."""
    x, other, trips = (ops.parameter([-1, -1], np.float32), ops.parameter([-1, 1], np.float32),
                       ops.parameter([], np.int64))
    state, kept = ops.parameter([-1, -1], np.float32), ops.parameter([-1, 1], np.float32)
    new = ops.tanh(ops.add(ops.multiply(state, np.float32(0.5)), kept))
    if ends:
        new = ops.multiply(state, np.float32(0.5))
    goes_on = ops.greater(ops.reduce_max(ops.abs(new), np.array([0, 1]), False), np.float32(0.1)) if ends else always()
    limit = {"length": ops.gather(ops.shape_of(x), np.int64(1), np.int64(0)), "input": trips,
             "constant": ops.constant(3), "none": ops.constant(-1)}[trips_of]
    loop = loop_of(limit, ops.constant(TRUE), ov.Model([goes_on, new, ops.unsqueeze(new, 1)], [state, kept]))
    loop.set_merged_input(state, x.output(0), new.output(0))
    loop.set_invariant_input(kept, other.output(0))
    outputs = [loop.get_iter_value(new.output(0), -1)]
    if not ends:
        joined = loop.get_function().results[2].input_value(0)
        outputs.append(loop.get_concatenated_slices(joined, 0, 1, 1, -1, 1))
    return _behind(outputs, [x, other, trips])


def _inputs(rng: Rng, rows: int, columns: int, trips: int) -> list[np.ndarray]:
    return [floats(rng, rows, columns), floats(rng, rows, 1), scalar(trips)]


def _reference(inputs: Sequence[np.ndarray], trips: int) -> list[np.ndarray]:
    state, other = inputs[:2]
    parts = [np.zeros((len(state), 0, state.shape[1]), np.float32)]
    for _ in range(trips):
        state = np.tanh(state * np.float32(0.5) + other)
        parts.append(state[:, None])
    return [state * 2, np.concatenate(parts, 1) * 2]


def test_a_state_that_the_first_run_stretches(engine: Engine, rng: Rng) -> None:
    model = _sums()
    network, oracle = network_of(engine, model), CpuPlugin(model)
    assert len(network.program.segments) == 1
    for rows, length in ((2, 4), (1, 3), (5, 1), (2, 4), (3, 9)):
        check(network, oracle, [floats(rng, rows, length, 3), floats(rng, 1, 1, 3)])
        check(network, oracle, [floats(rng, rows, length, 3), floats(rng, rows, 1, 3)])


@pytest.mark.parametrize("trips_of", ["length", "input", "constant"])
def test_the_number_of_runs_is_known_before(engine: Engine, rng: Rng, trips_of: str) -> None:
    network = network_of(engine, _scan(trips_of))
    assert len(network.program.segments) == 1
    for rows, columns, trips in ((2, 3, 4), (1, 1, 1), (2, 5, 0), (4, 2, 7), (0, 3, 2), (3, 0, 2), (2, 3, 5)):
        inputs = _inputs(rng, rows, columns, trips)
        wanted = _reference(inputs, {"length": columns, "input": trips, "constant": 3}[trips_of])
        for index, (got, expected) in enumerate(zip(execute(network, inputs), wanted, strict=True)):
            assert_close(got, expected, 1e-5, f"output {index}, {rows} x {columns}, {trips} runs")


def test_a_loop_that_data_ends_keeps_the_shape_of_its_state(engine: Engine, rng: Rng) -> None:
    network = network_of(engine, _scan("none", ends=True))
    assert len(network.program.segments) == 1
    for rows, columns in ((2, 3), (4, 1), (2, 3)):
        inputs = _inputs(rng, rows, columns, 0)
        state = inputs[0] / 2
        while np.abs(state).max() > 0.1:
            state = state / 2
        assert_close(execute(network, inputs)[0], state * 2, 1e-6)


def test_traces_tell_the_shapes_of_loops(engine: Engine, rng: Rng) -> None:
    """Of a Mamba-like model a shape is one plan, with the loops in it."""
    model = mamba.build(size=mamba.TINY)
    network, oracle = network_of(engine, prepare(model)), CpuPlugin(model)
    trace_ahead(network.program, OpenVinoShapeInference())
    for number, sizes in enumerate(((2, 9), (1, 5), (3, 1), (1, 1), (4, 21)), 1):
        tokens = rng.integers(0, mamba.TINY.vocabulary, sizes)
        segment, = (each for each in run_once(network, [tokens]).segments if not each.within)
        assert {node.shape for node in segment.nodes if node.primitive == "TensorIterator"} == {"traced"}
        assert network.plans_made == number
        check(network, oracle, [tokens])


def test_a_record_tells_of_loops_as_of_kernels(engine: Engine, rng: Rng) -> None:
    network = network_of(engine, _scan("constant"))
    run_once(network, _inputs(rng, 2, 3, 0))
    record = run_once(network, _inputs(rng, 2, 5, 0))
    loop, = (node for segment in record.segments for node in segment.nodes if node.primitive == "Loop")
    assert (loop.shape, loop.memory) == ("traced", "reused")


def test_nothing_runs_where_slices_do_not_fit_together(engine: Engine, rng: Rng) -> None:
    """The kernels before a loop stand in its segment, which is planned before anything of it is enqueued."""
    a, b = ops.parameter([-1], np.float32), ops.parameter([-1], np.float32)
    left, right = ops.parameter([1], np.float32), ops.parameter([1], np.float32)
    both = ops.multiply(left, right)
    iterator = ops.tensor_iterator()
    iterator.set_function(ov.Model([both], [left, right]))
    iterator.set_sliced_input(left, ops.relu(a).output(0), 0, 1, 1, -1, 0)
    iterator.set_sliced_input(right, ops.abs(b).output(0), 0, 1, 1, -1, 0)
    joined = iterator.get_concatenated_slices(both.output(0), 0, 1, 1, -1, 0)
    network = network_of(engine, _behind([joined], [a, b]))
    with pytest.raises(ClinferError, match=r"same number of slices(.|\n)*TensorIterator"):
        execute(network, [floats(rng, 3), floats(rng, 4)])
    assert network.plans_made == 0
    x, y = floats(rng, 4), floats(rng, 4)
    assert_close(execute(network, [x, y])[0], x.clip(0) * np.abs(y) * 2, 1e-6)


@pytest.mark.parametrize(("wrong", "trips"), [
    ({"sizes": (2, 2)}, 3), ({"sizes": (((0, 0), (1, 0)), 9)}, 3), ({"sizes": (((0, 9),), 1)}, 3),
    ({"initial": 40}, 0)])
def test_a_blob_that_tells_wrong_sizes_is_an_error(engine: Engine, rng: Rng, wrong: dict[str, object],
                                                   trips: int) -> None:
    program = network_of(engine, _scan("input")).program
    blob = save_program(_with_results(program, wrong), None, {}).to_bytes()
    loaded, _ = load_program(memoryview(blob), engine, {})
    network = Network(loaded, engine.create_stream(), OpenVinoShapeInference())
    with pytest.raises(ClinferError, match="Loop"):
        execute(network, _inputs(rng, 2, 3, trips))


def _with_results(program: Program, wrong: dict[str, object]) -> Program:
    """A program whose loop tells something else of its last state."""
    def nodes() -> Iterator[object]:
        for node in program.nodes:
            if node.bodies:
                results = node.primitive.results
                last, *others = results.outputs
                told = replace(results, outputs=(replace(last, **wrong), *others))
                yield replace(node, primitive=replace(node.primitive, results=told))
            else:
                yield node
    return replace(program, nodes=tuple(nodes()))
