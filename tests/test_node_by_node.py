"""The node-by-node oracle against others: OpenVINO's CPU plugin where it is right, NumPy where it is not."""
from __future__ import annotations

import secrets
from collections.abc import Callable
from importlib import import_module

import numpy as np
import pytest
from openvino import opset13 as op

from clinfer.frontend.openvino_import import openvino as ov
from clinfer.ops import all_operations
from clinfer.ops.operation import Case
from tests.frontend.models import Rng, convolution_model, if_model, normal, parameter, result
from tests.frontend.size_models import ints, made
from tests.network.loop_models import doubling, floats, run_length, run_length_model, running_sums, scalar
from tests.node_by_node import IN_NUMPY, NodeByNode, NodeError, _first_of
from tests.oracle import TOLERANCE, CpuPlugin, assert_close, build_model, random_inputs

ROWS = [case for op in all_operations() for case in import_module(f"clinfer.ops.{op.name}.cases").CASES
        if case.op in {*IN_NUMPY, "Convert", "ShapeOf"}]


def check(model: ov.Model, inputs: list[np.ndarray], tolerance: float = 1e-5) -> None:
    for actual, expected in zip(NodeByNode(model)(inputs), CpuPlugin(model)(inputs), strict=True):
        assert actual.dtype == expected.dtype
        assert_close(actual, expected, tolerance)


@pytest.mark.parametrize("kind", sorted({case.op for case in ROWS}))
def test_numpy_computes_what_the_plugin_does(kind: str, rng: Rng) -> None:
    for case in [case for case in ROWS if case.op == kind]:
        model = build_model(case, dynamic=False)
        inputs = random_inputs(case, [tuple(p.get_shape()) for p in model.inputs], rng)
        check(model, inputs, tolerance_of(case))


def tolerance_of(case: Case) -> float:
    return max((TOLERANCE.get(entry[1], 0) for entry in case.inputs
                if isinstance(entry, tuple) and len(entry) == 2 and isinstance(entry[1], str)), default=1e-5)


def test_what_numpy_lacks_the_plugin_computes_alone(rng: Rng) -> None:
    check(convolution_model(rng), [floats(rng, 2, 8, 5, 7)])


@pytest.mark.parametrize("condition", [True, False])
def test_branches(condition: bool, rng: Rng) -> None:
    check(if_model(rng), [np.array(condition), normal(rng, 3, 64), normal(rng, 5, 64)])


@pytest.mark.parametrize("backwards", [(False, False), (True, False), (False, True), (True, True)])
def test_tensor_iterators(backwards: tuple[bool, bool], rng: Rng) -> None:
    x, start = op.parameter([-1, 3], np.float32), op.parameter([2, 3], np.float32)
    model = ov.Model(running_sums(x, start, 0, 2, backwards), [x, start])
    check(model, [floats(rng, 8, 3), floats(rng, 2, 3)])


@pytest.mark.parametrize("trips", [0, 1, 4, -1])
def test_loops(trips: int, rng: Rng) -> None:
    rows = floats(rng, 6, 2) + 1
    rows[-1] = 1e3
    inputs = [scalar(trips), np.array(True), rows, floats(rng, 1, 2), np.float32(3.5).reshape(())]
    outputs = NodeByNode(run_length_model())(inputs)
    for actual, expected in zip(outputs[:1] if trips == 0 else outputs, run_length(inputs), strict=False):
        assert_close(actual, expected, 1e-5)
    assert all(output.size == 0 for output in outputs[1:]) or trips


def test_loops_over_slices(rng: Rng) -> None:
    check(doubling(slices=True), [scalar(3), np.array([True]), floats(rng, 3, 2)])


def test_states_last_until_they_are_reset(rng: Rng) -> None:
    x = parameter("x", [2, 4])
    state = op.read_value(op.constant(np.ones((2, 4), np.float32)), "memory", ov.Type.f32, ov.PartialShape([2, 4]))
    total = op.add(state, x)
    run = NodeByNode(ov.Model([result(total, "y")], [op.assign(total, "memory")], [x], "state"))
    a, b = floats(rng, 2, 4), floats(rng, 2, 4)
    assert_close(run([a])[0], 1 + a, 1e-6)
    assert_close(run([b])[0], 1 + a + b, 1e-6)
    run.reset()
    assert_close(run([b])[0], 1 + b, 1e-6)


def unsqueezed(x: ov.Node) -> ov.Node:
    return op.gather(op.unsqueeze(x, np.array([0])), np.array([0, -1, 0]), np.array(0))


