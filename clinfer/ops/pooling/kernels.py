"""Kernels of pooling."""
from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from math import ceil, prod

from clinfer.base.layout import Layout
from clinfer.kernels.contract import (
    BufferRef,
    Constant,
    Formats,
    Kernel,
    KernelTable,
    Lowered,
    Operand,
    Problem,
    Stage,
    Work,
    all_operands,
    present_formats,
    stretched_epilogue,
)
from clinfer.ops.pooling.op import AdaptiveMaxPool, AdaptivePool, AvgPool, MaxPool, Pooling
from clinfer.ops.shared.channel_tiles import bytes_in_blocks
from clinfer.ops.shared.copying import local_items
from clinfer.ops.shared.reduction import LOWEST
from clinfer.ops.shared.targets import cpu_only
from clinfer.ops.shared.tile_runs import tiles_of_run
from clinfer.ops.shared.view_copy import storage_type
from clinfer.ops.shared.views import static
from clinfer.runtime.capabilities import Capabilities

_BLOCKED = ("b_fs_yx_fsv16", "b_fs_zyx_fsv16")
_CHANNELS_LAST = ("byxf",)
_LETTERS = "ZYX"
_RUN, _MOST_WIDTH = 64, 1024
"""The latter is the limit in pool_bytes.cl."""
_BYTE_FLOPS = 1.0
"""Operations of f32 in the time of which a byte of a row is looked at."""
_LISTS = ("kernel", "stride", "dilation", "begin", "end")


@dataclass(frozen=True)
class PoolingProblem(Problem):
    """The maximum or the mean of windows of data [B, C, spatial...]."""

    primitive: Pooling

    @property
    def is_max(self) -> bool:
        return isinstance(self.primitive, MaxPool)

    @cached_property
    def pads(self) -> list[tuple[int, int]]:
        """Pads per spatial axis; zeros while layouts are open."""
        if not self.is_static:
            return [(0, 0)] * len(self.primitive.kernel)
        return [self.primitive.pads(axis, size) for axis, size in enumerate(self.inputs[0].static_shape[2:])]

    @property
    def constants(self) -> dict[str, Constant]:
        """What is computed of a window."""
        primitive, kind = self.primitive, self.inputs[0].element_type
        exclude = isinstance(primitive, AvgPool) and primitive.exclude_pad and primitive.auto_pad != "valid"
        return {"IS_MAX": self.is_max, "EXCLUDE_PAD": exclude, "LOWEST": LOWEST[kind.cl_compute]}

    @property
    def mean(self) -> dict[str, Constant]:
        """How a mean becomes of a sum."""
        is_float = self.inputs[0].element_type.is_float
        return {"MEAN(sum, count)": "((sum) / (count))" if is_float else "rint(QUOTIENT((float)(sum), (float)(count)))"}

    @cached_property
    def as_stored(self) -> PoolingProblem:
        """The same of whole numbers where elements are stored as those of one grid: the largest of either are the same,
        as long as nothing else is computed of them."""
        data, *others = (layout.element_type for layout in (*self.inputs, *self.outputs))
        if data.grid is None or others != [data] or not self.is_max or self.primitive.fused_ops:
            return self
        return replace(self, inputs=tuple(map(_as_stored, self.inputs)), outputs=tuple(map(_as_stored, self.outputs)))

    def mean_refusal(self) -> str | None:
        """What keeps kernels that divide floats."""
        return None if self.is_max or self.inputs[0].element_type.is_float else "means are made for floats"


def _as_stored(layout: Layout) -> Layout:
    return replace(layout, element_type=storage_type(layout.element_type))


class _Pool(Kernel[PoolingProblem, None]):
    """What they share."""

    has_epilogue = True

    def formats(self, problem: PoolingProblem) -> Formats:
        return present_formats(problem)


class Reference(_Pool):
    """One window per work-item."""

    name = "pool_ref"
    supports_large = True
    efficiency = 0.02

    def lower(self, problem: PoolingProblem, config: None) -> Lowered:
        return Lowered((Stage("pool_ref.cl", all_operands(problem), local_items(problem.outputs[0].count),
                              _reference_constants(problem), _reference_arguments(problem),
                              stretched_epilogue(problem)),))


