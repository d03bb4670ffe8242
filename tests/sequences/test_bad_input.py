"""Inputs that make no sense: an error that names the inputs, before anything runs on them, and everything works on."""
from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from openvino import opset13 as ops

import clinfer
from clinfer.base.errors import ClinferError
from clinfer.frontend.openvino_import import openvino as ov
from clinfer.runtime.device import DeviceInfo
from clinfer.runtime.stream import Stream
from tests.oracle import CpuPlugin, assert_close

CONFIG = {"INFERENCE_PRECISION_HINT": "f32"}


@dataclass(frozen=True)
class Row:
    """A model of named inputs, inputs that it takes, and values (after the data `x`) or shapes that it must refuse,
    each with words of the error."""

    shapes: dict[str, list[Any]]
    build: Callable[..., Any]
    good: tuple[Any, ...]
    bad: tuple[tuple[tuple[Any, ...], str], ...]

    def model(self) -> ov.Model:
        """The model; an input named `x...` is f32, any other i64."""
        parameters = []
        for name, shape in self.shapes.items():
            node = ops.parameter(ov.PartialShape(shape), np.float32 if name.startswith("x") else np.int64)
            node.output(0).set_names({name})
            parameters.append(node)
        made = self.build(*parameters)
        return ov.Model(made if isinstance(made, list) else [made], parameters, "row")

    def inputs(self, values: tuple[Any, ...], rng: np.random.Generator) -> list[np.ndarray]:
        """Random data of the shapes that are given as tuples, values (lists and integers; floats as arrays) as they
        are."""
        return [rng.uniform(-1, 1, v).astype(np.float32) if isinstance(v, tuple) else v if isinstance(v, np.ndarray)
                else np.array(v, np.int64) for v in values]


def _paired(shape: list[Any]) -> dict[str, list[Any]]:
    return {"x1": shape, "x2": shape}


def _split(x: Any, lengths: Any) -> list[Any]:
    return [ops.relu(part) for part in ops.variadic_split(x, np.int64(0), lengths).outputs()]


def _pad(x: Any, begin: Any, end: Any) -> Any:
    return ops.pad(x, begin, end, "constant", np.float32(0))


def _tiled_by_sum(x: Any, n: Any) -> Any:
    numbers = ops.range(np.int64(1), n, np.int64(1), "i64")
    return ops.relu(ops.tile(x, ops.reduce_sum(numbers, np.array([0]), True)))


def _scales(*numbers: float) -> np.ndarray:
    return np.array(numbers, np.float32)


def _resized(x: Any, scales: Any) -> Any:
    return ops.relu(ops.interpolate(x, scales, "nearest", "scales", axes=np.array([2, 3])))


def _to_batch(x: Any, begin: Any) -> Any:
    return ops.relu(ops.space_to_batch(x, np.array([1, 1, 2, 2]), begin, np.zeros(4, np.int64)))


def _in_groups(x: Any) -> Any:
    return ops.group_convolution(x, np.ones((2, 2, 3, 3), np.float32), [1], [0], [0], [1])


def _cell(x: Any, hidden: Any, cell: Any) -> list[Any]:
    weights = (np.ones(shape, np.float32) for shape in ((12, 4), (12, 3), (12,)))
    return list(ops.lstm_cell(x, hidden, cell, *weights, 3).outputs())


