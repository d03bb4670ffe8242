"""Operators that clinfer reads itself, with open sizes, beside ONNX's reference implementation."""
from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
import pytest
from onnx.reference import ReferenceEvaluator

import clinfer
from clinfer.frontend.onnx.files import mended_content

_TYPES = {"f32": np.float32, "i64": np.int64, "i32": np.int32, "u8": np.uint8}


Expected = Callable[..., np.ndarray]


@dataclass(frozen=True)
class Row:
    """A node with attributes; each round gives the shapes of its inputs (an array: a constant of all rounds; None: left
    out). `axes` of the inputs that change are open. `expected`: what the inputs give, where the reference
    implementation does not tell."""

    op: str
    rounds: tuple[tuple[Any, ...], ...]
    attributes: dict[str, Any] = field(default_factory=dict)
    types: tuple[str, ...] = ()
    outputs: int = 1
    version: int = 22
    domain: str = ""
    expected: Expected | None = None
    is_operation: bool = False
    """Whether OpenVINO's import reads it, and only its kernels were missing."""


def _older_softmax(axis: int) -> Expected:
    """Over all elements from the axis on. The reference takes this for Softmax of opset 13."""
    def expected(x: np.ndarray) -> np.ndarray:
        rows = np.exp(x.reshape(math.prod(x.shape[:axis]), -1).astype(np.float64))
        return (rows / rows.sum(1, keepdims=True)).reshape(x.shape)
    return expected


