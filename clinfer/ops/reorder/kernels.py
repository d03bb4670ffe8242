"""Kernels of reorders."""
from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from math import prod

from clinfer.base.format import Format
from clinfer.base.tensor_view import TensorView
from clinfer.kernels.contract import (
    BufferRef,
    Constant,
    Formats,
    Kernel,
    KernelTable,
    Lowered,
    Move,
    Problem,
    Stage,
    Work,
    all_operands,
    input_operand,
    output_operand,
)
from clinfer.kernels.cost import reorder_time
from clinfer.ops.reorder.op import Reorder
from clinfer.ops.reorder.walk import LIMITS, TILE, blocks_between, rank_between, run_between, walk_between
from clinfer.ops.shared.copying import CopyTurned, local_items
from clinfer.ops.shared.view_copy import ViewCopy
from clinfer.ops.shared.views import static
from clinfer.runtime.capabilities import Capabilities

_LARGEST_RANK = 10
_REFERENCE_WORK = 10
"""How many times the work of tiles the reference has with each byte."""
_CPU_BYTES = 256
"""Bytes of 4-bit elements that a work-item writes on CPUs; 1 elsewhere."""


@dataclass(frozen=True)
class ReorderProblem(Problem):
    """The same elements in another format, and of another type if that is asked for."""

    primitive: Reorder

    @cached_property
    def blocks(self) -> dict[int, int] | None:
        """The axes that are blocked in one of the layouts at least, if they can be walked along together."""
        return blocks_between(self.inputs[0], self.outputs[0])

    @cached_property
    def no_walk(self) -> str | None:
        """Why there is no walk between the layouts, whatever the shape, or None."""
        source, target, blocks = self.inputs[0], self.outputs[0], self.blocks
        if source.element_type != target.element_type:
            return "another element type"
        if blocks is None:
            return "an axis is blocked differently"
        if any(layout.padding.both(axis) for layout in (source, target) for axis in blocks):
            return "padding of a blocked axis"
        return None if rank_between(target, blocks) <= _LARGEST_RANK else "too many axes"

    @property
    def moves(self) -> tuple[Move, ...]:
        """One run of bytes, where both layouts hold the same elements in the same order."""
        walks = self.is_static and self.blocks is not None and self.no_walk is None
        return Move(0, 0, run_between(self.inputs[0], self.outputs[0], self.blocks or {}) if walks else None),


class Tiles(Kernel[ReorderProblem, None]):
    """Tiles along the axes that are contiguous in the input and in the output."""

    name = "reorder_tiles"
    supports_large = True

    def formats(self, problem: ReorderProblem) -> Formats:
        return Formats((problem.inputs[0].format,), (Format.of(problem.primitive.format),))

    def supports(self, problem: ReorderProblem, config: None) -> str | None:
        return problem.no_walk

    def cost(self, problem: ReorderProblem, config: None) -> float:
        return reorder_time(problem.capabilities.ceilings, problem.moved_bytes)

    def lower(self, problem: ReorderProblem, config: None) -> Lowered:
        (source,), (target,), blocks, on_cpu = problem.inputs, problem.outputs, problem.blocks, problem.runs_on_cpu
        assert blocks is not None
        walk = walk_between(source, target, blocks, on_cpu)
        outer = rank_between(target, blocks) - 2
        filled = [target.format.block_of(axis) > 1 for axis in blocks] + [False] * (LIMITS - len(blocks))
        constants: dict[str, Constant] = {
            "OUTER_AXES(step)": " ".join(f"step({axis})" for axis in reversed(range(outer))),
            "RUN": outer, "LANE": outer + 1, "TILE": TILE if on_cpu else 1,
            **{f"FILLS_{number}": fills for number, fills in enumerate(filled)}}
        operands = input_operand(problem, 0, walk.source), output_operand(problem, 0, walk.target)
        return Lowered((Stage("reorder_tiles.cl", operands, walk.work, constants, walk.arguments,
                              moves=problem.moves),))


