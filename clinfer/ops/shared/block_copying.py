"""Copies of channels within blocked formats, where they start at different places of their blocks."""
from __future__ import annotations

from dataclasses import replace

from clinfer.base.tensor_view import AxisBlocks, TensorView
from clinfer.kernels.contract import Stage, Work
from clinfer.ops.shared.targets import cpu_only
from clinfer.ops.shared.view_copy import PACKAGE, CopyKernel, CopyProblem, ViewCopy
from clinfer.ops.shared.views import static
from clinfer.runtime.capabilities import Capabilities

_BLOCK = 16
_LANES = ((_BLOCK, 1),)
_CHANNELS = 1
_RUN = 16


class CopyBlocks(CopyKernel):
    """Blocks of 16 lanes, shifted by what the places of the first channels in their blocks differ."""

    variant = "blocks"
    efficiency = 0.4

    def targets(self, device: Capabilities) -> str | None:
        return cpu_only(device)

    def supports(self, problem: CopyProblem, config: None) -> str | None:
        fits = all(_blocks(view) is not None for copy in problem.copies for view in (copy.source, copy.target))
        return None if fits else "made for channels in blocks of 16"

    def why_not(self, copy: ViewCopy) -> str | None:
        if copy.target.rank == 5 and not all(map(_merges, (copy.source, copy.target))):
            return "made for three dense axes behind the channels"
        return None

    def stage(self, problem: CopyProblem, copy: ViewCopy) -> Stage:
        source, target = _whole_blocks(copy.source), _whole_blocks(copy.target)
        a, blocks, b, x = static(target.sizes)
        first = _lower(copy.target) % _BLOCK
        return Stage("copy_blocks.cl", copy.operands(source, target), Work((-(-x // _RUN), b, a * blocks), (1, 1, 1)),
                     {"SHIFT": _lower(copy.source) % _BLOCK - first, "RUN": _RUN},
                     {"first": first, "channels": static(copy.target.sizes)[_CHANNELS]},
                     moves=(copy.move,), package=PACKAGE)


def _blocks(view: TensorView) -> AxisBlocks | None:
    """The blocks of the channels, if they are the only ones and have 16 contiguous lanes."""
    blocks = view.blocks[_CHANNELS] if 2 <= view.rank <= 5 else None
    others = [b for axis, b in enumerate(view.blocks) if axis != _CHANNELS]
    return blocks if blocks is not None and blocks.levels == _LANES and not any(others) else None


def _merges(view: TensorView) -> bool:
    """Whether axes 2 and 3 of five are one."""
    size, inner, outer = view.sizes[3], view.pitches[3], view.pitches[2]
    return isinstance(size, int) and inner is not None and outer == inner * size


def _lower(view: TensorView) -> int:
    """The channels that memory holds before the view's first one."""
    blocks = view.blocks[_CHANNELS]
    return blocks.lower if blocks is not None else 0


def _whole_blocks(view: TensorView) -> TensorView:
    """[a, blocks, b, x] over the blocks that the view touches; axes that the tensor does not have are of size 1."""
    view = view.insert_axes(tuple(range(2, 6 - view.rank)), pitch=1)
    sizes, pitches = static(view.sizes), view.pitches
    if view.rank == 5:
        sizes, pitches = (*sizes[:2], sizes[2] * sizes[3], sizes[4]), (*pitches[:2], *pitches[3:])
    skipped, first = divmod(_lower(view), _BLOCK)
    channels, pitch = sizes[_CHANNELS], pitches[_CHANNELS]
    blocks = -(-(first + channels) // _BLOCK) if channels else 0
    offset = None if view.offset is None or pitch is None else view.offset + skipped * pitch
    return replace(view, sizes=(sizes[0], blocks, *sizes[2:]), pitches=pitches, offset=offset, blocks=(None,) * 4)
