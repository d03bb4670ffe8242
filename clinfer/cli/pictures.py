"""Pictures as inputs: a .png, .jpg or the like becomes the array that an input wants.

An input takes a picture if it has 3 axes (channels, height, width in any of the usual orders) or 4 (a batch
before them) and 1, 3 or 4 channels: grey, RGB or RGBA. The picture is resized (bilinear, its aspect is not
kept) to the size that the input or `--shape` fixes; where the input leaves it open it keeps its own, as far
as the bounds admit it. Float inputs get values from 0 to 1, integer inputs from 0 to 255. Every element of
the batch is the same picture. Photographs are turned upright, 16-bit pictures become 8-bit ones, and what is
transparent keeps the colour that it has.
"""
from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from clinfer.api.arrays import Declared
from clinfer.api.ports import describe
from clinfer.base.shape import Dim, Shape, Size, StaticShape
from clinfer.cli.usage import UsageError

if TYPE_CHECKING:
    from PIL.Image import Image

SUFFIXES = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".tif", ".tiff", ".webp", ".ppm", ".pgm")
_MODES = {1: "L", 3: "RGB", 4: "RGBA"}
_ORDERS = {3: ("CHW", "HWC"), 4: ("NCHW", "NHWC")}
_LARGEST = 255


@dataclass(frozen=True)
class _Target:
    """What a picture is made into: the order of its axes by letter, and its sizes."""

    order: str
    batch: int
    channels: int
    height: int
    width: int


def load_picture(path: str, declared: Declared, wanted: StaticShape | None) -> np.ndarray:
    """The array of an input made from a picture file; `wanted` is the shape that the user asked for.

    Errors: UsageError for a file that is no picture, and for an input that does not take pictures.
    """
    order, shape = _order(declared), wanted or declared.shape
    kind = declared.element_type
    if order is None or shape is None or len(shape) != len(order):
        raise _no_picture_input(declared)
    if not kind.is_float and np.iinfo(kind.numpy if kind.name != "boolean" else np.int8).max < _LARGEST:
        raise _no_picture_input(declared)
    image = _open(path)
    target = _target(order, shape, image)
    try:
        image = image.convert(_MODES[target.channels]).resize((target.width, target.height), resample=2)
    except (OSError, ValueError, MemoryError, SyntaxError) as error:
        raise _unreadable(path, error) from None
    return _arrange(np.asarray(image), target, declared)


def _arrange(pixels: np.ndarray, target: _Target, declared: Declared) -> np.ndarray:
    values = pixels.reshape(target.height, target.width, target.channels)
    kind = declared.element_type
    numbers = (values / _LARGEST if kind.is_float else values).astype(kind.numpy)
    axes = ["HWC".index(letter) for letter in target.order if letter != "N"]
    arranged = numbers.transpose(axes)
    if "N" in target.order:
        arranged = np.broadcast_to(arranged, (target.batch, *arranged.shape))
    return np.ascontiguousarray(arranged)


def _open(path: str) -> Image:
    try:
        images, ops = importlib.import_module("PIL.Image"), importlib.import_module("PIL.ImageOps")
    except ImportError:
        raise UsageError("pictures need Pillow, which is not installed", values={"file": path},
                         hint="pip install clinfer[pictures], or give an .npy file") from None
    try:
        image: Image = ops.exif_transpose(images.open(path))
        if image.mode.startswith("I;16"):
            image = images.fromarray((np.asarray(image) // (_LARGEST + 2)).astype(np.uint8))
    except Exception as error:
        # Every decoder fails in its own way on damaged files.
        raise _unreadable(path, error) from None
    if image.mode in ("I", "F"):
        raise UsageError("a picture's values have no known range", values={"file": path, "mode": image.mode},
                         hint="save it with 8 or 16 bits per channel, or give an .npy file")
    return image


def _unreadable(path: str, error: Exception) -> UsageError:
    return UsageError("a picture cannot be read", values={"file": path, "reason": error or type(error).__name__})


def _no_picture_input(declared: Declared) -> UsageError:
    return UsageError(f"{declared.label} does not take a picture", values={
        "input": describe(declared.port), "pictures go to": "NCHW, NHWC, CHW or HWC inputs of 1, 3 or 4 channels "
        "whose type holds 0 to 255"}, hint="give an .npy file")


def _order(declared: Declared) -> str | None:
    """The letters of the axes: from the model's own layout, else from where the channels are."""
    layout = "".join(letter for letter in declared.port.node.get_layout().to_string() if letter.isalnum())
    rank = len(declared.shape or ())
    if len(layout) == rank and sorted(layout) in (sorted("CHW"), sorted("NCHW")):
        return layout if _is_channels(declared.shape, layout.index("C")) else None
    for order in _ORDERS.get(rank, ()):
        if _is_channels(declared.shape, order.index("C")):
            return order
    return None


def _is_channels(shape: Shape | None, axis: int) -> bool:
    return shape is not None and shape[axis] in _MODES


def _target(order: str, shape: Shape, image: Image) -> _Target:
    def size(letter: str, own: int) -> int:
        return _fixed(shape[order.index(letter)], own) if letter in order else 1
    channels = shape[order.index("C")]
    assert isinstance(channels, int)
    return _Target(order, size("N", 1), channels, size("H", image.height), size("W", image.width))


def _fixed(size: Size, own: int) -> int:
    return min(max(size.low, own, 1), size.high) if isinstance(size, Dim) else size
