"""Rows of the operations whose kernels apply fused operations, with a random chain of element-wise operations behind
them."""
from __future__ import annotations

import random
from collections.abc import Callable, Iterable

import numpy as np

from clinfer.frontend.openvino_import import openvino as ov
from clinfer.ops.operation import Case
from tests.oracle import build_model, parameter_specs

AGAIN = "again"
"""The name of the operation where a chain has it once more."""

HOSTS = ("eltwise", "convolution", "deconvolution", "matmul", "mvn", "group_norm", "reduce", "convert", "pooling",
         "softmax", "normalize_l2", "transpose", "broadcast", "gather", "interpolate")
_FLOATS = ("f32", "f16", "bf16")
_BOOLEAN = ("Equal", "NotEqual", "Less", "LessEqual", "Greater", "GreaterEqual", "IsNaN", "IsFinite", "IsInf")

op = ov.opset13
Value = ov.Output


def float_rows(cases: Iterable[Case]) -> list[Case]:
    """The rows that take and give floats, and conversions to them; indices are what they are."""
    return [case for case in cases if case.op not in _BOOLEAN and (
        case.attributes["destination_type"] in _FLOATS if "destination_type" in case.attributes
        else all(kind in _FLOATS for _, kind in _data(case)))]


def _data(case: Case) -> list[tuple[tuple[int, ...], str]]:
    """The shapes and types of a row's inputs, without indices."""
    given = parameter_specs(case)
    return given[:1] if case.op.startswith("Gather") else given


def fused_model(seed: str, case: Case, dynamic: bool) -> ov.Model:
    """The model of a row with a chain behind its operation, which keeps its name; equal seeds give equal models."""
    model = build_model(case, dynamic)
    node = model.output(0).get_node().input_value(0).get_node()
    chain = _Chain(case, node, f"{seed}{case.name}").grow()
    return ov.Model([ov.op.Result(chain.output(0))], model.get_parameters(), "with_epilogue")


class _Chain:
    """Grows a chain behind a node; equal seeds grow equal chains."""

    def __init__(self, case: Case, node: ov.Node, seed: str) -> None:
        self._case = case
        self._chance = random.Random(seed)
        self._numbers = np.random.default_rng(self._chance.getrandbits(32))
        self._node = node
        self._again: ov.Node | None = None
        self._shape = node.output(0).get_partial_shape()
        self._kind = node.output(0).get_element_type()

    def grow(self) -> ov.Node:
        """The chain begins with an operation that only the node itself can take.

        OpenVINO moves operations on one tensor before a Gather, although the zeros that stand for what lies outside
        need not stay zeros then; it moves none behind a square.
        """
        value = self._chance.choice([op.relu, op.hswish, self._gelu, self._clamp])(self._node.output(0)).output(0)
        if self._case.op.startswith("Gather"):
            value = op.multiply(value, value).output(0)
        for step in self._chance.choices(self._steps(), k=self._chance.randint(0, 4)):
            value = step(value).output(0)
        return value.get_node()

    def _steps(self) -> list[Callable[[Value], ov.Node]]:
        return [op.relu, op.sigmoid, op.hswish, op.abs, op.softsign, self._gelu, self._clamp, self._add_number,
                self._multiply_part, self._multiply_part, self._subtract_from_part, self._prelu, self._add_other,
                self._add_other, lambda value: op.multiply(value, value), self._divide]

    def _constant(self, shape: list[int], low: float = -1.5, high: float = 1.5) -> ov.Node:
        return op.constant(self._numbers.uniform(low, high, shape).astype(np.float32), self._kind)

    def _part_shape(self) -> list[int]:
        """A shape that stretches to the result: some of its static sizes, 1 elsewhere, sometimes of fewer axes."""
        sizes = [size.get_length() if size.is_static and self._chance.random() < 0.5 else 1 for size in self._shape]
        return sizes[self._chance.randint(0, len(sizes)):] if self._chance.random() < 0.3 else sizes

    def _add_number(self, value: Value) -> ov.Node:
        return op.add(self._constant([]), value)

    def _multiply_part(self, value: Value) -> ov.Node:
        return op.multiply(value, self._constant(self._part_shape()))

    def _subtract_from_part(self, value: Value) -> ov.Node:
        return op.subtract(self._constant(self._part_shape()), value)

    def _divide(self, value: Value) -> ov.Node:
        return op.divide(value, self._constant(self._part_shape(), 0.5, 2.0))

    def _prelu(self, value: Value) -> ov.Node:
        return op.prelu(value, self._constant([1]))

    def _clamp(self, value: Value) -> ov.Node:
        return op.clamp(value, -0.75, 1.25)

    def _gelu(self, value: Value) -> ov.Node:
        """GELU; in f16 of nothing below -2, where it is right to the digits of what it takes, and that is larger."""
        if self._kind == ov.Type.f16:
            value = op.clamp(value, -2.0, 60000.0).output(0)
        return op.gelu(value, self._chance.choice(["tanh", "erf"]))

    def _add_other(self, value: Value) -> ov.Node:
        """A second tensor of the same shape: the operation once more, named AGAIN, times a number."""
        from openvino.utils.node_factory import NodeFactory
        if self._again is None:
            read = [self._node.input_value(i) for i in range(self._node.get_input_size())]
            self._again = NodeFactory(self._case.opset).create(self._case.op, read, dict(self._case.attributes))
            self._again.set_friendly_name(AGAIN)
        return op.add(value, op.multiply(self._again.output(0), self._constant([])))
