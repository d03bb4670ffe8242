"""The CustomOp primitive: an operation of the user's, computed by a kernel of the user's."""
from __future__ import annotations

from dataclasses import dataclass

from clinfer.base.element_type import ElementType
from clinfer.base.errors import ClinferError
from clinfer.base.host_function import HostFunction
from clinfer.base.shape import Shape
from clinfer.symbolic.shape_inference import Values
from clinfer.topology import CustomKernel, Primitive


@dataclass(frozen=True)
class CustomOp(Primitive):
    """An operation of type `operation`, computed by `kernel`, with these macros. `function` is the operation between
    its inputs that are no constants (`given`), and tells the shapes of its outputs."""

    kernel: CustomKernel | None = None
    macros: tuple[tuple[str, str], ...] = ()
    function: HostFunction | None = None
    given: tuple[int, ...] = ()
    types: tuple[ElementType, ...] = ()

    @property
    def output_count(self) -> int:
        return len(self.types)

    @property
    def stands_for(self) -> tuple[HostFunction | None, tuple[int, ...]]:
        return self.function, self.given

    @property
    def takes_fused_ops(self) -> bool:
        return self.kernel is not None and "FUSED_OPS(" in self.kernel.source

    def output_types(self, input_types: tuple[ElementType, ...]) -> tuple[ElementType, ...]:
        return self.types

    def infer_shapes(self, shapes: tuple[Shape | None, ...], values: Values) -> tuple[Shape | None, ...]:
        if self.function is None:
            raise ClinferError("a custom operation has nothing that tells its shapes", where=self.where)
        try:
            return self.function.output_shapes(tuple(shapes[i] for i in self.given))
        except ClinferError as error:
            raise error.at(self.where) from None
