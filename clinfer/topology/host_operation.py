"""The HostOperation primitive, which stands for any operation of the model."""
from __future__ import annotations

from dataclasses import dataclass

from clinfer.base.element_type import ElementType
from clinfer.base.errors import ClinferError
from clinfer.base.host_function import Evaluate, HostFunction
from clinfer.base.shape import Shape
from clinfer.symbolic.shape_inference import Values
from clinfer.topology.primitive import Primitive


@dataclass(frozen=True)
class HostOperation(Primitive):
    """An operation of type `operation` that `function` computes whenever it runs, on all inputs but the constants.

    Its outputs have the types `types` and shapes within `shapes`, as the model declares them.
    """

    operation: str = ""
    function: HostFunction | None = None
    types: tuple[ElementType, ...] = ()
    shapes: tuple[Shape | None, ...] = ()

    @property
    def stands_for(self) -> tuple[HostFunction | None, tuple[int, ...]]:
        return self.function, tuple(range(len(self.inputs)))

    @property
    def computed_on_host(self) -> bool:
        return True

    @property
    def output_count(self) -> int:
        return len(self.types)

    def output_types(self, input_types: tuple[ElementType, ...]) -> tuple[ElementType, ...]:
        return self.types

    def infer_shapes(self, shapes: tuple[Shape | None, ...], values: Values) -> tuple[Shape | None, ...]:
        return self.shapes

    def evaluator(self) -> Evaluate:
        if self.function is None:
            raise ClinferError("a host operation has nothing that computes it", where=self.where)
        return self.function.start()
