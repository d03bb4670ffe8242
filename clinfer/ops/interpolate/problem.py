"""Interpolation as its kernels see it."""
from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from clinfer.kernels.contract import Constant, Problem
from clinfer.ops.interpolate.op import COORDINATES, MODES, NEAREST, Interpolate
from clinfer.ops.shared.views import static
from clinfer.symbolic.symbols import computed, pure, single, single_bits


@dataclass(frozen=True)
class InterpolateProblem(Problem):
    """Data that is resized along some axes."""

    primitive: Interpolate

    @cached_property
    def axes(self) -> tuple[int, ...]:
        """The resized axes; all while they are unknown."""
        rank = self.inputs[0].rank
        return self.primitive.axes_of(self.values, rank) or tuple(range(rank))

    @cached_property
    def lengths(self) -> list[int]:
        """The sizes of the data with its pads."""
        return [size + sum(self.primitive.pads(axis)) for axis, size in enumerate(static(self.inputs[0].shape))]

    @cached_property
    def scale_bits(self) -> list[int]:
        """Per axis of the data, output size over (padded) input size, as the primitive defines it: floats as the
        integers that as_float() reads; zeros while shapes are open."""
        primitive, given = self.primitive, self.values.get(self.primitive.scales_input)
        if not self.is_static:
            return [0] * self.inputs[0].rank
        scales = [1.0] * self.inputs[0].rank
        for n, axis in enumerate(self.axes):
            if primitive.shape_calculation_mode == "scales" and given is not None:
                scales[axis] = float(given.reshape(-1)[n])
            else:
                scales[axis] = computed(_quotient, self.outputs[0].shape[axis], self.lengths[axis])
        return [single_bits(scale) for scale in scales]

    @cached_property
    def keeps_outer_axes(self) -> bool | None:
        """Whether axes 0 and 1 come out as they are, or None while that is open."""
        primitive = self.primitive
        data, result = self.inputs[0].shape, self.outputs[0].shape
        resized = [(n, axis) for n, axis in enumerate(self.axes) if axis < 2]
        if resized and primitive.coordinate_transformation_mode == "tf_half_pixel_for_nn":
            return False
        if primitive.shape_calculation_mode == "sizes":
            known = [isinstance(data[axis], int) and isinstance(result[axis], int) for _, axis in resized]
            return all(data[axis] == result[axis] for _, axis in resized) if all(known) else None
        given = self.values.get(primitive.scales_input)
        if given is None:
            return None if resized else True
        return all(given.reshape(-1)[n] == 1 for n, _ in resized)

    @property
    def method(self) -> dict[str, Constant]:
        """The attributes that all kernels read."""
        primitive = self.primitive
        return {"MODE": MODES.index(primitive.mode), "NEAREST": NEAREST.index(primitive.nearest_mode),
                "COORDINATES": COORDINATES.index(primitive.coordinate_transformation_mode)}


@pure
def _quotient(a: int, b: int) -> float:
    """a / b as single precision has it."""
    return single(single(a) / single(b))
