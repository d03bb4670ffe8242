"""What the reader makes of models, with converters that keep everything they are given."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from openvino import opset13 as op

from clinfer.base.element_type import ALL_TYPES, ElementType
from clinfer.base.errors import ClinferError, UnsupportedError
from clinfer.base.shape import ANY, Dim
from clinfer.frontend.host_operations import OpenVinoFunction, isolated
from clinfer.frontend.openvino_import import openvino as ov
from clinfer.frontend.reader import SourceModel, to_topology
from clinfer.ops.operation import Converter
from clinfer.topology import Constant, Input, Port, Primitive, SourceNode
from tests.frontend.models import Rng, convolution_model, if_model, normal, parameter, result

UNPACKED = [t for t in ALL_TYPES if not t.is_encoded]


@dataclass(frozen=True, eq=False)
class Kept(Primitive):
    """A primitive that remembers the source it was made from."""

    source: SourceNode | None = None

    @property
    def output_count(self) -> int:
        assert self.source is not None
        return len(self.source.output_types)


class KeepAll(dict[str, Converter]):
    """A converter for every type, except those in `missing`; `refused` types raise."""

    def __init__(self, missing: tuple[str, ...] = (), refused: tuple[str, ...] = ()) -> None:
        super().__init__()
        self._missing = missing
        self._refused = refused

    def __contains__(self, kind: object) -> bool:
        return kind not in self._missing

    def __getitem__(self, kind: str) -> Converter:
        return self._refuse if kind in self._refused else self._keep

    @staticmethod
    def _keep(node: SourceNode) -> Primitive:
        return Kept(node.id, node.inputs, origin=node.name, source=node)

    @staticmethod
    def _refuse(node: SourceNode) -> Primitive:
        raise ClinferError("this operation wants something else", values={"attributes": node.attributes})


def read(model: ov.Model, **options: Any) -> SourceModel:
    source = to_topology(model, KeepAll(**options))
    source.topology.check()
    return source


def source_of(model: SourceModel, id: str) -> SourceNode:
    kept = model.topology[id]
    assert isinstance(kept, Kept) and kept.source is not None
    return kept.source


def test_ports_keep_their_order_and_their_names(rng: Rng) -> None:
    b, a = parameter("b", [-1, 4]), parameter("a", [2, 4])
    halves = op.split(op.add(a, b), op.constant(1), 2)
    outputs = [result(halves.output(1), "second"), result(halves.output(0), "first"), op.result(a)]
    model = read(ov.Model(outputs, [b, a]))
    assert model.inputs == ("b", "a")
    assert model.outputs == ("second", "first", "a")
    split = halves.get_friendly_name()
    assert list(model.topology.outputs.values()) == [Port(split, 1), Port(split), Port("a")]


def test_ports_without_tensor_names_have_their_layers_names() -> None:
    x = op.parameter([2], np.float32)
    x.set_friendly_name("entry")
    y = op.relu(x)
    y.set_friendly_name("exit")
    outputs = op.result(y)
    model = ov.Model([outputs], [x])
    outputs.output(0).set_names(set())
    x.output(0).set_names(set())
    source = read(model)
    assert (source.inputs, source.outputs) == (("entry",), ("exit",))


def test_layers_of_one_name_have_ids_of_their_own() -> None:
    x = parameter("x", [2])
    nodes: list[ov.Node] = [x]
    for make in (op.relu, op.tanh, op.exp):
        nodes.append(make(nodes[-1]))
        nodes[-1].set_friendly_name("x")
    model = read(ov.Model([result(nodes[-1], "y")], [x]))
    assert [p.id for p in model.topology] == ["x", "x_2", "x_3", "x_4"]
    assert [p.origin for p in model.topology] == ["x"] * 4
    assert [p.inputs for p in model.topology] == [(), (Port("x"),), (Port("x_2"),), (Port("x_3"),)]


def test_inputs_have_shapes_with_bounds() -> None:
    x = op.parameter(ov.PartialShape([3, ov.Dimension(), ov.Dimension(2, 8), ov.Dimension(4, -1)]), ov.Type.f16)
    y = op.parameter(ov.PartialShape.dynamic(), ov.Type.u8)
    topology = read(ov.Model([op.result(op.relu(x)), op.result(op.relu(y))], [x, y])).topology
    first, second = topology.inputs
    assert (first.shape, first.element_type.name) == ((3, ANY, Dim(2, 8), Dim(4)), "f16")
    assert (second.shape, second.element_type.name) == (None, "u8")


def test_a_converter_sees_the_whole_operation(rng: Rng) -> None:
    model = convolution_model(rng)
    layer = next(n for n in model.get_ordered_ops() if n.get_type_name() == "Convolution")
    node = source_of(read(model), layer.get_friendly_name())
    assert (node.type_name, node.opset, node.name) == ("Convolution", "opset1", node.id)
    assert node.attributes["strides"] == [1, 1] and node.attributes["auto_pad"] == "explicit"
    assert node.input_shapes == ((ANY, 8, ANY, ANY), (16, 8, 3, 3))
    assert node.output_shapes == ((ANY, 16, Dim(1), Dim(1)),)
    assert [t.name for t in node.input_types + node.output_types] == ["f32"] * 3
    assert list(node.constants) == [1] and 0 not in node.constants


def test_attribute_names_are_identifiers(rng: Rng) -> None:
    x = parameter("x", [1, 2, 8, 8])
    y = op.avg_pool(x, [1, 1], [0, 0], [0, 0], [2, 2], True)
    node = source_of(read(ov.Model([result(y, "y")], [x])), y.get_friendly_name())
    assert node.attributes["exclude_pad"] is True
    assert all(name.isidentifier() for name in node.attributes)


def weights_of(kind: ElementType, rng: Rng) -> np.ndarray:
    if kind.name == "boolean":
        return rng.integers(0, 2, (3, 5)).astype(np.bool_)
    if kind.is_float:
        return rng.normal(0, 9, (3, 5)).astype(np.float32).astype(kind.numpy)
    low, high = (0, 2**kind.bits - 1) if kind.name.startswith("u") else (-2**(kind.bits - 1), 2**(kind.bits - 1) - 1)
    return rng.integers(low, high, (3, 5), kind.numpy, endpoint=True)


def constant_model(values: np.ndarray, kind: ElementType) -> tuple[ov.Model, ov.op.Constant]:
    weights = op.constant(values, getattr(ov.Type, kind.name))
    weights.set_friendly_name("weights")
    x = parameter("x", [3, 5])
    y = op.add(x, op.convert(weights, "f32"))
    return ov.Model([result(y, "y")], [x]), weights


@pytest.mark.parametrize("kind", ALL_TYPES, ids=str)
def test_constants_of_every_type_have_their_values(kind: ElementType, rng: Rng) -> None:
    values = weights_of(kind, rng)
    if kind.is_encoded and kind.is_float:
        values = kind.decode(kind.encode(values.reshape(-1)), 15).reshape(3, 5)
    model, _ = constant_model(values, kind)
    topology = read(model).topology
    constant = topology["weights"]
    assert isinstance(constant, Constant) and constant.element_type == kind
    assert constant.value.dtype == kind.numpy
    np.testing.assert_array_equal(constant.value, values)
    reader = next(p for p in topology if Port("weights") in p.inputs)
    assert isinstance(reader, Kept) and reader.source is not None
    np.testing.assert_array_equal(reader.source.constants[0], values)


@pytest.mark.parametrize("kind", UNPACKED, ids=str)
def test_constants_are_not_copied(kind: ElementType, rng: Rng) -> None:
    model, weights = constant_model(weights_of(kind, rng), kind)
    constant = read(model).topology["weights"]
    assert isinstance(constant, Constant)
    assert np.shares_memory(constant.value, weights.data)


def test_values_outlive_the_model(rng: Rng) -> None:
    values = weights_of(ElementType.of("f32"), rng)
    topology = read(constant_model(values, ElementType.of("f32"))[0]).topology
    constant = topology["weights"]
    assert isinstance(constant, Constant)
    np.testing.assert_array_equal(constant.value, values)


def test_constants_that_nobody_reads_are_left_out(rng: Rng) -> None:
    class Absorb(KeepAll):
        @staticmethod
        def _keep(node: SourceNode) -> Primitive:
            return Kept(node.id, node.inputs[:1], source=node)

    topology = to_topology(convolution_model(rng), Absorb()).topology
    topology.check()
    assert not any(isinstance(p, Constant) for p in topology)


def test_a_constant_may_be_an_output(rng: Rng) -> None:
    x, value = parameter("x", [2]), op.constant(normal(rng, 3))
    model = read(ov.Model([result(op.relu(x), "y"), result(value, "z")], [x]))
    port = model.topology.outputs[model.outputs[1]]
    assert isinstance(model.topology[port.primitive], Constant)


def test_a_converter_may_return_several_primitives(rng: Rng) -> None:
    class Pairs(KeepAll):
        @staticmethod
        def _keep(node: SourceNode) -> Any:
            first = Kept(f"{node.id}/count", node.inputs, source=node)
            return first, Kept(node.id, (*node.inputs, first.id), source=node)

    x = parameter("x", [2])
    y = op.relu(x)
    topology = to_topology(ov.Model([result(y, "y")], [x]), Pairs()).topology
    topology.check()
    assert [p.id for p in topology] == ["x", f"{y.get_friendly_name()}/count", y.get_friendly_name()]


def test_bodies_say_what_they_read_and_give(rng: Rng) -> None:
    model = read(if_model(rng))
    node = source_of(model, "choice")
    assert node.inputs[0] == Port("condition") and set(node.inputs) == {Port("condition"), Port("a"), Port("b")}
    assert [Port("choice", 1), Port("choice")] == list(model.topology.outputs.values())
    then_body, else_body = node.bodies
    for body, scale in ((then_body, 2.0), (else_body, -3.0)):
        body.topology.check()
        kinds = {p.source.type_name: p for p in body.topology if isinstance(p, Kept) and p.source is not None}
        read_by = {kind: node.inputs[body.inputs[_input_behind(body.topology, kinds[kind])]]
                   for kind in ("MatMul", "Relu")}
        assert read_by == {"MatMul": Port("a"), "Relu": Port("b")}
        assert [body.topology.outputs[name].primitive for name in body.outputs] == \
            [kinds["Multiply"].id, kinds["Relu"].id]
        scales = [p.value.item() for p in body.topology if isinstance(p, Constant) and p.value.size == 1]
        assert scales == [scale]


def _input_behind(topology: Any, primitive: Primitive) -> str:
    found = topology[primitive.inputs[0].primitive]
    assert isinstance(found, Input)
    return found.id


def test_all_unsupported_operations_are_named_at_once(rng: Rng) -> None:
    x = parameter("x", [-1, 4])
    y: ov.Node = x
    for index in range(7):
        y = op.hswish(y)
        y.set_friendly_name(f"swish{index}")
    y = op.cum_sum(y, op.constant(0))
    y.set_friendly_name("running total")
    model = ov.Model([result(op.relu(y), "y")], [x], "mixed")
    with pytest.raises(UnsupportedError) as caught:
        read(model, missing=("HSwish", "CumSum"))
    assert caught.value.where == "model 'mixed'"
    assert caught.value.what.endswith("does not support: CumSum (opset3), HSwish (opset4)")
    assert caught.value.values == {
        "CumSum (opset3)": "1 x: running total",
        "HSwish (opset4)": "7 x: swish0, swish1, swish2, swish3, swish4, swish5, swish6"}


def test_unsupported_operations_in_bodies_are_named_too(rng: Rng) -> None:
    with pytest.raises(UnsupportedError) as caught:
        read(if_model(rng), missing=("Relu", "If"))
    assert caught.value.values["If (opset8)"] == "1 x: choice"
    assert str(caught.value.values["Relu (opset1)"]).startswith("2 x: Relu_")


def test_unsupported_operations_in_loops_are_named_too() -> None:
    x = parameter("x", [3, 4])
    inner = op.parameter([1, 4], np.float32)
    body = ov.Model([op.result(op.exp(inner))], [inner], "body")
    loop = op.tensor_iterator()
    loop.set_function(body)
    loop.set_sliced_input(inner, x.output(0), 0, 1, 1, 2, 0)
    y = loop.get_concatenated_slices(body.results[0].output(0), 0, 1, 1, 2, 0)
    with pytest.raises(ClinferError) as caught:
        read(ov.Model([result(y, "y")], [x]), missing=("TensorIterator", "Exp"))
    assert len(caught.value.values) == 2


def test_an_error_of_a_converter_names_the_layer(rng: Rng) -> None:
    with pytest.raises(ClinferError, match="this operation wants something else") as caught:
        read(if_model(rng), refused=("Relu",))
    assert caught.value.where.startswith("body 0 of layer 'choice' (If) > layer 'Relu_")


def test_attributes_that_an_operation_cannot_have_are_errors() -> None:
    """OpenVINO takes them until it computes."""
    x = parameter("x", [2, 4, 6, 6])
    node = op.reorg_yolo(x, [0])
    node.set_friendly_name("reordered")
    with pytest.raises(ClinferError, match=r"ReorgYolo.stride cannot be \(0,\)") as caught:
        to_topology(ov.Model([op.relu(node)], [x]))
    assert caught.value.where == "layer 'reordered' (ReorgYolo)"


def odd_weights(kind: str) -> ov.op.Constant:
    weights = ov.op.Constant(getattr(ov.Type, kind), ov.Shape([8]), [1.0] * 8)
    weights.set_friendly_name("odd weights")
    return weights


@pytest.mark.parametrize("kind", ["f8e8m0", "nf4", "u1"])
def test_weights_of_types_that_nothing_can_hold_are_unpacked(kind: str) -> None:
    x, converted = parameter("x", [8]), op.convert(odd_weights(kind), "bf16")
    converted.set_friendly_name("converted")
    topology = read(ov.Model([result(op.add(x, op.convert(converted, "f32")), "y")], [x])).topology
    constant = next(each for each in topology if isinstance(each, Constant))
    assert (constant.origin, constant.element_type.name) == ("converted", "bf16")
    assert constant.value.tolist() == [1] * 8


@pytest.mark.parametrize("kind", ["f8e8m0", "nf4", "u1"])
def test_types_that_nothing_can_hold_are_errors(kind: str) -> None:
    reshaped = op.reshape(odd_weights(kind), np.array([2, 4]), False)
    reshaped.set_friendly_name("reshaped")
    with pytest.raises(UnsupportedError, match=f"tensors of type {kind}") as caught:
        read(ov.Model([result(op.convert(reshaped, "f32"), "y")], []))
    assert caught.value.where == "layer 'reshaped' (Reshape) > layer 'odd weights' (Constant)"


def test_operations_on_strings_are_errors() -> None:
    x = parameter("text", [1], "string")
    node = op.squeeze(x, np.array([0]))
    node.set_friendly_name("one text")
    with pytest.raises(UnsupportedError, match="devices have no tensors of type string") as caught:
        read(ov.Model([op.result(node)], [x]))
    assert caught.value.where == "layer 'one text' (Squeeze)"


def test_asking_a_host_operation_for_shapes_leaves_it_as_it_is() -> None:
    x = parameter("x", [-1, 2])
    function = OpenVinoFunction(None, isolated(op.exp(x)))
    for rows in (3, 4):
        assert function.output_shapes(((rows, 2),)) == ((rows, 2),)
    assert function.model.outputs[0].get_partial_shape() == ov.PartialShape([-1, 2])
    assert function.start()((np.zeros((5, 2), np.float32),))[0].tolist() == [[1, 1]] * 5
