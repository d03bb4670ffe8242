"""Kernels of colour conversion."""
from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from clinfer.base.element_type import ElementType
from clinfer.base.errors import ClinferError
from clinfer.base.format import Format
from clinfer.base.tensor_view import TensorView
from clinfer.kernels.contract import (
    BufferRef,
    Constant,
    Formats,
    Kernel,
    KernelTable,
    Lowered,
    Operand,
    Stage,
    Work,
    input_operand,
    output_operand,
)
from clinfer.ops.color_convert.op import ColorConvert
from clinfer.ops.shared.copying import local_items
from clinfer.ops.shared.parts import PartsProblem, in_result_order, seen_result
from clinfer.ops.shared.targets import cpu_only
from clinfer.ops.shared.views import index_view, static
from clinfer.runtime.capabilities import Capabilities

_ROW_AXES = (0, 1, 3, 2)
"""The result [n, h, w, 3] as [n, h, 3, w]."""
_ROW_PIXELS = 16
MOST_PICTURES = 16
"""Of a batch of images whose size the model leaves open: each has kernel objects of its own."""
_IMAGE = TensorView.dense(ElementType.of("u8"), ())


@dataclass(frozen=True)
class ColorConvertProblem(PartsProblem):
    """Planes, and pictures [n, h, w, 3] of them, whose axes may be stored in another order."""

    primitive: ColorConvert

    @cached_property
    def pictures(self) -> TensorView:
        """The result."""
        return seen_result(self)

    @property
    def sizes(self) -> dict[str, int]:
        batch, height, width, _ = static(self.pictures.sizes)
        return {"batch": batch, "height": height, "width": width}

    @property
    def constants(self) -> dict[str, Constant]:
        """From what to what."""
        primitive = self.primitive
        return {"PLANES": len(self.inputs), "IS_NV12": primitive.source == "nv12", "IS_BGR": primitive.target == "bgr",
                "IS_WHOLE": not self.inputs[0].element_type.is_float}

    @property
    def planes(self) -> tuple[Operand, ...]:
        """The inputs."""
        return tuple(input_operand(self, i) for i in range(len(self.inputs)))

    @property
    def fused_views(self) -> tuple[TensorView, ...]:
        """What fused operations read, in the order of the pictures' axes."""
        return tuple(in_result_order(self, TensorView.of(x)) for x in self.fused_inputs)

    def epilogue_views(self) -> tuple[TensorView, ...]:
        """What fused operations read, stretched to the pictures."""
        return tuple(view.broadcast(self.pictures.sizes) for view in self.fused_views)


