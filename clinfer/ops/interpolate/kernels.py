"""Kernels of Interpolate."""
from __future__ import annotations

from dataclasses import replace
from math import ceil, prod

from clinfer.base.format import Format
from clinfer.base.layout import Layout
from clinfer.base.tensor_view import TensorView
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
            "AXES": "{" + ", ".join(map(str, sorted(problem.axes))) + "}", "LENGTHS": listed("ARG_LENGTH_{}"),
            "BEGINS": listed("ARG_BEGIN_{}"), "SCALES": listed("ARG_SCALE_{}"),
            "INPUT_SIZES": listed("INPUT0_SIZE_{}"), "OUTPUT_SIZES": listed("OUTPUT0_SIZE_{}")}


def _reference_arguments(problem: InterpolateProblem) -> dict[str, int]:
    begins = [problem.primitive.pads(axis)[0] for axis in range(problem.inputs[0].rank)]
    return {f"{name}_{axis}": value for name, values in (
        ("length", problem.lengths), ("begin", begins), ("scale", problem.scale_bits))
        for axis, value in enumerate(values)}


class Planes(_Resizing):
    """Pictures and volumes by neighbours: a work-item computes `run` pixels of `channels` channels, `vector` at a time;
    work-items come in groups of `group`. Rows of up to `joined` columns are joined first."""

    name = "interpolate_planes"
    efficiency = 0.3
    vector, run, channels, group, joined = 1, 1, 1, 32, 0

    def supports(self, problem: InterpolateProblem, config: None) -> str | None:
        primitive = problem.primitive
        rank = problem.inputs[0].rank
        if rank not in (4, 5) or primitive.axes_of(problem.values, rank) is None or problem.keeps_outer_axes is False:
            return "made for the axes of pictures and volumes"
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
        batch, features, *planes, height, width = static(problem.outputs[0].shape)
        groups = ceil(ceil(width / self.run) / self.group)
        work = Work((groups * self.group, height * prod(planes), batch * ceil(features / self.channels)),
                    (self.group, 1, 1))
        constants = {**problem.method, "MODE": min(MODES.index(problem.primitive.mode), 1), "VEC": self.vector,
                     "RUN": self.run, "CHANNELS": self.channels, "CONTIGUOUS": problem.outputs[0].format.is_planar,
                     "PLANES": 1 + len(planes), "JOINED": self.joined}
        arguments = {f"scale_{letter}": scale for letter, scale in zip("zyx", problem.scale_bits[-3:], strict=True)}
        operands = (input_operand(problem, 0, _as_volume(problem.inputs[0])),
                    output_operand(problem, 0, _as_volume(problem.outputs[0])))
        return Lowered((Stage("interpolate_planes.cl", operands, work, constants, arguments,
                              stretched_epilogue(problem, _as_volume)),))


def _as_volume(layout: Layout) -> TensorView:
    """The view with five axes."""
    view = TensorView.of(layout)
    return view if layout.rank == 5 else view.insert_axes((2,))


class Runs(Planes):
    """Runs of a row, for CPUs."""

    name = "interpolate_runs"
    efficiency = 0.4
    vector, run, channels, group, joined = 1, 64, 16, 1, 256

    def targets(self, device: Capabilities) -> str | None:
        return cpu_only(device)


class Blocks(Planes):
    """Blocks of 16 channels."""

    name = "interpolate_fsv16"
    efficiency = 0.6
    vector, run, channels, group = 16, 8, 16, 1

    def supports(self, problem: InterpolateProblem, config: None) -> str | None:
        data, result = problem.inputs[0], problem.outputs[0]
        if data.format.name not in ("b_fs_yx_fsv16", "b_fs_zyx_fsv16"):
            return f"data in {data.format} is not blocked by 16 channels"
        if data.padding.both(1) or result.padding.both(1):
            return "channels are padded"
        return super().supports(problem, config)


KERNELS = KernelTable((Blocks(), Runs(), Planes(), Reference()), InterpolateProblem)
