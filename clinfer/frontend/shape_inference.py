"""Shape rules by OpenVINO: each is one isolated operation between Parameters and Constants."""
from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from clinfer.base.element_type import ElementType
from clinfer.base.errors import ClinferError
from clinfer.base.shape import Shape, show
from clinfer.frontend.conversions import OPENVINO_ERRORS, ov_type, partial_shape_of, reason_of, shape_of
from clinfer.frontend.named_shapes import Symbols
from clinfer.frontend.openvino_import import openvino as ov
from clinfer.symbolic.dimensions import NamedDim
from clinfer.symbolic.shape_inference import OpSignature, Values

# Attributes whose OpenVINO names are no Python identifiers.
_SPELLINGS = {"exclude_pad": "exclude-pad"}


class OpenVinoShapeInference:
    """Shape rules of every operation that OpenVINO's node factory can make."""

    def rule(self, signature: OpSignature, input_types: tuple[ElementType, ...]) -> OpenVinoShapeRule:
        """The rule of an operation with inputs of these types; it is made on its first call."""
        return OpenVinoShapeRule(signature, input_types)


class OpenVinoShapeRule:
    """An operation that is validated again for each new set of input shapes and known values.

    Calls with the ranks of the call before change the operation's inputs in place; others make it
    anew, and so do those with names. Errors: ClinferError with the shapes and values if OpenVINO refuses them.
    """

    def __init__(self, signature: OpSignature, input_types: tuple[ElementType, ...]) -> None:
        self._signature = signature
        self._types = input_types
        self._inputs: list[_ShapeInput | _ValueInput] = []
        self._node: ov.Node | None = None
        self._outputs = range(0)

    def __call__(self, shapes: tuple[Shape | None, ...], values: Values) -> tuple[Shape | None, ...]:
        """Output shapes for input shapes; `values` replaces the shapes of the inputs that it has."""
        try:
            if any(isinstance(size, NamedDim) for shape in shapes for size in shape or ()):
                return self._named(shapes, values)
            node = self._validated(shapes, values)
        except OPENVINO_ERRORS as error:
            raise self._error(error, shapes, values) from None
        return tuple([shape_of(node.get_output_partial_shape(i)) for i in self._outputs])

    def _named(self, shapes: Sequence[Shape | None], values: Values) -> tuple[Shape | None, ...]:
        symbols = Symbols()
        # They own the memory of the constants.
        known = {i: _ValueInput(values[i], kind) for i, kind in enumerate(self._types) if i in values}
        inputs = [known[i].node if i in known
                  else ov.op.Parameter(ov_type(kind.computed), symbols.partial_shape_of(shape))
                  for i, (shape, kind) in enumerate(zip(shapes, self._types, strict=True))]
        made = _create(self._signature, [node.output(0) for node in inputs])
        return tuple(symbols.shape_of(made.get_output_partial_shape(i)) for i in range(made.get_output_size()))

    def _validated(self, shapes: Sequence[Shape | None], values: Values) -> ov.Node:
        # There is no operation while it is changed, so that an interrupt leaves none that is half changed.
        node, self._node = self._node, None
        if node is not None and len(shapes) == len(self._inputs):
            for index, shown in enumerate(self._inputs):
                if not shown.update(shapes[index], values.get(index)):
                    break
            else:
                node.validate_and_infer_types()
                self._node = node
                return node
        self._inputs = [_ValueInput(values[i], kind) if i in values else _ShapeInput(shape, kind)
                        for i, (shape, kind) in enumerate(zip(shapes, self._types, strict=True))]
        node = _create(self._signature, [shown.node.output(0) for shown in self._inputs])
        self._outputs = range(node.get_output_size())
        self._node = node
        return node

    def _error(self, error: Exception, shapes: Sequence[Shape | None], values: Values) -> ClinferError:
        if isinstance(error, ClinferError):
            return error
        known = {f"value of input {i}": np.array2string(np.asarray(v), threshold=20) for i, v in values.items()}
        return ClinferError(
            f"{self._signature.type_name} cannot take these inputs", where="shape inference",
            values={"shapes": ", ".join(map(show, shapes)), "types": ", ".join(map(str, self._types)), **known,
                    "attributes": dict(self._signature.attributes), "OpenVINO says": reason_of(error)})


class _ShapeInput:
    """An input of which only the shape is known."""

    def __init__(self, shape: Shape | None, kind: ElementType) -> None:
        self._shape = shape
        self.node = ov.op.Parameter(ov_type(kind.computed), partial_shape_of(shape))

    def update(self, shape: Shape | None, value: np.ndarray | None) -> bool:
        """Take another shape; False if that needs another operation."""
        if value is not None:
            return False
        if shape == self._shape:
            return True
        if shape is None or self._shape is None or len(shape) != len(self._shape):
            return False
        self.node.set_partial_shape(partial_shape_of(shape))
        self.node.validate_and_infer_types()
        self._shape = shape
        return True


class _ValueInput:
    """An input with a known value: a Constant on memory that is overwritten in place."""

    def __init__(self, value: np.ndarray, kind: ElementType) -> None:
        array = np.asarray(value)
        self._kind = kind
        self._shape = array.shape
        self._memory = kind.encode(array.reshape(-1)).copy()
        tensor = ov.Tensor(self._memory, ov.Shape(array.shape), ov_type(kind))
        self.node = ov.op.Constant(tensor, shared_memory=True)

    def update(self, shape: Shape | None, value: np.ndarray | None) -> bool:
        """Take another value; False if that needs another operation."""
        if value is None or value.shape != self._shape:
            return False
        self._memory[:] = self._kind.encode(value.reshape(-1))
        return True


@cache
def _factory(opset: str) -> Any:
    from openvino.utils.node_factory import NodeFactory
    return NodeFactory(opset)


def _create(signature: OpSignature, inputs: list[ov.Output]) -> ov.Node:
    attributes = {_SPELLINGS.get(name, name): _plain(value) for name, value in signature.attributes
                  if value is not None}
    node = _factory(signature.opset).create(signature.type_name, inputs, attributes)
    # The factory passes over names that the operation does not have.
    unknown = sorted(set(attributes) - set(node.get_attributes()))
    if unknown:
        raise ClinferError(f"{signature.type_name} of {signature.opset} has no attribute {', '.join(unknown)}",
                           where="shape inference", values={"attributes": ", ".join(node.get_attributes())},
                           hint="name such fields in the primitive's `own_fields`")
    return node


def _plain(value: Any) -> Any:
    """An attribute as the node factory takes it."""
    if isinstance(value, ElementType):
        return value.name
    if isinstance(value, np.generic):
        return value.item()
    return [_plain(item) for item in value] if isinstance(value, (tuple, list, np.ndarray)) else value
