"""The kernel of GridSample."""
from __future__ import annotations

from dataclasses import dataclass
from math import ceil

from clinfer.kernels.contract import (
    Formats,
    Kernel,
    KernelTable,
    Lowered,
    Problem,
    Stage,
    Work,
    all_operands,
    present_formats,
)
from clinfer.ops.grid_sample.op import GridSample
from clinfer.ops.shared.copying import local_items
from clinfer.ops.shared.views import static

CHANNELS = 8
_MODES = ("bilinear", "bicubic", "nearest")
_PADDINGS = ("zeros", "border", "reflection")


@dataclass(frozen=True)
class GridSampleProblem(Problem):
    """Pictures, and the places at which they are sampled."""

    primitive: GridSample


class Reference(Kernel[GridSampleProblem, None]):
    """One place per work-item, of a few channels."""

    name = "grid_sample_ref"
    supports_large = True

    def formats(self, problem: GridSampleProblem) -> Formats:
        return present_formats(problem)

    def supports(self, problem: GridSampleProblem, config: None) -> str | None:
        return "computes in f32" if any(x.element_type.name == "f64" for x in problem.inputs) else None

    def lower(self, problem: GridSampleProblem, config: None) -> Lowered:
        primitive = problem.primitive
        constants = {"CHANNELS": CHANNELS, "MODE": _MODES.index(primitive.mode.lower()),
                     "PADDING": _PADDINGS.index(primitive.padding_mode.lower()),
                     "ALIGN_CORNERS": primitive.align_corners}
        batch, channels, height, width = static(problem.outputs[0].shape)
        places = local_items(batch * height * width)
        assert places.local_size is not None
        work = Work((*places.global_size, ceil(channels / CHANNELS)), (*places.local_size, 1))
        return Lowered((Stage("grid_sample_ref.cl", all_operands(problem), work, constants),))


KERNELS = KernelTable((Reference(),), GridSampleProblem)
