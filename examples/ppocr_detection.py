"""What stands before and after PP-OCR's detection: preparing a page, and the boxes of its lines of text.

The network (differentiable binarisation, Liao et al. 2020) rates each pixel by how likely it is in the shrunken core of
a line of text. Cores are the connected parts above a threshold; a core's box is grown back to the line's.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image

MULTIPLE = 32
SHORTEST, LONGEST = 640, 1280
CORE, SURE = 0.3, 0.5
GROWTH = 1.8
SMALLEST = 3
LONG = 0.8


class Box(NamedTuple):
    """A rectangle in pixels; `bottom` and `right` are exclusive."""

    top: int
    bottom: int
    left: int
    right: int


def prepare_page(picture: NDArray[np.uint8]) -> NDArray[np.float32]:
    """The network's input [1, 3, H, W] in [-1, 1], blue-green-red, from an [H', W', 3] picture.

    Small pictures are enlarged to a shorter side of SHORTEST as long as the longer stays below LONGEST, larger ones
    shrunk to LONGEST; then both sides are rounded to multiples of 32.
    """
    sides = picture.shape[:2]
    scale = min(LONGEST / max(sides), max(1.0, SHORTEST / min(sides)))
    height, width = (max(MULTIPLE, round(side * scale / MULTIPLE) * MULTIPLE) for side in sides)
    pixels = np.asarray(Image.fromarray(picture).resize((width, height), Image.Resampling.BILINEAR), np.float32)
    return np.ascontiguousarray((pixels[:, :, ::-1] / 127.5 - 1.0).transpose(2, 0, 1)[None])


def find_lines(likely: NDArray[np.float32], height: int, width: int) -> list[Box]:
    """Boxes of upright lines in a picture of that size, in reading order, from the network's output [H, W]."""
    found = [_grow(likely, core) for core in _boxes(*_label(likely > CORE)) if _is_line(likely, core)]
    down, right = height / likely.shape[0], width / likely.shape[1]
    boxes = [Box(int(b.top * down), min(height, int(np.ceil(b.bottom * down))),
                 int(b.left * right), min(width, int(np.ceil(b.right * right)))) for b in found]
    return sort_by_reading(boxes)


def find_slant(likely: NDArray[np.float32], height: int, width: int) -> float:
    """Degrees, clockwise and from -90 to 90, by which lines are turned in a picture of that size; 0 without any.

    The second moments of a core, as a complex number of twice its angle, are the longer the longer the line is.
    """
    flags = likely > CORE
    runs, labels = _label(flags)
    if not len(runs):
        return 0.0
    y, x = (places * side / size for places, side, size in zip(np.nonzero(flags), (height, width), flags.shape,
                                                               strict=True))
    part = np.unique(np.repeat(labels, runs[:, 2] - runs[:, 1]), return_inverse=True)[1]
    count = np.bincount(part)
    x, y = (values - (np.bincount(part, values) / count)[part] for values in (x, y))
    xx, xy, yy = (np.bincount(part, products) for products in (x * x, x * y, y * y))
    moments = xx - yy + 2j * xy
    long = np.abs(moments) > LONG * (xx + yy)
    return float(np.degrees(np.angle(moments[long].sum()) / 2)) if long.any() else 0.0


def _is_line(likely: NDArray[np.float32], core: Box) -> bool:
    inside = likely[core.top : core.bottom, core.left : core.right]
    return min(inside.shape) >= SMALLEST and float(inside.mean()) >= SURE


def _grow(likely: NDArray[np.float32], core: Box) -> Box:
    """The core plus GROWTH times its area over its perimeter on each side, inside the page."""
    height, width = core.bottom - core.top, core.right - core.left
    margin = round(GROWTH * height * width / (2 * (height + width)))
    return Box(max(0, core.top - margin), min(likely.shape[0], core.bottom + margin),
               max(0, core.left - margin), min(likely.shape[1], core.right + margin))


def sort_by_reading(boxes: list[Box]) -> list[Box]:
    """Rows from top to bottom, each from left to right.

    A box joins the row whose first box its middle meets.
    """
    rows: list[list[Box]] = []
    for box in sorted(boxes, key=lambda box: box.top + box.bottom):
        middle = (box.top + box.bottom) / 2
        if rows and rows[-1][0].top <= middle < rows[-1][0].bottom:
            rows[-1].append(box)
        else:
            rows.append([box])
    return [box for row in rows for box in sorted(row, key=lambda box: box.left)]


# -- connected parts ----------------------------------------------------------------------------------


def _label(flags: NDArray[np.bool_]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """(runs, labels): the stretches of True in each row as rows (row, start, stop), and the part each belongs to.

    Pixels that share a side or a corner are connected.
    """
    width = flags.shape[1]
    edges = np.diff(np.pad(flags, ((0, 0), (1, 1))).astype(np.int8), axis=1)
    row, start = np.nonzero(edges == 1)
    stop = np.nonzero(edges == -1)[1]
    # Runs in the order of position, with room for one more column, so that neighbours in rows do not touch.
    first, last = row * (width + 1) + start, row * (width + 1) + stop
    above_from = np.searchsorted(last, first - (width + 1), side="left")
    above_to = np.searchsorted(first, last - (width + 1), side="right")
    parent = list(range(len(row)))
    for run, (low, high) in enumerate(zip(above_from, above_to, strict=True)):
        for other in range(low, high):
            a, b = _root(parent, run), _root(parent, other)
            parent[max(a, b)] = min(a, b)
    labels = np.array([_root(parent, run) for run in range(len(row))], np.int64)
    return np.stack([row, start, stop], axis=1), labels


def _root(parent: list[int], run: int) -> int:
    while parent[run] != run:
        parent[run] = run = parent[parent[run]]
    return run


def _boxes(runs: NDArray[np.int64], labels: NDArray[np.int64]) -> list[Box]:
    """The smallest box around each part."""
    boxes = []
    for label in np.unique(labels):
        row, start, stop = runs[labels == label].T
        boxes.append(Box(int(row.min()), int(row.max()) + 1, int(start.min()), int(stop.max())))
    return boxes
