"""Convolutions over data of width 1, which the kernels take as data of height 1: their tiles lie along x."""
from __future__ import annotations

from dataclasses import replace

from clinfer.base.layout import Layout
from clinfer.kernels.spec import KernelParams, Stage
from clinfer.ops.convolution.geometry import is_pointwise


def is_column(params: KernelParams) -> bool:
    """Whether data, filter and output are one pixel wide, in unpadded memory, and the data is not padded there."""
    data, weights = params.inputs[:2]
    output, primitive = params.outputs[0], params.primitive
    if data.rank != 4 or any(x.shape[-1] != 1 or x.padding for x in (data, weights, output)):
        return False
    kept = primitive.auto_pad != "explicit" or primitive.pads_begin[-1] == primitive.pads_end[-1] == 0
    return kept and not is_pointwise(params)


def turned(params: KernelParams) -> KernelParams:
    """The same memory and the same convolution with y and x exchanged."""
    data, weights, *bias = params.inputs
    given = params.primitive
    primitive = replace(given, strides=given.strides[::-1], dilations=given.dilations[::-1],
                        pads_begin=given.pads_begin[::-1], pads_end=given.pads_end[::-1])
    return replace(params, primitive=primitive, inputs=(_turned(data), _turned(weights), *bias),
                   outputs=(_turned(params.outputs[0]),), tail_inputs=tuple(map(_turned, params.tail_inputs)))


def as_row(params: KernelParams) -> KernelParams:
    """The primitive as the kernels take it."""
    return turned(params) if is_column(params) else params


def turned_stage(stage: Stage) -> Stage:
    """The stage for a primitive that `is_column`, given as it stands in the model."""
    view = stage.tail_view
    return replace(stage, tail_view=None if view is None else lambda params, index: view(turned(params), index),
                   dispatch=lambda params: stage.dispatch(turned(params)),
                   operands=lambda params: stage.operands(turned(params)),
                   constants=lambda params: stage.constants(turned(params)),
                   arguments=lambda params: stage.arguments(turned(params)))


def _turned(layout: Layout) -> Layout:
    *others, y, x = layout.shape
    return layout.with_shape((*others, x, y))
