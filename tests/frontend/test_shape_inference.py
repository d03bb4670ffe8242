"""Shape rules against operations that OpenVINO makes anew for each set of inputs."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from openvino.utils.node_factory import NodeFactory

from clinfer.base.element_type import ElementType
from clinfer.base.errors import ClinferError
from clinfer.base.shape import ANY, UNBOUNDED, Dim, Shape
from clinfer.frontend.openvino_import import openvino as ov
from clinfer.frontend.shape_inference import OpenVinoShapeInference, OpenVinoShapeRule
from clinfer.symbolic.shape_inference import OpSignature, Values
from tests.frontend.operations import OPERATIONS, Inputs, Operation, Rng

STEPS = 12
F32 = ElementType.of("f32")


def is_value(entry: Any) -> bool:
    return isinstance(entry, (np.ndarray, np.generic))


def type_of(entry: Any) -> ElementType:
    return ElementType.of_numpy(entry.dtype) if is_value(entry) else ElementType.of(entry[0])


def blur(shape: tuple[int, ...], rng: Rng) -> Shape:
    """Some dimensions of a shape made dynamic, with and without bounds."""
    choices = [lambda d: d, lambda d: ANY, lambda d: Dim(max(d - 1, 0), d + 2), lambda d: Dim(d)]
    return tuple(choices[int(rng.integers(4))](d) for d in shape)


def dimension(size: int | Dim) -> ov.Dimension:
    if isinstance(size, int):
        return ov.Dimension(size)
    return ov.Dimension(size.low, -1 if size.high == UNBOUNDED else size.high)


def fresh_node(operation: Operation, inputs: Inputs, shapes: tuple[Shape | None, ...], values: Values) -> ov.Node:
    """The operation made from scratch, with Constants where values are known."""
    sources = []
    for index, entry in enumerate(inputs):
        if index in values:
            sources.append(ov.op.Constant(np.array(values[index])))
        else:
            shape = shapes[index]
            partial = ov.PartialShape.dynamic() if shape is None else ov.PartialShape([dimension(d) for d in shape])
            sources.append(ov.op.Parameter(getattr(ov.Type, type_of(entry).name), partial))
    factory = NodeFactory(operation.opset)
    return factory.create(operation.type_name, [s.output(0) for s in sources], operation.attributes)


def signature_of(node: ov.Node) -> OpSignature:
    """What a primitive would keep of a node."""
    attributes = {name.replace("-", "_"): tuple(value) if isinstance(value, list) else value
                  for name, value in node.get_attributes().items()}
    return OpSignature(node.get_type_name(), node.get_type_info().version_id, tuple(attributes.items()))


def text(shapes: tuple[Shape | None, ...]) -> list[str]:
    return [str(ov.PartialShape.dynamic() if s is None else ov.PartialShape([dimension(d) for d in s]))
            for s in shapes]


def split(inputs: Inputs) -> tuple[tuple[Shape | None, ...], dict[int, np.ndarray]]:
    shapes = tuple(e.shape if is_value(e) else e[1] for e in inputs)
    return shapes, {i: np.asarray(e) for i, e in enumerate(inputs) if is_value(e)}


def check(rule: OpenVinoShapeRule, operation: Operation, inputs: Inputs, shapes: tuple[Shape | None, ...],
          values: Values) -> None:
    node = fresh_node(operation, inputs, shapes, values)
    expected = [str(port.get_partial_shape()) for port in node.outputs()]
    assert text(rule(shapes, values)) == expected, f"{operation} shapes {shapes} values {values}"


def make_rule(operation: Operation, rng: Rng) -> OpenVinoShapeRule:
    inputs = operation.inputs(rng)
    signature = signature_of(fresh_node(operation, inputs, *split(inputs)))
    return OpenVinoShapeInference().rule(signature, tuple(map(type_of, inputs)))


@pytest.mark.parametrize("operation", OPERATIONS, ids=str)
def test_a_rule_follows_a_sequence_of_static_shapes(operation: Operation, rng: Rng) -> None:
    rule = make_rule(operation, rng)
    for _ in range(STEPS):
        inputs = operation.inputs(rng)
        shapes, values = split(inputs)
        check(rule, operation, inputs, shapes, values)
        assert all(isinstance(d, int) for shape in rule(shapes, values) for d in shape or ())


@pytest.mark.parametrize("operation", OPERATIONS, ids=str)
def test_a_rule_follows_a_mixed_sequence(operation: Operation, rng: Rng) -> None:
    """Static, partial and dynamic-rank shapes, known and unknown values, in any order."""
    rule = make_rule(operation, rng)
    for _ in range(STEPS):
        inputs = operation.inputs(rng)
        shapes, values = split(inputs)
        if rng.random() < 0.7:
            shapes = tuple(s if i in values or s is None else blur(s, rng) for i, s in enumerate(shapes))
        if rng.random() < 0.2:
            shapes = tuple(s if i in values else None for i, s in enumerate(shapes))
        values = {i: v for i, v in values.items() if rng.random() < 0.8}
        check(rule, operation, inputs, shapes, values)


def test_rules_of_one_signature_are_isolated() -> None:
    inference = OpenVinoShapeInference()
    first, second = (inference.rule(OpSignature("Relu", "opset1"), (F32,)) for _ in range(2))
    assert first(((1, 2),), {}) == ((1, 2),)
    assert second(((3, 4),), {}) == ((3, 4),)
    assert first(((1, 2),), {}) == ((1, 2),)


def test_values_are_read_at_the_call(rng: Rng) -> None:
    """The caller's array may change afterwards, and a changed one is seen."""
    rule = OpenVinoShapeInference().rule(OpSignature("Reshape", "opset1", (("special_zero", False),)),
                                         (F32, ElementType.of("i64")))
    pattern = np.array([-1, int(rng.integers(1, 5))])
    shape = (6, int(pattern[1]))
    assert rule((shape, (2,)), {1: pattern}) == ((6, pattern[1]),)
    pattern[:] = 1, -1
    assert rule((shape, (2,)), {1: pattern}) == ((1, 6 * shape[1]),)


