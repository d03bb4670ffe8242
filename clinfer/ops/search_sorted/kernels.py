"""The kernel of Bucketize and SearchSorted."""
from __future__ import annotations

from dataclasses import dataclass

from clinfer.base.layout import Layout
from clinfer.base.tensor_view import TensorView
from clinfer.kernels.contract import Constant, Operand, input_operand, output_operand, present_formats
from clinfer.ops.search_sorted.op import Bucketize, SearchSorted
from clinfer.ops.shared.only_kernel import OnlyKernelProblem, only_kernel
from clinfer.ops.shared.views import at_least_one_axis


@dataclass(frozen=True)
class SearchProblem(OnlyKernelProblem):
    """Values, and rows of numbers among which their places are wanted."""

    primitive: Bucketize | SearchSorted

    @property
    def operands(self) -> tuple[Operand, ...]:
        first, second, places = map(self._lifted, (*self.inputs, *self.outputs))
        return input_operand(self, 0, first), input_operand(self, 1, second), output_operand(self, 0, places)

    @property
    def constants(self) -> dict[str, Constant]:
        primitive = self.primitive
        rows = 1 if isinstance(primitive, Bucketize) else 0
        counts_equal = primitive.right_mode if isinstance(primitive, SearchSorted) else not primitive.with_right_bound
        return {"ROWS": rows, "COUNTS_EQUAL": counts_equal, "IS_ONE_ROW": self.inputs[rows].rank == 1,
                "NUMBER": self._number}

    @property
    def _number(self) -> str:
        """The type in which values are compared."""
        kinds = [layout.element_type for layout in self.inputs[:2]]
        if all(not kind.is_float for kind in kinds):
            return "ulong" if all(kind.name == "u64" for kind in kinds) else "long"
        return "double" if any(kind.name == "f64" for kind in kinds) else "float"

    @staticmethod
    def _lifted(layout: Layout) -> TensorView:
        return at_least_one_axis(TensorView.of(layout))


KERNELS = only_kernel("search_sorted_ref", SearchProblem, present_formats)
