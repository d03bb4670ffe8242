"""What stands before and after PP-OCR's recognition: preparing a line of text, decoding the answer."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from examples.ppocr_detection import Box

LINE_HEIGHT = 48
NARROWEST = 16


def prepare_line(picture: NDArray[np.uint8], box: Box) -> NDArray[np.float32]:
    """The network's input [1, 3, 48, W] in [-1, 1], blue-green-red.

    W follows from the box's proportions, but is at least NARROWEST: the network has no output for less than 7.
    """
    crop = Image.fromarray(picture[box.top : box.bottom, box.left : box.right])
    width = max(NARROWEST, -(-LINE_HEIGHT * crop.width // crop.height))
    pixels = np.asarray(crop.resize((width, LINE_HEIGHT), Image.Resampling.BILINEAR), np.float32)
    return np.ascontiguousarray((pixels[:, :, ::-1] / 127.5 - 1.0).transpose(2, 0, 1)[None])


def make_alphabet(characters: str) -> list[str]:
    """One string per class: class 0 is CTC's blank, then one character per row, then the space."""
    return ["", *characters.split("\n"), " "]


def decode(scores: NDArray[np.float32], alphabet: list[str]) -> tuple[str, float]:
    """The text in scores [steps, classes] and how sure it is: the mean score of its characters, 0 for no text.

    The best class of each step, repeats joined, blanks dropped.
    """
    best = scores.argmax(axis=1)
    keep = np.concatenate([[True], best[1:] != best[:-1]]) & (best != 0)
    sure = float(scores.max(axis=1)[keep].mean()) if keep.any() else 0.0
    return "".join(alphabet[index] for index in best[keep]), sure
