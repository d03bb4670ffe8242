"""Kernels of the convert room."""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from clinfer.base.element_type import ElementType
from clinfer.base.format import Format
from clinfer.base.tensor_view import TensorView
from clinfer.kernels.spec import (
    Constant,
    Dispatch,
    Formats,
    KernelParams,
    KernelSpec,
    Operand,
    Stage,
    input_operand,
    output_operand,
    present_formats,
)
from clinfer.ops.shared.copying import local_items
from clinfer.ops.shared.views import open_view

_CPU_SPAN = (512, 16384)
"""Elements of a work-item on CPUs, at least and at most; enough work-items for every unit come first."""


def _supports(params: KernelParams) -> str | None:
    return "packed 4-bit outputs" if params.outputs[0].element_type.is_packed else None


def _through(params: KernelParams) -> str:
    """The type in which the kernel converts. Floats become integers by way of a signed one, which wraps
    like OpenVINO's where the output type is narrower; boolean is a comparison with 0."""
    source, target = params.inputs[0].element_type, params.outputs[0].element_type
    if not source.is_float or target.is_float:
        return target.cl_compute
    return "int" if target.bits < 32 or target.name == "i32" else "long"


def _constants(params: KernelParams) -> Mapping[str, Constant]:
    through = _through(params)
    return {"THROUGH": through, "THROUGH4": f"{through}4", "THROUGH16": f"{through}16",
            "VECTOR": _vector(params)}


def _single_constants(params: KernelParams) -> Mapping[str, Constant]:
    return {"THROUGH": _through(params)}


def _dispatch(params: KernelParams) -> Dispatch:
    return local_items(params.outputs[0].count)


# -- vectors ----------------------------------------------------------------------------------------


def _vector(params: KernelParams) -> int:
    return 16 if params.capabilities.device_type == "CPU" else 4


def _supports_vectors(params: KernelParams) -> str | None:
    data, output = params.inputs[0], params.outputs[0]
    if data.element_type.is_packed:
        return "packed 4-bit inputs"
    if data.format != output.format or data.padding or output.padding:
        return "input and output do not lie alike in memory"
    return _supports(params)


def _memory(params: KernelParams) -> tuple[Operand, ...]:
    """Input and output as bare memory, block tails included."""
    return (input_operand(params, 0, _pointer(params.inputs[0].element_type)),
            output_operand(params, 0, _pointer(params.outputs[0].element_type)))


def _pointer(element_type: ElementType) -> TensorView:
    return replace(open_view(element_type, 0), offset=0)


def _span(params: KernelParams) -> int:
    """Elements per work-item: one vector on GPUs."""
    width = _vector(params)
    if params.capabilities.device_type != "CPU":
        return width
    low, high = _CPU_SPAN
    fair = params.outputs[0].physical_count // (8 * params.capabilities.compute_units)
    return -(-min(max(fair, low), high) // width) * width


def _span_arguments(params: KernelParams) -> Mapping[str, int]:
    if not params.is_static:
        return {"count": 0, "span": 0}
    return {"count": params.outputs[0].physical_count, "span": _span(params)}


def _span_dispatch(params: KernelParams) -> Dispatch:
    items = -(-params.outputs[0].physical_count // _span(params))
    return Dispatch((items,)) if params.capabilities.device_type == "CPU" else local_items(items)


# -- 4-bit outputs ----------------------------------------------------------------------------------


def _supports_nibbles(params: KernelParams) -> str | None:
    output = params.outputs[0]
    if not output.element_type.is_packed:
        return "made for outputs of 4 bits"
    return "a padded output" if output.padding else None


def _nibbles_formats(params: KernelParams) -> Formats:
    return Formats((params.inputs[0].format,), (Format.planar(params.outputs[0].rank),))


def _nibbles_dispatch(params: KernelParams) -> Dispatch:
    return local_items(-(-params.outputs[0].count // 2))


KERNELS = (
    KernelSpec("convert_nibbles", supports=_supports_nibbles, formats=_nibbles_formats, stages=(
        Stage("convert_nibbles.cl", "convert_nibbles", _nibbles_dispatch,
              constants=_single_constants, bake=False),), writes_packed=True),
    KernelSpec("convert_vector", supports=_supports_vectors, score=lambda params: 10.0, formats=present_formats,
               stages=(Stage("convert_vector.cl", "convert_vector", _span_dispatch, _memory, _constants,
                             _span_arguments, bake=False),)),
    KernelSpec("convert_ref", supports=_supports, formats=present_formats, stages=(
        Stage("convert_ref.cl", "convert_ref", _dispatch, constants=_single_constants, bake=False),)),
)
