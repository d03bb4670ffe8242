"""Convolutions in both directions with weights of any shape, each shape against a static model of OpenVINO's."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from clinfer.ops.operation import Case
from clinfer.runtime.engine import Engine
from tests.network.running import network_of
from tests.ops.case_runner import execute
from tests.oracle import CpuPlugin, assert_close, build_model

Shapes = tuple[tuple[int, ...], tuple[int, ...]]


def _attributes(rank: int, strides: int, pads: int, auto_pad: str = "explicit") -> dict[str, Any]:
    return {"strides": [strides] * rank, "dilations": [1] * rank, "pads_begin": [pads] * rank, "pads_end": [0] * rank,
            "auto_pad": auto_pad}


ROWS: dict[str, tuple[dict[str, Any], tuple[Shapes, ...]]] = {
    "Convolution": (_attributes(2, 2, 1), (
        ((1, 20, 7, 19), (33, 20, 3, 3)), ((2, 4, 5, 8), (7, 4, 5, 2)), ((1, 20, 7, 19), (1, 20, 1, 1)))),
    "GroupConvolution": (_attributes(1, 2, 0, "same_upper"), (
        ((1, 8, 19), (4, 3, 2, 3)), ((2, 8, 15), (8, 1, 1, 5)), ((1, 32, 9), (2, 16, 16, 3)))),
    "ConvolutionBackpropData": (_attributes(2, 2, 1) | {"output_padding": [1, 1]}, (
        ((1, 20, 7, 19), (20, 33, 3, 3)), ((2, 4, 5, 8), (4, 1, 5, 2)), ((1, 20, 7, 9), (20, 16, 4, 4)))),
    "GroupConvolutionBackpropData": (_attributes(1, 3, 0) | {"output_padding": [0]}, (
        ((1, 8, 19), (4, 2, 3, 3)), ((2, 8, 15), (8, 1, 1, 5)), ((1, 32, 9), (2, 16, 16, 3)))),
}


@pytest.mark.parametrize("op", ROWS)
def test_weights_of_any_shape(engine: Engine, rng: np.random.Generator, op: str) -> None:
    attributes, sequence = ROWS[op]
    first, *others = sequence
    entries = tuple((shape, "f32") for shape in first)
    open_sequence = (*others, tuple(tuple(n + 1 for n in shape) for shape in first))
    network = network_of(engine, build_model(Case(op, "opset1", entries, attributes, open_sequence), dynamic=True))
    for shapes in (*sequence, first):
        inputs = [rng.uniform(-2, 2, shape).astype(np.float32) for shape in shapes]
        case = Case(op, "opset1", tuple((shape, "f32") for shape in shapes), attributes)
        (wanted,) = CpuPlugin(build_model(case, dynamic=False))(inputs)
        assert_close(execute(network, inputs)[0], wanted, 1e-4, f"{op} {shapes}")
