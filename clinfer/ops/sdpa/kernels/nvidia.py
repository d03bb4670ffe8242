"""Attention of f16 on NVIDIA's tensor cores."""
from __future__ import annotations

from dataclasses import dataclass
from math import ceil, prod
from typing import ClassVar

from clinfer.base.element_type import ElementType
from clinfer.base.tensor_view import TensorView
from clinfer.kernels.contract import Formats, Kernel, Lowered, Stage, Work, input_operand, scratch_operand
from clinfer.kernels.cost import time_of
from clinfer.kernels.recipe import USUAL, Recipe
from clinfer.ops.sdpa.problem import KEY, MASK, QUERY, VALUE, AttentionProblem, four_axes
from clinfer.ops.shared import tensor_cores
from clinfer.ops.shared.tensor_cores import CHUNK
from clinfer.ops.shared.views import static
from clinfer.runtime.capabilities import Capabilities

KEYS = 64
WIDTHS = (32, 64, 128)
"""Halves of a row in local memory."""
_LOOKING_ITEMS = 128
_ANYWHERE, _READING_MASKS = 0.67, 0.67
"""The speed where rows are not aligned, and where all masks are read, beside the usual one."""
_U8 = ElementType.of("u8")


@dataclass(frozen=True)
class Walk:
    """How keys are walked through: how their rows come to local memory, and whether it is looked up first what the mask
    does to blocks of them."""

    aligned: bool
    by_blocks: bool = False

    def __str__(self) -> str:
        return "_".join(["anywhere"] * (not self.aligned) + ["by_blocks"] * self.by_blocks)


class MmaKernel(Kernel[AttentionProblem, Walk]):
    """A group of two work-items for each of `rows` rows of the result."""

    name = "sdpa_mma"
    rows: ClassVar[int] = 64
    widths: ClassVar[tuple[int, ...]] = WIDTHS
    at_once: ClassVar[int] = 4
    """Groups of a compute unit that run at once."""
    share_of_peak: ClassVar[float] = 0.3
    """Of the tensor cores, that is reached."""

    def targets(self, device: Capabilities) -> str | None:
        return tensor_cores.needs_tensor_cores(device)

    def recipe(self, width: int) -> Recipe:
        """How it is built for rows of values of a width in local memory."""
        return USUAL

    def formats(self, problem: AttentionProblem) -> Formats:
        return problem.formats_wanted()

    def configs(self, problem: AttentionProblem) -> tuple[Walk, ...]:
        walks = Walk(True), Walk(False)
        return (*walks, Walk(True, True), Walk(False, True)) if problem.has_input(MASK) else walks

    def supports(self, problem: AttentionProblem, walk: Walk) -> str | None:
        widths = self._widths(problem)
        if widths is None:
            return f"last sizes that are unknown, zero or above {WIDTHS[-1]}"
        if not problem.rows_are_contiguous((QUERY, KEY, VALUE)):
            return "the last axis of a part does not lie last in memory"
        if any(x.element_type.name == "f64" for x in problem.inputs):
            return "computes in f32"
        depth, width = widths
        return problem.layout_refusal() or tensor_cores.refusal(
            problem, (QUERY, KEY, VALUE), 2 * (self.rows * depth + 2 * KEYS * (depth + width)))

    def accepts(self, problem: AttentionProblem, walk: Walk) -> str | None:
        if not walk.aligned or all(view.is_aligned(-1, CHUNK) for view in problem.data):
            return problem.table_refusal()
        return f"rows that do not start at multiples of {CHUNK} elements"

    def cost(self, problem: AttentionProblem, walk: Walk) -> float:
        ceilings = problem.capabilities.ceilings
        looking = time_of(ceilings, nbytes=problem.inputs[MASK].byte_size) if walk.by_blocks else 0.0
        share = self.share_of_peak * (1 if walk.aligned else _ANYWHERE)
        if problem.has_input(MASK):
            share *= 1 if walk.by_blocks else _READING_MASKS
        return looking + problem.walking_ns(self.rows, KEYS, self.at_once) + time_of(
            ceilings, flops=problem.flops, peak=ceilings.tensor, efficiency=share, nbytes=problem.moved_bytes)

    def lower(self, problem: AttentionProblem, walk: Walk) -> Lowered:
        widths = self._widths(problem)
        assert widths is not None
        depth, width = static((problem.depth, problem.width))
        constants = {**problem.constants, "KEYS": KEYS, "ROWS": self.rows, "QUERY_WIDTH": widths[0],
                     "VALUE_WIDTH": widths[1], "QUERY_STEPS": ceil(depth / 16), "VALUE_STEPS": ceil(width / 16),
                     "ALIGNED": walk.aligned, "BY_BLOCKS": walk.by_blocks}
        items = 2 * self.rows
        work = Work((ceil(problem.queries / self.rows) * prod(static(problem.batch)) * items,), (items,))
        *given, output = problem.in_place_operands()
        source, recipe = f"{self.name}.cl", self.recipe(widths[1])
        if not walk.by_blocks:
            return Lowered((Stage(source, (*given, output), work, constants, recipe=recipe),))
        look, kinds = _mask_blocks(problem, self.rows)
        seen = kinds.broadcast((*four_axes(problem.result).sizes[:2], *kinds.sizes[2:]))
        attend = Stage(source, (*given, scratch_operand(0, seen), output), work, constants, recipe=recipe)
        return Lowered((look, attend), (prod(static(kinds.sizes)),))

    def _widths(self, problem: AttentionProblem) -> tuple[int, int] | None:
        """The rows of queries and keys, and those of values, in local memory; None where they are unknown or large."""
        sizes = problem.depth, problem.width
        if not all(isinstance(size, int) and 0 < size <= self.widths[-1] for size in sizes):
            return None
        depth, width = (min(w for w in self.widths if w >= size) for size in static(sizes))
        return depth, width


class GroupsKernel(MmaKernel):
    """The same by groups of four warps."""

    name = "sdpa_wgmma"
    rows = 128
    widths = WIDTHS[1:]
    at_once = 2
    share_of_peak = 0.5

    def targets(self, device: Capabilities) -> str | None:
        return tensor_cores.needs_warp_groups(device)

    def recipe(self, width: int) -> Recipe:
        return tensor_cores.for_warp_groups(128 if width == 64 else 168)


def _mask_blocks(problem: AttentionProblem, rows: int) -> tuple[Stage, TensorView]:
    """What looks up what the mask does to each block of `rows` queries by `KEYS` keys, and where that is put."""
    own = four_axes(TensorView.of(problem.inputs[MASK]))
    mask = own.broadcast((*own.sizes[:2], problem.rows, problem.data[KEY].sizes[-2]))
    a, b, queries, keys = static(mask.sizes)
    kinds = TensorView.dense(_U8, (a, b, ceil(queries / rows), ceil(keys / KEYS)))
    constants = {"KEYS": KEYS, "ROWS": rows, "MASK_IS_BOOLEAN": problem.constants["MASK_IS_BOOLEAN"]}
    work = Work((ceil(keys / KEYS) * _LOOKING_ITEMS, ceil(queries / rows), a * b), (_LOOKING_ITEMS, 1, 1))
    operands = input_operand(problem, MASK, mask), scratch_operand(0, kinds)
    return Stage("sdpa_mask_blocks.cl", operands, work, constants), kinds