def _to_size(size: int, stride: int, dilation: int) -> Expected:
    """ConvTranspose of two groups along one axis to a size, of which the reference knows one group alone."""
    def expected(x: np.ndarray, filters: np.ndarray, bias: np.ndarray) -> np.ndarray:
        batch, inputs, length = x.shape
        more, width = filters.shape[1:]
        whole = np.zeros((batch, 2 * more, max(stride * (length - 1) + (width - 1) * dilation + 1, size)))
        used = stride * (length - 1) + (width - 1) * dilation + 1
        for c, place, tap in np.ndindex(inputs, length, width):
            group = c * 2 // inputs
            whole[:, group * more:(group + 1) * more, place * stride + tap * dilation] += \
                x[:, c, place, None] * filters[c, :, tap]
        total = max(used - size, 0)
        return whole[:, :, total - total // 2:][:, :, :size] + bias[:, None]
    return expected


def _hard_lstm(x: np.ndarray, *parameters: np.ndarray) -> np.ndarray:
    """All hidden states of an LSTM with HardSigmoid of the usual slope as gates, in one direction."""
    weights, recurrent, bias = (each[0].astype(np.float64) for each in parameters)
    hidden = cell = np.zeros((x.shape[1], recurrent.shape[1]))
    states = []
    for step in x:
        gates = step @ weights.T + hidden @ recurrent.T + bias.reshape(2, -1).sum(0)
        ins, outs, forgets, made = np.split(gates, 4, 1)
        opened = [np.clip(0.2 * gate + 0.5, 0, 1) for gate in (ins, outs, forgets)]
        cell = opened[2] * cell + opened[0] * np.tanh(made)
        hidden = opened[1] * np.tanh(cell)
        states.append(hidden)
    return np.array(states)[:, None]


def _constant(*numbers: float, kind: str = "i64") -> np.ndarray:
    return np.array(numbers, _TYPES[kind])


_SCALES = _constant(1, 1, 0.625, 0.75, kind="f32")
_RATIO = {"keep_aspect_ratio_policy": "not_larger", "mode": "linear", "axes": [2, 3]}
_HEADS = ((2, 3, 4, 8), (2, 3, 6, 8), (2, 3, 6, 8)), ((1, 3, 5, 8), (1, 3, 2, 8), (1, 3, 2, 8))
_GROUPS = (((2, 4, 3, 8), (2, 2, 6, 8), (2, 2, 6, 8), None, (2, 2, 5, 8), (2, 2, 5, 8)),
           ((1, 3, 5, 8), (1, 1, 2, 8), (1, 1, 2, 8), None, (1, 1, 1, 8), (1, 1, 1, 8)))
"""Queries of several heads for each of the keys, whose number is open as well."""
_FILTERS = np.random.default_rng(0).uniform(-1, 1, (3, 2, 3, 3)).astype(np.float32)
_GROUPED = np.random.default_rng(0).uniform(-1, 1, (4, 3, 3)).astype(np.float32)
_SCALED = _constant(0.1, 0.02, 0.5, kind="f32")
_LSTM = tuple(np.random.default_rng(1).uniform(-2, 2, shape).astype(np.float32)
              for shape in ((1, 80, 4), (1, 80, 20), (1, 160)))

ROWS = (
    Row("Resize", (((1, 2, 9, 11), None, _SCALES), ((2, 2, 5, 4), None, _SCALES), ((1, 2, 1, 30), None, _SCALES)),
        {"mode": "cubic", "antialias": 1}),
    Row("Resize", (((1, 2, 9, 11), None, None, _constant(5, 8)), ((1, 2, 4, 3), None, None, _constant(5, 8))), _RATIO),
    Row("Resize", (((1, 2, 7, 5), None, _SCALES), ((1, 2, 4, 6), None, _SCALES)),
        {"mode": "cubic", "exclude_outside": 1, "coordinate_transformation_mode": "half_pixel_symmetric"}),
    Row("Attention", _HEADS, {"is_causal": 1, "left_window_size": 1}, version=25),
    Row("Attention", _GROUPS, {"is_causal": 1}, outputs=3, version=24),
    Row("Attention", _GROUPS, {"is_causal": 1, "softcap": 2.0, "qk_matmul_output_mode": 1}, outputs=4, version=23),
    Row("Attention", _HEADS, {}, outputs=3, version=23),
    Row("Dropout", (((2, 3), np.array(0.5, np.float32)), ((1, 4), np.array(0.5, np.float32))), outputs=2),
    Row("Softmax", (((2, 3, 4),), ((1, 5, 2),)), {"axis": 1}, version=11, expected=_older_softmax(1)),
    Row("Softmax", (((2, 3, 4),), ((3, 1, 5),)), {"axis": 0}, version=9, expected=_older_softmax(0)),
    Row("Softmax", (((2, 3, 1, 1),), ((4, 5, 1, 1),)), version=11, expected=_older_softmax(1)),
    Row("ConvTranspose", (((1, 3, 5, 4), _FILTERS), ((2, 3, 2, 7), _FILTERS)), {"auto_pad": "SAME_UPPER",
                                                                              "strides": [2, 3]}, version=11),
    Row("ConvTranspose", (((1, 3, 5, 4), _FILTERS), ((2, 3, 2, 7), _FILTERS)), {"auto_pad": "SAME_LOWER",
                                                                              "dilations": [2, 1]}, version=11),
    *(Row("ConvTranspose", (((2, 4, 5), _GROUPED, _constant(1, 2, 3, 4, 5, 6, kind="f32")),
                            ((1, 4, 3), _GROUPED, _constant(1, 2, 3, 4, 5, 6, kind="f32"))),
          {"output_shape": [size], "group": 2, "strides": [2], "dilations": [dilation]}, version=11,
          expected=_to_size(size, 2, dilation)) for size in (6, 7, 14) for dilation in (1, 2)),
    Row("ReduceLogSum", (((2, 3),), ((4, 1),)), {"noop_with_empty_axes": 1}, version=18,
        expected=lambda x: np.log(x)),
    *(Row("QuantizeLinear", (((2, 3, 4), _SCALED, np.array([1, 2, 3], np.uint8)),
                             ((5, 3, 3), _SCALED, np.array([1, 2, 3], np.uint8))), {"axis": axis}, version=13)
      for axis in (1, -2)),
    *(Row("LSTM", (((3, 2, 4), *_LSTM), ((5, 1, 4), *_LSTM)),
          {"hidden_size": 20, "activations": ["HardSigmoid", "Tanh", "Tanh"], **slope}, version=14,
          expected=_hard_lstm, is_operation=True)
      for slope in ({}, {"activation_alpha": [0.2], "activation_beta": [0.5]})),
    Row("CumProd", (((3, 4), np.array(1)), ((2, 7), np.array(1)), ((5, 1), np.array(1))), {"exclusive": 1},
        version=26),
    Row("Det", (((3, 3),), ((3, 3),)), version=22),
    Row("Det", (((2, 4, 4),), ((5, 4, 4),)), version=22),
    Row("DynamicQuantizeLinear", (((3, 4),), ((1, 9),)), outputs=3),
    Row("Split", (((7, 2),), ((9, 3),), ((4, 1),)), {"num_outputs": 3, "axis": 0}, outputs=3),
    Row("Pad", (((3, 4), _constant(1, 5, 2, 0)), ((2, 6), _constant(1, 5, 2, 0))), {"mode": "wrap"}),
    Row("MaxPool", (((1, 2, 5, 6),), ((2, 2, 7, 4),)), {"kernel_shape": [2, 2], "strides": [2, 2], "ceil_mode": 1}),
    Row("DFT", (((2, 6, 1), None, np.array(1)), ((1, 9, 1), None, np.array(1))), {"onesided": 1}),
    Row("TensorScatter",
        (((2, 3, 8, 4), (2, 3, 2, 4), np.array([7, 1])), ((2, 1, 9, 4), (2, 1, 3, 4), np.array([7, 1]))),
        {"mode": "circular"}, version=24),
    Row("GridSample", (((1, 2, 3, 4, 5), (1, 2, 3, 2, 3)), ((2, 1, 2, 6, 3), (2, 1, 2, 4, 3))),
        {"mode": "linear", "padding_mode": "reflection"}),
    Row("LSTM", (((3, 2, 4), (1, 12, 4), (1, 12, 3), (1, 24), None, None, None, (1, 9)),
                 ((5, 1, 4), (1, 12, 4), (1, 12, 3), (1, 24), None, None, None, (1, 9))),
        {"hidden_size": 3}, outputs=2),
)


def _model(row: Row) -> tuple[onnx.ModelProto, list[str | None]]:
    names = [None if given is None else f"i{number}" for number, given in enumerate(row.rounds[0])]
    declared, constants = [], []
    for number, name in enumerate(names):
        given = [each[number] for each in row.rounds]
        if isinstance(given[0], np.ndarray):
            constants.append(onnx.numpy_helper.from_array(given[0], name))
        elif name is not None:
            shape = [size if len({each[axis] for each in given}) == 1 else f"{name}_{axis}"
                     for axis, size in enumerate(given[0])]
            declared.append(onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape))
    made = [f"o{number}" for number in range(row.outputs)]
    node = onnx.helper.make_node(row.op, [name or "" for name in names], made, domain=row.domain, **row.attributes)
    results = [onnx.ValueInfoProto(name=name) for name in made]
    graph = onnx.helper.make_graph([node], "row", declared, results, constants)
    return onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", row.version)],
                                  ir_version=10), names


