"""Lengths of sequences that come at run time, with a number of steps that is dynamic; shares that are done twice."""
from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from openvino import opset13 as ops

import clinfer
from clinfer.base.errors import ClinferError
from clinfer.frontend.openvino_import import openvino as ov
from clinfer.frontend.reader import to_topology
from clinfer.frontend.shape_inference import OpenVinoShapeInference
from clinfer.network.compile import compile_topology
from clinfer.network.network import Network
from clinfer.ops.operation import Case
from clinfer.ops.recurrent import Recurrence, kernels
from clinfer.ops.recurrent.cases import CASES
from clinfer.runtime.engine import Engine
from tests.network.running import network_of
from tests.ops.case_runner import execute
from tests.oracle import TOLERANCE, CpuPlugin, assert_close, build_model, parameter_specs, random_inputs

LARGE = [case for case in CASES if case.op.endswith("Sequence") and case.attributes["hidden_size"] >= 100]
ROWS = [case for case in CASES if case.op.endswith("Sequence")]


@pytest.mark.parametrize("case", ROWS, ids=[case.name for case in ROWS])
def test_lengths_at_run_time(engine: Engine, rng: np.random.Generator, case: Case) -> None:
    """The oracle is static in each shape: it leaves lengths alone where the number of steps is dynamic."""
    number = next(i for i, given in enumerate(case.inputs) if getattr(given, "dtype", None) == np.int32)
    batch = case.inputs[number].shape
    inputs = (*case.inputs[:number], (batch, "i32"), *case.inputs[number + 1:])
    base = tuple(shape for shape, _ in parameter_specs(case))
    (rows, _, size), *states = base
    sequence = tuple(((rows, steps, size), *states) for steps in (8, 1, 21))
    dynamic = replace(case, inputs=inputs, sequence=tuple((*shapes, batch) for shapes in sequence))
    program = compile_topology(engine, to_topology(build_model(dynamic, True)).topology, OpenVinoShapeInference())
    network = Network(program, engine.create_stream(), OpenVinoShapeInference())
    for shapes in (base, *sequence, base):
        lengths = rng.integers(1, shapes[0][1] + 1, batch, dtype=np.int32)
        given = random_inputs(case, shapes, rng)
        static = [(shape, kind) for shape, (_, kind) in zip(shapes, parameter_specs(case), strict=True)]
        fixed = replace(case, inputs=(*static, lengths, *case.inputs[number + 1:]), sequence=())
        actual = execute(network, [*given, lengths])
        for got, wanted in zip(actual, CpuPlugin(build_model(fixed, False))(given), strict=True):
            assert_close(got, wanted, TOLERANCE["f32"], f"{case.name} {shapes} lengths {lengths}")


@pytest.mark.parametrize("case", LARGE, ids=[case.name for case in LARGE])
def test_shares_of_groups_that_do_not_run_are_done_again(engine: Engine, rng: np.random.Generator, case: Case,
                                                         monkeypatch: pytest.MonkeyPatch) -> None:
    """Without patience, a group does all shares that others have claimed and not finished."""
    monkeypatch.setattr(kernels, "_PATIENCE", 1 << 60)
    monkeypatch.setattr(kernels, "_LEAST_SHARE", 1 << 10)
    monkeypatch.setattr(kernels.AloneKernel, "supports", lambda *_: "shares are asked for")
    shapes = tuple(shape for shape, _ in parameter_specs(case))
    program = compile_topology(engine, to_topology(build_model(case, False)).topology, OpenVinoShapeInference())
    network = Network(program, engine.create_stream(), OpenVinoShapeInference())
    for _ in range(20):
        given = random_inputs(case, shapes, rng)
        for got, wanted in zip(execute(network, given), CpuPlugin(build_model(case, False))(given), strict=True):
            assert_close(got, wanted, TOLERANCE["f32"], case.name)


@pytest.mark.parametrize("odd", ["h", "c", "lengths"])
def test_states_of_another_batch_are_refused(engine: Engine, rng: np.random.Generator, odd: str) -> None:
    shapes = {"x": (2, 3, 8), "h": (2, 1, 4), "c": (2, 1, 4), "lengths": (2,)}
    inputs = {name: ops.parameter([-1, *shape[1:]], np.int32 if name == "lengths" else np.float32, name=name)
              for name, shape in shapes.items()}
    weights = [rng.standard_normal(shape).astype(np.float32) for shape in ((1, 16, 8), (1, 16, 4), (1, 16))]
    layer = ops.lstm_sequence(*inputs.values(), *map(ops.constant, weights), 4, "FORWARD")
    compiled = clinfer.Core().compile_model(ov.Model([layer.output(0)], [*inputs.values()], "lstm"),
                                            engine.device.name, {"INFERENCE_PRECISION_HINT": "f32"})
    given = {name: np.ones(shape, np.int32 if name == "lengths" else np.float32) for name, shape in shapes.items()}
    wrong = {**given, odd: np.ones((5, *shapes[odd][1:]), given[odd].dtype)}
    expected = compiled(given)[0].copy()
    with pytest.raises(ClinferError, match="of another batch"):
        compiled(wrong)
    np.testing.assert_array_equal(compiled(given)[0], expected)


def test_results_are_stored_in_the_type_to_which_they_are_converted(engine: Engine, rng: np.random.Generator) -> None:
    """But the one that is read in its own type as well."""
    x = ops.parameter([2, 5, 8], np.float32)
    start = [ops.constant(np.zeros((2, 1, 20), np.float16)) for _ in range(2)]
    weights = [ops.constant(rng.uniform(-0.5, 0.5, shape).astype(np.float16))
               for shape in ((1, 80, 8), (1, 80, 20), (1, 80))]
    layer = ops.lstm_sequence(ops.convert(x, "f16"), *start, ops.constant(np.full(2, 5, np.int32)), *weights, 20,
                              "FORWARD")
    results = [ops.convert(output, "f32").output(0) for output in layer.outputs()]
    model = ov.Model([*results, layer.output(1)], [x], "lstm")
    program = compile_topology(engine, to_topology(model).topology, OpenVinoShapeInference())
    made, = (node.primitive for node in program.nodes if isinstance(node.primitive, Recurrence))
    assert made.kept_types == ("f32", "f16", "f32")
    network = Network(program, engine.create_stream(), OpenVinoShapeInference())
    given = rng.standard_normal((2, 5, 8)).astype(np.float32)
    for got, wanted in zip(execute(network, [given]), CpuPlugin(model)([given]), strict=True):
        assert_close(got, wanted, TOLERANCE["f16"], "lstm")


@pytest.mark.parametrize("batch", [0, -1])
def test_an_empty_batch(engine: Engine, rng: np.random.Generator, batch: int) -> None:
    """There is nothing to compute, and nothing to choose kernels by."""
    x, state = (ops.parameter([batch, 8], np.float32) for _ in range(2))
    weights = (ops.constant(rng.standard_normal((8, 8)).astype(np.float32)) for _ in range(2))
    cell = ops.rnn_cell(x, state, *weights, ops.constant(np.zeros(8, np.float32)), 8, ["tanh"], [], [])
    network = network_of(engine, ov.Model([cell], [x, state], "cell"))
    given = [np.zeros((0, 8), np.float32) for _ in range(2)]
    assert execute(network, given)[0].shape == (0, 8)