class Turned(Tiles):
    """Between tensors without blocks of which other axes are contiguous, by way of local memory."""

    name = "reorder_turned"
    copying = CopyTurned("reorder")
    gain = 2
    """How many times as fast as tiles it moves a byte."""

    def targets(self, device: Capabilities) -> str | None:
        return "made for GPUs" if device.device_type == "CPU" else None

    def supports(self, problem: ReorderProblem, config: None) -> str | None:
        if problem.blocks or any(x.padding for x in (problem.inputs[0], problem.outputs[0])):
            return "blocks or padding"
        return super().supports(problem, config) or self.copying.supports(problem, config)

    def accepts(self, problem: ReorderProblem, config: None) -> str | None:
        return self.copying.why_not(self._copy(problem)) if problem.is_static else "not every shape is transposed"

    def cost(self, problem: ReorderProblem, config: None) -> float:
        return reorder_time(problem.capabilities.ceilings, problem.moved_bytes // self.gain)

    def lower(self, problem: ReorderProblem, config: None) -> Lowered:
        return Lowered((replace(self.copying.stage(problem, self._copy(problem)), moves=problem.moves),))

    @staticmethod
    def _copy(problem: ReorderProblem) -> ViewCopy:
        source, target = map(TensorView.of, (problem.inputs[0], problem.outputs[0]))
        return ViewCopy(BufferRef("input", 0), BufferRef("output", 0), source, target)


class Reference(Tiles):
    """One element of the output per work-item, those that fill up its blocks included."""

    name = "reorder_ref"

    def supports(self, problem: ReorderProblem, config: None) -> str | None:
        return None

    def cost(self, problem: ReorderProblem, config: None) -> float:
        return reorder_time(problem.capabilities.ceilings, _REFERENCE_WORK * problem.moved_bytes)

    def lower(self, problem: ReorderProblem, config: None) -> Lowered:
        source, target = problem.inputs[0], problem.outputs[0]
        rank, order = target.rank, _memory_order(target.format, target.rank)
        sizes, blocks = static(target.shape), [target.format.block_of(axis) for axis in range(rank)]
        whole = [sizes[axis] if target.padding else -(-sizes[axis] // blocks[axis]) * blocks[axis] for axis in order]
        steps = [f"(c)[{i}] = r_ % ARG_WHOLE_{i}; r_ /= ARG_WHOLE_{i};" if i else "(c)[0] = r_;"
                 for i in reversed(range(rank))]
        constants = {"UNRAVEL_WHOLE(i, c)": "do { index_t r_ = (i); " + " ".join(steps) + " } while (0)",
                     "IS_INSIDE(c)": _is_inside(rank)}
        operands = (input_operand(problem, 0, TensorView.of(source).permute(order)),
                    output_operand(problem, 0, TensorView.of(target).permute(order)))
        return Lowered((Stage("reorder_ref.cl", operands, local_items(prod(whole)), constants,
                              {"count": prod(whole), **{f"whole_{i}": size for i, size in enumerate(whole)}},
                              moves=problem.moves),))


class Nibbles(Tiles):
    """Two elements that share a byte: bytes are written one after the other."""

    name = "reorder_nibbles"
    writes_packed = True

    def supports(self, problem: ReorderProblem, config: None) -> str | None:
        source, target = problem.inputs[0], problem.outputs[0]
        if source.element_type != target.element_type or not target.element_type.is_packed:
            return "for two tensors of one 4-bit type"
        return "padded outputs" if target.padding else None

    def lower(self, problem: ReorderProblem, config: None) -> Lowered:
        layout, on_cpu = problem.outputs[0], problem.runs_on_cpu
        fmt, rank = layout.format, layout.rank
        steps = [f"(c)[{axis}] = 0;" for axis in range(rank)]
        scale = dict.fromkeys(range(rank), 1)
        for axis, size in reversed(fmt.block_axes):
            steps.append(f"(c)[{axis}] += r_ % {size} * {scale[axis]}; r_ /= {size};")
            scale[axis] *= size
        for axis in reversed(fmt.order_of(rank)):
            steps.append(f"(c)[{axis}] += r_ % ARG_OUTER_{axis} * {scale[axis]}; r_ /= ARG_OUTER_{axis};")
        outer = [-(-size // scale[axis]) for axis, size in enumerate(static(layout.shape))]
        count, nbytes = prod(outer) * prod(scale.values()), _CPU_BYTES if on_cpu else 1
        constants: dict[str, Constant] = {
            "LOCATE(i, c)": "do { index_t r_ = (i); " + " ".join(steps) + " } while (0)",
            "IS_INSIDE(c)": _is_inside(rank), "BYTES": nbytes}
        items = -(-layout.element_type.byte_size(count) // nbytes)
        return Lowered((Stage("reorder_nibbles.cl", all_operands(problem),
                              Work((items,)) if on_cpu else local_items(items), constants,
                              {"count": count, **{f"outer_{axis}": size for axis, size in enumerate(outer)}}),))


def _memory_order(fmt: Format, rank: int) -> tuple[int, ...]:
    """Axes from the outermost to the innermost in memory; a blocked axis is innermost."""
    last = tuple(axis for axis, _ in fmt.block_axes)[-1:]
    return tuple(axis for axis in fmt.order_of(rank) if axis not in last) + last


def _is_inside(rank: int) -> str:
    """Whether coordinates c lie within the output."""
    return " && ".join(f"(c)[{axis}] < OUTPUT0_SIZE_{axis}" for axis in range(rank)) or "1"


KERNELS = KernelTable((Tiles(), Turned(), Reference(), Nibbles()), ReorderProblem)
