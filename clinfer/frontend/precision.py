"""From f32 to f16 or bf16 inside a model: every f32 tensor, unless shapes or the range of f16 forbid it, or bf16 gains
nothing."""
from __future__ import annotations

import numpy as np

from clinfer.base.element_type import ElementType
from clinfer.frontend.conversions import bodies_of, identity_of, is_constant
from clinfer.frontend.openvino_import import openvino as ov
from clinfer.frontend.precise_nodes import exact_inputs, find_precise
from clinfer.frontend.products import find_behind_products, is_quantised
from clinfer.ops import CONVERTERS

_F32 = ov.Type.f32
_RANGE = {"f16": (65504.0, 2.0**-24), "bf16": (2.0**128 - 2.0**120, 2.0**-126)}
"""The largest finite number of a narrow type, and the smallest that arithmetic tells from 0."""

# Attributes that say the type of an output.
_TYPE_ATTRIBUTES = ("destination_type", "output_type")

_LOOPS = ("Loop", "TensorIterator")
_PINNED = ("If", *_LOOPS)
"""The inputs and outputs of bodies keep their types."""


def narrow_floats(model: ov.Model, name: str, repeats: bool = False) -> None:
    """Compute in f16 or bf16, by `name`, what the model computes in f32; the types of Parameters and Results stay.
    `repeats`: the model is a loop's body.

    Converts stand where a tensor goes from one type to the other, one per tensor. What `find_precise`
    finds stays f32, and so does a node that OpenVINO refuses with such inputs. With bf16 quantised models stay f32, and
    what `find_behind_products` finds.
    """
    if name != "bf16" or not is_quantised(model.get_ordered_ops()):
        _Narrowing(model, name, repeats).run()


class _Narrowing:
    def __init__(self, model: ov.Model, name: str, repeats: bool) -> None:
        self._name, self._narrow_type = name, getattr(ov.Type, name)
        self._nodes = model.get_ordered_ops()
        self._kept = {node.get_instance_id() for node in self._nodes if _is_pinned(node)}
        if name == "bf16":
            self._kept |= find_behind_products(self._nodes, self._kept, repeats)
        self._kept |= find_precise(self._nodes)
        self._original = {identity_of(port): port.get_element_type() for node in self._nodes
                          for port in node.outputs()}
        self._twins: dict[tuple[int, int], ov.Output] = {}

    def run(self) -> None:
        for node in self._nodes:
            for body in bodies_of(node):
                narrow_floats(body, self._name, repeats=node.get_type_name() in _LOOPS)
            if node.get_instance_id() in self._kept or not self._narrow(node):
                self._restore(node)

    def _narrow(self, node: ov.Node) -> bool:
        """Let a node compute in the narrow type; False, and nothing changed, if OpenVINO does not allow it.

        A Convert from that type stays for those who want f32, the others read what it reads.
        """
        if node.get_type_name() == "Convert" and node.get_input_element_type(0) == self._narrow_type \
                and node.get_output_element_type(0) == _F32:
            self._twins[identity_of(node.output(0))] = node.input_value(0)
            return True
        before = node.input_values()
        attributes = node.get_attributes()
        typed = [name for name in _TYPE_ATTRIBUTES if attributes.get(name) == "f32"]
        exact = exact_inputs(node)
        try:
            for index, source in enumerate(before):
                if index in exact:
                    self._restore_input(node, index)
                elif source.get_element_type() == _F32:
                    node.input(index).replace_source_output(self._twin(source, self._narrow_type))
            for name in typed:
                node.set_attribute(name, self._name)
            node.validate_and_infer_types()
        except RuntimeError:
            for port, source in zip(node.inputs(), before, strict=True):
                port.replace_source_output(source)
            for name in typed:
                node.set_attribute(name, "f32")
            return False
        return True

    def _restore(self, node: ov.Node) -> None:
        """Give a node inputs of the types that it had; who reads a shape alone may have any."""
        if node.get_type_name() != "ShapeOf":
            for index in range(node.get_input_size()):
                self._restore_input(node, index)
        node.validate_and_infer_types()

    def _restore_input(self, node: ov.Node, index: int) -> None:
        source = node.input_value(index)
        original = self._original[identity_of(source)]
        if source.get_element_type() != original:
            node.input(index).replace_source_output(self._twin(source, original))

    def _twin(self, port: ov.Output, kind: ov.Type) -> ov.Output:
        """The same tensor in the other type."""
        key = identity_of(port)
        if key not in self._twins:
            constant = port.get_node() if is_constant(port.get_node()) else None
            twin = _convert(port, kind) if constant is None else _narrow_constant(constant, self._name)
            twin.set_friendly_name(f"{port.get_node().get_friendly_name()}/{kind.get_type_name()}")
            self._twins[key] = twin.output(0)
        return self._twins[key]


def _is_pinned(node: ov.Node) -> bool:
    """Whether a node keeps its types: those with bodies do, and what has no converter: Parameters and Results, which
    belong to the user, Constants, which narrow by themselves where they are read, and what runs on the host."""
    return node.get_type_name() in _PINNED or node.get_type_name() not in CONVERTERS


def _convert(port: ov.Output, kind: ov.Type) -> ov.Node:
    from openvino import opset1
    return opset1.convert(port, kind.get_type_name())


def _narrow_constant(node: ov.op.Constant, name: str) -> ov.Node:
    """The constant in the narrow type: what is finite stays finite, and a scalar that is not zero stays so."""
    values = np.asarray(node.data)
    largest, smallest = _RANGE[name]
    if values.size and not -largest <= values.min() <= values.max() <= largest:
        values = np.where(np.isfinite(values), np.clip(values, -largest, largest), values)
    if values.size == 1 and values.any():
        values = np.copysign(np.maximum(np.abs(values), np.float32(smallest)), values)
    units = ElementType.of(name).encode(values.reshape(-1))
    return ov.op.Constant(ov.Tensor(units, ov.Shape(values.shape), getattr(ov.Type, name)), shared_memory=False)