_BOTH = r"(?s)inputs: 'x1' f32.*, 'x2' f32"
_LARGE = "too large to be indexed with 32 bits"
_WRONG = "negative, or too large to be represented"
_MUCH = "larger than the device's whole memory|larger than one allocation may be"
ROWS = {
    "sum": Row(_paired([-1, 3]), lambda a, b: ops.relu(ops.add(ops.relu(a), ops.exp(b))), ((2, 3), (2, 3)), (
        (((2, 3), (4, 3)), _BOTH), (((0, 3), (4, 3)), _BOTH), (((2, 4), (2, 3)), "input 'x1'.*outside"))),
    "product": Row(_paired([-1, -1]), lambda a, b: ops.matmul(ops.relu(a), b, False, False), ((2, 3), (3, 5)), (
        (((2, 3), (4, 3)), _BOTH), (((2, 3), (2, 3)), _BOTH), (((2, 3, 1), (3, 2)), "input 'x1'.*wrong rank"))),
    "joined": Row(_paired([-1, -1]), lambda a, b: ops.concat([ops.relu(a), b], 0), ((2, 3), (4, 3)), (
        (((2, 3), (4, 2)), _BOTH),)),
    "bounds": Row({"x": [ov.Dimension(1, 8), ov.Dimension(-1), 16]}, lambda x: ops.softmax(x, 1), ((8, 3, 16),), (
        (((9, 3, 16),), "input 'x'.*outside"), (((0, 3, 16),), "input 'x'.*outside"),
        (((2, 3, 15),), "input 'x'.*outside"), (((2, 16),), "input 'x'.*wrong rank"))),
    "transform": Row({"x": [-1, -1, 2], "axes": [2]}, lambda x, axes: ops.dft(x, axes), ((3, 4, 2), [1, -2]), (
        (((3, 4, 2), [1, -1]), "no different axes"), (((3, 4, 2), [0, 2]), "no different axes.*\n.*DFT"))),
    "window": Row({"x": [-1, 2, -1]}, lambda x: ops.convolution(x, np.ones((2, 2, 5), np.float32), [1], [1], [1], [1]),
                  ((1, 2, 9),), ((((1, 2, 2),), "larger than the padded data"),)),
    "tile": Row({"x": [-1, 4], "n": [2]}, lambda x, n: ops.relu(ops.tile(x, n)), ((2, 4), [3, 2]), (
        (((2, 4), [2**20, 2**16]), _MUCH), (((2, 4), [2**31, 2**31]), _MUCH), (((2, 4), [2**61, 2**61]), "."))),
    "reshape": Row({"x": [-1, 4], "n": [2]}, lambda x, n: ops.relu(ops.reshape(x, n, False)), ((3, 4), [2, -1]), (
        (((3, 4), [5, -1]), "inputs: 'x'"), (((3, 4), [-1, -1]), "inputs: 'x'"), (((3, 4), [-3, 4]), "inputs: 'x'"),
        (((3, 4), [2**62, 4]), "inputs: 'x'"))),
    "broadcast": Row({"x": [1, -1], "n": [2]}, lambda x, n: ops.relu(ops.broadcast(ops.relu(x), n)), ((1, 4), [3, 4]), (
        (((1, 4), [-3, 4]), "negative size"), (((1, 4), [2**40, 4]), _MUCH), (((1, 4), [2**63 - 1, 4]), "too large"),
        (((1, 4), [3, 5]), "inputs: 'x'"))),
    "range": Row({"n": []}, lambda n: ops.range(np.int64(0), n, np.int64(1), "i64"), (5,), (
        ((2**31,), _LARGE), ((2**40,), _LARGE), ((2**62,), _LARGE))),
    "range on the host": Row({"x": [-1], "n": []}, _tiled_by_sum, ((2,), 3), (
        (((2,), 2**31 + 9), _LARGE), (((2,), 2**62), _LARGE))),
    "split": Row({"x": [-1, 4], "n": [2]}, _split, ((5, 4), [2, -1]), (
        (((3, 4), [5, -1]), "do not add up"), (((3, 4), [2, 2]), "inputs: 'x'"),
        (((3, 4), [-2, 5]), "inputs: 'x'"))),
    "pad": Row({"x": [-1, 4], "n": [2], "m": [2]}, _pad, ((3, 4), [-1, 2], [0, 1]), (
        (((3, 4), [-4, 0], [0, 0]), "negative"), (((3, 4), [2**40, 0], [0, 0]), _MUCH),
        (((3, 4), [2**62, 0], [2**62, 0]), "negative, or too large"))),
    "resize": Row({"x": [-1, 2, -1, -1], "n": [2]},
                  lambda x, n: ops.relu(ops.interpolate(x, n, "nearest", "sizes", axes=np.array([2, 3]))),
                  ((1, 2, 3, 4), [6, 2]), ((((1, 2, 3, 4), [-2, 2]), "negative number"),
                                           (((1, 2, 0, 4), [2, 2]), "without elements"),
                                           (((1, 2, 3, 4), [2**20, 2**20]), _MUCH))),
    "top": Row({"x": [-1], "n": []}, lambda x, n: ops.topk(x, n, 0, "max", "value").output(0), ((6,), 3), (
        (((6,), 7), "more elements than there are"), (((6,), -1), "greater or equal to zero"))),
    "sums": Row({"x": [-1, 3], "axis": []}, lambda x, axis: ops.relu(ops.cum_sum(x, axis)), ((2, 3), -1), (
        (((2, 3), 2), "outside the data.*\n.*CumSum"), (((2, 3), -3), "outside the data"))),
    "stretched": Row({"x1": [-1, 1], "x2": [1, -1]}, lambda a, b: ops.relu(ops.add(a, b)), ((2, 1), (1, 3)), (
        (((2**20, 1), (1, 2**20)), _MUCH),)),
    "outer product": Row({"x1": [-1, 1], "x2": [1, -1]}, lambda a, b: ops.matmul(ops.relu(a), b, False, False),
                         ((2, 1), (1, 3)), ((((2**20, 1), (1, 2**20)), _MUCH),)),
    "to nothing": Row({"x": [-1, 4], "n": [3]}, lambda x, n: ops.relu(ops.reshape(x, n, False)), ((3, 4), [2, -1, 1]), (
        (((0, 4), [2**61, 2**61, 0]), _WRONG), (((0, 4), [2**40, 0, 2**40]), _WRONG),
        (((0, 4), [2**62, 0, 1]), _WRONG), (((0, 4), [-1, 0, 2**61]), _WRONG), (((1, 4), [2, 0, 5]), "as many"))),
    "tiles of nothing": Row({"x": [-1, 4], "n": [2]}, lambda x, n: ops.relu(ops.tile(x, n)), ((2, 4), [3, 2]), (
        (((0, 4), [2**62, 2**62]), _WRONG), (((2, 4), [0, 2**58]), _WRONG))),
    "one hot": Row({"i": [-1], "n": []}, lambda i, n: ops.relu(ops.one_hot(
        i, n, np.float32(1), np.float32(0), -1)), ([0, 1, 2], 4), (
        (([0, 1], 2**40), _MUCH), (([0, 1], -1), "inputs: 'i'"), (([0, 1], 2**63 - 1), _WRONG))),
    "eye": Row({"n": [], "m": []}, lambda n, m: ops.relu(ops.eye(n, m, ops.constant(np.int64(0)), "f32")), (3, 4), (
        ((2**31, 2**31), _MUCH), ((-1, 3), "inputs: 'n'"), ((2**63 - 1, 1), _WRONG))),
    "scales": Row({"x": [-1, 2, -1, -1], "xs": [2]}, _resized, ((1, 2, 3, 4), _scales(2, 1.5)), (
        (((1, 2, 3, 4), _scales(1e30, 1)), _WRONG), (((1, 2, 3, 4), _scales(2**20, 1.5e7)), _MUCH),
        (((1, 2, 3, 4), _scales(-1, 1)), "negative number"), (((1, 2, 3, 4), _scales(np.nan, 1)), "not finite"),
        (((1, 2, 3, 4), _scales(1, np.inf)), "not finite"))),
    "squeeze": Row({"x": [-1, 4]}, lambda x: ops.relu(ops.squeeze(x, np.array([0]))), ((1, 4),), (
        (((2, 4),), "outside what the model declares"), (((0, 4),), "outside what the model declares"))),
    "parts": Row({"x": [-1, 4]}, lambda x: [ops.relu(part) for part in ops.split(x, np.int64(0), 3).outputs()],
                 ((6, 4),), ((((4, 4),), "inputs: 'x'"),)),
    "depth": Row({"x": [-1, -1, 2, 2]}, lambda x: ops.relu(ops.depth_to_space(x, "blocks_first", 2)),
                 ((1, 4, 2, 2),), ((((1, 6, 2, 2),), "inputs: 'x'"),)),
    "to batch": Row({"x": [-1, 2, -1, -1], "n": [4]}, _to_batch, ((1, 2, 4, 4), [0, 0, 0, 2]), (
        (((1, 2, 3, 4), [0, 0, 0, 0]), "inputs: 'x'"), (((1, 2, 4, 4), [0, 0, 0, 2**40]), _MUCH),
        (((1, 2, 4, 4), [0, 0, 0, -6]), "negative number"))),
    "attention": Row({name: [-1, -1, 8] for name in ("x1", "x2", "x3")},
                     lambda q, k, v: ops.scaled_dot_product_attention(ops.relu(q), k, v),
                     ((1, 3, 8), (1, 5, 8), (1, 5, 8)), (
        (((1, 3, 8), (1, 5, 8), (1, 4, 8)), _BOTH), (((2, 3, 8), (3, 5, 8), (3, 5, 8)), _BOTH),
        (((2, 3, 8), (2, 5, 8), (3, 5, 8)), _BOTH))),
    "einsum": Row(_paired([-1, -1]), lambda a, b: ops.einsum([a, b], "ab,bc->ac"), ((2, 3), (3, 4)), (
        (((2, 3), (4, 4)), _BOTH), (((2, 3), (1, 4)), _BOTH))),
    "batches": Row({"x1": [-1, 2, 3], "x2": [-1, 3, 2]}, lambda a, b: ops.matmul(ops.relu(a), b, False, False),
                   ((2, 2, 3), (2, 3, 2)), ((((2, 2, 3), (3, 3, 2)), _BOTH),)),
    "channels": Row({"x": [-1, -1, -1]}, _in_groups, ((1, 6, 9),), (
        (((1, 5, 9),), "number of input channels"), (((1, 4, 9),), "number of input channels"))),
    "cell": Row({"x1": [-1, 4], "x2": [-1, 3], "x3": [-1, 3]}, _cell, ((2, 4), (2, 3), (2, 3)), (
        (((2, 4), (3, 3), (2, 3)), "another batch"), (((2, 4), (2, 3), (1, 3)), "another batch"))),
    "mirrored": Row({"x": [-1, 4], "n": [2]}, lambda x, n: ops.relu(ops.pad(x, n, np.array([0, 0]), "reflect")),
                    ((3, 4), [2, 1]), ((((3, 4), [3, 1]), "inputs: 'x'"), (((0, 4), [1, 1]), "inputs: 'x'"))),
    "groups": Row({"x": [-1, -1, 2]}, lambda x: ops.shuffle_channels(x, 1, 3), ((2, 6, 2),), (
        (((2, 4, 2),), "multiple of the groups"),)),
}


