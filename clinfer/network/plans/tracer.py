"""What traces of a node's plan put in place of shape rules and evaluation on the host."""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from clinfer.base.errors import ClinferError
from clinfer.base.layout import Layout
from clinfer.base.shape import Shape, StaticShape, is_too_large
from clinfer.network.plans.node_planner import NodePlan, infer_sizes, no_sizes
from clinfer.program.program import ProgramNode
from clinfer.symbolic.shape_inference import ShapeRule, Values
from clinfer.symbolic.symbols import Symbol, array_of, plain
from clinfer.symbolic.trace import Trace
from clinfer.topology import Primitive


@dataclass(frozen=True, eq=False)
class NodeCall:
    """A call of a node's shape rule (or, if it `evaluates`, of its evaluation on the host) by the numbers that vary.

    `fixed`: the values that do not; `moving`: (input, shape, type) of those that come as tuples of numbers.
    """

    evaluates: bool
    fixed: Mapping[int, np.ndarray]
    moving: tuple[tuple[int, tuple[int, ...], Any], ...]

    def of(self, primitive: Primitive, rule: ShapeRule) -> Callable[..., tuple[tuple[int, ...], ...]]:
        """The function (shapes, numbers of each moving value) -> tuples of integers, for a node with this rule."""
        def call(shapes: tuple[StaticShape, ...], *numbers: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
            known = {i: np.array(items, kind).reshape(shape)
                     for (i, shape, kind), items in zip(self.moving, numbers, strict=True)}
            values = {**self.fixed, **known}
            try:
                if not self.evaluates:
                    return infer_sizes(primitive, rule, shapes, values)
                found = primitive.evaluate(tuple(values[i] for i in range(len(values))), shapes)
                return tuple(tuple(value.reshape(-1).tolist()) for value in found)
            except ClinferError as error:
                raise error.at(primitive.where) from None
        return call


class Tracer:
    """Infers and evaluates for one trace: with symbols, or by a call that becomes part of the trace."""

    def __init__(self, trace: Trace, node: ProgramNode, inputs: Sequence[Layout], outputs: Sequence[Layout]) -> None:
        self._trace = trace
        self._node = node
        self._types = [layout.element_type.numpy for layout in inputs]
        self._outputs = outputs

    def infer(self, primitive: Primitive, rule: ShapeRule, shapes: tuple[StaticShape, ...],
              values: Values) -> tuple[StaticShape, ...]:
        """By the primitive's own arithmetic, or else by a call of the rule."""
        own: tuple[Any, ...] | None = primitive.infer_shapes(shapes, values)
        if own is None:
            return self._called(False, rule, shapes, values)
        # What has elements and is too large finds no memory.
        wrong = next(filter(is_too_large, own), None)
        if wrong is not None:
            raise no_sizes(shapes, wrong, {})
        return own

    def evaluate(self, primitive: Primitive, inputs: tuple[np.ndarray, ...],
                 shapes: tuple[StaticShape, ...]) -> tuple[np.ndarray, ...]:
        """By a call of the primitive's evaluation."""
        found = self._called(True, _nothing, shapes, dict(enumerate(inputs)))
        return tuple(array_of(items, layout.static_shape, layout.element_type.numpy)
                     for items, layout in zip(found, self._outputs, strict=True))

    def evaluate_symbols(self, primitive: Primitive, inputs: tuple[np.ndarray, ...],
                         shapes: tuple[StaticShape, ...]) -> tuple[np.ndarray, ...]:
        """By the primitive's evaluation of symbols; results that their type cannot hold fail a guard."""
        results = primitive.evaluate(inputs, shapes)
        for value, layout in zip(results, self._outputs, strict=True):
            limits = np.iinfo(layout.element_type.numpy)
            if not all(int(limits.min) <= item <= int(limits.max) for item in value.reshape(-1).tolist()):
                raise ClinferError("a number does not fit into its type", where=primitive.where)
        return results

    def _called(self, evaluates: bool, rule: ShapeRule, shapes: tuple[StaticShape, ...],
                values: Values) -> tuple[tuple[int, ...], ...]:
        """Symbols for the tuples of integers that the node's rule or evaluation gives."""
        fixed = {i: v for i, v in values.items() if v.dtype != object}
        call = NodeCall(evaluates, fixed, tuple((i, v.shape, self._types[i]) for i, v in values.items()
                                                if v.dtype == object))
        numbers = [tuple(values[i].reshape(-1).tolist()) for i, _, _ in call.moving]
        found = call.of(self._node.primitive, rule)(*_plainly((shapes, *numbers)))
        return self._trace.ask(call, (shapes, *numbers), found)


def _nothing(shapes: tuple[Shape | None, ...], values: Values) -> tuple[Shape | None, ...]:
    """The shape rule of what is evaluated, which is not asked."""
    return ()


def same_at_present(traced: NodePlan, plan: NodePlan) -> bool:
    """Whether a plan of symbols stands for a plan of plain numbers at present."""
    return bool(_plainly(_told(traced)) == _plainly(_told(plan)))


def _told(plan: NodePlan) -> tuple[Any, ...]:
    return (plan.shapes, plan.values, plan.nbytes, plan.scratch_bytes, plan.offsets, [
        (kernel, launch.arguments, launch.work.global_size, launch.work.local_size)
        for kernel, launch in plan.launches])


def _plainly(item: Any) -> Any:
    """Nested tuples and arrays with the numbers that symbols stand for."""
    kind = type(item)
    if kind is int or kind is Symbol:
        return plain(item)
    if isinstance(item, (tuple, list)):
        return tuple([_plainly(part) for part in item])
    return _plainly(item.reshape(-1).tolist()) if isinstance(item, np.ndarray) else plain(item)
