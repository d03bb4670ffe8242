"""The rooms: one operation or one family each. This list is all that the rest of the house sees."""
from __future__ import annotations

from importlib import import_module

from clinfer.kernels.contract import KernelTable
from clinfer.ops.room import Converter, Room
from clinfer.topology import Primitive

_ROOM_NAMES = (
    "batch_norm",
    "broadcast",
    "col2im",
    "color_convert",
    "concat",
    "convert",
    "convolution",
    "cum_sum",
    "deconvolution",
    "depth_space",
    "detection",
    "dft",
    "einsum",
    "eltwise",
    "eye",
    "fake_quantize",
    "gather",
    "grid_sample",
    "group_norm",
    "if_op",
    "interpolate",
    "loop",
    "lrn",
    "matmul",
    "mvn",
    "non_max_suppression",
    "nonzero",
    "normalize_l2",
    "one_hot",
    "pad",
    "pooling",
    "range",
    "recurrent",
    "reduce",
    "reorder",
    "reshape",
    "reverse",
    "reverse_sequence",
    "roi_align",
    "roll",
    "rope",
    "scatter",
    "sdpa",
    "shape_of",
    "slice",
    "softmax",
    "split",
    "tile",
    "topk",
    "transpose",
    "unique",
)

ROOMS: tuple[Room, ...] = tuple(import_module(f"clinfer.ops.{name}").ROOM for name in _ROOM_NAMES)

CONVERTERS: dict[str, Converter] = {kind: convert for room in ROOMS for kind, convert in room.converters.items()}

_KERNELS: dict[type[Primitive], KernelTable] = {
    cls: table for room in ROOMS for cls, table in room.kernels.items()}
_NONE = KernelTable()


def kernels_of(primitive: Primitive) -> KernelTable:
    """The kernel table of a primitive; empty for one that never launches a kernel."""
    return _KERNELS.get(type(primitive), _NONE)