@pytest.fixture(scope="module")
def core() -> clinfer.Core:
    return clinfer.Core()


@pytest.mark.parametrize("name", ROWS)
def test_bad_inputs(core: clinfer.Core, device: DeviceInfo, rng: np.random.Generator, name: str,
                    monkeypatch: pytest.MonkeyPatch) -> None:
    """As the first inference, behind traces of others, and in the background; nothing was launched for them."""
    row = ROWS[name]
    model = row.model()
    oracle, compiled = CpuPlugin(model), core.compile_model(model, device.name, CONFIG)
    request, launched, enqueue_all = compiled.create_infer_request(), [], Stream.enqueue_all

    def counted(stream: Stream, launches: Any) -> None:
        launched.append(launches)
        enqueue_all(stream, launches)
    monkeypatch.setattr(Stream, "enqueue_all", counted)
    for good in ((), row.good, row.good):
        if good:
            _check(request, oracle, row.inputs(good, rng))
        for values, words in row.bad:
            launched.clear()
            with pytest.raises(ClinferError, match=f"(?s){words.removeprefix('(?s)')}"):
                request.infer(row.inputs(values, rng))
            assert not launched
        request.infer(row.inputs(row.good, rng))
        assert launched
        request.start_async(row.inputs(row.good, rng))
        request.wait()
    _check(request, oracle, row.inputs(row.good, rng))


