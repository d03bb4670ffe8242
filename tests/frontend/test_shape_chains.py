"""Chains of shape-changing operations after OpenVINO's transformations, judged node by node."""
from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np
import pytest
from openvino import opset13 as op

import clinfer
from clinfer.frontend import transformations
from clinfer.frontend.openvino_import import openvino as ov
from clinfer.frontend.transformations import prepare
from clinfer.runtime.device import DeviceInfo
from tests.frontend.models import Rng
from tests.frontend.shape_chains import Chain, Shape, chains, ints
from tests.node_by_node import NodeByNode
from tests.oracle import assert_close

Form = Callable[[Shape], tuple[ov.op.Parameter, ov.Output]]
Tried = Sequence[tuple[Chain, np.ndarray]]

PER_MODEL = 60
F32 = {"INFERENCE_PRECISION_HINT": "f32"}
ERRORS = (AssertionError, RuntimeError, ValueError)


def _open(shape: Shape) -> tuple[ov.op.Parameter, ov.Output]:
    parameter = ov.op.Parameter(ov.Type.f32, ov.PartialShape([-1] * len(shape)))
    return parameter, parameter.output(0)


def _static(shape: Shape) -> tuple[ov.op.Parameter, ov.Output]:
    parameter = ov.op.Parameter(ov.Type.f32, ov.PartialShape(list(shape)))
    return parameter, parameter.output(0)


def _rankless(shape: Shape) -> tuple[ov.op.Parameter, ov.Output]:
    parameter = ov.op.Parameter(ov.Type.f32, ov.PartialShape.dynamic())
    return parameter, parameter.output(0)


def _reshaped(shape: Shape) -> tuple[ov.op.Parameter, ov.Output]:
    """A shape that the transformations know: they make those of inputs dynamic."""
    parameter, port = _open(shape)
    return parameter, op.reshape(port, ints(*shape), False).output(0)


def _partly(shape: Shape) -> tuple[ov.op.Parameter, ov.Output]:
    parameter, port = _open(shape)
    return parameter, op.reshape(port, ints(0, *shape[1:]), True).output(0)


FORMS: dict[str, Form] = {"open": _open, "static": _static, "rankless": _rankless, "reshaped": _reshaped,
                          "partly": _partly}
SOME = [((2, 3), "open"), ((2, 3), "reshaped"), ((0, 2), "open"), ((0, 2), "reshaped"),
        ((2, 1, 3), "reshaped"), ((1,), "static"), ((), "open")]
SHAPES: list[Shape] = [(), (1,), (3,), (0,), (2, 3), (1, 3), (3, 1), (0, 2), (2, 0), (2, 1, 3), (2, 3, 1), (1, 2, 2),
                       (2, 0, 1), (1, 1, 2)]
ALL = [(shape, form) for shape, form in itertools.product(SHAPES, FORMS) if shape or form != "partly"]


def model_of(shape: Shape, form: str, tried: Tried) -> ov.Model:
    """Chains as outputs of one model, each with an input of its own, so that none shares an operation."""
    parameters, results = [], []
    for chain, _ in tried:
        parameter, port = FORMS[form](shape)
        for move in chain:
            port = move.build(port)
        parameters.append(parameter)
        results.append(ov.op.Result(port))
    return ov.Model(results, parameters, "chains")


def body_model_of(shape: Shape, form: str, tried: Tried) -> ov.Model:
    """The same in a branch that is taken; the other one gives the inputs."""
    taken = model_of(shape, form, tried)
    other = model_of(shape, "open", [((), result) for _, result in tried])
    condition = ov.op.Parameter(ov.Type.boolean, ov.PartialShape([]))
    node = op.if_op(condition)
    node.set_then_body(taken)
    node.set_else_body(other)
    parameters = [FORMS["open"](shape)[0] for _ in tried]
    for outer, inner, unused in zip(parameters, taken.get_parameters(), other.get_parameters(), strict=True):
        node.set_input(outer.output(0), inner, unused)
    outputs = [node.set_output(a, b) for a, b in zip(taken.get_results(), other.get_results(), strict=True)]
    return ov.Model([ov.op.Result(port) for port in outputs], [condition, *parameters], "chains in a branch")


def found_wrong(shape: Shape, form: str, tried: Tried, data: np.ndarray, in_body: bool = False) -> Iterator[str]:
    """The chains that a prepared model computes otherwise, and those that OpenVINO's transformations fail on."""
    if not tried:
        return
    try:
        check(shape, form, tried, data, in_body)
    except ERRORS as error:
        half = len(tried) // 2
        if half:
            yield from found_wrong(shape, form, tried[:half], data, in_body)
            yield from found_wrong(shape, form, tried[half:], data, in_body)
        elif is_understood(shape, form, *tried[0]):
            yield f"{shape} {form}: {' -> '.join(map(str, tried[0][0]))}: {str(error).strip()}"


