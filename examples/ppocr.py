"""What stands before and after PP-OCR's networks: finding lines, preparing them, decoding the answer."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image

LINE_HEIGHT = 48


class Box(NamedTuple):
    """A rectangle in pixels; `bottom` and `right` are exclusive."""

    top: int
    bottom: int
    left: int
    right: int


def find_lines(picture: NDArray[np.uint8]) -> list[Box]:
    """Boxes around the lines of upright text in an [H, W, 3] picture with a plain background, top to bottom.

    A pixel is ink when it is far from the most common brightness, so dark on light and light on dark both
    work. Rows with ink form bands; bands closer than a fifth of their height are one line (dots, accents).
    """
    brightness = picture.astype(np.float32).mean(axis=2)
    paper = np.bincount(brightness.astype(np.uint8).ravel(), minlength=256).argmax()
    distance = np.abs(brightness - paper)
    ink = distance > max(32.0, float(distance.max()) / 3)
    lines = [_box(ink, top, bottom) for top, bottom in _merge(_runs(ink.any(axis=1)))]
    return [box for box in lines if box.bottom - box.top >= 6]


def _runs(flags: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """(start, stop) of every stretch of True."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], flags, [False]]).astype(np.int8)))
    return [(int(start), int(stop)) for start, stop in zip(edges[::2], edges[1::2], strict=True)]


def _merge(runs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for start, stop in runs:
        if merged and start - merged[-1][1] < max(stop - start, merged[-1][1] - merged[-1][0]) / 5:
            start = merged.pop()[0]
        merged.append((start, stop))
    return merged


def _box(ink: NDArray[np.bool_], top: int, bottom: int) -> Box:
    """The band's box with a margin of a sixth of its height, inside the picture."""
    margin = (bottom - top + 5) // 6
    columns = np.flatnonzero(ink[top:bottom].any(axis=0))
    height, width = ink.shape
    return Box(
        max(0, top - margin),
        min(height, bottom + margin),
        max(0, int(columns[0]) - margin),
        min(width, int(columns[-1]) + 1 + margin),
    )


def prepare_line(picture: NDArray[np.uint8], box: Box) -> NDArray[np.float32]:
    """The network's input [1, 3, 48, W] in [-1, 1], blue-green-red; W follows from the box's proportions."""
    crop = Image.fromarray(picture[box.top : box.bottom, box.left : box.right])
    width = max(1, -(-LINE_HEIGHT * crop.width // crop.height))
    pixels = np.asarray(crop.resize((width, LINE_HEIGHT), Image.Resampling.BILINEAR), np.float32)
    return np.ascontiguousarray((pixels[:, :, ::-1] / 127.5 - 1.0).transpose(2, 0, 1)[None])


def make_alphabet(characters: str) -> list[str]:
    """One string per class: class 0 is CTC's blank, then one character per row, then the space."""
    return ["", *characters.split("\n"), " "]


def decode(scores: NDArray[np.float32], alphabet: list[str]) -> str:
    """The text in scores [steps, classes]: the best class of each step, repeats joined, blanks dropped."""
    best = scores.argmax(axis=1)
    keep = np.concatenate([[True], best[1:] != best[:-1]])
    return "".join(alphabet[index] for index in best[keep])