def moved(x: ov.Node) -> ov.Node:
    return op.reduce_mean(op.transpose(op.reduce_max(x, np.array([1]), True), np.array([1, 0])), np.array([0]))


@pytest.mark.parametrize(("build", "expected"), [
    (unsqueezed, lambda x: np.stack([x, x, x])), (moved, lambda x: x.max(1))])
def test_what_transformations_of_whole_models_break_stays_right(
        build: Callable[[ov.Node], ov.Node], expected: Callable[[np.ndarray], np.ndarray], rng: Rng) -> None:
    x = parameter("x", [-1, -1])
    array = floats(rng, 2, 3)
    (actual,) = NodeByNode(ov.Model([result(build(x), "y")], [x]))([array])
    assert_close(actual, expected(array), 1e-6)


def test_an_einsum_of_nothing_has_the_shape_that_its_equation_says() -> None:
    x, y = op.parameter([1, 0, 2], np.float32), op.parameter([2], np.float32)
    (actual,) = NodeByNode(ov.Model([op.einsum([x, y], "bij,j->ib")], [x, y]))([np.ones((1, 0, 2), np.float32),
                                                                             np.ones(2, np.float32)])
    assert actual.shape == (0, 1) and actual.dtype == np.float32


def test_of_an_axis_without_elements_none_is_taken() -> None:
    """As OpenVINO has it, where the result has no elements either."""
    x = parameter("x", [-1, -1])
    taken = op.strided_slice(x, ints(0, 0), ints(9, 1), ints(1, 1), [0, 0], [0, 0], [0, 0], [0, 1], [0, 0])
    taken.set_friendly_name("taken")
    walk = NodeByNode(ov.Model([result(taken, "y")], [x]))
    assert walk([np.zeros((0, 2), np.float32)])[0].shape == (0,)
    with pytest.raises(NodeError, match=r"layer 'taken' \(StridedSlice\) on \[0, 0\].*without elements"):
        walk([np.zeros((0, 0), np.float32)])


def test_the_model_stays_as_it_is(rng: Rng) -> None:
    model = convolution_model(rng)
    before = [(str(node), node.get_output_partial_shape(0)) for node in model.get_ordered_ops()]
    NodeByNode(model)([floats(rng, 1, 8, 4, 4)])
    assert [(str(node), node.get_output_partial_shape(0)) for node in model.get_ordered_ops()] == before


def test_an_error_names_the_node() -> None:
    x = parameter("x", [-1])
    y = op.reshape(x, np.array([2, 2]), False)
    y.set_friendly_name("square")
    with pytest.raises(NodeError, match=r"layer 'square' \(Reshape\) on \[3\], \[2\]"):
        NodeByNode(ov.Model([result(y, "y")], [x]))([np.zeros(3, np.float32)])


def unknown_rng() -> Rng:
    """Random numbers of no earlier run, whose answers would spare the compiling."""
    seed = secrets.randbits(32)
    print(f"random seed: {seed}")
    return np.random.default_rng(seed)


def test_nodes_alike_are_compiled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of other models, too; each is given its own inputs."""
    compiled = []
    compile_model = ov.Core.compile_model

    def counted(core: ov.Core, model: ov.Model, *arguments: object) -> ov.CompiledModel:
        compiled.append(model)
        return compile_model(core, model, *arguments)

    monkeypatch.setattr(ov.Core, "compile_model", counted)
    rng = unknown_rng()
    half = int(rng.integers(2, 1000))
    for _ in range(3):
        x, values = parameter("x", [-1, -1]), rng.standard_normal((1, 2)).astype(np.float32)
        wide = made("Interpolate", x, ints(2 * half), ints(1), mode="nearest", shape_calculation_mode="sizes")
        found, = NodeByNode(ov.Model([op.result(wide)], [x], "wide"))([values])
        np.testing.assert_array_equal(found, values.repeat(half, 1))
    assert len(compiled) == 1


def test_a_node_whose_answer_was_known_can_be_compiled_later() -> None:
    """When it has computed other shapes meanwhile."""
    x, rng = parameter("x", [-1, -1]), unknown_rng()
    wide = made("Interpolate", x, ints(4), ints(1), mode="nearest", shape_calculation_mode="sizes")
    model = ov.Model([op.result(wide)], [x], "wide")
    first, other, new = (rng.standard_normal(shape).astype(np.float32) for shape in ((1, 2), (3, 2), (1, 2)))
    NodeByNode(model)([first])
    _first_of.cache_clear()
    later = NodeByNode(model)
    for values in (first, other, new):
        np.testing.assert_array_equal(later([values])[0], values.repeat(2, 1))
