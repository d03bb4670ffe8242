"""Pictures of a video decoder: brightness and colour in planes of their own, each an image or a buffer."""
from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pyopencl as cl

from clinfer.base.errors import ClinferError
from clinfer.base.shape import StaticShape
from clinfer.remote.memories import image_size
from clinfer.remote.tensors import RemoteTensor

WHERE = "video surface"
_ORDERS = {cl.channel_order.R: 1, cl.channel_order.RG: 2}
_TYPES = (cl.channel_type.UNORM_INT8, cl.channel_type.UNSIGNED_INT8)

CreateTensor = Callable[[str, StaticShape, Any], RemoteTensor]
"""`RemoteContext.create_tensor` of an element type, a shape and an object of the user's."""


def plane_tensors(create: CreateTensor, planes: Mapping[str, tuple[Any, int]], height: int | None,
                  width: int | None) -> tuple[RemoteTensor, ...]:
    """A tensor for each plane of one picture, brightness first: by its name, what it lies in and its channels.

    Images know their size; of buffers `height` and `width` tell that of the picture. Errors: a size that is odd,
    planes that do not fit each other, images of another format.
    """
    images = [isinstance(plane, cl.Image) for plane, _ in planes.values()]
    if any(images) and not all(images):
        raise ClinferError("the planes of a picture are all images, or all buffers", where=WHERE, values={
            name: type(plane).__name__ for name, (plane, _) in planes.items()})
    if not all(images) and (height is None or width is None):
        raise ClinferError("buffers do not tell how large the picture is", where=WHERE,
                           hint="give height= and width= of the picture")
    sizes = {name: image_size(plane)[::-1] for name, (plane, _) in planes.items() if all(images)}
    whole = next(iter(sizes.values()), (height, width))
    assert whole[0] is not None and whole[1] is not None
    _check_size((height, width), (int(whole[0]), int(whole[1])))
    made = []
    for number, (name, (plane, channels)) in enumerate(planes.items()):
        size = (whole[0] // 2, whole[1] // 2) if number else (whole[0], whole[1])
        if all(images):
            check_plane(plane, channels, f"plane {name!r}")
            _check_plane_size(name, sizes[name], size)
        made.append(create("u8", (1, *size, channels), plane))
    return tuple(made)


def check_plane(image: cl.Image, channels: int, label: str) -> None:
    """Raise unless conversions of colours can read an image as a plane of that many channels."""
    found = image.format
    if _ORDERS.get(found.channel_order) != channels or found.channel_data_type not in _TYPES:
        order = "R" if channels == 1 else "RG"
        raise ClinferError(f"{label} is an image of the wrong format", where=WHERE, values={
            "given": f"{cl.channel_order.to_string(found.channel_order)} of "
                     f"{cl.channel_type.to_string(found.channel_data_type)}",
            "expected": f"{order} of UNORM_INT8 or UNSIGNED_INT8"})
    if image.flags & cl.mem_flags.WRITE_ONLY:
        raise ClinferError(f"{label} is an image that kernels may only write", where=WHERE,
                           hint="make the image with mem_flags.READ_ONLY or READ_WRITE")


def _check_size(asked: tuple[int | None, int | None], size: tuple[int, int]) -> None:
    if any(given is not None and given != own for given, own in zip(asked, size, strict=True)):
        raise ClinferError("the plane of brightness has another size than the picture", where=WHERE, values={
            "height and width": asked, "the image's": size})
    if any(own <= 0 or own % 2 for own in size):
        raise ClinferError("height and width of a picture in planes are even", where=WHERE,
                           values={"height": size[0], "width": size[1]})


def _check_plane_size(name: str, found: tuple[int, int], wanted: tuple[int, int]) -> None:
    if tuple(found) != tuple(wanted):
        raise ClinferError(f"plane {name!r} does not fit the plane of brightness", where=WHERE, values={
            "height and width": found, "expected": wanted}, hint="colour has half the height and half the width")
