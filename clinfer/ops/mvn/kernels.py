"""Kernels of MVN."""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil

from clinfer.base.shape import StaticShape, count_bounds
from clinfer.kernels.contract import Constant, Kernel, KernelTable, Lowered, Work
from clinfer.kernels.cost import time_of
from clinfer.kernels.jitter import literal
from clinfer.ops.mvn.op import MVN
from clinfer.ops.shared.axis_kernels import AxisProblem, Rows, axis_kernels
from clinfer.symbolic.symbols import computed, larger, pure, smaller

_LONGER = 0.05
"""By what share a row alone on a compute unit takes longer for each further vector that a work-item holds."""


@dataclass(frozen=True)
class MVNProblem(AxisProblem):
    """Mean and deviation along the axes in input 1."""

    primitive: MVN

    @property
    def constants(self) -> Mapping[str, Constant]:
        """CENTRE, whether the mean is taken off, and DEVIATION(v), the divisor for a variance v."""
        primitive = self.primitive
        eps, centre = literal(float(primitive.eps)), bool(primitive.centre)
        if not primitive.normalize_variance:
            return {"CENTRE": centre, "DEVIATION(v)": "((v) - (v) + 1)"}
        deviation = f"sqrt((v) + {eps})" if primitive.eps_inside_sqrt else f"(sqrt(v) + {eps})"
        return {"CENTRE": centre, "DEVIATION(v)": deviation}


class HeldRows(Rows):
    """One work-group per row of a length that the model fixes, which its work-items hold in registers: of as few warps
    as can."""

    suffix = file = "held"
    efficiency = 0.85
    vector, most_held, most_lanes = 4, 8, 256
    wanted_held = most_held

    def supports(self, problem: AxisProblem, config: None) -> str | None:
        length = problem.counts[0]
        if not isinstance(length, int) or length % self.vector or not 0 < length <= self._length_of(self.most_lanes):
            return f"rows of open length, or of no multiple of {self.vector} up to {self._length_of(self.most_lanes)}"
        if problem.capabilities.max_work_group_size < self._lanes(length):
            return f"needs work-groups of {self._lanes(length)}"
        return super().supports(problem, config)

    def cost(self, problem: AxisProblem, config: None) -> float:
        share = 0.1 if problem.runs_on_cpu else self.efficiency
        length, rows = problem.counts
        seen = computed(_share_seen, rows, problem.capabilities.compute_units)
        longer = 1 + _LONGER * (self._held(length) - 1) * seen
        return time_of(problem.capabilities.ceilings, nbytes=problem.moved_bytes, bandwidth=share / longer)

    def work(self, problem: AxisProblem, sizes: StaticShape) -> tuple[Work, Mapping[str, Constant]]:
        a, b, c, _ = sizes
        length = problem.counts[0]
        lanes = self._lanes(length)
        return Work((a * b * c * lanes,), (lanes,)), {"LANES": lanes, "HELD": self._held(length), "LENGTH": length}

    def _held(self, length: int) -> int:
        """Vectors that a work-item holds."""
        return ceil(length / (self.vector * self._lanes(length)))

    def _lanes(self, length: int) -> int:
        """Work-items that hold a row: a warp, or twice as many until each holds no more than is wanted."""
        few = (lanes for lanes in (32, 64, 128) if length <= lanes * self.vector * self.wanted_held)
        return next(few, self.most_lanes)

    def _length_of(self, lanes: int) -> int:
        return lanes * self.vector * self.most_held


class WideRows(HeldRows):
    """The same by more warps, each work-item of which holds little: for fewer rows than keep a device at work."""

    suffix = "wide"
    efficiency = 0.7
    wanted_held = 2


class LeftToReaders(Kernel[MVNProblem, None]):
    """Nothing, of so few rows that those who read them normalise them on their way."""

    name = "mvn_left_to_readers"
    has_epilogue = True
    supports_large = True

    def supports(self, problem: MVNProblem, config: None) -> str | None:
        return None if problem.primitive.left_to_readers else "its readers do not normalise rows"

    def accepts(self, problem: MVNProblem, config: None) -> str | None:
        few = problem.primitive.left_to_readers
        return None if count_bounds(problem.inputs[0].shape[:-1])[1] <= few else f"more than {few} rows"

    def cost(self, problem: MVNProblem, config: None) -> float:
        return 0.0

    def lower(self, problem: MVNProblem, config: None) -> Lowered:
        return Lowered(())


@pure
def _share_seen(rows: int, units: int) -> float:
    """Of the time in which a row waits what is not hidden behind other rows of the compute unit."""
    return smaller(1.0, units / larger(rows, 1))


KERNELS = KernelTable((LeftToReaders(), HeldRows("mvn"), WideRows("mvn"),
                       *axis_kernels("mvn", MVNProblem).kernels), MVNProblem)
