"""The operators of ONNX that are read otherwise than by OpenVINO, a file each. This list is all that others see."""
from __future__ import annotations

from importlib import import_module

from clinfer.frontend.onnx.operator import Mending

_NAMES = (
    "attention",
    "bit_cast",
    "bit_shift",
    "cast",
    "causal_conv",
    "celu",
    "col2im",
    "conv_transpose",
    "cum_prod",
    "deform_conv",
    "det",
    "dft",
    "div",
    "dropout",
    "features",
    "flex_attention",
    "grid_sample",
    "linear_attention",
    "lstm",
    "max_pool",
    "max_unpool",
    "mel_weight_matrix",
    "mod",
    "optimizers",
    "pad",
    "quantize",
    "recurrent_activations",
    "recurrent_layout",
    "reduce_log_sum",
    "resize",
    "roi_align",
    "scan",
    "softmax",
    "space_to_depth",
    "split",
    "stft",
    "swiglu",
    "tensor_scatter",
)

MENDINGS: tuple[Mending, ...] = tuple(
    mending for name in _NAMES for mending in import_module(f"{__name__}.{name}").MENDINGS)
