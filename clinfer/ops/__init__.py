"""The operations: one operation or one family each. This list is all that the rest of the house sees."""
from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module

from clinfer.kernels.contract import KernelTable
from clinfer.ops.custom import converter_of
from clinfer.ops.operation import Converter, Operation
from clinfer.topology import CustomKernel, Primitive

_NAMES = (
    "batch_norm",
    "batch_space",
    "broadcast",
    "byte_rows",
    "col2im",
    "color_convert",
    "concat",
    "convert",
    "convolution",
    "ctc_greedy_decoder",
    "ctc_loss",
    "cum_sum",
    "custom",
    "deconvolution",
    "deformable_convolution",
    "depth_space",
    "detection",
    "detectron",
    "dft",
    "einsum",
    "eltwise",
    "embedding_bag",
    "extract_image_patches",
    "eye",
    "fake_convert",
    "fake_quantize",
    "gather",
    "gather_tree",
    "grid_sample",
    "group_norm",
    "if_op",
    "interpolate",
    "inverse",
    "loop",
    "lrn",
    "matmul",
    "multinomial",
    "mvn",
    "non_max_suppression",
    "nonzero",
    "normalize_l2",
    "one_hot",
    "pad",
    "pooling",
    "prior_box",
    "proposal",
    "psroi_pooling",
    "quantised_convolution",
    "random_uniform",
    "range",
    "recurrent",
    "reduce",
    "region_yolo",
    "reorder",
    "reorg_yolo",
    "reshape",
    "reverse",
    "reverse_sequence",
    "roi_align",
    "roi_pooling",
    "roll",
    "rope",
    "scatter",
    "sdpa",
    "search_sorted",
    "segment_max",
    "shape_of",
    "shuffle_channels",
    "slice",
    "slice_scatter",
    "softmax",
    "sparse_fill_empty_rows",
    "split",
    "stft",
    "tile",
    "topk",
    "transpose",
    "unique",
)

OPERATIONS: tuple[Operation, ...] = tuple(import_module(f"clinfer.ops.{name}").OPERATION for name in _NAMES)

CONVERTERS: dict[str, Converter] = {kind: convert for op in OPERATIONS for kind, convert in op.converters.items()}

_KERNELS: dict[type[Primitive], KernelTable] = {
    cls: table for op in OPERATIONS for cls, table in op.kernels.items()}
_NONE = KernelTable()


def converters_with(kernels: Iterable[CustomKernel]) -> dict[str, Converter]:
    """The converters of all operations, those of custom kernels in place of others."""
    return {**CONVERTERS, **{kernel.operation: converter_of(kernel) for kernel in kernels}}


def kernels_of(primitive: Primitive) -> KernelTable:
    """The kernel table of a primitive; empty for one that never launches a kernel."""
    return _KERNELS.get(type(primitive), _NONE)
