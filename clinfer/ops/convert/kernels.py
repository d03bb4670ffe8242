"""Kernels of the convert room."""
from __future__ import annotations

from collections.abc import Mapping

from clinfer.base.format import Format
from clinfer.base.tensor_view import TensorView
from clinfer.kernels.spec import (
    Constant,
    Dispatch,
    Formats,
    KernelParams,
    KernelSpec,
    Stage,
    present_formats,
)
from clinfer.kernels.tails import like_output
from clinfer.ops.shared import walk
from clinfer.ops.shared.copying import local_items


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
    return {"THROUGH": _through(params)}


def _dispatch(params: KernelParams) -> Dispatch:
    return local_items(params.outputs[0].count)


# -- vectors ----------------------------------------------------------------------------------------


def _supports_vectors(params: KernelParams) -> str | None:
    if params.inputs[0].element_type.is_packed:
        return "packed 4-bit inputs"
    return _supports(params) or walk.why_not(params)


def _vector_constants(params: KernelParams) -> Mapping[str, Constant]:
    through = _through(params)
    return {"THROUGH": through, "THROUGH4": f"{through}4", "THROUGH16": f"{through}16",
            "VECTOR": walk.vector(params)}


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
              constants=_constants, bake=False),), writes_packed=True),
    KernelSpec("convert_vector", supports=_supports_vectors, score=lambda params: 10.0, formats=present_formats,
               stages=(Stage("convert_vector.cl", "convert_vector", walk.dispatch, walk.operands, _vector_constants,
                             walk.arguments, bake=False, tail_view=walk.tail_view),)),
    KernelSpec("convert_ref", supports=_supports, formats=present_formats, stages=(
        Stage("convert_ref.cl", "convert_ref", _dispatch, constants=_constants, bake=False,
              tail_view=like_output(TensorView.of)),)),
)
