"""Kernels of the color_convert room."""
from __future__ import annotations

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
    KernelSpec("color_convert_ref", formats=_formats, stages=(
        Stage("color_convert_ref.cl", "color_convert_ref", _dispatch, _operands, _constants, bake=False,
              tail_view=_tail_view),)),
)
