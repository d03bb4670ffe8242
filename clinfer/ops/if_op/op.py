"""The If primitive (OpenVINO If-8)."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from clinfer.base.element_type import ElementType
from clinfer.base.errors import ClinferError
from clinfer.base.shape import Dim, Shape, Size, is_static
from clinfer.ops.shared.result_sizes import ResultSize, lifted, shape_of_result
from clinfer.symbolic.shape_inference import Values
from clinfer.topology import BodyResult, Primitive, SourceBody, SourceNode


@dataclass(frozen=True)
class If(Primitive):
    """Runs `then_body` where input 0 (one boolean) is true, else `else_body`.

    The bodies read the other inputs as `SourceBody.inputs` says. `shapes`: what is known of the output shapes whichever
    runs; `results`, by bodies: the sizes of each output as they follow from the shapes of the inputs. Without these
    they are known only behind the run.
    """

    then_body: SourceBody | None = None
    else_body: SourceBody | None = None
    types: tuple[ElementType, ...] = ()
    shapes: tuple[Shape | None, ...] = ()
    results: tuple[tuple[tuple[ResultSize, ...], ...], ...] = ()

    @property
    def output_count(self) -> int:
        return len(self.types)

    @property
    def value_inputs(self) -> tuple[int, ...]:
        return (0,)

    @property
    def data_dependent_output(self) -> bool:
        return not self.results

    @property
    def bodies(self) -> tuple[Any, ...]:
        return (self.then_body, self.else_body)

    def with_results(self, results: Sequence[Mapping[str, BodyResult]]) -> If:
        given = [[found[name] for name in body.outputs] for body, found in zip(self.bodies, results, strict=True)]
        shapes = tuple(_either(one.shape, other.shape) for one, other in zip(*given, strict=True))
        then, otherwise = (_of_inputs(body, found, shapes) for body, found in zip(self.bodies, given, strict=True))
        return replace(self, shapes=shapes, results=() if then is None or otherwise is None else (then, otherwise))

    def body_to_run(self, values: Values) -> int:
        if values[0].size != 1:
            raise ClinferError("the condition of If must be one element", where=self.where,
                               values={"shape": values[0].shape})
        return 0 if bool(values[0].reshape(-1)[0]) else 1

    def output_types(self, input_types: tuple[ElementType, ...]) -> tuple[ElementType, ...]:
        return self.types

    def infer_shapes(self, shapes: tuple[Shape | None, ...], values: Values) -> tuple[Shape | None, ...]:
        known = tuple(shape for shape in shapes if shape is not None and is_static(shape))
        if not self.results or 0 not in values or len(known) < len(shapes):
            return self.shapes
        chosen = self.results[self.body_to_run(values)]
        return tuple(shape_of_result(sizes, known) for sizes in chosen)  # type: ignore[arg-type]


def convert_if(node: SourceNode) -> If:
    """The primitive of an If whose bodies the front end has converted."""
    then_body, else_body = node.bodies
    return If(node.id, node.inputs, origin=node.name, then_body=then_body, else_body=else_body,
              types=node.output_types, shapes=node.output_shapes)


def _of_inputs(body: SourceBody, results: Sequence[BodyResult],
               shapes: Sequence[Shape | None]) -> tuple[tuple[ResultSize, ...], ...] | None:
    """The sizes of a body's results by the inputs of the If, whose outputs have these shapes; None where some are known
    only behind the run."""
    found = []
    for result, shape in zip(results, shapes, strict=True):
        if result.sizes is None or shape is None:
            return None
        found.append(lifted(tuple(size if isinstance(size, int) else tuple(sorted(
            (body.inputs[name], axis) for name, axis in size)) for size in result.sizes), len(shape)))
    return tuple(found)


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
