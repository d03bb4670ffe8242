"""Rotary positions in the forms in which exporters write them, and what NumPy makes of the same inputs."""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from clinfer.frontend.reader import to_topology
from clinfer.frontend.transformations import prepare
from clinfer.program.graph import Graph
from clinfer.program.passes.fuse_rope import fuse_rope
from clinfer.program.passes.infer_layouts import infer_layouts
from clinfer.program.passes.propagate_constants import propagate_constants
from clinfer.runtime.engine import Engine
from tests.oracle import ov
from tests.program.building import graph_after

HEADS, DEPTH = 3, 12

op = ov.opset13
Turn = Callable[[ov.Node, ov.Node, ov.Node], ov.Node]


def row(*numbers: int) -> ov.Node:
    """A constant row of numbers."""
    return op.constant(np.array(numbers, np.int64))


def cut(data: ov.Node, start: int, stop: int, step: int = 1) -> ov.Node:
    """A slice of the last axis."""
    return op.slice(data, row(start), row(stop), row(step), row(-1))


def _width(data: ov.Node) -> int:
    return int(data.output(0).get_partial_shape()[-1].get_length())


def _as_sum(data: ov.Node, turned: ov.Node, cosine: ov.Node, sine: ov.Node) -> ov.Node:
    return op.add(op.multiply(data, cosine), op.multiply(turned, sine))


def _stacked(first: ov.Node, second: ov.Node) -> ov.Node:
    pairs = op.concat([op.unsqueeze(first, np.int64(-1)), op.unsqueeze(second, np.int64(-1))], -1)
    size = int(pairs.output(0).get_partial_shape()[-2].get_length())
    return op.reshape(pairs, row(0, 0, 0, 2 * size), True)


def _halves_in_sum(data: ov.Node, cosine: ov.Node, sine: ov.Node) -> ov.Node:
    low, high = (cut(data, start, start + _width(data) // 2) for start in (0, _width(data) // 2))
    return _as_sum(data, op.concat([op.negative(high), low], -1), cosine, sine)


def _neighbours_in_sum(data: ov.Node, cosine: ov.Node, sine: ov.Node) -> ov.Node:
    even, odd = (cut(data, start, 2**31, 2) for start in (0, 1))
    return _as_sum(data, _stacked(op.multiply(odd, np.float32(-1)), even), cosine, sine)


def _parts(first: ov.Node, second: ov.Node, cosine: ov.Node, sine: ov.Node) -> tuple[ov.Node, ov.Node]:
    return (op.subtract(op.multiply(first, cosine), op.multiply(second, sine)),
            op.add(op.multiply(sine, first), op.multiply(second, cosine)))


def _halves_apart(data: ov.Node, cosine: ov.Node, sine: ov.Node) -> ov.Node:
    low, high = op.split(data, np.int64(-1), 2).outputs()
    return op.concat(list(_parts(low, high, cosine, sine)), -1)


def _neighbours_apart(data: ov.Node, cosine: ov.Node, sine: ov.Node) -> ov.Node:
    pairs = op.reshape(data, row(0, 0, 0, _width(data) // 2, 2), True)
    first, second = (op.gather(pairs, np.int64(i), np.int64(-1)) for i in (0, 1))
    return _stacked(*_parts(first, second, cosine, sine))


def _neighbours_sorted(data: ov.Node, cosine: ov.Node, sine: ov.Node) -> ov.Node:
    """All firsts are brought before all seconds, and back: how OpenVINO reads ONNX's RotaryEmbedding."""
    half = _width(data) // 2

    def exchanged(what: ov.Node, rows: int) -> ov.Node:
        wide = op.reshape(what, row(0, 0, 0, rows, 2 * half // rows), True)
        return op.reshape(op.transpose(wide, row(0, 1, 2, 4, 3)), row(0, 0, 0, 2 * half), True)
    low, high = op.split(exchanged(data, half), np.int64(-1), 2).outputs()
    return exchanged(op.concat(list(_parts(low, high, cosine, sine)), -1), 2)


@dataclass(frozen=True)
class Form:
    """How it is written; see the fields of `RoPE`."""

    turn: Turn
    interleaved: bool
    paired: bool


FORMS = {"halves in a sum": Form(_halves_in_sum, False, False),
         "neighbours in a sum": Form(_neighbours_in_sum, True, False),
         "halves apart": Form(_halves_apart, False, True),
         "neighbours apart": Form(_neighbours_apart, True, True),
         "neighbours sorted": Form(_neighbours_sorted, True, True)}


def rope_model(name: str, rotated: int = DEPTH) -> ov.Model:
    """Data [batch, HEADS, length, DEPTH], of which the first elements are turned, cosine and sine [1, 1, length, n]."""
    form = FORMS[name]
    data = op.parameter([-1, HEADS, -1, DEPTH], np.float32)
    cosine, sine = (op.parameter([1, 1, -1, rotated // 2 if form.paired else rotated], np.float32) for _ in range(2))
    if rotated == DEPTH:
        return ov.Model([form.turn(data, cosine, sine)], [data, cosine, sine], "rope")
    turned = form.turn(cut(data, 0, rotated), cosine, sine)
    return ov.Model([op.concat([turned, cut(data, rotated, 2**31)], -1)], [data, cosine, sine], "rope")


def rope_inputs(rng: np.random.Generator, name: str, batch: int, length: int, places: int,
                rotated: int = DEPTH) -> list[np.ndarray]:
    """Inputs of such a model."""
    width = rotated // 2 if FORMS[name].paired else rotated
    return [rng.standard_normal(shape).astype(np.float32)
            for shape in ((batch, HEADS, length, DEPTH), (1, 1, places, width), (1, 1, places, width))]


def rope_result(name: str, data: np.ndarray, cosine: np.ndarray, sine: np.ndarray, rotated: int = DEPTH) -> np.ndarray:
    """What the model gives; OpenVINO's CPU plugin finds rotary positions in some models where none are."""
    form, half = FORMS[name], rotated // 2
    firsts = np.arange(0, rotated, 2) if form.interleaved else np.arange(half)
    seconds = firsts + 1 if form.interleaved else firsts + half
    of_first, of_second = (slice(None), slice(None)) if form.paired else (firsts, seconds)
    a, b = data[..., firsts].astype(np.float64), data[..., seconds].astype(np.float64)
    result = data.astype(np.float64)
    result[..., firsts] = a * cosine[..., of_first] - b * sine[..., of_first]
    result[..., seconds] = b * cosine[..., of_second] + a * sine[..., of_second]
    return result


def rope_graph(engine: Engine, model: ov.Model) -> Graph:
    """The graph after the pass."""
    return graph_after(engine, to_topology(prepare(model)).topology, (infer_layouts, propagate_constants, fuse_rope))
