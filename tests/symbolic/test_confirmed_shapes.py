"""What is told of open sizes, before any is known, admits what shape rules give for sizes."""
from __future__ import annotations

import itertools
from collections.abc import Iterable

import numpy as np
import pytest
from openvino import opset13 as ops

from clinfer.base.element_type import ElementType
from clinfer.base.errors import ClinferError
from clinfer.base.shape import ANY, Dim, Shape, StaticShape, admits, is_static, show
from clinfer.frontend.reader import to_topology
from clinfer.frontend.shape_inference import OpenVinoShapeInference
from clinfer.ops import all_operations
from clinfer.runtime.engine import Engine
from clinfer.symbolic.confirmed_shapes import confirmed
from clinfer.symbolic.shape_inference import OpSignature, ShapeRule, Values
from clinfer.topology import Constant, Input
from clinfer.topology.shape_rules import signature_of
from tests.network.running import check, network_of
from tests.ops.test_cases import ROWS
from tests.oracle import CpuPlugin, build_model, ov

BOUNDS = (ANY, Dim(0, 2**31 - 1), Dim(1), Dim(0, 2), Dim(0, 50), Dim(2, 2**40))
PLACES = (-2**31, -100, -3, -1, 0, 2, 40, 100000, 2**31 - 1)


def _check(rule: ShapeRule, shapes: tuple[Shape, ...], statics: Iterable[tuple[StaticShape, ...]],
           values: Values) -> None:
    try:
        told = confirmed(rule, shapes, values, rule(shapes, values))
    except ClinferError:
        return
    for given in statics:
        try:
            found = rule(given, values)
        except ClinferError:
            continue
        for declared, actual in zip(told, found, strict=True):
            if is_static(actual) and declared is not None and len(declared) == len(actual or ()):
                assert admits(declared, actual), (  # type: ignore[arg-type]
                    f"of {' '.join(map(show, shapes))} {show(declared)} is told, {' '.join(map(show, given))} gives "
                    f"{show(actual)}, with {dict(values)}")


@pytest.mark.parametrize("op", [op.name for op in all_operations()])
def test_the_rows_of_operations(op: str, rng: np.random.Generator) -> None:
    for case in [case for name, case in ROWS if name == op]:
        primitives = {primitive.id: primitive for primitive in to_topology(build_model(case, False)).topology}
        primitive = primitives["node"]
        read = [primitives[port.primitive] for port in primitive.inputs]
        operands = [x for x in read if isinstance(x, (Input, Constant))]
        if not primitive.op_type or len(operands) < len(read):
            continue
        values = {i: x.value for i, x in enumerate(operands)
                  if isinstance(x, Constant) and i in primitive.value_inputs}
        rule = OpenVinoShapeInference().rule(signature_of(primitive), tuple(x.element_type for x in operands))
        for bounds in BOUNDS:
            shapes = tuple(tuple(bounds if isinstance(x, Input) and rng.random() < 0.8 else size for size in shape)
                           for x, shape in zip(operands, map(_shape, operands), strict=True))
            _check(rule, shapes, [tuple(_random(shape, rng) for shape in shapes) for _ in range(10)], values)


def _shape(operand: Input | Constant) -> Shape:
    return operand.value.shape if isinstance(operand, Constant) else operand.shape or ()


def _random(shape: Shape, rng: np.random.Generator) -> StaticShape:
    return tuple(int(rng.integers(size.low, min(size.high, 12) + 1)) if isinstance(size, Dim) else size
                 for size in shape)


@pytest.mark.parametrize("bounds", BOUNDS, ids=str)
def test_parts_from_anywhere_to_anywhere(bounds: Dim, rng: np.random.Generator) -> None:
    types = ElementType.of("f32"), *(ElementType.of("i64"),) * 4
    rule = OpenVinoShapeInference().rule(OpSignature("Slice", "opset8"), types)
    for begin, end, step in itertools.product(PLACES, PLACES, (1, 3, -1, -2)):
        values = {i: np.array([number], np.int64) for i, number in enumerate((begin, end, step, 1), 1)}
        sizes = [size for size in (0, 1, 2, 5, 39, 41, 97, *rng.integers(0, 300, 5)) if bounds.admits(int(size))]
        _check(rule, ((3, bounds), *((1,),) * 4), [((3, int(size)), *((1,),) * 4) for size in sizes], values)


def test_a_part_of_a_part_of_open_size(engine: Engine, rng: np.random.Generator) -> None:
    def part(data: ov.Node, *places: int) -> ov.Node:
        return ops.slice(data, *(ops.constant(np.array([place], np.int64)) for place in (*places, 2)))

    x = ops.parameter([-1, -1, -1], np.float32)
    last = part(part(x, -1, 2**31 - 1, 1), -100, 100000, 1)
    few = part(part(x, 0, 2**31 - 1, 1), -3, 100000, 1)
    model = ov.Model([ops.sigmoid(last), ops.add(few, last)], [x])
    network, oracle = network_of(engine, model), CpuPlugin(model)
    for shape in ((2, 5, 7), (1, 3, 2), (4, 1, 200), (2, 5, 7)):
        check(network, oracle, [rng.standard_normal(shape).astype(np.float32)])


def test_what_is_wrong_stays_an_error(engine: Engine) -> None:
    x = ops.parameter([-1, -1, -1], np.float32)
    network = network_of(engine, ov.Model([ops.squeeze(ops.sigmoid(x), np.int64(1))], [x]))
    with pytest.raises(ClinferError, match="Squeeze"):
        check(network, CpuPlugin(ov.Model([x], [x])), [np.ones((2, 3, 4), np.float32)])
