"""Models of sizes that depend on data: what makes them, and what takes a part of that or stretches to it."""
from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from openvino import opset13 as op
from openvino.utils.node_factory import NodeFactory

from clinfer.frontend.openvino_import import openvino as ov
from tests.frontend.models import parameter

_create = NodeFactory("opset15").create
ZERO, ONE, THREE, FIRST, LAST = (op.constant(np.array(value, np.int64)) for value in (0, 1, 3, [0], [1]))


def made(kind: str, *inputs: ov.Node | ov.Output, **attributes: Any) -> ov.Output:
    """The first output of an operation."""
    ports = [each.output(0) if isinstance(each, ov.Node) else each for each in inputs]
    return _create(kind, ports, attributes).output(0)


def ints(*values: int) -> ov.Node:
    return op.constant(np.array(values, np.int64))


def vector(*numbers: ov.Node) -> ov.Node:
    return op.concat([op.unsqueeze(number, ZERO) for number in numbers], 0)


def size(port: ov.Node | ov.Output, axis: int, kind: str = "i64") -> ov.Node:
    """A size as one number of i64, taken from a shape of this type."""
    found = op.gather(op.shape_of(port, kind), ints(axis), ZERO)
    return found if kind == "i64" else op.convert(found, "i64")


def scalar(number: ov.Node) -> ov.Node:
    return op.reshape(number, ints(), False)


@dataclass(frozen=True)
class Given:
    """Parameters: x [rows, columns], y [1, 1] and `number`, a scalar between 1 and the rows of x."""

    x: ov.Node
    y: ov.Node
    number: ov.Node


Producer = Callable[[Given], ov.Output]
Consumer = Callable[[ov.Output, Given], ov.Output]


def _unit(*numbers: ov.Node) -> ov.Output:
    return op.broadcast(op.constant(np.float32(1)), vector(*numbers)).output(0)


PRODUCERS: Mapping[str, Producer] = {
    "Parameter": lambda g: g.x.output(0),
    "Eye": lambda g: made("Eye", g.number, g.number, ints(0), output_type="f32"),
    "Range": lambda g: op.unsqueeze(op.range(op.constant(np.float32(0)), op.convert(g.number, "f32"), op.constant(
        np.float32(1)), "f32"), ONE).output(0),
    "Broadcast": lambda g: _unit(g.number, g.number),
    "Broadcast both": lambda g: op.broadcast(g.y, vector(g.number, g.number), broadcast_spec="BIDIRECTIONAL").output(0),
    "Reshape": lambda g: op.reshape(op.range(ZERO, op.multiply(g.number, THREE), ONE, "f32"), vector(
        g.number, THREE), False).output(0),
    "NonZero": lambda g: op.convert(op.transpose(op.non_zero(g.x), ints(1, 0)), "f32").output(0),
    "TopK": lambda g: made("TopK", g.x, g.number, axis=0, mode="max", sort="value"),
    "Slice": lambda g: op.slice(g.x, FIRST, op.unsqueeze(g.number, ZERO), LAST, FIRST).output(0),
    "Interpolate": lambda g: made("Interpolate", g.x, vector(g.number, g.number), ints(0, 1), mode="nearest",
                                  shape_calculation_mode="sizes"),
    "OneHot": lambda g: op.one_hot(ints(0, 1, 0), g.number, op.constant(np.float32(1)), op.constant(np.float32(0)),
                                   -1).output(0),
    "Tile": lambda g: op.tile(g.x, vector(g.number, ONE)).output(0),
    "Pad": lambda g: op.pad(g.x, ints(0, 0), vector(g.number, ZERO), "constant", op.constant(np.float32(0))).output(0),
    "Unique": lambda g: made("Unique", g.x, ZERO),
    "Gather": lambda g: op.gather(g.x, op.range(ZERO, g.number, ONE, "i64"), ZERO).output(0),
    "VariadicSplit": lambda g: made("VariadicSplit", g.x, ZERO, op.concat([op.unsqueeze(g.number, ZERO), ints(-1)], 0)),
    "Select": lambda g: op.select(op.greater(g.y, op.constant(np.float32(0))), g.x, op.constant(
        np.float32(1))).output(0),
}


def _rows(t: ov.Output, g: Given) -> ov.Node:
    """A number of rows that there are."""
    return op.minimum(g.number, scalar(size(t, 0)))


def _slice(start: Any, stop: Any, step: int) -> Consumer:
    def build(t: ov.Output, g: Given) -> ov.Output:
        places = [op.unsqueeze(place(g), ZERO) if callable(place) else ints(place) for place in (start, stop)]
        return op.slice(t, *places, ints(step), FIRST).output(0)
    return build


def _number(g: Given) -> ov.Node:
    return g.number


def _negative(g: Given) -> ov.Node:
    return op.negative(g.number)


def _attention(t: ov.Output, g: Given) -> ov.Output:
    rows = op.unsqueeze(t, ZERO)
    return made("ScaledDotProductAttention", rows, rows, rows, op.unsqueeze(g.y, ZERO), causal=False)


def _quantized(data: ov.Output, other: ov.Output) -> ov.Output:
    one = op.constant(np.float32(1))
    return op.fake_quantize(data, other, op.add(other, one), other, op.add(other, one), 256).output(0)