def check(shape: Shape, form: str, tried: Tried, data: np.ndarray, in_body: bool) -> None:
    model = (body_model_of if in_body else model_of)(shape, form, tried)
    lines: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(transformations, "log", lambda level, text: lines.append(text))
        prepared = prepare(model)
    assert not lines, lines
    inputs = [np.array(True)] * in_body + [data] * len(tried)
    for (_, expected), actual in zip(tried, NodeByNode(prepared)(inputs), strict=True):
        assert_close(actual, expected, 1e-5)
    assert_declared(prepared, tried)


def assert_declared(model: ov.Model, tried: Tried) -> None:
    for (_, expected), port in zip(tried, model.outputs, strict=True):
        assert port.get_partial_shape().compatible(ov.PartialShape(list(expected.shape))), "declared otherwise"


def is_understood(shape: Shape, form: str, chain: Chain, result: np.ndarray) -> bool:
    """Whether OpenVINO can build the chain and declares it rightly before anything is transformed."""
    try:
        assert_declared(model_of(shape, form, [(chain, result)]), [(chain, result)])
    except ERRORS:
        return False
    return True


def data_of(shape: Shape) -> np.ndarray:
    return np.arange(1, 1 + int(np.prod(shape)), dtype=np.float32).reshape(shape) / 4


def batches(tried: Iterable[tuple[Chain, np.ndarray]]) -> Iterator[Tried]:
    iterator = iter(tried)
    while batch := list(itertools.islice(iterator, PER_MODEL)):
        yield batch


def wrong_of(shape: Shape, form: str, length: int, thorough: bool) -> list[str]:
    data = data_of(shape)
    return [line for batch in batches(chains(shape, length, data, thorough))
            for line in found_wrong(shape, form, batch, data)]


def some_pairs(shape: Shape, form: str, count: int, rng: Rng) -> Tried:
    every = list(chains(shape, 2, data_of(shape), thorough=True))
    chosen = [every[place] for place in rng.choice(len(every), min(count, len(every)), replace=False)]
    return [each for each in chosen if is_understood(shape, form, *each)]


@pytest.mark.parametrize(("shape", "form"), SOME)
def test_pairs(shape: Shape, form: str) -> None:
    assert wrong_of(shape, form, 2, thorough=False) == []


@pytest.mark.parametrize(("shape", "form"), [((2, 3), "reshaped"), ((2, 0, 1), "open")])
def test_some_pairs_in_bodies(shape: Shape, form: str, rng: Rng) -> None:
    tried = some_pairs(shape, form, 100, rng)
    assert list(found_wrong(shape, form, tried, data_of(shape), in_body=True)) == []


@pytest.mark.parametrize(("shape", "form"), SOME)
def test_some_pairs_on_the_device(shape: Shape, form: str, device: DeviceInfo, rng: Rng) -> None:
    compare_on_device(device, shape, form, some_pairs(shape, form, 40, rng))


def has_ranks(model: ov.Model) -> bool:
    """Whether the rank of every tensor follows from what the model declares: others are refused."""
    return all(port.get_partial_shape().rank.is_static for node in model.get_ordered_ops() for port in node.outputs())


def compare_on_device(device: DeviceInfo, shape: Shape, form: str, tried: Tried) -> None:
    tried = [each for each in tried if has_ranks(model_of(shape, form, [each]))]
    compiled = clinfer.Core().compile_model(model_of(shape, form, tried), device.name, F32)
    outputs = compiled([data_of(shape)] * len(tried))
    for place, (chain, expected) in enumerate(tried):
        assert_close(outputs[place], expected, 1e-5, " -> ".join(map(str, chain)))


def test_a_reduction_of_an_open_rank_keeps_the_reshape_behind_it() -> None:
    data = op.parameter(ov.PartialShape.dynamic(), np.float32)
    mean = op.reduce_mean(data, np.zeros(0, np.int64), keep_dims=True)
    model = ov.Model([op.reshape(mean, np.zeros(0, np.int64), False)], [data], "mean")
    found, = NodeByNode(prepare(model))([np.array([2.0], np.float32)])
    assert found.shape == ()


@pytest.mark.full
@pytest.mark.parametrize(("shape", "form"), ALL)
def test_thorough_pairs(shape: Shape, form: str) -> None:
    assert wrong_of(shape, form, 2, thorough=True) == []


@pytest.mark.full
@pytest.mark.parametrize(("shape", "form"), SOME)
def test_triples(shape: Shape, form: str) -> None:
    assert wrong_of(shape, form, 3, thorough=False) == []


@pytest.mark.full
@pytest.mark.parametrize(("shape", "form"), SOME)
def test_pairs_on_the_device(shape: Shape, form: str, device: DeviceInfo) -> None:
    for batch in batches(chains(shape, 2, data_of(shape), thorough=False)):
        compare_on_device(device, shape, form, [each for each in batch if is_understood(shape, form, *each)])
