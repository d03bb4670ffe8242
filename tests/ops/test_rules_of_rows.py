"""The shape rule of every operation, on the rows of `cases.py` with other shapes and values, sizes 0 and 1 among them.

What a rule gives for numbers is what OpenVINO gives; what it gives for symbols is that too, and the trace that they
leave gives it for other numbers wherever its guards hold; what it gives for open sizes admits it. Of a row as it stands
OpenVINO need not be asked. What is computed on the host, where data decides, is in `test_rules_of_selections.py`.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np
import pytest

from clinfer.base.errors import ClinferError
from clinfer.base.memo import TRACING
from clinfer.base.shape import UNBOUNDED, Dim, Shape, Size, StaticShape, is_static
from clinfer.frontend.reader import to_topology
from clinfer.ops import all_operations
from clinfer.ops.convolution.op import GroupConvolution
from clinfer.ops.cum_sum import CumSum
from clinfer.ops.deconvolution.op import GroupConvolutionBackpropData
from clinfer.ops.dft.op import FourierTransform
from clinfer.ops.eltwise.op import Eltwise
from clinfer.ops.mvn.op import MVN
from clinfer.ops.operation import Case
from clinfer.ops.reshape.op import Reshape
from clinfer.symbolic.dimensions import Broadcast, Computed, NamedDim, Sum
from clinfer.symbolic.forms import Form
from clinfer.symbolic.symbols import BINARY, array_of, plain
from clinfer.symbolic.trace import Trace
from clinfer.topology import Constant, Input, Primitive
from tests.ops.test_cases import ROWS
from tests.oracle import build_model
from tests.traced import function_of

ROUNDS = 6
STRICTER: dict[type[Primitive], Callable[[Any, tuple[StaticShape, ...]], bool]] = {
    **dict.fromkeys((MVN, CumSum, Reshape), lambda *_: True),
    Eltwise: lambda primitive, _: primitive.mode == "PRelu",
    FourierTransform: lambda primitive, _: primitive.writes_real,
    **dict.fromkeys((GroupConvolution, GroupConvolutionBackpropData), lambda _, shapes: shapes[1][0] == 0)}
"""Primitives that refuse what OpenVINO's rules let pass although there is no result: axes that do not exist, other
numbers of elements, slopes that do not stretch to the data, real signals of -2 elements, no groups of some channels."""
Told = tuple[Shape | None, ...] | str | None


@dataclass(frozen=True)
class Question:
    """What a rule is asked: the shapes of the inputs, and the values of value inputs that are constants."""

    primitive: Primitive
    shapes: tuple[StaticShape, ...]
    values: Mapping[int, np.ndarray]
    moving: tuple[int, ...]
    """The inputs that are no constants."""

    def told(self, shapes: tuple[Shape, ...] | None = None, values: Mapping[int, np.ndarray] | None = None) -> Told:
        try:
            return self.primitive.infer_shapes(self.shapes if shapes is None else shapes,
                                               self.values if values is None else values)
        except ClinferError:
            return "refused"


def _has_rule(primitive: Primitive) -> bool:
    return type(primitive).infer_shapes is not Primitive.infer_shapes


def _varied(case: Case, rng: np.random.Generator) -> Case:
    """Some sizes changed, now and then in the same way where they are the same, and now and then small numbers."""
    sizes = {size for entry in case.inputs if isinstance(entry, tuple) for size in entry[0]}
    alike = {size: int(rng.choice([size, size, rng.integers(0, 13), 2 * size])) for size in sizes}

    def changed(entry: Any) -> Any:
        if isinstance(entry, tuple):
            return tuple(alike[size] if rng.random() < 0.8 else int(rng.integers(0, 5)) for size in entry[0]), entry[1]
        array = np.asarray(entry)
        if array.dtype.kind != "i" or array.size > 8 or rng.random() < 0.7:
            return entry
        return np.array(array + rng.integers(-1, 2, array.shape), array.dtype)
    return replace(case, inputs=tuple(entry if entry is None else changed(entry) for entry in case.inputs))


def _question(case: Case) -> Question | None:
    """What the rule of a row is asked; None where something else than inputs and constants is read."""
    primitives = {primitive.id: primitive for primitive in to_topology(build_model(case, False)).topology}
    primitive = primitives["node"]
    read = [primitives[port.primitive] for port in primitive.inputs[:primitive.shape_input_count]]
    operands = [x for x in read if isinstance(x, (Input, Constant))]
    values = {i: x.value for i, x in enumerate(operands) if i in primitive.value_inputs and isinstance(x, Constant)}
    if primitive.computed_on_host or not _has_rule(primitive) or len(operands) < len(read) or set(values) != set(
            primitive.value_inputs):
        return None
    return Question(primitive, tuple(x.value.shape if isinstance(x, Constant) else x.shape for x in operands), values,
                    tuple(i for i, x in enumerate(operands) if isinstance(x, Input)))


def _by_openvino(case: Case) -> tuple[StaticShape, ...] | None:
    """None where it refuses the inputs, or finds no sizes."""
    try:
        found = [output.get_partial_shape() for output in build_model(case, False).outputs]
    except RuntimeError:
        return None
    return tuple(tuple(shape.to_shape()) for shape in found) if all(shape.is_static for shape in found) else None


def _check_numbers(question: Question, told: Told, expected: tuple[StaticShape, ...] | None) -> None:
    if expected is None:
        nothing = any(0 in shape for shape in question.shapes)
        assert told in ("refused", None) or nothing, f"OpenVINO refuses {question}, but {told}"
    elif told == "refused":
        assert STRICTER.get(type(question.primitive), lambda *_: False)(question.primitive, question.shapes), (
            f"refused: {question}, but OpenVINO tells {expected}")
    else:
        assert told is None or told == expected, f"{question}: {told}, but OpenVINO tells {expected}"


def _traced(question: Question, with_values: bool) -> tuple[Told, Callable[..., Any]]:
    """What the rule tells of symbols, and the function that the trace is: of sizes and elements, None where a guard
    does not hold."""
    trace, outer = Trace(), TRACING.is_on
    try:
        TRACING.is_on = True
        shapes = tuple(tuple(map(trace.free, shape)) if i in question.moving else shape
                       for i, shape in enumerate(question.shapes))
        values = {i: array_of(tuple(map(trace.free, value.reshape(-1).tolist())), value.shape, value.dtype)
                  if with_values and value.dtype.kind == "i" else value for i, value in question.values.items()}
        told = question.told(shapes, values)
    finally:
        TRACING.is_on = outer
    if not isinstance(told, tuple):
        return told, lambda *_: None
    return tuple(tuple(map(plain, shape or ())) for shape in told), function_of(trace, told, None)


def _numbers(question: Question, with_values: bool) -> list[int]:
    return [size for i in question.moving for size in question.shapes[i]] + [
        item for value in question.values.values() if with_values and value.dtype.kind == "i"
        for item in value.reshape(-1).tolist()]


def _opened(question: Question, rng: np.random.Generator) -> tuple[Shape, ...]:
    """The shapes with some sizes open: within bounds or not, with a name (that of a size is its number) or not."""
    def opened(size: int) -> Size:
        low, high = ((0, UNBOUNDED), (max(size - 1, 0), size + 3), (0, size), (size, UNBOUNDED))[rng.integers(0, 4)]
        return (size, Dim(low, high), NamedDim(low, high, size))[rng.integers(0, 3)]
    return tuple(tuple(map(opened, shape)) if i in question.moving else shape
                 for i, shape in enumerate(question.shapes))


def _size_of(name: Any) -> int | None:
    """The size that a name tells where names are sizes; None where it does not tell how it is computed."""
    if isinstance(name, Form):
        sizes = [_size_of(atom) for atom in name.atoms]
        return None if None in sizes else name.factor * prod(filter(None, sizes)) * (0 not in sizes) + name.constant
    if isinstance(name, Sum):
        parts = [_size_of(Form(times, atoms, 0)) for atoms, times in name.terms]
        return None if None in parts else sum(filter(None, parts))
    if isinstance(name, Computed):
        left, right = _size_of(name.left), _size_of(name.right)
        return None if left is None or right is None else BINARY[name.sign](left, right)
    if isinstance(name, Broadcast):
        stretched = {_size_of(each) for each in name.names} - {1}
        return stretched.pop() if len(stretched) == 1 else None if stretched else 1
    return name if isinstance(name, int) else None


def _admits(told: Size, size: int) -> bool:
    if isinstance(told, NamedDim) and _size_of(told.name) not in (None, size):
        return False
    return told.admits(size) if isinstance(told, Dim) else told == size


def _questions(case: Case, rng: np.random.Generator) -> Iterator[tuple[Question, tuple[StaticShape, ...] | None]]:
    base = _question(case)
    for number in range(ROUNDS if base is not None else 0):
        varied = case if number == 0 else _varied(case, rng)
        expected = _by_openvino(varied)
        question = _question(varied) if expected is not None else None
        if question is not None:
            yield question, expected
        elif expected is None and base is not None and len(base.moving) == len(base.shapes) == len(varied.inputs):
            yield replace(base, shapes=tuple(shape for shape, _ in varied.inputs)), None


@pytest.mark.parametrize("op", [op.name for op in all_operations()])
def test_a_rule_gives_the_same_for_numbers_symbols_and_open_sizes(op: str, rng: np.random.Generator) -> None:
    for case in [case for name, case in ROWS if name == op]:
        asked = list(_questions(case, rng))
        for question, expected in asked:
            told = question.told()
            assert told is not None or question is not asked[0][0], f"the rule does not tell: {question}"
            _check_numbers(question, told, expected)
            _check_open(question, told, rng)
            for with_values in (False, True):
                _check_symbols(question, told, [other for other, _ in asked], with_values)


def _check_symbols(question: Question, told: Told, others: list[Question], with_values: bool) -> None:
    found, function = _traced(question, with_values)
    assert found == told, f"{question}: symbols give {found}, numbers {told}"
    if isinstance(told, tuple):
        assert function(*_numbers(question, with_values)) == told, question
    for other in others:
        numbers = _numbers(other, with_values)
        alike = other.primitive == question.primitive and (with_values or all(
            np.array_equal(value, other.values[i]) for i, value in question.values.items()))
        if alike and len(numbers) == len(_numbers(question, with_values)) and [*map(len, question.shapes)] == [
                *map(len, other.shapes)]:
            by_trace = function(*numbers)
            assert by_trace is None or by_trace == other.told(), f"{other} by the trace of {question}"


def _check_open(question: Question, told: Told, rng: np.random.Generator) -> None:
    if not isinstance(told, tuple) or not all(map(is_static, told)):
        return
    for _ in range(3):
        shapes = _opened(question, rng)
        found = question.told(shapes)
        assert found != "refused", f"{question} refuses {shapes}"
        for shape, wanted in zip(found or (), told, strict=found is not None):
            assert shape is None or (len(shape) == len(wanted) and all(map(_admits, shape, wanted))), (
                f"{question} of {shapes}: {found}, but {told}")


def test_rules_are_asked() -> None:
    """The rows reach the rules: most operations have one of their own."""
    ruled = {name for name, case in ROWS if _question(case) is not None}
    assert len(ruled) > 25, sorted(ruled)
