"""Kernels of Interpolate."""
from __future__ import annotations

from dataclasses import replace
from math import ceil

from clinfer.base.format import Format
from clinfer.kernels.contract import (
    Constant,
    Formats,
    Kernel,
    KernelTable,
    Lowered,
    Stage,
    Work,
    input_operand,
    output_operand,
    stretched_epilogue,
)
from clinfer.ops.interpolate.op import MODES
from clinfer.ops.interpolate.problem import InterpolateProblem
from clinfer.ops.shared.copying import local_items
from clinfer.ops.shared.targets import cpu_only
from clinfer.ops.shared.views import static
from clinfer.runtime.capabilities import Capabilities


class _Resizing(Kernel[InterpolateProblem, None]):
    """What they share."""

    has_epilogue = True

    def formats(self, problem: InterpolateProblem) -> Formats:
        data, *others = problem.inputs
        return Formats((data.format, *(Format.planar(x.rank) for x in others)), (data.format,))


class Reference(_Resizing):
    """One element per work-item, along any axes and by any method."""

    name = "interpolate_ref"
    supports_large = True
    efficiency = 0.02

    def lower(self, problem: InterpolateProblem, config: None) -> Lowered:
        operands = (input_operand(problem, 0), output_operand(problem))
        return Lowered((Stage("interpolate_ref.cl", operands, local_items(problem.outputs[0].count),
                              _reference_constants(problem), _reference_arguments(problem),
                              epilogue_views=stretched_epilogue(problem)),))


def _reference_constants(problem: InterpolateProblem) -> dict[str, Constant]:
    def listed(pattern: str) -> str:
        return "{" + ", ".join(pattern.format(a) for a in range(problem.inputs[0].rank)) + "}"
    return {**problem.method, "ANTIALIAS": problem.primitive.antialias,
            "CUBE_COEFF": problem.primitive.cubic_parameter, "AXIS_COUNT": len(problem.axes),
            "AXES": "{" + ", ".join(map(str, problem.axes)) + "}", "LENGTHS": listed("ARG_LENGTH_{}"),
            "BEGINS": listed("ARG_BEGIN_{}"), "SCALES": listed("ARG_SCALE_{}"),
            "INPUT_SIZES": listed("INPUT0_SIZE_{}"), "OUTPUT_SIZES": listed("OUTPUT0_SIZE_{}")}


def _reference_arguments(problem: InterpolateProblem) -> dict[str, int]:
    begins = [problem.primitive.pads(axis)[0] for axis in range(problem.inputs[0].rank)]
    return {f"{name}_{axis}": value for name, values in (
        ("length", problem.lengths), ("begin", begins), ("scale", problem.scale_bits))
        for axis, value in enumerate(values)}


class Planes(_Resizing):
    """The last two of four axes, by neighbours: a work-item computes `run` pixels of `channels` channels, `vector`
    channels at a time; work-items come in groups of `group`."""

    name = "interpolate_planes"
    efficiency = 0.3
    vector, run, channels, group = 1, 1, 1, 32

    def supports(self, problem: InterpolateProblem, config: None) -> str | None:
        primitive = problem.primitive
        if problem.inputs[0].rank != 4 or primitive.axes_of(problem.values, 4) is None or (
                problem.keeps_outer_axes is False):
            return "made for the last two of four axes"
        filters = primitive.mode == "linear" and primitive.antialias
        if primitive.mode not in ("nearest", "linear_onnx", "linear") or filters:
            return "made for nearest neighbours and linear interpolation"
        if any(primitive.pads_begin) or any(primitive.pads_end):
            return "the data is padded"
        if primitive.mode != "nearest" and not problem.inputs[0].element_type.is_float:
            return "made for floats"
        return None

    def accepts(self, problem: InterpolateProblem, config: None) -> str | None:
        return None if problem.keeps_outer_axes else "axis 0 or 1 is resized"

    def accepted_like(self, sample: InterpolateProblem, config: None) -> InterpolateProblem:
        data, *others = sample.inputs
        kept = (*sample.outputs[0].shape[:2], *data.shape[2:])
        return replace(sample, inputs=(data.with_shape(kept), *others))

    def lower(self, problem: InterpolateProblem, config: None) -> Lowered:
        batch, features, height, width = static(problem.outputs[0].shape)
        groups = ceil(ceil(width / self.run) / self.group)
        work = Work((groups * self.group, height, batch * ceil(features / self.channels)), (self.group, 1, 1))
        constants = {**problem.method, "MODE": min(MODES.index(problem.primitive.mode), 1), "VEC": self.vector,
                     "RUN": self.run, "CHANNELS": self.channels, "CONTIGUOUS": problem.outputs[0].format.is_planar}
        _, _, scale_y, scale_x = problem.scale_bits
        return Lowered((Stage("interpolate_planes.cl", (input_operand(problem, 0), output_operand(problem)), work,
                              constants, {"scale_y": scale_y, "scale_x": scale_x},
                              stretched_epilogue(problem)),))


class Runs(Planes):
    """Runs of a row, for CPUs."""

    name = "interpolate_runs"
    efficiency = 0.4
    vector, run, channels, group = 1, 64, 16, 1

    def targets(self, device: Capabilities) -> str | None:
        return cpu_only(device)


class Blocks(Planes):
    """Blocks of 16 channels."""

    name = "interpolate_fsv16"
    efficiency = 0.6
    vector, run, channels, group = 16, 8, 16, 1

    def supports(self, problem: InterpolateProblem, config: None) -> str | None:
        data, result = problem.inputs[0], problem.outputs[0]
        if data.format.name != "b_fs_yx_fsv16":
            return f"data in {data.format} is not blocked by 16 channels"
        if data.padding.both(1) or result.padding.both(1):
            return "channels are padded"
        return super().supports(problem, config)


KERNELS = KernelTable((Blocks(), Runs(), Planes(), Reference()), InterpolateProblem)
