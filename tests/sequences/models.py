"""Models of open sizes and values, for tests of streams, threads and memory that need several shapes of one model."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from openvino import opset13 as ops

from clinfer.frontend.openvino_import import openvino as ov
from tests.node_by_node import NodeByNode
from tests.oracle import assert_close

CHANNELS = 8
Infer = Callable[[Sequence[np.ndarray]], Sequence[np.ndarray]]
Nodes = Sequence[ov.Node]


@dataclass(frozen=True)
class Setting:
    """The free sizes of one inference, the numbers for its value inputs in turn, and the seed of its data."""

    batch: int
    length: int
    width: int
    numbers: tuple[int, ...] = (2,)
    seed: int = 0


@dataclass(frozen=True)
class Inference:
    """Inputs, and the outputs that the node-by-node oracle computes from them."""

    setting: Setting
    inputs: list[np.ndarray]
    expected: list[np.ndarray]


class OpenModel:
    """A model by its name: its first input is data, [batch, length, 8] or an image [batch, 8, length, width]; the
    others are numbers [1] on which shapes depend."""

    def __init__(self, name: str) -> None:
        build, self._is_image, values = _MODELS[name]
        shape = [-1, CHANNELS, -1, -1] if self._is_image else [-1, -1, CHANNELS]
        inputs = [ops.parameter(ov.PartialShape(shape), np.float32), *(ops.parameter([1], np.int64)
                                                                       for _ in range(values))]
        self.model = ov.Model([ops.result(node) for node in build(*inputs)], inputs, name)
        self._oracle = NodeByNode(self.model)

    def inference(self, setting: Setting) -> Inference:
        """Fresh data, a number for each value, and the answer."""
        sizes = (setting.batch, setting.length, CHANNELS)
        if self._is_image:
            sizes = (setting.batch, CHANNELS, setting.length, setting.width)
        data = np.random.default_rng(setting.seed).uniform(-1, 1, sizes).astype(np.float32)
        numbers = (setting.numbers[i % len(setting.numbers)] for i in range(len(self.model.inputs) - 1))
        inputs = [data, *(np.array([number], np.int64) for number in numbers)]
        return Inference(setting, inputs, self._oracle(inputs))

    def check(self, infer: Infer, inference: Inference) -> None:
        """What `infer` gives equals the oracle's answer."""
        results = infer(inference.inputs)
        for number, wanted in enumerate(inference.expected):
            assert_close(results[number], wanted, 1e-4, f"{inference.setting} output {number}")


