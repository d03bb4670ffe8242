"""Two-dimensional images: what a tensor in one may be, and its texels as bytes without gaps."""
from __future__ import annotations

import numpy as np
import pyopencl as cl

from clinfer.base.element_type import ElementType
from clinfer.base.errors import ClinferError
from clinfer.base.shape import StaticShape, show
from clinfer.remote.memories import image_size
from clinfer.runtime.memory import Memory, NativeImage
from clinfer.runtime.status import driver_error
from clinfer.runtime.stream import Stream

_CHANNELS = {cl.channel_type.UNORM_INT8: "u8", cl.channel_type.UNSIGNED_INT8: "u8", cl.channel_type.SNORM_INT8: "i8",
             cl.channel_type.SIGNED_INT8: "i8", cl.channel_type.UNORM_INT16: "u16",
             cl.channel_type.UNSIGNED_INT16: "u16", cl.channel_type.SIGNED_INT16: "i16",
             cl.channel_type.UNSIGNED_INT32: "u32", cl.channel_type.SIGNED_INT32: "i32",
             cl.channel_type.HALF_FLOAT: "f16", cl.channel_type.FLOAT: "f32"}


def check_image(image: cl.Image, element_type: ElementType, shape: StaticShape) -> None:
    """Raise unless the texels of an image are a tensor of this type and shape: [1, height, width, channels], or
    without leading or closing ones."""
    kind = _CHANNELS.get(image.format.channel_data_type)
    if kind != element_type.name:
        raise ClinferError("the image's channels are of another type than the tensor", where="remote tensor", values={
            "format": image.format, "tensor": element_type, "channels": kind or "of no element type"})
    width, height = image_size(image)
    wanted = (height, width, image.format.channel_count)
    if _without_ones(shape) != _without_ones(wanted):
        raise ClinferError("the image has another size than the tensor", where="remote tensor", values={
            "image (height, width, channels)": wanted, "format": image.format, "tensor": show(shape)},
            hint=f"give it the shape {[1, *wanted]}")


def _without_ones(shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(size for size in shape if size != 1)


def read(stream: Stream, memory: Memory, into: np.ndarray) -> None:
    """All texels into contiguous bytes; blocks."""
    image = _image(memory)
    _copy(stream, into, image, image)


def write(stream: Stream, memory: Memory, source: np.ndarray) -> None:
    """All texels from contiguous bytes; blocks."""
    image = _image(memory)
    _copy(stream, image, source, image)


def _image(memory: Memory) -> cl.Image:
    native = memory.native
    assert isinstance(native, NativeImage)
    return native.cl_image


def _copy(stream: Stream, target: object, source: object, image: cl.Image) -> None:
    stream.finish()
    try:
        cl.enqueue_copy(stream.cl_queue, target, source, origin=(0, 0), region=image_size(image), is_blocking=True)
    except cl.Error as error:
        raise driver_error(error, "copy an image", where=f"device {stream.engine.device}",
                           values={"format": image.format}) from None
