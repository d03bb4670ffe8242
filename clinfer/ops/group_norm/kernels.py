"""Kernels of GroupNormalization."""
from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import prod

from clinfer.base.element_type import ElementType
from clinfer.base.format import Format
from clinfer.base.layout import Layout
from clinfer.base.shape import Shape, StaticShape
from clinfer.base.tensor_view import TensorView
from clinfer.kernels.contract import (
    Constant,
    Formats,
    Kernel,
    KernelTable,
    Lowered,
    Problem,
    Stage,
    Work,
    all_operands,
    input_operand,
    output_operand,
    scratch_operand,
    stretched_epilogue,
)
from clinfer.kernels.cost import time_of
from clinfer.kernels.recipe import USUAL, with_sub_groups
from clinfer.ops.group_norm.op import GroupNormalization
from clinfer.ops.shared.copying import local_items
from clinfer.ops.shared.data_formats import data_formats
from clinfer.ops.shared.reduction import row_lanes, rows_constants, serial_time
from clinfer.ops.shared.targets import cpu_only
from clinfer.ops.shared.views import static
from clinfer.runtime.capabilities import Capabilities

BLOCK = 16
PIXELS = 256
"""Pixels of a block of 16 channels that one work-item normalises."""
_BLOCKED = ("b_fs_yx_fsv16", "b_fs_zyx_fsv16")


@dataclass(frozen=True)
class GroupNormProblem(Problem):
    """Data [B, C, ...] with a factor and a summand per channel."""

    primitive: GroupNormalization

    @property
    def sizes_seen(self) -> StaticShape:
        """B, C and the pixels, which may be open."""
        batch, channels, *spatial = static(self.inputs[0].shape)
        return batch, channels, prod(spatial)

    @property
    def constants(self) -> dict[str, Constant]:
        """EPSILON and GROUPS."""
        return {"EPSILON": float(self.primitive.epsilon), "GROUPS": self.primitive.num_groups}

    @cached_property
    def is_even(self) -> bool | None:
        """Whether what fused operations read stretches along all pixels or none, or None while that is open."""
        known = [_evenness(layout.shape, self.outputs[0].shape) for layout in self.fused_inputs]
        return False if False in known else None if None in known else True


def _evenness(shape: Shape, result: Shape) -> bool | None:
    if all(size == 1 for size in shape[2:]):
        return True
    if not all(isinstance(size, int) for size in (shape[1], *shape[2:], *result[2:])):
        return None
    return shape[2:] == result[2:]


class Reference(Kernel[GroupNormProblem, None]):
    """One work-item per group of a picture."""

    name = "group_norm_ref"
    supports_large = True
    efficiency = 0.02
    has_epilogue = True

    def formats(self, problem: GroupNormProblem) -> Formats:
        """Data and output in the data's format."""
        kept = problem.inputs[0].format
        return data_formats(problem, kept, kept)

    def supports(self, problem: GroupNormProblem, config: None) -> str | None:
        return None if all(x.element_type.is_float for x in problem.inputs) else "made for floats"

    def cost(self, problem: GroupNormProblem, config: None) -> float:
        _, channels, pixels = problem.sizes_seen
        waiting = serial_time(problem, 3 * (channels / problem.primitive.num_groups) * pixels)
        return waiting + time_of(problem.capabilities.ceilings, nbytes=problem.moved_bytes, bandwidth=self.efficiency)

    def lower(self, problem: GroupNormProblem, config: None) -> Lowered:
        groups = problem.sizes_seen[0] * problem.primitive.num_groups
        sizes = ", ".join(f"INPUT0_SIZE_{a}" for a in range(problem.inputs[0].rank))
        return Lowered((Stage("group_norm_ref.cl", all_operands(problem), local_items(groups),
                              {**problem.constants, "SIZES": "{" + sizes + "}"},
                              epilogue_views=stretched_epilogue(problem)),))


