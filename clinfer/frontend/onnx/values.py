"""Results of OpenVINO's operations under Python's operators, in which converters of operators are written."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from clinfer.frontend.openvino_import import openvino as ov

op: Any = ov.opset15
"""The operations that converters are made of."""


class Value:
    """A tensor of a model that is being read. Numbers beside it get its type; shapes broadcast as in NumPy."""

    def __init__(self, port: Any) -> None:
        self.port: ov.Output = port if isinstance(port, ov.Output) else port.output(0)

    # -- what is known ------------------------------------------------------------------------------

    @property
    def type(self) -> str:
        """The name of the type of elements; "dynamic" where it is open."""
        return str(self.port.get_element_type().get_type_name())

    @property
    def is_real(self) -> bool:
        """Whether elements are floats."""
        return bool(self.port.get_element_type().is_real())

    @property
    def bits(self) -> int:
        """The bits of an element."""
        return int(self.port.get_element_type().bitwidth)

    @property
    def is_signed(self) -> bool:
        """Whether elements can be below zero."""
        return bool(self.port.get_element_type().is_signed())

    @property
    def rank(self) -> int:
        """The number of axes. Errors: ValueError where it is open."""
        rank = self.port.get_partial_shape().rank
        if rank.is_dynamic:
            raise ValueError("the number of axes of an input is not known")
        return int(rank.get_length())

    @property
    def has_known_rank(self) -> bool:
        """Whether the number of axes is known."""
        return bool(self.port.get_partial_shape().rank.is_static)

    def has_rank(self, rank: int) -> bool:
        """Whether it is known to have so many axes."""
        return self.has_known_rank and self.rank == rank

    def length(self, axis: int) -> int | None:
        """A size; None where it is open."""
        if self.port.get_partial_shape().rank.is_dynamic:
            return None
        size = self.port.get_partial_shape()[axis % self.rank]
        return None if size.is_dynamic else int(size.get_length())

    def static_length(self, axis: int) -> int:
        """A size. Errors: ValueError where it is open."""
        length = self.length(axis)
        if length is None:
            raise ValueError(f"the size along axis {axis} of an input has to be known when the model is read")
        return length

    def axis(self, axis: int) -> int:
        """An axis counted from the front. Errors: ValueError where there is none."""
        if not -self.rank <= axis < self.rank:
            raise ValueError(f"there is no axis {axis} of {self.rank}")
        return axis % self.rank

    @property
    def constant(self) -> np.ndarray | None:
        """The elements of a constant; None of what is none."""
        node = self.port.get_node()
        return np.array(node.data) if node.get_type_name() == "Constant" else None

    # -- sizes --------------------------------------------------------------------------------------

    def shape(self) -> Value:
        """All sizes, as a vector of i64."""
        return Value(op.shape_of(self.port, "i64"))

    def size(self, axis: int) -> Value:
        """A size, as a vector of one."""
        return self.shape().gather(vector(axis), 0)

    def count(self, axis: int) -> Value:
        """A size, as a scalar."""
        return self.shape().gather(scalar(axis), 0)

    # -- arithmetic ---------------------------------------------------------------------------------

    def constant_like(self, number: float) -> Value:
        """A number of this type, as a scalar."""
        if self.type == "dynamic":
            return Value(op.convert_like(op.constant(np.array(number, np.float64)), self.port))
        if self.type in ("f16", "bf16"):
            return scalar(float(number), "f32").to(self.type)
        return scalar(number, self.type)

    def _with(self, name: str, other: Operand, swapped: bool = False) -> Value:
        right = other if isinstance(other, Value) else self.constant_like(other)
        first, second = (right, self) if swapped else (self, right)
        return Value(getattr(op, name)(first.port, second.port))

    def __add__(self, other: Operand) -> Value:
        return self._with("add", other)

    def __radd__(self, other: Operand) -> Value:
        return self._with("add", other, swapped=True)

    def __sub__(self, other: Operand) -> Value:
        return self._with("subtract", other)

    def __rsub__(self, other: Operand) -> Value:
        return self._with("subtract", other, swapped=True)

    def __mul__(self, other: Operand) -> Value:
        return self._with("multiply", other)

    def __rmul__(self, other: Operand) -> Value:
        return self._with("multiply", other, swapped=True)

    def __truediv__(self, other: Operand) -> Value:
        return self._with("divide", other)

    def __rtruediv__(self, other: Operand) -> Value:
        return self._with("divide", other, swapped=True)

    def __floordiv__(self, other: Operand) -> Value:
        """Rounded down, for whole numbers."""
        return self._with("divide", other)

    def __mod__(self, other: Operand) -> Value:
        return self._with("floor_mod", other)

    def __rpow__(self, other: Operand) -> Value:
        return self._with("power", other, swapped=True)

    def __pow__(self, other: Operand) -> Value:
        return self._with("power", other)

    def __neg__(self) -> Value:
        return Value(op.negative(self.port))

    def __lt__(self, other: Operand) -> Value:
        return self._with("less", other)

    def __le__(self, other: Operand) -> Value:
        return self._with("less_equal", other)

    def __gt__(self, other: Operand) -> Value:
        return self._with("greater", other)

    def __ge__(self, other: Operand) -> Value:
        return self._with("greater_equal", other)

    def equals(self, other: Operand) -> Value:
        """Where two tensors are equal."""
        return self._with("equal", other)

    def __and__(self, other: Value) -> Value:
        return self._with("logical_and", other)

    def __or__(self, other: Value) -> Value:
        return self._with("logical_or", other)

    def __xor__(self, other: Value) -> Value:
        return self._with("logical_xor", other)

    def __invert__(self) -> Value:
        return Value(op.logical_not(self.port))

    def at_least(self, other: Operand) -> Value:
        """The larger of two."""
        return self._with("maximum", other)

    def at_most(self, other: Operand) -> Value:
        """The smaller of two."""
        return self._with("minimum", other)

    def apply(self, name: str) -> Value:
        """A function of one tensor by OpenVINO's name: floor, exp, sigmoid, abs, ..."""
        return Value(getattr(op, name)(self.port))

    def rounded(self) -> Value:
        """Rounded to the nearest whole number, halves to even ones."""
        return Value(op.round(self.port, "half_to_even"))

    def where(self, then: Operand, otherwise: Operand) -> Value:
        """`then` where this is true, else `otherwise`; one of them is a tensor."""
        if isinstance(then, Value):
            other = otherwise if isinstance(otherwise, Value) else then.constant_like(otherwise)
            return Value(op.select(self.port, then.port, other.port))
        assert isinstance(otherwise, Value)
        return Value(op.select(self.port, otherwise.constant_like(then).port, otherwise.port))

    # -- types --------------------------------------------------------------------------------------

    def to(self, name: str) -> Value:
        """Converted to a type by name."""
        return self if self.type == name else Value(op.convert(self.port, name))

    def like(self, other: Value) -> Value:
        """Converted to the type of another tensor."""
        return Value(op.convert_like(self.port, other.port))

    # -- shapes -------------------------------------------------------------------------------------

    def reshape(self, shape: Value | Sequence[int], copies_zeros: bool = False) -> Value:
        """With other sizes; -1 is what remains, 0 the size itself if `copies_zeros`."""
        target = shape if isinstance(shape, Value) else vector(*shape)
        return Value(op.reshape(self.port, target.port, copies_zeros))

    def transpose(self, order: Value | Sequence[int]) -> Value:
        """With the axes in another order."""
        target = order if isinstance(order, Value) else vector(*order)
        return Value(op.transpose(self.port, target.port))

    def unsqueeze(self, *axes: int) -> Value:
        """With new axes of one element."""
        return Value(op.unsqueeze(self.port, vector(*axes).port))

    def squeeze(self, *axes: int) -> Value:
        """Without axes of one element."""
        return Value(op.squeeze(self.port, vector(*axes).port))

    def broadcast(self, shape: Value) -> Value:
        """Stretched to sizes."""
        return Value(op.broadcast(self.port, shape.port))

    def pieces(self, count: int, axis: int) -> list[Value]:
        """Cut into equal parts along an axis."""
        return [Value(port) for port in op.split(self.port, scalar(axis).port, count).outputs()]

    def slice(self, axis: int, start: Value | int, stop: Value | int = 2**31 - 1) -> Value:
        """A part along an axis, to its end by default; places are vectors of one, or numbers."""
        first, last = (place if isinstance(place, Value) else vector(place) for place in (start, stop))
        return Value(op.slice(self.port, first.port, last.port, vector(1).port, vector(axis).port))

    # -- elements -----------------------------------------------------------------------------------

    def gather(self, indices: Value, axis: int, batch_dims: int = 0) -> Value:
        """What stands at indices along an axis."""
        return Value(op.gather(self.port, indices.port, scalar(axis).port, batch_dims))

    def scatter(self, indices: Value, updates: Value, axis: int, reduction: str = "none") -> Value:
        """With elements written to (or added at, for "sum") indices along an axis."""
        return Value(op.scatter_elements_update(self.port, indices.port, updates.port, scalar(axis).port, reduction))

    def matmul(self, other: Value, transpose_b: bool = False) -> Value:
        """A product of matrices."""
        return Value(op.matmul(self.port, other.port, False, transpose_b))

    def sum(self, *axes: int, keep: bool = False) -> Value:
        """The sum along axes."""
        return Value(op.reduce_sum(self.port, vector(*axes).port, keep))

    def max(self, *axes: int, keep: bool = False) -> Value:
        """The largest along axes."""
        return Value(op.reduce_max(self.port, vector(*axes).port, keep))

    def min(self, *axes: int, keep: bool = False) -> Value:
        """The smallest along axes."""
        return Value(op.reduce_min(self.port, vector(*axes).port, keep))

    def prod(self, *axes: int, keep: bool = False) -> Value:
        """The product along axes."""
        return Value(op.reduce_prod(self.port, vector(*axes).port, keep))

    def softmax(self, axis: int) -> Value:
        """Softmax along an axis."""
        return Value(op.softmax(self.port, axis))


Operand: TypeAlias = "Value | float"


def scalar(number: float, kind: str = "i64") -> Value:
    """A number."""
    return Value(op.constant(number, getattr(ov.Type, kind)))


def vector(*numbers: float, kind: str = "i64") -> Value:
    """A vector of numbers."""
    return Value(op.constant(list(numbers), getattr(ov.Type, kind)) if numbers
                 else op.constant(np.zeros(0, np.int64)))


def array(values: np.ndarray) -> Value:
    """A constant."""
    return Value(op.constant(values))


def concat(values: Sequence[Value], axis: int) -> Value:
    """Tensors joined along an axis."""
    return Value(op.concat([value.port for value in values], axis))


def iota(count: Value) -> Value:
    """0, 1, 2 and so on, as many as a scalar says."""
    return Value(op.range(scalar(0).port, count.port, scalar(1).port, "i64"))


def filled(number: Value, shape: Value) -> Value:
    """A scalar in a tensor of sizes."""
    return number.broadcast(shape)