class Reference(Kernel[ColorConvertProblem, None]):
    """A square of two by two pixels per work-item."""

    name = "color_convert_ref"
    has_epilogue = True

    def formats(self, problem: ColorConvertProblem) -> Formats:
        """Planes as they come, pictures planar."""
        return Formats(tuple(x.format for x in problem.inputs), (Format.planar(4),))

    def lower(self, problem: ColorConvertProblem, config: None) -> Lowered:
        batch, height, width, _ = static(problem.pictures.sizes)
        operands = (*problem.planes, output_operand(problem, 0, problem.pictures))
        return Lowered((Stage("color_convert_ref.cl", operands, local_items(batch * (height // 2) * (width // 2)),
                              problem.constants, epilogue_views=problem.epilogue_views()),))


class Rows(Reference):
    """Rows of 16 pixels, for pictures in which the channels of a pixel lie beside each other."""

    name = "color_convert_rows"
    efficiency = 0.5
    is_planar = False

    def targets(self, device: Capabilities) -> str | None:
        return cpu_only(device)

    def supports(self, problem: ColorConvertProblem, config: None) -> str | None:
        if not all(x.is_dense_planar for x in problem.inputs):
            return "made for dense planes"
        axes = problem.primitive.result_axes or (0, 1, 2, 3)
        if axes[-1] != (2 if self.is_planar else 3):
            what = "pixels of a channel" if self.is_planar else "channels of a pixel"
            return f"the {what} do not lie beside each other"
        if not self.is_planar and any(view.sizes[2] != 1 for view in problem.fused_views):
            return "fused operations read more than one number for a row of a channel"
        return None

    def accepts(self, problem: ColorConvertProblem, config: None) -> str | None:
        width = problem.pictures.sizes[2]
        least = width if isinstance(width, int) else width.low
        return None if least >= _ROW_PIXELS else f"less than {_ROW_PIXELS} pixels wide"

    def lower(self, problem: ColorConvertProblem, config: None) -> Lowered:
        batch, height, *_ = static(problem.pictures.sizes)
        operands = (*problem.planes, output_operand(problem, 0, problem.pictures.permute(_ROW_AXES)))
        fused_ops = tuple(view.permute(_ROW_AXES) for view in problem.epilogue_views())
        return Lowered((Stage("color_convert_rows.cl", operands, Work((batch * (height // 2),)),
                              {**problem.constants, "PLANAR": self.is_planar}, epilogue_views=fused_ops),))


class PlanarRows(Rows):
    """The same for pictures in which the pixels of a channel lie beside each other."""

    name = "color_convert_planar_rows"
    is_planar = True


@dataclass(frozen=True)
class Pictures:
    """For how many pictures of a batch there are launches."""

    count: int

    def __str__(self) -> str:
        return ""


class Images(Kernel[ColorConvertProblem, Pictures]):
    """A launch for each picture, which has images of its own."""

    name = "color_convert_images"
    has_epilogue = True
    reads_images = True
    efficiency = 0.5

    def formats(self, problem: ColorConvertProblem) -> Formats:
        return Formats(tuple(x.format for x in problem.inputs), (Format.planar(4),))

    def configs(self, problem: ColorConvertProblem) -> tuple[Pictures, ...]:
        batch = problem.pictures.sizes[0]
        return (Pictures(max(batch if isinstance(batch, int) else min(batch.high, MOST_PICTURES), 1)),)

    def supports(self, problem: ColorConvertProblem, config: Pictures) -> str | None:
        images = [x.format.is_image for x in problem.inputs]
        if not all(images):
            return "some planes are no images" if any(images) else "made for images"
        if any(x.element_type.name != "u8" for x in problem.inputs):
            return "images hold u8"
        if len(images) == 1:
            return "an image holds one plane"
        channels = 2 if len(images) == 2 else 1
        if channels > problem.capabilities.image_channels:
            return f"the device has no images of {channels} channel{'s' * (channels > 1)}"
        return None

    def lower(self, problem: ColorConvertProblem, config: Pictures) -> Lowered:
        batch = problem.pictures.sizes[0]
        if isinstance(batch, int) and batch > config.count:
            raise ClinferError("the batch has more pictures than there are kernels for", values={
                "pictures": batch, "at most": config.count}, hint="declare the size of the batch, or its upper bound")
        return Lowered(tuple(_picture_stage(problem, number) for number in range(config.count)))


def _picture_stage(problem: ColorConvertProblem, number: int) -> Stage:
    """The launch of a picture; nothing where the batch has fewer."""
    def picture(view: TensorView) -> TensorView:
        return index_view(view, (slice(number, number + 1), *(slice(None),) * 3))

    planes = tuple(Operand(f"INPUT{i}", BufferRef("input", i, number), _IMAGE) for i in range(len(problem.inputs)))
    batch, height, width, _ = problem.pictures.sizes
    is_there = not isinstance(batch, int) or number < batch
    work = local_items(height // 2 * (width // 2)) if is_there else Work((0,))
    return Stage("color_convert_images.cl", (*planes, output_operand(problem, 0, picture(problem.pictures))), work,
                 problem.constants, epilogue_views=tuple(map(picture, problem.epilogue_views())))


KERNELS = KernelTable((Images(), PlanarRows(), Rows(), Reference()), ColorConvertProblem)