def _reference_constants(problem: PoolingProblem) -> dict[str, Constant]:
    rank, axes, with_index = problem.inputs[0].rank, range(len(problem.primitive.kernel)), len(problem.outputs) > 1
    lists = {f"{name.upper()}S": "{" + ", ".join(f"ARG_{name.upper()}_{a}" for a in axes) + "}" for name in _LISTS}
    sizes = "{" + ", ".join(f"INPUT0_SIZE_{a}" for a in range(rank)) + "}"
    index_axis = problem.primitive.axis % rank if with_index and isinstance(problem.primitive, MaxPool) else 0
    return {**problem.constants, **lists, "SIZES": sizes, "WITH_INDEX": with_index, "INDEX_AXIS": index_axis,
            **problem.mean}


def _reference_arguments(problem: PoolingProblem) -> dict[str, int]:
    primitive = problem.primitive
    arguments: dict[str, int] = {}
    for axis, (begin, end) in enumerate(problem.pads):
        values = primitive.kernel[axis], primitive.strides[axis], primitive.dilations[axis], begin, end
        arguments.update({f"{name}_{axis}": value for name, value in zip(_LISTS, values, strict=True)})
    return arguments


# -- windows clipped to the data --------------------------------------------------------------------


class Windows(_Pool):
    """Work-items, in groups of `group`, compute `outputs_each` neighbours of `vector` channels."""

    name = "pool_windows"
    supports_large = True
    efficiency = 0.3
    vector, outputs_each, group = 1, 1, 32
    channels_first = False
    """Whether neighbouring work-items compute neighbouring channels."""

    def supports(self, problem: PoolingProblem, config: None) -> str | None:
        if len(problem.outputs) > 1:
            return "positions are asked for"
        return None if len(problem.primitive.kernel) in (2, 3) else "made for two or three spatial axes"

    def lower(self, problem: PoolingProblem, config: None) -> Lowered:
        batch, channels, *others, width = static(problem.outputs[0].shape)
        blocks, runs = ceil(channels / self.vector), ceil(width / self.outputs_each)
        along, apart = (runs * blocks, batch) if self.channels_first else (runs, batch * blocks)
        work = Work((ceil(along / self.group) * self.group, prod(others), apart), (self.group, 1, 1))
        return Lowered((_clipped_stage(problem, "pool_windows.cl", work, {
            "VEC": self.vector, "OUTPUTS": self.outputs_each, "CHANNELS_FIRST": self.channels_first}),))


class Blocks(Windows):
    """Windows of data in blocks of 16 channels."""

    name = "pool_fsv16"
    efficiency = 0.6
    vector, outputs_each, group = 16, 4, 1

    def supports(self, problem: PoolingProblem, config: None) -> str | None:
        data, result = problem.inputs[0], problem.outputs[0]
        if data.format.name not in _BLOCKED:
            return f"data in {data.format} is not blocked by 16 channels"
        if data.padding.both(1) or result.padding.both(1):
            return "channels are padded"
        return problem.mean_refusal() or super().supports(problem, config)


class Bytes(_Pool):
    """The largest of windows of bytes in blocks of 16 channels, for CPUs."""

    name = "pool_bytes"
    efficiency = 0.9

    def targets(self, device: Capabilities) -> str | None:
        return cpu_only(device)

    def supports(self, problem: PoolingProblem, config: None) -> str | None:
        data, result = problem.as_stored.inputs[0], problem.as_stored.outputs[0]
        if not problem.is_max or {data.element_type.name, result.element_type.name} != {"u8"}:
            return "made for the largest of bytes"
        if len(problem.outputs) > 1 or problem.primitive.fused_ops:
            return "positions are asked for, or fused operations"
        if data.format.name != _BLOCKED[0] or len(problem.primitive.kernel) != 2:
            return f"data in {data.format} is not two spatial axes blocked by 16 channels"
        if data.padding or result.padding:
            return "padded tensors"
        return "windows have holes" if set(problem.primitive.dilations) != {1} else None

    def accepts(self, problem: PoolingProblem, config: None) -> str | None:
        width = problem.inputs[0].shape[-1]
        return None if isinstance(width, int) and width <= _MOST_WIDTH else "a row may have too many pixels"

    def lower(self, problem: PoolingProblem, config: None) -> Lowered:
        data, result = (bytes_in_blocks(layout, *static(layout.shape[2:]))
                        for layout in (problem.inputs[0], problem.outputs[0]))
        batch, blocks, rows, *_ = static(result.sizes)
        run = tiles_of_run(problem, rows * blocks * batch, prod(static(data.sizes)[3:]) * _BYTE_FLOPS)
        operands = (Operand("INPUT0", BufferRef("input", 0), data), Operand("OUTPUT0", BufferRef("output", 0), result))
        stage = _clipped_stage(problem, "pool_bytes.cl", Work((ceil(rows / run), blocks, batch), (1, 1, 1)), {})
        return Lowered((replace(stage, operands=operands, arguments={**stage.arguments, "run": run},
                                epilogue_views=None),))