def _positive(t: ov.Node | ov.Output) -> ov.Node:
    return op.greater(t, op.constant(np.float32(0)))


CONSUMERS: Mapping[str, Consumer] = {
    "Slice to": _slice(0, _number, 1),
    "Slice from": _slice(_number, 100, 1),
    "Slice the last": _slice(_negative, 100, 1),
    "Slice backwards": _slice(_number, -100, -1),
    "Slice two by two": lambda t, g: op.slice(t, FIRST, ints(100), op.add(LAST, op.unsqueeze(op.minimum(
        g.number, ONE), ZERO)), FIRST).output(0),
    "StridedSlice": lambda t, g: op.strided_slice(t, ints(0, 0), vector(g.number, g.number), ints(1, 1), [0, 0],
                                                  [0, 0]).output(0),
    "Unique": lambda t, g: made("Unique", t, ZERO),
    "Unique columns": lambda t, g: made("Unique", t, ONE),
    "Select by": lambda t, g: op.select(_positive(g.y), t, op.constant(np.float32(1))).output(0),
    "Select": lambda t, g: op.select(_positive(t), g.y, g.y).output(0),
    "Select else": lambda t, g: op.select(_positive(g.y), g.y, t).output(0),
    "FakeQuantize": lambda t, g: _quantized(t, g.y.output(0)),
    "FakeQuantize to": lambda t, g: _quantized(g.y.output(0), t),
    "Add": lambda t, g: op.add(g.y, t).output(0),
    "Attention": _attention,
    "TopK": lambda t, g: made("TopK", t, _rows(t, g), axis=0, mode="max", sort="value"),
    "VariadicSplit": lambda t, g: made("VariadicSplit", t, ZERO, op.concat([op.unsqueeze(
        _rows(t, g), ZERO), ints(-1)], 0)),
    "Tile": lambda t, g: op.tile(t, vector(g.number, ONE)).output(0),
    "Pad": lambda t, g: op.pad(t, ints(0, 0), vector(g.number, ZERO), "constant", op.constant(np.float32(0))).output(0),
    "Gather": lambda t, g: op.gather(t, op.range(ZERO, _rows(t, g), ONE, "i64"), ZERO).output(0),
    "Gather by": lambda t, g: op.gather(t, op.squeeze(op.non_zero(op.greater(op.range(ZERO, scalar(
        size(t, 0)), ONE, "i64"), ONE)), ZERO), ZERO).output(0),
    "Broadcast both": lambda t, g: op.broadcast(g.y, op.shape_of(t), broadcast_spec="BIDIRECTIONAL").output(0),
    "Interpolate": lambda t, g: made("Interpolate", t, vector(g.number, g.number), ints(0, 1), mode="nearest",
                                     shape_calculation_mode="sizes"),
    "Concat": lambda t, g: op.concat([t, op.slice(t, FIRST, op.unsqueeze(g.number, ZERO), LAST, FIRST)], 0).output(0),
    "Roll": lambda t, g: op.roll(t, op.unsqueeze(g.number, ZERO), FIRST).output(0),
}

NUMBERS: Mapping[str, Callable[[ov.Node, ov.Node], ov.Node]] = {
    "values": lambda x, n: n,
    "bounded values": lambda x, n: op.minimum(op.maximum(n, op.constant(np.int64(0))), op.constant(np.int64(5))),
    "sizes": lambda x, n: scalar(size(x, 1)),
    "bounded sizes": lambda x, n: op.minimum(op.maximum(scalar(size(x, 1)), op.constant(np.int64(0))), op.constant(
        np.int64(5))),
}
"""Where the number comes from: a value, or the columns of x."""


def model_of(producer: str, number: str, consumers: Iterable[str], consumers_first: bool, kind: str) -> ov.Model:
    """What the producer makes in the hands of each consumer. The results count up to the sizes of y, of x and of what
    the producer makes, and then, or first, to those of what each consumer makes."""
    x, y, n = parameter("x", [-1, -1]), parameter("y", [-1, -1]), parameter("n", [], "i64")
    given = Given(x, y, NUMBERS[number](x, n))
    source = PRODUCERS[producer](given)
    before = [("y", y.output(0)), ("x", x.output(0)), (producer, source)]
    after = [(name, CONSUMERS[name](source, given)) for name in consumers]
    return ov.Model([counted(name, port, axis, kind) for name, port in (
        after + before if consumers_first else before + after)
        for axis in range(port.get_partial_shape().rank.get_length())], [x, y, n], "sizes")


def counted(name: str, port: ov.Output, axis: int, kind: str) -> ov.op.Result:
    """A result that counts up to a size."""
    result = op.result(op.range(ZERO, scalar(size(port, axis, kind)), ONE, "i64"))
    result.set_friendly_name(f"{name}, axis {axis}")
    return result


def inputs_of(rows: int, columns: int, rng: np.random.Generator) -> list[np.ndarray]:
    """For these sizes of x; the number is not above them, nor above 5."""
    number = int(rng.integers(1, min(rows, columns, 5) + 1))
    return [rng.integers(0, 2, (rows, columns)).astype(np.float32), np.ones((1, 1), np.float32), np.array(number)]
