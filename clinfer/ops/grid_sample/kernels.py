"""The kernels of GridSample."""
from __future__ import annotations

from dataclasses import dataclass
from math import ceil

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
    planar_formats,
    present_formats,
)
from clinfer.kernels.cost import time_of
from clinfer.ops.grid_sample.op import GridSample
from clinfer.ops.shared.copying import local_items
from clinfer.ops.shared.targets import cpu_only
from clinfer.ops.shared.views import static
from clinfer.runtime.capabilities import Capabilities

_WIDE = 16
_MODES = ("bilinear", "bicubic", "nearest")
_PADDINGS = ("zeros", "border", "reflection")


@dataclass(frozen=True)
class GridSampleProblem(Problem):
    """Pictures, and the places at which they are sampled."""

    primitive: GridSample

    @property
    def pixels_read(self) -> int:
        """How many pixels all of the output is mixed of."""
        taps = (4, 16, 1)[self._mode]
        batch, channels, height, width = static(self.outputs[0].shape)
        return taps * batch * channels * height * width

    @property
    def why_not(self) -> str | None:
        """Why no kernel here computes it, or None."""
        return "computes in f32" if any(x.element_type.name == "f64" for x in self.inputs) else None

    def constants(self, channels: int) -> dict[str, Constant]:
        """Those of kernels whose work-items compute so many channels."""
        return {"CHANNELS": channels, "MODE": self._mode,
                "PADDING": _PADDINGS.index(self.primitive.padding_mode.lower()),
                "ALIGN_CORNERS": self.primitive.align_corners}

    @property
    def _mode(self) -> int:
        return _MODES.index(self.primitive.mode.lower())


class Runs(Kernel[GridSampleProblem, None]):
    """Several places at once, as vectors; for CPUs."""

    name = "grid_sample_runs"
    channels, runs = 32, 8
    flops_per_pixel = 400.0

    def targets(self, device: Capabilities) -> str | None:
        return cpu_only(device)

    def formats(self, problem: GridSampleProblem) -> Formats:
        return planar_formats(problem)

    def supports(self, problem: GridSampleProblem, config: None) -> str | None:
        return problem.why_not

    def accepts(self, problem: GridSampleProblem, config: None) -> str | None:
        return "the pictures have no pixels" if 0 in problem.inputs[0].shape else None

    def cost(self, problem: GridSampleProblem, config: None) -> float:
        return time_of(problem.capabilities.ceilings, flops=self.flops_per_pixel * problem.pixels_read,
                       nbytes=problem.moved_bytes)

    def lower(self, problem: GridSampleProblem, config: None) -> Lowered:
        batch, channels, height, width = static(problem.outputs[0].shape)
        work = Work((ceil(height * width / (_WIDE * self.runs)), batch, ceil(channels / self.channels)))
        constants = {**problem.constants(self.channels), "RUNS": self.runs}
        return Lowered((Stage("grid_sample_runs.cl", all_operands(problem), work, constants),))


class Reference(Kernel[GridSampleProblem, None]):
    """One place per work-item, of a few channels."""

    name = "grid_sample_ref"
    supports_large = True
    channels = 8
    flops_per_pixel = 1500.0

    def formats(self, problem: GridSampleProblem) -> Formats:
        return present_formats(problem)

    def supports(self, problem: GridSampleProblem, config: None) -> str | None:
        return problem.why_not

    def cost(self, problem: GridSampleProblem, config: None) -> float:
        flops = self.flops_per_pixel * problem.pixels_read if problem.runs_on_cpu else 0.0
        return super().cost(problem, config) + time_of(problem.capabilities.ceilings, flops=flops, launches=0)

    def lower(self, problem: GridSampleProblem, config: None) -> Lowered:
        batch, channels, height, width = static(problem.outputs[0].shape)
        places = local_items(batch * height * width)
        assert places.local_size is not None
        work = Work((*places.global_size, ceil(channels / self.channels)), (*places.local_size, 1))
        return Lowered((Stage("grid_sample_ref.cl", all_operands(problem), work, problem.constants(self.channels)),))


KERNELS = KernelTable((Runs(), Reference()), GridSampleProblem)