@pytest.mark.parametrize("kind", ["f16", "bf16", "f64", "i32"])
def test_values_of_every_type(kind: str, rng: Rng) -> None:
    element_type = ElementType.of(kind)
    rule = OpenVinoShapeInference().rule(OpSignature("Range", "opset4", (("output_type", element_type),)),
                                         (element_type,) * 3)
    for stop in rng.integers(1, 30, 5):
        values = {i: np.array(v, element_type.numpy) for i, v in enumerate((0, stop, 1))}
        assert rule(((), (), ()), values) == ((stop,),)


def test_a_refused_shape_is_an_error_with_the_values(rng: Rng) -> None:
    rule = OpenVinoShapeInference().rule(OpSignature("Reshape", "opset1", (("special_zero", True),)),
                                         (F32, ElementType.of("i64")))
    good = ((2, 3), (1,)), {1: np.array([6])}
    assert rule(*good) == ((6,),)
    with pytest.raises(ClinferError, match=r"Reshape cannot take these inputs") as caught:
        rule(((2, 3), (2,)), {1: np.array([4, 5])})
    assert caught.value.values["shapes"] == "[2,3], [2]"
    assert caught.value.values["value of input 1"] == "[4 5]"
    assert "[4,5]" in str(caught.value.values["OpenVINO says"])
    assert "src/core" not in str(caught.value)
    assert rule(*good) == ((6,),)


@pytest.mark.parametrize(("signature", "message"), [
    (OpSignature("Reluu", "opset1"), "Reluu cannot take these inputs"),
    (OpSignature("Relu", "opset999"), "Relu cannot take these inputs"),
    (OpSignature("Softmax", "opset8", (("axes", 1),)), "Softmax of opset8 has no attribute axes"),
])
def test_an_impossible_signature_is_an_error(signature: OpSignature, message: str) -> None:
    with pytest.raises(ClinferError, match=message):
        OpenVinoShapeInference().rule(signature, (F32,))(((1, 2),), {})


@pytest.mark.parametrize("type_name", ["Softmax", "MatMul", "Concat", "ReduceMean"])
def test_a_rule_follows_changing_ranks(type_name: str, rng: Rng) -> None:
    attributes = {"Softmax": {"axis": -1}, "MatMul": {"transpose_a": False, "transpose_b": True},
                  "Concat": {"axis": -2}, "ReduceMean": {"keep_dims": False}}[type_name]
    operation = Operation(type_name, lambda r: [], attributes)
    rule = None
    for _ in range(STEPS):
        tensor = ("f32", tuple(int(d) for d in rng.integers(1, 6, int(rng.integers(2, 6)))))
        inputs: Inputs = {"Softmax": [tensor], "ReduceMean": [tensor, np.array([-1])]}.get(type_name, [tensor] * 2)
        shapes, values = split(inputs)
        if rule is None:
            signature = signature_of(fresh_node(operation, inputs, shapes, values))
            rule = OpenVinoShapeInference().rule(signature, tuple(map(type_of, inputs)))
        check(rule, operation, inputs, shapes, values)
