"""Matrix products as their kernels see them: sizes, views of both sides and of the result, and compressed weights."""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod

from clinfer.base.element_type import FLOAT8_TYPES, ElementType
from clinfer.base.layout import Layout
from clinfer.base.shape import count_bounds
from clinfer.base.tensor_view import TensorView
from clinfer.kernels.contract import BufferRef, Constant, Operand, Problem, output_operand
from clinfer.kernels.jitter import literal
from clinfer.ops.matmul.op import MatMul
from clinfer.ops.matmul.views import Product, fused_inputs_collapse, fused_view_of, product_of
from clinfer.ops.shared.views import static
from clinfer.runtime.capabilities import Capabilities
from clinfer.topology import Port

FLOAT_TYPES = tuple(map(ElementType.of, ("f32", "f16", "bf16")))


@dataclass(frozen=True)
class MatMulProblem(Problem):
    """[batch, rows, depth] x [batch, depth, columns]; the sizes may be open."""

    primitive: MatMul

    @cached_property
    def product(self) -> Product:
        """The views with all axes of the batch."""
        return product_of(self.inputs[0], self.inputs[1], self.outputs[0], self.primitive)

    @cached_property
    def collapsed(self) -> Product:
        """The views with all rows that meet the same right side as one matrix."""
        return product_of(self.inputs[0], self.inputs[1], self.outputs[0], self.primitive,
                          fused_inputs_collapse(self.fused_inputs, self.inputs[1], self.outputs[0]))

    @property
    def sizes(self) -> dict[str, int]:
        return {"batch": self.batch, "rows": self.rows, "columns": self.columns, "depth": self.depth}

    @property
    def flops(self) -> float:
        return 2.0 * self.batch * self.rows * self.columns * self.depth

    @property
    def batch(self) -> int:
        """How many products there are."""
        return prod(static(self.collapsed.output.sizes[:-2]))

    @property
    def rows(self) -> int:
        return static(self.collapsed.output.sizes)[-2]

    @property
    def columns(self) -> int:
        return static(self.collapsed.output.sizes)[-1]

    @property
    def depth(self) -> int:
        return static(self.collapsed.left.sizes)[-1]

    @property
    def lacks_inputs(self) -> bool:
        """Whether the left side may be left to a prologue."""
        norm = self.primitive.left_norm
        return norm is not None and count_bounds(self.inputs[0].shape[:-1])[0] <= norm.rows

    @property
    def right_has_batch(self) -> bool:
        """Whether the right side has more than two axes."""
        return self.inputs[1].rank != 2

    @property
    def right_along_k(self) -> bool:
        """Whether the elements of one column of the right side lie together."""
        return self.inputs[1].rank == 1 or self.primitive.transpose_b

    @property
    def left_along_k(self) -> bool:
        """Whether the elements of one row of the left side lie together."""
        return self.inputs[0].rank == 1 or not self.primitive.transpose_a

    @property
    def constants(self) -> dict[str, Constant]:
        """What all kernels must know of the right side (`weights.h`) and the bias."""
        return {**self._weights_constants(), "HAS_BIAS": int(self.primitive.bias_input is not None)}

    def _weights_constants(self) -> dict[str, Constant]:
        found = self.primitive.quantisation
        if found is None:
            return {"COMPRESSED": 0, "HAS_ZERO_POINT": 0, "HAS_CODEBOOK": 0, "GROUP_SIZE": 0, "SHARED_BYTES": 0,
                    "LOWEST": 0}
        weights, (groups, _) = self.inputs[1], self.inputs[found.scale].static_shape
        depth = weights.static_shape[1 if self.primitive.transpose_b else 0]
        book: dict[str, Constant] = {"CODEBOOK": f"{{{', '.join(map(literal, found.codebook))}}}"}
        return {"COMPRESSED": 1, "HAS_ZERO_POINT": int(found.zero_point is not None),
                "HAS_CODEBOOK": int(bool(found.codebook)), **(book if found.codebook else {}),
                "GROUP_SIZE": 0 if groups == 1 else depth // groups,
                "SHARED_BYTES": int(weights.element_type.is_packed),
                "LOWEST": -8 if weights.element_type.name == "i4" else 0}

    def operands(self, left: TensorView, right: TensorView, output: TensorView,
                 packed: BufferRef | None = None) -> tuple[Operand, ...]:
        """Both sides under these views, what belongs to the right one, the bias, and the output; the right side may
        lie `packed` in another buffer than its input."""
        found = self.primitive.quantisation
        others = {"SCALE": found.scale if found else None, "ZERO_POINT": found.zero_point if found else None,
                  "BIAS": self.primitive.bias_input}
        return (Operand("INPUT0", BufferRef("input", 0), left),
                Operand("INPUT1", packed or BufferRef("input", 1), right),
                *(Operand(name, BufferRef("input", index), TensorView.of(self.inputs[index]))
                  for name, index in others.items() if index is not None),
                output_operand(self, 0, output))

    def in_place_operands(self) -> tuple[Operand, ...]:
        """Both sides as they lie in memory, all rows as one matrix."""
        return self.operands(self.collapsed.left, self.collapsed.right_in_batch(), self.collapsed.output)

    def normalising_operands(self) -> tuple[Operand, ...]:
        """The same with the data of the left side's norm in its place, and the norm's weight before the bias."""
        data, weight = self.primitive.norm_inputs
        left, *others, output = self.in_place_operands()
        bias = [each for each in others if each.macro == "BIAS"]
        norm = Operand("NORM", BufferRef("input", weight), TensorView.of(self.inputs[weight]))
        return (replace(left, buffer=BufferRef("input", data)), *others[:len(others) - len(bias)], norm, *bias, output)

    def epilogue_views(self, collapse: bool = True) -> tuple[TensorView, ...]:
        """What fused operations read, stretched to the output of the product."""
        left, right = self.inputs[:2]
        collapse = collapse and fused_inputs_collapse(self.fused_inputs, right, self.outputs[0])
        seen = (self.collapsed if collapse else self.product).output
        return tuple(fused_view_of(layout, left, right, self.outputs[0], self.primitive, seen, collapse)
                     for layout in self.fused_inputs)

    def types_refusal(self, takes_grids: bool = False) -> str | None:
        """What keeps kernels from these types that compute in f32 on both sides; those that take grids take a left side
        that is stored on one."""
        found = self.primitive.quantisation
        grid = self.primitive.data_grid
        whole = (1, found.zero_point, None if grid is None else grid + 1) if found else ()
        kinds = [x.element_type for i, x in enumerate(self.inputs + self.outputs) if i not in whole
                 and not (i == 1 and x.element_type in FLOAT8_TYPES)]
        floats = [kinds[0].computed if takes_grids else kinds[0], *kinds[1:-1], kinds[-1].computed]
        return None if all(kind in FLOAT_TYPES for kind in floats) else "element types other than f32, f16, bf16"


SAMPLE_SIZES = {"batch": 1, "rows": 64, "columns": 768, "depth": 768, "transpose_b": 0}
"""`transpose_b`: 1 for a right side [columns, depth]. A right side has a batch where there is one of more than 1."""


def sample_problem(sizes: Mapping[str, int], kind: ElementType, device: Capabilities) -> MatMulProblem:
    """The product of matrices of these sizes, as models with whole weights have it."""
    batch = (sizes["batch"],) if sizes["batch"] > 1 else ()
    rows, columns, depth = sizes["rows"], sizes["columns"], sizes["depth"]
    right = (columns, depth) if sizes["transpose_b"] else (depth, columns)
    primitive = MatMul("sample", (Port("left"), Port("right")), transpose_b=bool(sizes["transpose_b"]))
    left, right_layout, output = (Layout.planar((*batch, *shape), kind)
                                  for shape in ((rows, depth), right, (rows, columns)))
    return MatMulProblem(primitive, (left, right_layout), (output,), device)
