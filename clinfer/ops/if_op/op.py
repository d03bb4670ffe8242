"""The If primitive (OpenVINO If-8)."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from clinfer.base.element_type import ElementType
from clinfer.base.errors import ClinferError
from clinfer.base.shape import Dim, Shape, Size
from clinfer.symbolic.shape_inference import Values
from clinfer.topology import BodyResult, Primitive, SourceBody, SourceNode


@dataclass(frozen=True)
class If(Primitive):
    """Runs `then_body` where input 0 (one boolean) is true, else `else_body`.

    The bodies read the other inputs as `SourceBody.inputs` says. Output shapes are known after the run; `shapes`: what
    is known of them before.
    """

    then_body: SourceBody | None = None
    else_body: SourceBody | None = None
    types: tuple[ElementType, ...] = ()
    shapes: tuple[Shape | None, ...] = ()

    @property
    def output_count(self) -> int:
        return len(self.types)

    @property
    def value_inputs(self) -> tuple[int, ...]:
        return (0,)

    @property
    def data_dependent_output(self) -> bool:
        return True

    @property
    def bodies(self) -> tuple[Any, ...]:
        return (self.then_body, self.else_body)

    def with_results(self, results: Sequence[Mapping[str, BodyResult]]) -> If:
        then, otherwise = ([found[name].shape for name in body.outputs]
                           for body, found in zip(self.bodies, results, strict=True))
        return replace(self, shapes=tuple(map(_either, then, otherwise)))

    def body_to_run(self, values: Values) -> int:
        if values[0].size != 1:
            raise ClinferError("the condition of If must be one element", where=self.where,
                               values={"shape": values[0].shape})
        return 0 if bool(values[0].reshape(-1)[0]) else 1

    def output_types(self, input_types: tuple[ElementType, ...]) -> tuple[ElementType, ...]:
        return self.types

    def infer_shapes(self, shapes: tuple[Shape | None, ...], values: Values) -> tuple[Shape | None, ...]:
        return self.shapes


def convert_if(node: SourceNode) -> If:
    """The primitive of an If whose bodies the front end has converted."""
    then_body, else_body = node.bodies
    return If(node.id, node.inputs, origin=node.name, then_body=then_body, else_body=else_body,
              types=node.output_types, shapes=node.output_shapes)


def _either(one: Shape, other: Shape) -> Shape | None:
    """What is known of a shape that is one of two; as in OpenVINO [] is [1] where the other has one axis."""
    if {len(one), len(other)} == {0, 1}:
        one, other = one or (1,), other or (1,)
    return tuple(map(_either_size, one, other)) if len(one) == len(other) else None


def _either_size(one: Size, other: Size) -> Size:
    if one == other and not isinstance(one, Dim):
        return one
    a, b = (size if isinstance(size, Dim) else Dim(size, size) for size in (one, other))
    return Dim(min(a.low, b.low), max(a.high, b.high))