class ChannelsLast(Windows):
    """Windows of data whose channels lie together, 16 at a time."""

    name = "pool_channels_last"
    efficiency = 0.6
    vector, group = 16, 64
    channels_first = True

    def supports(self, problem: PoolingProblem, config: None) -> str | None:
        data, result = problem.inputs[0], problem.outputs[0]
        if data.format.name not in _CHANNELS_LAST:
            return f"in {data.format} channels do not lie together"
        channels = data.shape[1]
        if not isinstance(channels, int) or channels % self.vector:
            return f"channels that are no multiple of {self.vector}"
        if data.padding.both(1) or result.padding.both(1):
            return "channels are padded"
        return problem.mean_refusal() or super().supports(problem, config)


class Rows(Windows):
    """Runs of a row of planar data, for CPUs."""

    name = "pool_rows"
    efficiency = 0.4

    def targets(self, device: Capabilities) -> str | None:
        return cpu_only(device)

    def supports(self, problem: PoolingProblem, config: None) -> str | None:
        if not problem.inputs[0].format.is_planar:
            return f"data in {problem.inputs[0].format} is not contiguous along x"
        return problem.mean_refusal() or super().supports(problem, config)

    def lower(self, problem: PoolingProblem, config: None) -> Lowered:
        batch, channels, *others, width = static(problem.outputs[0].shape)
        work = Work((ceil(width / _RUN), prod(others), batch * channels), (1, 1, 1))
        return Lowered((_clipped_stage(problem, "pool_rows.cl", work, {"RUN": _RUN}),))


def _clipped_stage(problem: PoolingProblem, source: str, work: Work, shape: dict[str, Constant]) -> Stage:
    """The stage of a kernel that reads windows.h; `shape`: what its work-items compute."""
    primitive, problem = problem.primitive, problem.as_stored
    letters = _LETTERS[3 - len(primitive.kernel):]
    constants: dict[str, Constant] = {**problem.constants, **problem.mean}
    arguments: dict[str, int] = {}
    for axis, (letter, (begin, end)) in enumerate(zip(letters, problem.pads, strict=True)):
        constants |= {f"KERNEL_{letter}": primitive.kernel[axis], f"STRIDE_{letter}": primitive.strides[axis],
                      f"DILATION_{letter}": primitive.dilations[axis]}
        arguments |= {f"begin_{letter.lower()}": begin, f"end_{letter.lower()}": end}
    return Stage(source, all_operands(problem), work, {**constants, **shape}, arguments, stretched_epilogue(problem))


KERNELS = KernelTable((Bytes(), Blocks(), ChannelsLast(), Rows(), Windows(), Reference()), PoolingProblem)


# -- a given number of windows ----------------------------------------------------------------------


@dataclass(frozen=True)
class AdaptiveProblem(Problem):
    """The maximum or the mean of as many windows as are asked for."""

    primitive: AdaptivePool

    @property
    def is_max(self) -> bool:
        return isinstance(self.primitive, AdaptiveMaxPool)


class AdaptiveReference(Kernel[AdaptiveProblem, None]):
    """One window per work-item."""

    name = "adaptive_pool_ref"
    has_epilogue = True
    supports_large = True

    def formats(self, problem: AdaptiveProblem) -> Formats:
        return present_formats(problem)

    def supports(self, problem: AdaptiveProblem, config: None) -> str | None:
        is_float = problem.inputs[0].element_type.is_float
        return None if problem.is_max or is_float else "means are made for floats"

    def lower(self, problem: AdaptiveProblem, config: None) -> Lowered:
        axes = range(problem.inputs[0].rank)
        lists: dict[str, Constant] = {
            f"{name}_SIZES": "{" + ", ".join(f"{name}0_SIZE_{a}" for a in axes) + "}"
            for name in ("INPUT", "OUTPUT")}
        constants = {**lists, "IS_MAX": problem.is_max, "WITH_INDEX": len(problem.outputs) > 1,
                     "LOWEST": LOWEST[problem.inputs[0].element_type.cl_compute]}
        return Lowered((Stage("adaptive_pool_ref.cl", all_operands(problem), local_items(problem.outputs[0].count),
                              constants, epilogue_views=stretched_epilogue(problem)),))


ADAPTIVE_KERNELS = KernelTable((AdaptiveReference(),), AdaptiveProblem)
