"""Copies of channels within blocked formats, where they start at different places of their blocks."""
from __future__ import annotations

from dataclasses import replace

from clinfer.base.shape import Size
from clinfer.base.tensor_view import AxisBlocks, Pitch, TensorView
from clinfer.kernels.spec import Constant, Dispatch, KernelParams, Operand, Stage
from clinfer.ops.shared.view_copy import PACKAGE, CopyOf, ViewCopy

_BLOCK = 16
_LANES = ((_BLOCK, 1),)
_CHANNELS = 1
_RUN = 16


def blocks_reason(copy: ViewCopy) -> str | None:
    """Why a static copy is not one of channels between blocks of 16 lanes, or None."""
    if any(_blocks(view) is None for view in (copy.source, copy.target)):
        return "made for channels in blocks of 16"
    if copy.target.rank == 5 and any(not _merges(view) for view in (copy.source, copy.target)):
        return "made for three dense axes behind the channels"
    return None


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
    sizes: tuple[Size, ...] = view.sizes
    pitches: tuple[Pitch, ...] = view.pitches
    if view.rank == 5:
        outer, inner = sizes[2:4]
        both = outer * inner if isinstance(outer, int) and isinstance(inner, int) else outer
        sizes, pitches = (*sizes[:2], both, sizes[4]), (*pitches[:2], *pitches[3:])
    skipped, first = divmod(_lower(view), _BLOCK)
    channels, pitch = sizes[_CHANNELS], pitches[_CHANNELS]
    blocks = -(-(first + channels) // _BLOCK) if isinstance(channels, int) else channels
    offset = None if view.offset is None or pitch is None else view.offset + skipped * pitch
    return replace(view, sizes=(sizes[0], blocks, *sizes[2:]), pitches=pitches, offset=offset, blocks=(None,) * 4)


def blocks_stage(copy_of: CopyOf, number: int) -> Stage:
    """The stage of one copy."""
    def operands(params: KernelParams) -> tuple[Operand, ...]:
        copy = copy_of(params, number)
        return copy.operands(_whole_blocks(copy.source), _whole_blocks(copy.target))

    def constants(params: KernelParams) -> dict[str, Constant]:
        copy = copy_of(params, number)
        return {"SHIFT": _lower(copy.source) % _BLOCK - _lower(copy.target) % _BLOCK, "RUN": _RUN}

    def arguments(params: KernelParams) -> dict[str, int]:
        copy = copy_of(params, number)
        channels = copy.target.sizes[_CHANNELS]
        return {"first": _lower(copy.target) % _BLOCK, "channels": channels if isinstance(channels, int) else 0}

    def dispatch(params: KernelParams) -> Dispatch:
        copy = copy_of(params, number)
        if copy.count == 0:
            return Dispatch((0,))
        a, blocks, b, x = _whole_blocks(copy.target).sizes
        return Dispatch((-(-x // _RUN), b, a * blocks), (1, 1, 1))  # type: ignore[operator, arg-type]
    return Stage("copy_blocks.cl", "copy_blocks", dispatch, operands, constants, arguments, bake=False,
                 package=PACKAGE)
