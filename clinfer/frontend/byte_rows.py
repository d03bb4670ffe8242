"""Operations that keep rows of floats as bytes (`base/byte_rows.py`), which OpenVINO does not have."""
from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from clinfer.base.byte_rows import TAIL
from clinfer.frontend.openvino_import import openvino as ov

_TYPES = ("QuantiseRows", "DequantiseRows")


class _OnRows(ov.Op):
    """One of `_TYPES`: makes elements of type `kind`, in rows of a known size that have `more` elements than before."""

    def __init__(self, inputs: list[ov.Output], kind: str, more: int) -> None:
        super().__init__(self)
        self._kind, self._more = kind, more
        self.set_arguments(inputs)
        self.constructor_validate_and_infer_types()

    def validate_and_infer_types(self) -> None:
        """The type, and the input's shape with the last size changed."""
        *rows, size = self.get_input_partial_shape(0)
        self.set_output_type(0, getattr(ov.Type, self._kind), ov.PartialShape(
            [*rows, ov.Dimension(size.get_length() + self._more)]))

    def evaluate(self, outputs: list[ov.Tensor], inputs: list[ov.Tensor]) -> bool:
        """Never on the host."""
        return False

    def get_attributes(self) -> dict[str, Any]:
        """What the converter reads."""
        return {"destination_type": self._kind}

    def clone_with_new_inputs(self, new_inputs: list[ov.Output]) -> _OnRows:
        """The same of other rows."""
        return type(self)(new_inputs, self._kind, self._more)


class QuantiseRows(_OnRows):
    """Floats [..., E] as rows of bytes [..., E + TAIL]."""


class DequantiseRows(_OnRows):
    """The reverse."""


def quantised(port: ov.Output) -> ov.Node:
    """Floats as rows of bytes."""
    return QuantiseRows([port], "u8", TAIL)


def dequantised(port: ov.Output, kind: str) -> ov.Node:
    """Rows of bytes as floats of that type."""
    return DequantiseRows([port], kind, -TAIL)


def float_sizes(rows: ov.Output, kind: str) -> ov.Node:
    """The shape of the floats that rows of bytes are, of that type."""
    op, (*outer, size) = ov.opset13, rows.get_partial_shape()
    sizes = op.gather(op.shape_of(rows, kind), op.constant(np.arange(len(outer))), op.constant(0))
    return op.concat([sizes, op.convert(op.constant(np.array([size.get_length() - TAIL])), kind)], 0)


@contextmanager
def rows_let_go(model: ov.Model) -> Iterator[None]:
    """Afterwards these operations of a model, which is of no use then, read nothing: OpenVINO keeps an operation that
    is written in Python for ever, and with it all that it reads."""
    try:
        yield
    finally:
        for node in model.get_ops():
            if node.get_type_name() in _TYPES:
                node.set_arguments([])