def test_sizes_of_nothing_behind_others(core: clinfer.Core, device: DeviceInfo, rng: np.random.Generator) -> None:
    """What was traced for a tensor without elements is not used where its sizes are those of no array."""
    row = ROWS["to nothing"]
    request = core.compile_model(row.model(), device.name, CONFIG).create_infer_request()
    for sizes in ([2, 0, 5], [3, 0, 7], [4, 0, 9], [2**40, 0, 9]):
        assert request.infer(row.inputs(((0, 4), sizes), rng))[0].shape == tuple(sizes)
    for values, words in row.bad:
        with pytest.raises(ClinferError, match=words):
            request.infer(row.inputs(values, rng))
        assert request.infer(row.inputs(((0, 4), [5, 0, 6]), rng))[0].shape == (5, 0, 6)


def _check(request: clinfer.InferRequest, oracle: CpuPlugin, inputs: list[np.ndarray]) -> None:
    results = request.infer(inputs)
    for number, wanted in enumerate(oracle(inputs)):
        assert_close(results[number], wanted, 1e-4, f"output {number}")


@pytest.mark.parametrize("is_input", [True, False], ids=["input", "output"])
def test_tensors_that_change_while_a_request_runs(core: clinfer.Core, device: DeviceInfo, rng: np.random.Generator,
                                                  monkeypatch: pytest.MonkeyPatch, is_input: bool) -> None:
    x = ops.parameter([-1, 4], np.float32)
    compiled = core.compile_model(ov.Model([ops.relu(x)], [x], "changing"), device.name, CONFIG)
    request, given = compiled.create_infer_request(), rng.uniform(-1, 1, (60_000, 4)).astype(np.float32)
    request.infer(given)
    tensor = request.get_input_tensor() if is_input else request.get_output_tensor()
    finish, changed = Stream.finish, threading.Event()

    def change_first(stream: Stream) -> None:
        if not changed.is_set():
            changed.set()
            tensor.shape = [2, 4]
        finish(stream)
    monkeypatch.setattr(Stream, "finish", change_first)
    request.start_async()
    with pytest.raises(ClinferError, match=f"(?s)of {'input' if is_input else 'output'} .* was changed while"):
        request.wait()
    assert_close(request.infer(given)[0], np.maximum(given, 0), 0)


def test_a_running_request_takes_no_tensors(core: clinfer.Core, device: DeviceInfo, rng: np.random.Generator,
                                            monkeypatch: pytest.MonkeyPatch) -> None:
    x = ops.parameter([-1, 4], np.float32)
    compiled = core.compile_model(ov.Model([ops.relu(x)], [x], "running"), device.name, CONFIG)
    request, given = compiled.create_infer_request(), rng.uniform(-1, 1, (6, 4)).astype(np.float32)
    other, hold, finish = ov.Tensor(given), threading.Event(), Stream.finish

    def wait_first(stream: Stream) -> None:
        assert hold.wait(60)
        finish(stream)
    monkeypatch.setattr(Stream, "finish", wait_first)
    request.start_async(given)
    try:
        for use in (lambda: request.set_input_tensor(other), lambda: request.set_output_tensor(other),
                    lambda: request.set_input_tensors({0: other}), lambda: request.get_input_tensor(),
                    lambda: request.infer(given[:2]), lambda: request.start_async(given[:2])):
            with pytest.raises(ClinferError, match="is running"):
                use()
    finally:
        hold.set()
    request.wait()
    assert_close(request.results[0], np.maximum(given, 0), 0)