@pytest.mark.parametrize("row", ROWS, ids=[f"{row.op}-{number}" for number, row in enumerate(ROWS)])
def test_open_sizes_give_what_the_reference_gives(row: Row) -> None:
    model, names = _model(row)
    content = model.SerializeToString()
    assert row.is_operation or mended_content(content) is not None
    request = clinfer.Core().compile_model(content, "CPU", {"INFERENCE_PRECISION_HINT": "f32"}
                                           ).create_infer_request()
    reference = ReferenceEvaluator(model)
    random = np.random.default_rng(len(row.op))
    for shapes in row.rounds:
        low = 0.1 if row.op == "ReduceLogSum" else -1
        inputs = {name: random.uniform(low, 1, shape).astype(np.float32)
                  for name, shape in zip(names, shapes, strict=True) if isinstance(shape, tuple)}
        found = request.infer(inputs)
        if row.expected is None:
            wanted = reference.run(None, inputs)
        else:
            constants = [given for given in shapes if isinstance(given, np.ndarray)]
            wanted = [row.expected(*inputs.values(), *constants).astype(np.float32)]
        for number, expected in enumerate(wanted):
            assert found[number].shape == expected.shape
            if expected.dtype == np.float32:
                np.testing.assert_allclose(found[number], expected, rtol=1e-4, atol=1e-5)
            else:
                np.testing.assert_array_equal(found[number], expected)