class _TwoStages(Reference):
    """Mean and variance of each channel, then the result; pixels are merged."""

    efficiency = 0.6

    def supports(self, problem: GroupNormProblem, config: None) -> str | None:
        if problem.inputs[0].padding or problem.outputs[0].padding:
            return "padded tensors"
        return super().supports(problem, config) or (_UNEVEN if problem.is_even is False else None)

    def accepts(self, problem: GroupNormProblem, config: None) -> str | None:
        return None if problem.is_even else _UNEVEN

    def cost(self, problem: GroupNormProblem, config: None) -> float:
        moved = problem.moved_bytes + 2 * problem.inputs[0].byte_size
        return time_of(problem.capabilities.ceilings, nbytes=moved, bandwidth=self.efficiency, launches=2)

    @abstractmethod
    def works(self, problem: GroupNormProblem) -> tuple[Work, Work, Mapping[str, Constant]]:
        """The work of the two stages, and the macros that it depends on."""

    def lower(self, problem: GroupNormProblem, config: None) -> Lowered:
        first, second, constants = self.works(problem)
        batch, channels, _ = problem.sizes_seen
        # The mean of each channel, then the mean square of what it leaves.
        kind = ElementType.of("f64" if problem.inputs[0].element_type.cl_compute == "double" else "f32")
        statistics = scratch_operand(0, TensorView.dense(kind, (2, batch, channels)))
        data = input_operand(problem, 0, _flat(problem.inputs[0]))
        layout = self.name.removeprefix("group_norm_")
        recipe = with_sub_groups(problem.capabilities) if "LANES" in constants else USUAL
        return Lowered(
            (Stage(f"group_norm_statistics_{layout}.cl", (data, statistics), first, {**problem.constants, **constants},
                   recipe=recipe),
             Stage(f"{self.name}.cl", (data, input_operand(problem, 1), input_operand(problem, 2), statistics,
                                       output_operand(problem, 0, _flat(problem.outputs[0]))),
                   second, {**problem.constants, **constants}, epilogue_views=stretched_epilogue(problem, _flat),
                   recipe=recipe)),
            (kind.byte_size(2 * batch * channels),))


_UNEVEN = "what fused operations read stretches along some of the pixels"


def _flat(layout: Layout) -> TensorView:
    """[B, C, pixels] of a layout without padding."""
    sizes = (*layout.shape[:2], prod(static(layout.shape[2:])))
    if layout.format.is_planar:
        return TensorView.dense(layout.element_type, sizes)
    return TensorView.of(Layout(sizes, layout.element_type, Format.of("b_fs_yx_fsv16")))


class Rows(_TwoStages):
    """A work-group per channel of planar data."""

    name = "group_norm_rows"

    def supports(self, problem: GroupNormProblem, config: None) -> str | None:
        return super().supports(problem, config) or (
            None if problem.inputs[0].format.is_planar else "made for planar formats")

    def works(self, problem: GroupNormProblem) -> tuple[Work, Work, Mapping[str, Constant]]:
        batch, channels, _ = problem.sizes_seen
        lanes = row_lanes(problem)
        work = Work((batch * channels * lanes,), (lanes,))
        return work, work, rows_constants(problem)


class Blocks(_TwoStages):
    """A work-item per block of 16 channels, and then per so many pixels of it."""

    name = "group_norm_fsv16"

    def targets(self, device: Capabilities) -> str | None:
        return cpu_only(device)

    def supports(self, problem: GroupNormProblem, config: None) -> str | None:
        return super().supports(problem, config) or (
            None if problem.inputs[0].format.name in _BLOCKED else "made for blocks of 16 channels")

    def works(self, problem: GroupNormProblem) -> tuple[Work, Work, Mapping[str, Constant]]:
        batch, channels, pixels = problem.sizes_seen
        blocks = batch * -(-channels // BLOCK)
        return Work((blocks,), (1,)), Work((-(-pixels // PIXELS), blocks), (1, 1)), {"PIXELS": PIXELS}


KERNELS = KernelTable((Blocks(), Rows(), Reference()), GroupNormProblem)
