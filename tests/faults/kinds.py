"""One model of each kind that keeps state in a way of its own, what it computes, and how it is run."""
from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any
from unittest import mock

import numpy as np
import pyopencl as cl
from openvino import opset13 as ops

import clinfer
from clinfer.api.compiled_model import CompiledModel
from clinfer.api.device_choice import choose_device
from clinfer.base.errors import ClinferError
from clinfer.ops import CONVERTERS
from clinfer.remote.context import ClContext
from tests.network.loop_models import running_sums
from tests.oracle import ov

Rng = np.random.Generator
Arrays = Sequence[np.ndarray]
W1 = np.random.default_rng(1).standard_normal((16, 16)).astype(np.float32) / 4
W2 = np.random.default_rng(2).standard_normal((32, 8)).astype(np.float32) / 4
LSTM = [np.random.default_rng(3).standard_normal(shape).astype(np.float32) / 4 for shape in ((32, 4), (32, 8), (32,))]
SIZES = (3, 1, 40, 7, 300)
"""What is open in dynamic shapes; a case takes some of these in turn."""


def floats(rng: Rng, *shape: int) -> np.ndarray:
    return rng.uniform(-1, 1, shape).astype(np.float32)


def softmax(x: np.ndarray) -> np.ndarray:
    e = np.exp(x - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


# -- feed forward -------------------------------------------------------------------------------------


def chain(rows: int) -> ov.Model:
    """Two matrix products with halves that are put side by side (in place) between them."""
    x = ops.parameter([rows, 16], np.float32, name="x")
    product = ops.matmul(x, ops.constant(W1), False, False)
    halves = ops.concat([ops.relu(product), ops.sigmoid(product)], 1)
    return ov.Model([ops.softmax(ops.matmul(halves, ops.constant(W2), False, False), 1),
                     ops.reduce_sum(halves, np.int64([0]), True)], [x], "chain")


def chained(inputs: Arrays) -> list[np.ndarray]:
    product = inputs[0] @ W1
    halves = np.concatenate([np.maximum(product, 0), 1 / (1 + np.exp(-product))], 1)
    return [softmax(halves @ W2), halves.sum(0, keepdims=True)]


# -- data decides -------------------------------------------------------------------------------------


def positives() -> ov.Model:
    """The rows with a positive first element, twice over, and a product of them: two segments."""
    x = ops.parameter([-1, 16], np.float32, name="x")
    first = ops.squeeze(ops.slice(x, np.int64([0]), np.int64([1]), np.int64([1]), np.int64([1])), np.int64([1]))
    found = ops.squeeze(ops.non_zero(ops.greater(first, np.float32(0)), "i64"), np.int64([0]))
    rows = ops.multiply(ops.gather(ops.relu(x), found, np.int64(0)), np.float32(2))
    return ov.Model([rows, ops.matmul(rows, ops.constant(W1), False, False)], [x], "positives")


def positive(inputs: Arrays) -> list[np.ndarray]:
    x = inputs[0]
    rows = np.maximum(x, 0)[x[:, 0] > 0] * 2
    return [rows, rows @ W1]


# -- bodies -------------------------------------------------------------------------------------------


def sums() -> ov.Model:
    """A loop with a state, slices and a joined result."""
    x, start = ops.parameter([-1, -1, 4], np.float32), ops.parameter([1, -1, 4], np.float32)
    last, joined = running_sums(ops.sigmoid(x), start, 0, 1, (False, False))
    return ov.Model([ops.relu(last).output(0), joined], [x, start], "sums")


def summed(inputs: Arrays) -> list[np.ndarray]:
    x, start = inputs
    totals = np.cumsum(np.concatenate([start, 1 / (1 + np.exp(-x))]), 0)[1:]
    return [np.maximum(totals[-1:], 0), totals * 2]


def branches() -> ov.Model:
    """An If between a product and a chain, whose condition comes with the inputs."""
    x, condition = ops.parameter([-1, 16], np.float32), ops.parameter([], bool)
    a, b = ops.parameter([-1, 16], np.float32), ops.parameter([-1, 16], np.float32)
    one = ov.Model([ops.matmul(a, ops.constant(W1), False, False)], [a])
    other = ov.Model([ops.relu(ops.add(ops.sigmoid(b), np.float32(-0.5)))], [b])
    decided = ops.if_op(condition.output(0))
    decided.set_then_body(one)
    decided.set_else_body(other)
    decided.set_input(ops.tanh(x).output(0), a, b)
    result = decided.set_output(one.results[0], other.results[0])
    return ov.Model([ops.multiply(result, np.float32(3))], [x, condition], "branches")


def branched(inputs: Arrays) -> list[np.ndarray]:
    x, condition = np.tanh(inputs[0]), inputs[1]
    return [3 * (x @ W1 if condition else np.maximum(1 / (1 + np.exp(-x)) - np.float32(0.5), 0))]


def layers() -> ov.Model:
    """An LSTM over whole sequences."""
    x, h, c = (ops.parameter(shape, np.float32) for shape in ([-1, -1, 4], [-1, 1, 8], [-1, 1, 8]))
    sizes = ops.shape_of(x, "i64")
    batch, length = (ops.slice(sizes, np.int64([n]), np.int64([n + 1]), np.int64([1])) for n in (0, 1))
    weights = [ops.constant(w[None]) for w in LSTM]
    made = ops.lstm_sequence(x, h, c, ops.broadcast(length, batch), *weights, 8, "forward")
    return ov.Model([ops.relu(made.output(0)).output(0), made.output(1), made.output(2)], [x, h, c], "layers")


def layered(inputs: Arrays) -> list[np.ndarray]:
    """Gates are forget, input, candidate, output (OpenVINO's LSTMSequence)."""
    x, h, c = inputs[0], inputs[1][:, 0], inputs[2][:, 0]
    seen = []
    for step in range(x.shape[1]):
        f, i, g, o = np.split(x[:, step] @ LSTM[0].T + h @ LSTM[1].T + LSTM[2], 4, 1)
        c = c / (1 + np.exp(-f)) + np.tanh(g) / (1 + np.exp(-i))
        h = np.tanh(c) / (1 + np.exp(-o))
        seen.append(h)
    return [np.maximum(np.stack(seen, 1)[:, None], 0), h[:, None], c[:, None]]


# -- states -------------------------------------------------------------------------------------------


def states() -> ov.Model:
    """Rows x and 2x as a state that grows, their squares, and the sum of all rows as a state that is made anew."""
    x = ops.parameter([-1, 16], np.float32, name="x")
    rows = ops.read_value(ops.constant(np.zeros((2, 0, 16), np.float32)), "rows", ov.Type.f32,
                          ov.PartialShape([2, -1, 16]))
    total = ops.read_value(ops.constant(np.zeros((1, 16), np.float32)), "total", ov.Type.f32, ov.PartialShape([1, 16]))
    both = ops.unsqueeze(x, np.int64([0]))
    grown = ops.concat([rows, ops.concat([both, ops.multiply(both, np.float32(2))], 0)], 1)
    added = ops.add(total, ops.reduce_sum(x, np.int64([0]), True))
    squares = ops.reduce_sum(ops.multiply(grown, grown), np.int64([0]), False)
    return ov.Model([ops.result(squares), ops.result(added)], [ops.assign(grown, "rows"), ops.assign(added, "total")],
                    [x], "states")


def remembered(inputs: Arrays) -> list[np.ndarray]:
    return [5 * inputs[0] ** 2, inputs[0].sum(0, keepdims=True)]


def beams() -> ov.Model:
    """Attention of two heads to caches of which `beam_idx` selects the rows: keys are x, values 2x."""
    x = ops.parameter([-1, -1, 16], np.float32, name="x")
    selected = ops.parameter([-1], np.int32, name="beam_idx")
    heads = ops.transpose(ops.reshape(x, np.int64([0, 0, 2, 8]), True), np.int64([0, 2, 1, 3]))
    batch = ops.gather(ops.shape_of(x, "i64"), np.int64([0]), np.int64(0))
    blank = ops.broadcast(ops.constant(np.float32(0)), ops.concat([batch, ops.constant(np.int64([2, 0, 8]))], 0))
    kept = []
    for name, new in (("keys", heads), ("values", ops.multiply(heads, np.float32(2)))):
        read = ops.read_value(blank, name, ov.Type.f32, ov.PartialShape([-1, 2, -1, 8]))
        kept.append(ops.concat([ops.gather(read, selected, np.int64(0)), new], 2))
    return ov.Model([ops.result(ops.scaled_dot_product_attention(heads, *kept))],
                    [ops.assign(node, name) for node, name in zip(kept, ("keys", "values"), strict=True)],
                    [x, selected], "beams")


def _caches(inputs: Arrays) -> list[np.ndarray]:
    """What the keys are behind each step: all but two positions of x, of which none is selected, then one by one."""
    x, selected = inputs
    found = [x[:, :-2]]
    for step, rows in enumerate(selected):
        found.append(np.concatenate([found[-1][rows], x[:, step - 2:][:, :1]], 1))
    return [each.reshape(*each.shape[:2], 2, 8).transpose(0, 2, 1, 3) for each in found]


def attended(inputs: Arrays) -> list[np.ndarray]:
    keys = _caches(inputs)[-1]
    query = keys[:, :, -1:]
    weights = np.exp(query @ keys.swapaxes(2, 3) / np.sqrt(8))
    return [2 * (weights / weights.sum(-1, keepdims=True)) @ keys]


# -- how they are run ---------------------------------------------------------------------------------


class Session:
    """An infer request with arrays in and out."""

    def __init__(self, compiled: CompiledModel) -> None:
        self.compiled = compiled
        self.request = compiled.create_infer_request()

    def infer(self, inputs: Arrays) -> list[np.ndarray]:
        """One inference."""
        return list(self.request.infer(list(inputs)).values())


class InBackground(Session):
    """Inferences that are begun and waited for, after one that an interrupt came to when it had begun."""

    def infer(self, inputs: Arrays) -> list[np.ndarray]:
        with suppress(ClinferError):
            self.request.wait()
        self.request.start_async(list(inputs))
        self.request.wait()
        return list(self.request.results.values())


class InQueue(Session):
    """Several at a time in a queue of two requests, which hands over what an earlier inference raised."""

    def __init__(self, compiled: CompiledModel) -> None:
        super().__init__(compiled)
        self._found: dict[int, list[np.ndarray]] = {}
        self._queue = clinfer.AsyncInferQueue(compiled, 2)
        self._queue.set_callback(partial(_note, self._found))

    def infer(self, inputs: Arrays) -> list[np.ndarray]:
        with suppress(ClinferError):
            self._queue.wait_all()
        self._found.clear()
        for number in range(3):
            self._queue.start_async(list(inputs), number)
        self._queue.wait_all()
        assert all(map(np.array_equal, self._found[0], self._found[1])), "two requests differ"
        return self._found[2]


class WithStates(Session):
    """Rows in three parts. What an inference before that was struck left in the states are whole parts of its rows."""

    def __init__(self, compiled: CompiledModel) -> None:
        super().__init__(compiled)
        self._fed = np.zeros((0, 16), np.float32)

    def infer(self, inputs: Arrays) -> list[np.ndarray]:
        rows, total = (state.state.data for state in self.request.query_state())
        count = rows.shape[1]
        assert count in (0, *self._ends(self._fed)), f"a state has {count} of {len(self._fed)} rows"
        if count:
            assert np.array_equal(rows, [self._fed[:count], 2 * self._fed[:count]]), "rows of a state are others"
        assert np.allclose(total, self._fed[:count].sum(0), 1e-4, 1e-4), "states are of different inferences"
        self.request.reset_state()
        self._fed = inputs[0].copy()
        begin = 0
        for end in self._ends(self._fed):
            found = super().infer([self._fed[begin:end]])
            begin = end
        return found

    @staticmethod
    def _ends(rows: np.ndarray) -> tuple[int, ...]:
        """Where the parts of rows end."""
        return len(rows) // 3, len(rows) // 2, len(rows)


class WithBeams(Session):
    """A prompt and two tokens for each of three beams. What an inference before that was struck left in the states is
    what they were behind one of its steps."""

    def __init__(self, compiled: CompiledModel) -> None:
        super().__init__(compiled)
        self._fed: list[np.ndarray] = []

    def infer(self, inputs: Arrays) -> list[np.ndarray]:
        keys, values = (state.state.data for state in self.request.query_state())
        if keys.size:
            behind = [each for each in _caches(self._fed) if each.shape == keys.shape]
            assert len(behind) == 1 and np.array_equal(keys, behind[0]), "a state is none of a step"
        assert np.array_equal(values, 2 * keys), "states are of different inferences"
        self.request.reset_state()
        self._fed = [array.copy() for array in inputs]
        x, selected = self._fed
        super().infer([x[:, :-2], np.arange(3, dtype=np.int32)])
        for step, rows in enumerate(selected):
            found = super().infer([np.ascontiguousarray(x[:, step - 2:][:, :1]), rows])
        return found


def _note(found: dict[int, list[np.ndarray]], request: clinfer.InferRequest, number: int) -> None:
    found[number] = [array.copy() for array in request.results.values()]


class Repeated(Session):
    """The same inference so often that its plan is specialised beside it, and taken over."""

    def infer(self, inputs: Arrays) -> list[np.ndarray]:
        for _ in range(6):
            found = super().infer(inputs)
        return found


class OverRemote(Session):
    """Inputs and outputs in device memory that is the user's."""

    def infer(self, inputs: Arrays) -> list[np.ndarray]:
        context, filled = self.compiled.get_context(), []
        for index, array in enumerate(inputs):
            tensor = context.create_tensor(ov.Type(array.dtype), array.shape)
            tensor.copy_from(ov.Tensor(array))
            self.request.set_input_tensor(index, tensor)
        for index, shape in enumerate([(len(inputs[0]), 8), (1, 32)]):
            tensor = context.create_tensor(ov.Type.f32, shape)
            self.request.set_output_tensor(index, tensor)
            filled.append(tensor)
        self.request.infer()
        return [_on_host(tensor) for tensor in filled]


class InPlace(Session):
    """Inputs and outputs in host memory in which the device works, where it can."""

    def infer(self, inputs: Arrays) -> list[np.ndarray]:
        context = self.compiled.get_context()
        given = [context.create_host_tensor(ov.Type(array.dtype), array.shape) for array in inputs]
        for index, (tensor, array) in enumerate(zip(given, inputs, strict=True)):
            tensor.data[...] = array
            self.request.set_input_tensor(index, tensor)
        filled = [context.create_host_tensor(ov.Type.f32, shape) for shape in [(len(inputs[0]), 8), (1, 32)]]
        for index, tensor in enumerate(filled):
            self.request.set_output_tensor(index, tensor)
        self.request.infer()
        return [tensor.data.copy() for tensor in filled]


def _on_host(tensor: Any) -> np.ndarray:
    found = ov.Tensor(ov.Type.f32, tensor.shape)
    tensor.copy_to(found)
    return found.data


_PRECISION = {"INFERENCE_PRECISION_HINT": "f32"}
"""That of NumPy's results, whatever the device would choose."""


@dataclass(frozen=True)
class Kind:
    """A model, its inputs for a size, the results that NumPy computes of them, and the way of running it."""

    model: Callable[[], ov.Model]
    inputs: Callable[[Rng, int], list[np.ndarray]]
    expected: Callable[[Arrays], list[np.ndarray]]
    session: type[Session] = Session
    config: dict[str, Any] = field(default_factory=dict)
    in_own_queue: bool = False
    is_cold: bool = False
    is_imported: bool = False
    by_host: str = ""

    def compile(self, core: clinfer.Core, device: str) -> CompiledModel:
        """The model on a device, or in a queue of the user's there; without the kernels on disk if it is `is_cold`,
        exported and imported if it `is_imported`. `by_host`: an operation that OpenVINO computes."""
        where = _own_queue(core, device) if self.in_own_queue else device
        with (_no_kernels() if self.is_cold else nullcontext(),
              mock.patch.dict(CONVERTERS) if self.by_host else nullcontext()):
            if self.by_host:
                del CONVERTERS[self.by_host]
            made = core.compile_model(self.model(), where, {**_PRECISION, **self.config})
        return core.import_model(made.export_model(), where) if self.is_imported else made


@cache
def _own_context(device: str) -> cl.Context:
    return cl.Context([choose_device(device).cl_device])


def _own_queue(core: clinfer.Core, device: str) -> ClContext:
    return ClContext(core, cl.CommandQueue(_own_context(device)))


@contextmanager
def _no_kernels() -> Iterator[None]:
    before = os.environ.get("CLINFER_CACHE")
    os.environ["CLINFER_CACHE"] = "0"
    try:
        yield
    finally:
        os.environ.pop("CLINFER_CACHE")
        if before is not None:
            os.environ["CLINFER_CACHE"] = before


def waves() -> ov.Model:
    x = ops.parameter([-1, 16], np.float32, name="x")
    return ov.Model([ops.sin(ops.multiply(x, np.float32(3)))], [x], "waves")


def _rows(rng: Rng, size: int) -> list[np.ndarray]:
    return [floats(rng, size, 16)]


KINDS = {
    "static": Kind(lambda: chain(5), lambda rng, _: [floats(rng, 5, 16)], chained),
    "dynamic": Kind(lambda: chain(-1), _rows, chained),
    "segments": Kind(positives, _rows, positive),
    "loop": Kind(sums, lambda rng, size: [floats(rng, size % 5 + 1, size, 4), floats(rng, 1, size, 4)], summed),
    "if": Kind(branches, lambda rng, size: [floats(rng, size, 16), np.array(bool(rng.integers(2)))], branched),
    "layers": Kind(layers, lambda rng, size: [floats(rng, size, size % 5 + 1, 4), floats(rng, size, 1, 8),
                                              floats(rng, size, 1, 8)], layered),
    "imported": Kind(positives, _rows, positive, is_imported=True),
    "host": Kind(waves, _rows, lambda inputs: [np.sin(inputs[0] * 3)], by_host="Sin"),
    "background": Kind(lambda: chain(-1), _rows, chained, InBackground),
    "remote": Kind(lambda: chain(-1), _rows, chained, OverRemote),
    "in place": Kind(lambda: chain(-1), _rows, chained, InPlace),
    "out of order": Kind(lambda: chain(-1), _rows, chained, Session, {"execution_order": "out_of_order"}),
    "queue": Kind(lambda: chain(-1), _rows, chained, InQueue, {"NUM_STREAMS": 2}),
    "own queue": Kind(lambda: chain(-1), _rows, chained, in_own_queue=True),
    "specialised": Kind(lambda: chain(-1), _rows, chained, Repeated, {"SPECIALIZE_AFTER": 2}),
    "states": Kind(states, _rows, remembered, WithStates),
    "beams": Kind(beams, lambda rng, size: [floats(rng, 3, size + 2, 16), rng.integers(3, size=(2, 3), dtype=np.int32)],
                  attended, WithBeams),
    "cold": Kind(waves, _rows, lambda inputs: [np.sin(inputs[0] * 3)], is_cold=True),
    "profiled": Kind(positives, _rows, positive, Session, {"PERF_COUNT": True}),
}
