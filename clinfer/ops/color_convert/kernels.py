"""Kernels of the color_convert room."""
from __future__ import annotations

from collections.abc import Callable

from clinfer.base.element_type import ElementType
from clinfer.base.errors import ClinferError
from clinfer.base.format import Format
from clinfer.base.tensor_view import TensorView
from clinfer.kernels.spec import (
    BufferRef,
    Constant,
    Dispatch,
    Formats,
    KernelParams,
    KernelSpec,
    Operand,
    Stage,
    input_operand,
    output_operand,
)
from clinfer.ops.shared.copying import local_items
from clinfer.ops.shared.parts import in_result_order, seen_result
from clinfer.ops.shared.reduction import cpu_only
from clinfer.ops.shared.views import index_view, static


def _formats(params: KernelParams) -> Formats:
    """Planes as they come, pictures planar."""
    return Formats(tuple(x.format for x in params.inputs), (Format.planar(4),))


def _operands(params: KernelParams) -> tuple[Operand, ...]:
    planes = tuple(input_operand(params, i) for i in range(len(params.inputs)))
    return (*planes, output_operand(params, 0, seen_result(params)))


def _tail_view(params: KernelParams, index: int) -> TensorView:
    view = in_result_order(params, TensorView.of(params.tail_inputs[index]))
    return view.broadcast(seen_result(params).sizes)


def _constants(params: KernelParams) -> dict[str, Constant]:
    primitive = params.primitive
    return {"PLANES": len(params.inputs), "IS_NV12": primitive.source == "nv12", "IS_BGR": primitive.target == "bgr",
            "ROUNDED": not params.inputs[0].element_type.is_float}


def _dispatch(params: KernelParams) -> Dispatch:
    batch, height, width, _ = static(seen_result(params).sizes)
    return local_items(batch * (height // 2) * (width // 2))


# -- rows of 16 pixels on CPUs ----------------------------------------------------------------------

_ROW_AXES = (0, 1, 3, 2)
"""The result [n, h, w, 3] as [n, h, 3, w]."""


def _rows_supports(is_planar: bool) -> Callable[[KernelParams], str | None]:
    """`is_planar`: made for outputs in which the pixels of a channel lie beside each other."""
    def supports(params: KernelParams) -> str | None:
        if not all(x.is_dense_planar for x in params.inputs):
            return "made for dense planes"
        axes = params.primitive.result_axes or (0, 1, 2, 3)
        if axes[-1] != (2 if is_planar else 3):
            return f"the {'pixels of a channel' if is_planar else 'channels of a pixel'} do not lie beside each other"
        return cpu_only(params)
    return supports


def _is_wide(params: KernelParams) -> str | None:
    return None if seen_result(params).sizes[2] >= 16 else "less than 16 pixels wide"  # type: ignore[operator]


def _row_operands(params: KernelParams) -> tuple[Operand, ...]:
    *planes, _ = _operands(params)
    return (*planes, output_operand(params, 0, seen_result(params).permute(_ROW_AXES)))


def _row_dispatch(params: KernelParams) -> Dispatch:
    batch, height, *_ = static(seen_result(params).sizes)
    return Dispatch((batch * (height // 2),))


def _rows(name: str, is_planar: bool) -> KernelSpec:
    def constants(params: KernelParams) -> dict[str, Constant]:
        return {**_constants(params), "PLANAR": is_planar}

    def tail_view(params: KernelParams, index: int) -> TensorView:
        return _tail_view(params, index).permute(_ROW_AXES)

    return KernelSpec(name, formats=_formats, supports=_rows_supports(is_planar), score=lambda params: 10.0,
                      check_shapes=_is_wide, stages=(
        Stage("color_convert_rows.cl", "color_convert_rows", _row_dispatch, _row_operands, constants, bake=False,
              tail_view=tail_view if is_planar else None),))


# -- images -----------------------------------------------------------------------------------------

MOST_PICTURES = 16
"""Of a batch of images whose size the model leaves open: each has kernel objects of its own."""

_IMAGE = TensorView.dense(ElementType.of("u8"), ())


def _why_no_images(params: KernelParams) -> str | None:
    if not all(x.format.is_image for x in params.inputs):
        return "made for images" if not any(x.format.is_image for x in params.inputs) else "some planes are no images"
    if any(x.element_type.name != "u8" for x in params.inputs):
        return "images hold u8"
    if len(params.inputs) == 1:
        return "an image holds one plane"
    channels = 2 if len(params.inputs) == 2 else 1
    if channels > params.capabilities.image_channels:
        return f"the device has no images of {channels} channel{'s' * (channels > 1)}"
    return None


def _image_stages(params: KernelParams) -> tuple[Stage, ...]:
    """A launch for each picture, which has images of its own."""
    batch = seen_result(params).sizes[0]
    count = max(batch if isinstance(batch, int) else min(batch.high, MOST_PICTURES), 1)
    return tuple(_image_stage(number, count) for number in range(count))


def _image_stage(number: int, count: int) -> Stage:
    def picture(view: TensorView) -> TensorView:
        return index_view(view, (slice(number, number + 1), *(slice(None),) * 3))

    def operands(params: KernelParams) -> tuple[Operand, ...]:
        planes = tuple(Operand(f"INPUT{i}", BufferRef("input", i, number), _IMAGE) for i in range(len(params.inputs)))
        return (*planes, output_operand(params, 0, picture(seen_result(params))))

    def dispatch(params: KernelParams) -> Dispatch:
        batch, height, width, _ = static(seen_result(params).sizes)
        if batch > count:
            raise ClinferError("the batch has more pictures than there are kernels for", values={
                "pictures": batch, "at most": count}, hint="declare the size of the batch, or its upper bound")
        return local_items((height // 2) * (width // 2)) if number < batch else Dispatch((0,))

    return Stage("color_convert_images.cl", "color_convert_images", dispatch, operands, _constants, bake=False,
                 tail_view=lambda params, index: picture(_tail_view(params, index)))


KERNELS = (
    KernelSpec("color_convert_images", _image_stages, _why_no_images, formats=_formats, reads_images=True),
    _rows("color_convert_planar_rows", is_planar=True),
    _rows("color_convert_rows", is_planar=False),
    KernelSpec("color_convert_ref", formats=_formats, stages=(
        Stage("color_convert_ref.cl", "color_convert_ref", _dispatch, _operands, _constants, bake=False,
              tail_view=_tail_view),)),
)
