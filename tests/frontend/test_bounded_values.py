"""What is computed of bounded sizes stays computed: OpenVINO takes it for a constant where both bounds give the same.

Each operation on a size between two bounds picks rows of a table, for every size, node by node.
"""
from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from openvino import opset13 as op
from openvino._offline_transformations import apply_moc_transformations
from openvino.utils.node_factory import NodeFactory

from clinfer.frontend.openvino_import import openvino as ov
from clinfer.frontend.transformations import prepare
from tests.frontend.models import parameter
from tests.node_by_node import NodeByNode

BOUNDS = ((0, 5), (1, 5))
OTHERS = (4, -4, 5)
ONE = ("Abs", "Negative", "Sign", "Relu", "BitwiseNot")
TWO = ("Add", "Subtract", "Multiply", "Divide", "FloorMod", "Mod", "Power", "Maximum", "Minimum", "SquaredDifference",
       "Equal", "NotEqual", "Greater", "Less", "GreaterEqual", "LessEqual", "BitwiseAnd", "BitwiseOr", "BitwiseXor")
REDUCTIONS = ("ReduceProd", "ReduceSum", "ReduceMax", "ReduceMin", "ReduceMean", "ReduceL1")
MISJUDGED = {"Abs", "FloorMod", "Power", "boolean"}
TABLE = np.arange(-1000, 3000).astype(np.float32)
Build = Callable[[ov.Node], ov.Node]
create = NodeFactory("opset13").create


def built() -> dict[str, list[Build]]:
    """Of a vector of one integer, by the operation."""
    def with_number(kind: str, number: int, is_first: bool) -> Build:
        def build(n: ov.Node) -> ov.Node:
            both = [n.output(0), op.constant(np.int64([number])).output(0)]
            return create(kind, both if is_first else both[::-1], {})
        return build

    def reduced(kind: str) -> Build:
        return lambda n: create(kind, [op.concat([n, n], 0).output(0), op.constant(np.int64([0])).output(0)],
                                {"keep_dims": True})
    rows: dict[str, list[Build]] = {kind: [lambda n, kind=kind: create(kind, [n.output(0)], {})] for kind in ONE}
    rows |= {kind: [with_number(kind, number, is_first) for number in OTHERS for is_first in (True, False)]
             for kind in TWO}
    rows |= {kind: [reduced(kind)] for kind in REDUCTIONS}
    rows["boolean"] = [lambda n: op.convert(n, "boolean")]
    rows["square"] = [lambda n: op.multiply(n, n)]
    rows["i8"] = [lambda n: op.convert(op.multiply(n, np.int64(60)), "i8")]
    return rows


def picking(build: Build, low: int, high: int, offset: int) -> ov.Model:
    x = parameter("x", [-1])
    size = op.gather(op.shape_of(x), np.array([0]), np.array(0))
    bounded = op.add(op.minimum(op.maximum(size, np.int64(low)), np.int64(high)), np.int64(offset))
    row = op.add(op.convert(build(bounded), "i64"), np.int64(1000))
    return ov.Model([op.result(op.gather(op.constant(TABLE), row, np.array(0)))], [x])


def wrong_sizes(model: ov.Model, transformed: ov.Model, low: int, high: int) -> list[int]:
    found = []
    for size in range(low, high + 1):
        array = np.zeros(size, np.float32)
        with np.errstate(all="ignore"):
            wanted, = NodeByNode(model)([array])
            if not np.array_equal(NodeByNode(transformed)([array])[0], wanted):
                found.append(size)
    return found


@pytest.mark.parametrize("kind", built())
def test_values_within_bounds(kind: str) -> None:
    misjudged = False
    for build in built()[kind]:
        for low, high in BOUNDS:
            for offset in (0, -3):
                model, alone = (picking(build, low, high, offset) for _ in range(2))
                try:
                    assert not wrong_sizes(model, prepare(model), low, high), (low, high, offset)
                except ArithmeticError:
                    continue
                if kind in MISJUDGED:
                    apply_moc_transformations(alone, False)
                    misjudged |= bool(wrong_sizes(model, alone, low, high))
    assert misjudged == (kind in MISJUDGED)


@pytest.mark.parametrize("stop", [-2, 0, 3, 100])
@pytest.mark.parametrize("start", [-3, -1, 0, 2])
def test_sizes_of_slices_within_bounds(start: int, stop: int) -> None:
    """Places that the size of a slice decides, along an axis whose size has a limit."""
    x = parameter("x", [(0, 257)])
    cut = op.strided_slice(x, np.int64([start]), np.int64([stop]), np.int64([1]), [0], [0])
    is_one = op.equal(op.shape_of(cut), np.int64([1]))
    prepared = prepare(ov.Model([op.result(op.non_zero(is_one, "i64"))], [x]))
    for size in (0, 1, 2, 3, 4, 5, 101, 102):
        places, = NodeByNode(prepared)([np.zeros(size, np.float32)])
        assert places.shape[1] == (len(range(size)[start:stop]) == 1)
