"""Kernels of the softmax room."""
from __future__ import annotations

from clinfer.kernels.spec import Constant, KernelParams
from clinfer.ops.shared.normalizing import normalizing_kernels
from clinfer.ops.shared.reduction import Axes
from clinfer.ops.softmax.op import LogSoftmax


def _axes(params: KernelParams) -> Axes:
    return (params.primitive.axis % max(params.inputs[0].rank, 1),)


def _constants(params: KernelParams) -> dict[str, Constant]:
    return {"IS_LOG": isinstance(params.primitive, LogSoftmax)}


KERNELS = normalizing_kernels("softmax", _constants, _axes)
