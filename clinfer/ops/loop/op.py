"""The Loop and TensorIterator primitives (OpenVINO Loop-5 and TensorIterator-1)."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from clinfer.base.element_type import ElementType
from clinfer.base.errors import ClinferError, UnsupportedError
from clinfer.base.shape import ANY, Shape, is_static
from clinfer.ops.loop.results import LoopResults, known_results
from clinfer.symbolic.shape_inference import Values
from clinfer.topology import BodyResult, Primitive, SourceBody, SourceNode


@dataclass(frozen=True)
class TensorIterator(Primitive):
    """Runs `body` once per slice of the inputs that `body.loop` slices.

    `shapes`: what is known of the output shapes before the run; `results` tells them from those of the inputs, unless
    they are known only behind it.
    """

    body: SourceBody | None = None
    types: tuple[ElementType, ...] = ()
    shapes: tuple[Shape | None, ...] = ()
    results: LoopResults | None = None

    @property
    def output_count(self) -> int:
        return len(self.types)

    @property
    def data_dependent_output(self) -> bool:
        return self.results is None

    @property
    def bodies(self) -> tuple[Any, ...]:
        return (self.body,)

    def with_results(self, results: Sequence[Mapping[str, BodyResult]]) -> TensorIterator:
        assert self.body is not None
        return replace(self, results=known_results(self.body, results[0], self.shapes))

    def body_to_run(self, values: Values) -> int:
        return 0

    def output_types(self, input_types: tuple[ElementType, ...]) -> tuple[ElementType, ...]:
        return self.types

    def infer_shapes(self, shapes: tuple[Shape | None, ...], values: Values) -> tuple[Shape | None, ...]:
        known = tuple(shape for shape in shapes if shape is not None and is_static(shape))
        if self.results is None or len(known) < len(shapes) or any(index not in values for index in self.value_inputs):
            return self.shapes
        return self.results.shapes(known, self.run_limit(values))  # type: ignore[arg-type]


@dataclass(frozen=True)
class Loop(TensorIterator):
    """Runs `body` as often as input 0 says (negative: without limit) and as long as the condition holds.

    The condition is input 1 before the first run, later the body's output `body.loop.condition`.
    """

    @property
    def value_inputs(self) -> tuple[int, ...]:
        return (0, 1)

    def run_limit(self, values: Values) -> int | None:
        trips, condition = (self._number(values[i], what) for i, what in ((0, "trip count"), (1, "condition")))
        if not condition:
            return 0
        return None if trips < 0 else trips

    def _number(self, value: np.ndarray, what: str) -> Any:
        if value.size != 1:
            raise ClinferError(f"the {what} of a loop must be one element", where=self.where,
                               values={"shape": value.shape})
        return value.reshape(-1).tolist()[0]


def convert_tensor_iterator(node: SourceNode) -> TensorIterator:
    """The primitive of a TensorIterator whose body the front end has converted."""
    _check_types(node)
    return TensorIterator(node.id, node.inputs, origin=node.name, body=node.bodies[0], types=node.output_types,
                          shapes=node.output_shapes)


def convert_loop(node: SourceNode) -> Loop:
    """The primitive of a Loop whose body the front end has converted."""
    _check_types(node)
    body = node.bodies[0]
    shapes = tuple(_output_shape(node, body, index) for index in range(len(node.output_shapes)))
    return Loop(node.id, node.inputs, origin=node.name, body=body, types=node.output_types, shapes=shapes)


def _output_shape(node: SourceNode, body: SourceBody, index: int) -> Shape | None:
    """What OpenVINO says of an output, opened where the loop may not run at all.

    OpenVINO takes a constant trip count for the number of runs even where a condition that is no constant may
    forbid the first; then joined results are empty and carried ones are what came in.
    """
    shape = node.output_shapes[index]
    if shape is None or body.loop is None or _runs(node):
        return shape
    if index in body.loop.joined:
        axis = body.loop.joined[index].axis % len(shape)
        return (*shape[:axis], ANY, *shape[axis + 1:])
    for name, output in body.loop.carried.items():
        if output == body.outputs[index]:
            shape = _opened(shape, node.input_shapes[body.inputs[name]])
    return shape


def _runs(node: SourceNode) -> bool:
    """Whether trip count and condition are constants that let the first run take place."""
    return all(bool(np.any(node.constants[index])) if index in node.constants else False for index in (0, 1))


def _opened(shape: Shape, other: Shape | None) -> Shape:
    """A shape without the sizes in which another of its rank differs."""
    if other is None or len(shape) != len(other):
        return shape
    return tuple(a if a == b else ANY for a, b in zip(shape, other, strict=True))


def _check_types(node: SourceNode) -> None:
    """Elements that share a byte cannot be cut apart."""
    body = node.bodies[0]
    ports = body.loop
    assert ports is not None
    types = {node.input_types[body.inputs[name]] for name in ports.sliced}
    types |= {node.output_types[index] for index in ports.joined}
    packed = sorted(kind.name for kind in types if kind.is_packed)
    if packed:
        raise UnsupportedError("a loop over slices of packed elements is not supported",
                               where=f"layer {node.name!r}", values={"types": ", ".join(packed)})
