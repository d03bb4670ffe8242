"""Where a primitive gives the shapes of its outputs by arithmetic, OpenVINO gives the same."""
from __future__ import annotations

import numpy as np
import pytest

from clinfer.base.errors import ClinferError
from clinfer.base.shape import StaticShape
from clinfer.base.shape_inference import ShapeRule
from clinfer.frontend.reader import to_topology
from clinfer.frontend.shape_inference import OpenVinoShapeInference
from clinfer.ops import OPERATIONS
from clinfer.ops.operation import Case
from clinfer.topology import Constant, Input, Primitive
from tests.ops.test_cases import ROWS
from tests.oracle import build_model

ROUNDS = 25

Operand = Input | Constant


def _has_rule(primitive: type[Primitive]) -> bool:
    return primitive.static_shapes is not Primitive.static_shapes


OPS_WITH_RULES = {op.name for op in OPERATIONS if any(map(_has_rule, op.kernels))}


def _operands(case: Case) -> tuple[Primitive, list[Operand]]:
    """The primitive of a row, and the inputs and constants that it reads."""
    primitives = {primitive.id: primitive for primitive in to_topology(build_model(case, False)).topology}
    operands = [primitives[port.primitive] for port in primitives["node"].inputs]
    return primitives["node"], [x for x in operands if isinstance(x, (Input, Constant))]


def _shape(operand: Operand) -> StaticShape:
    return operand.value.shape if isinstance(operand, Constant) else operand.shape  # type: ignore[return-value]


def _varied(shapes: list[StaticShape], rng: np.random.Generator) -> list[StaticShape]:
    """Some sizes changed, now and then in the same way where they are the same."""
    sizes = {size for shape in shapes for size in shape}
    alike = {size: int(rng.choice([size, size, rng.integers(0, 13), 2 * size])) for size in sizes}
    return [tuple(alike[size] if rng.random() < 0.8 else int(rng.integers(0, 5)) for size in shape)
            for shape in shapes]


def _by_rule(rule: ShapeRule, shapes: tuple[StaticShape, ...], values: dict[int, np.ndarray]) -> object:
    try:
        return rule(shapes, values)
    except ClinferError:
        return "refused"


@pytest.mark.parametrize(("op", "case"), [row for row in ROWS if row[0] in OPS_WITH_RULES],
                         ids=lambda x: x.name if isinstance(x, Case) else str(x))
def test_static_shapes(op: str, case: Case, rng: np.random.Generator) -> None:
    primitive, operands = _operands(case)
    signature = primitive.signature()
    if not _has_rule(type(primitive)) or signature is None or len(operands) != len(primitive.inputs):
        pytest.skip("nothing to compare")
    rule = OpenVinoShapeInference().rule(signature, tuple(x.element_type for x in operands))
    values = {i: operands[i].value for i in primitive.value_inputs if isinstance(operands[i], Constant)}
    base = [_shape(operand) for operand in operands]
    if len(values) < len(primitive.value_inputs):
        pytest.skip("values of its inputs are not constant")
    for number in range(ROUNDS):
        others = base if number == 0 else _varied(base, rng)
        varied = [new if isinstance(x, Input) else old for x, old, new in zip(operands, base, others, strict=True)]
        found = primitive.static_shapes(tuple(varied), values)
        assert found is None or found == _by_rule(rule, tuple(varied), values), varied