def _weights(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(seed).uniform(-0.5, 0.5, shape).astype(np.float32)


def _i64(*values: int) -> ov.Node:
    return ops.constant(np.array(values, np.int64))


def _shared_slots(x: ov.Node) -> Nodes:
    """Tensors that live one after the other."""
    y = ops.add(ops.matmul(ops.softmax(x, 1), _weights(0, CHANNELS, CHANNELS), False, False), _weights(9, CHANNELS))
    y = ops.matmul(ops.softmax(ops.matmul(y, y, False, True), -1), y, False, False)
    return [ops.concat([ops.cum_sum(y, np.int64(1)), x], 1)]


def _packed_weights(x: ov.Node) -> Nodes:
    y = ops.convolution(x, _weights(1, CHANNELS, CHANNELS, 3, 3), [1, 1], [1, 1], [1, 1], [1, 1])
    y = ops.convolution(y, _weights(2, CHANNELS, CHANNELS, 3, 3), [2, 2], [1, 1], [1, 1], [1, 1])
    return [ops.avg_pool(y, [2, 2], [0, 0], [1, 1], [2, 2], True)]


def _kept(x: ov.Node) -> ov.Node:
    """The elements above a limit, found by NonZero."""
    flat = ops.reshape(x, _i64(-1), False)
    places = ops.reshape(ops.non_zero(ops.greater(flat, np.float32(0.2)), "i64"), _i64(-1), False)
    return ops.gather(flat, places, np.int64(0))


def _decided_by_data(x: ov.Node) -> Nodes:
    kept = _kept(x)
    above = ops.reduce_sum(ops.convert(ops.greater(kept, np.float32(0.6)), "i64"), _i64(0), False)
    first = ops.slice(kept, _i64(0), ops.reshape(above, _i64(1), False), _i64(1), _i64(0))
    return [ops.softmax(ops.multiply(kept, np.float32(1.5)), 0), first]


def _either(x: ov.Node, number: ov.Node, axis: int) -> ov.Output:
    """If: both bodies give other shapes."""
    one, two = (ops.parameter(x.get_output_partial_shape(0), np.float32) for _ in range(2))
    doubled, same = ops.result(ops.concat([one, ops.tanh(one)], axis)), ops.result(two)
    made = ops.if_op(ops.greater(number, _i64(0)).output(0))
    made.set_then_body(ov.Model([doubled], [one]))
    made.set_else_body(ov.Model([same], [two]))
    made.set_input(x.output(0), one, two)
    return made.set_output(doubled, same)


def _branches(x: ov.Node, number: ov.Node) -> Nodes:
    return [ops.tanh(_either(ops.softmax(x, 1), number, 1))]


def _bounded(number: ov.Node, least: int, most: int) -> ov.Node:
    return ops.minimum(ops.maximum(number, _i64(least)), _i64(most))


def _loops(x: ov.Node, number: ov.Node, times: ov.Node) -> Nodes:
    """As many runs as a value says; the state halves, the sums of each run are joined."""
    state = ops.parameter(x.get_output_partial_shape(0), np.float32)
    new = ops.multiply(ops.add(state, np.float32(0.25)), np.float32(0.5))
    part = ops.unsqueeze(ops.reduce_sum(new, _i64(1), True), _i64(0))
    loop = ops.loop(ops.squeeze(_bounded(number, 1, 3), _i64(0)), ops.constant(True))
    loop.set_function(ov.Model([ops.constant(True).output(0), new.output(0), part.output(0)], [state]))
    loop.set_special_body_ports([-1, 0])
    loop.set_merged_input(state, x.output(0), new.output(0))
    last = loop.get_iter_value(new.output(0), -1)
    sums = loop.get_concatenated_slices(part.output(0), 0, 1, 1, -1, 0)
    tiled = ops.tile(ops.softmax(last, 1), ops.concat([_i64(1), _bounded(times, 1, 3), _i64(1)], 0))
    return [tiled, ops.relu(sums)]


def _many_shapes(x: ov.Node) -> Nodes:
    y = ops.matmul(ops.softmax(x, 1), _weights(0, CHANNELS, CHANNELS), False, False)
    y = ops.matmul(ops.softmax(ops.matmul(y, y, False, True), -1), y, False, False)
    return [ops.transpose(ops.reshape(y, _i64(0, -1), True), _i64(1, 0))]


def _many_decisions(x: ov.Node, number: ov.Node, times: ov.Node, stop: ov.Node) -> Nodes:
    tiled = ops.tile(ops.softmax(_kept(x), 0), _bounded(times, 1, 3))
    return [ops.slice(tiled, _i64(0), stop, _i64(1), _i64(0)), _either(x, number, 0)]


_MODELS: dict[str, tuple[Callable[..., Nodes], bool, int]] = {
    "shared slots": (_shared_slots, False, 0),
    "packed weights": (_packed_weights, True, 0),
    "decided by data": (_decided_by_data, False, 0),
    "branches": (_branches, False, 1),
    "loops": (_loops, False, 2),
    "many shapes": (_many_shapes, False, 0),
    "many decisions": (_many_decisions, False, 3),
}
MEMORY_MODELS = ("shared slots", "packed weights", "decided by data", "branches", "loops")
STREAM_MODELS = ("many shapes", "many decisions")
