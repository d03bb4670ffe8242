"""Kernels of shuffled parts: pairs of bytes on CPUs, and a reference."""
from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate
from math import ceil, prod

from clinfer.base.format import Format
from clinfer.base.layout import Layout
from clinfer.base.tensor_view import TensorView
from clinfer.kernels.contract import (
    BufferRef,
    Formats,
    Kernel,
    KernelTable,
    Lowered,
    Operand,
    Problem,
    Stage,
    Work,
    planar_formats,
)
from clinfer.ops.shared.channel_tiles import BLOCKED_DATA, bytes_in_blocks
from clinfer.ops.shared.copying import local_items
from clinfer.ops.shared.targets import cpu_only
from clinfer.ops.shared.view_copy import raw_view
from clinfer.ops.shared.views import static
from clinfer.ops.shuffled_parts.op import ShuffledParts
from clinfer.runtime.capabilities import Capabilities

_RUN = 512
_RANK = 4
_BLOCKED = Format.of(BLOCKED_DATA[_RANK])


@dataclass(frozen=True)
class PartsProblem(Problem):
    """Channels of several tensors in turn."""

    primitive: ShuffledParts

    @property
    def starts(self) -> tuple[int, ...]:
        """The first shuffled channel of each output."""
        return tuple(accumulate(self.primitive.lengths[:-1], initial=0))


class Pairs(Kernel[PartsProblem, None]):
    """Channels of two tensors of bytes in turn, in blocks of 16 channels."""

    name = "shuffled_parts_pairs"
    efficiency = 0.1

    def targets(self, device: Capabilities) -> str | None:
        return cpu_only(device)

    def formats(self, problem: PartsProblem) -> Formats:
        if not _BLOCKED.fits(problem.inputs[0].rank):
            return planar_formats(problem)
        return Formats((_BLOCKED,) * len(problem.inputs), (_BLOCKED,) * len(problem.outputs))

    def supports(self, problem: PartsProblem, config: None) -> str | None:
        tensors = (*problem.inputs, *problem.outputs)
        if problem.inputs[0].rank != _RANK or any(tensor.padding for tensor in tensors):
            return "made for two spatial axes and tensors without padding"
        if problem.inputs[0].element_type.bits != 8:
            return "made for elements of a byte"
        if len(problem.inputs) != 2 or problem.primitive.group != 2 or len(problem.outputs) > 2:
            return "made for two inputs in two groups, and two outputs at most"
        if len({layout.shape[1] for layout in problem.inputs}) > 1 or any(start % 2 for start in problem.starts):
            return "made for inputs of the same channels, and parts that begin with the first input"
        return None

    def lower(self, problem: PartsProblem, config: None) -> Lowered:
        inputs, outputs = (tuple(bytes_in_blocks(layout, prod(static(layout.shape[2:]))) for layout in layouts)
                           for layouts in (problem.inputs, problem.outputs))
        operands = (*(Operand(f"INPUT{n}", BufferRef("input", n), view) for n, view in enumerate(inputs)),
                    *(Operand(f"OUTPUT{n}", BufferRef("output", n), view) for n, view in enumerate(outputs)))
        batch, _, pixels, _ = static(inputs[0].sizes)
        blocks = sum(static(view.sizes)[1] for view in outputs)
        work = Work((ceil(pixels / _RUN), blocks, batch), (1, 1, 1))
        return Lowered((Stage("shuffled_parts_pairs.cl", operands, work, {"OUTPUTS": len(outputs), "RUN": _RUN},
                              {"second": problem.starts[-1]}),))


class Reference(Kernel[PartsProblem, None]):
    """One element of an output and an input per work-item, which stores it if it comes from there."""

    name = "shuffled_parts_ref"
    efficiency = 0.02
    supports_large = True

    def formats(self, problem: PartsProblem) -> Formats:
        return Formats(tuple(layout.format for layout in problem.inputs),
                       (problem.inputs[0].format,) * len(problem.outputs))

    def lower(self, problem: PartsProblem, config: None) -> Lowered:
        channels = [static(layout.shape)[1] for layout in problem.inputs]
        stages = []
        for output, start in enumerate(problem.starts):
            for index, first in enumerate(accumulate(channels[:-1], initial=0)):
                operands = (_raw("INPUT0", BufferRef("input", index), problem.inputs[index]),
                            _raw("OUTPUT0", BufferRef("output", output), problem.outputs[output]))
                stages.append(Stage("shuffled_parts_ref.cl", operands, local_items(problem.outputs[output].count), {},
                                    {"start": start, "first": first, "groups": problem.primitive.group,
                                     "channels": sum(channels)}))
        return Lowered(tuple(stages))


def _raw(macro: str, buffer: BufferRef, layout: Layout) -> Operand:
    return Operand(macro, buffer, raw_view(TensorView.of(layout)))


KERNELS = KernelTable((Pairs(), Reference()), PartsProblem)
