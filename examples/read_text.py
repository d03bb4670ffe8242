"""Reads the text in a picture with PP-OCRv4: detection finds the lines, recognition reads them.

Every page has a size of its own and every line a width, so each is an input shape that the engine has not seen before.
Usage: python -m examples.read_text [--device GPU] [--image picture.png]
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageOps

import clinfer as ov
from clinfer.base.errors import ClinferError
from examples.fetch_models import model_path
from examples.ppocr_detection import Box, find_lines, find_slant, prepare_page
from examples.ppocr_recognition import decode, make_alphabet, prepare_line

PICTURE = Path(__file__).with_name("page.png")
EXPECTED = Path(__file__).with_name("page.txt")
SURE_ENOUGH = 0.5
LEVEL, SIDEWAYS = 0.5, 45.0


@dataclass(frozen=True)
class Timing:
    """What one input took, in milliseconds: the first time that its shape was seen, and the median of later times."""

    shape: tuple[int, ...]
    first_ms: float
    again_ms: float


@dataclass(frozen=True)
class Line:
    """One line as it was read, and where it stands in the picture."""

    text: str
    box: Box
    timing: Timing


@dataclass(frozen=True)
class Page:
    """What was found in a picture, in reading order.

    `turned`: the degrees by which the picture was turned counter-clockwise before, to level its lines.
    """

    lines: list[Line]
    detection: Timing
    turned: float = 0.0


class Network:
    """One of PP-OCRv4's networks on a device, behind one infer request."""

    def __init__(self, name: str, device: str) -> None:
        core = ov.Core()
        self.model = core.read_model(model_path(name))
        start = time.perf_counter()
        compiled = core.compile_model(self.model, device)
        self.compile_s = time.perf_counter() - start
        self.device = compiled.get_property("EXECUTION_DEVICES")[0]
        self.device_name = core.get_property(self.device, "FULL_DEVICE_NAME")
        self._request = compiled.create_infer_request()

    def infer(self, data: NDArray[np.float32]) -> NDArray[np.float32]:
        """The output for one input."""
        return self._request.infer([data])[0]

    def infer_all(
        self, inputs: Sequence[NDArray[np.float32]], repeats: int
    ) -> list[tuple[NDArray[np.float32], Timing]]:
        """Output and timing of each input: all are seen once, then all of them `repeats` times more."""
        first = [self._timed(data) for data in inputs]
        again = [[self._timed(data)[1] for data in inputs] for _ in range(repeats)]
        medians = [statistics.median(times) for times in zip(*again, strict=True)]
        return [
            (output, Timing(data.shape, first_ms, again_ms))
            for data, (output, first_ms), again_ms in zip(inputs, first, medians, strict=True)
        ]

    def _timed(self, data: NDArray[np.float32]) -> tuple[NDArray[np.float32], float]:
        start = time.perf_counter()
        output = self.infer(data)
        return output, (time.perf_counter() - start) * 1e3


class Reader:
    """Detection and recognition on one device."""

    def __init__(self, device: str) -> None:
        self.detection = Network("detection", device)
        self.recognition = Network("recognition", device)
        characters = self.recognition.model.get_rt_info(["framework", "character"]).astype(str)
        self.alphabet = make_alphabet(characters)

    def read(self, picture: NDArray[np.uint8], repeats: int = 3) -> Page:
        """The text in an [H, W, 3] picture; what recognition is not sure of is left out.

        A slanted picture is levelled first; of one whose lines run up or down the direction that reads better counts.
        """
        likely, detection = self._detect(picture, repeats)
        slant = find_slant(likely, *picture.shape[:2])
        if abs(slant) < LEVEL:
            return self._recognize(picture, likely, detection, repeats)
        turns = (slant,) if abs(slant) <= SIDEWAYS else (slant, slant + 180)
        pages = [self._read_turned(picture, turn, repeats) for turn in turns]
        return max(pages, key=lambda page: sum(len(line.text) for line in page.lines))

    def _read_turned(self, picture: NDArray[np.uint8], turn: float, repeats: int) -> Page:
        turned = turn_picture(picture, turn)
        return replace(self._recognize(turned, *self._detect(turned, repeats), repeats), turned=turn)

    def _detect(self, picture: NDArray[np.uint8], repeats: int) -> tuple[NDArray[np.float32], Timing]:
        ((output, timing),) = self.detection.infer_all([prepare_page(picture)], repeats)
        return output[0, 0], timing

    def _recognize(self, picture: NDArray[np.uint8], likely: NDArray[np.float32], detection: Timing,
                   repeats: int) -> Page:
        boxes = find_lines(likely, *picture.shape[:2])
        results = self.recognition.infer_all([prepare_line(picture, box) for box in boxes], repeats)
        lines = []
        for box, (scores, timing) in zip(boxes, results, strict=True):
            text, sure = decode(scores[0], self.alphabet)
            if sure >= SURE_ENOUGH:
                lines.append(Line(text.strip(), box, timing))
        return Page(lines, detection)


def turn_picture(picture: NDArray[np.uint8], degrees: float) -> NDArray[np.uint8]:
    """The picture turned counter-clockwise, whole, with its median colour around it."""
    fill = tuple(int(value) for value in np.median(picture.reshape(-1, 3), axis=0))
    image = Image.fromarray(picture)
    return np.asarray(image.rotate(degrees, Image.Resampling.BICUBIC, expand=True, fillcolor=fill))


def open_picture(path: Path) -> NDArray[np.uint8]:
    """A picture file as [H, W, 3], upright, on white where it is transparent; ClinferError if it is not one."""
    try:
        with Image.open(path) as file:
            picture = ImageOps.exif_transpose(file)
            if picture.mode.startswith("I;16"):
                picture = Image.fromarray((np.asarray(picture) // 257).astype(np.uint8))
            if picture.mode == "P" or picture.has_transparency_data:
                picture = picture.convert("RGBA")
                picture = Image.alpha_composite(Image.new("RGBA", picture.size, "white"), picture)
            return np.asarray(picture.convert("RGB"))
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        raise ClinferError(
            "the picture cannot be read",
            where=str(path),
            values={"reason": str(error) or type(error).__name__},
            hint="give the path of a PNG, JPEG, WebP or BMP file",
        ) from error


def print_table(page: Page) -> None:
    """One row per line of text, and what detection took."""
    column = max(len("text"), *(len(line.text) for line in page.lines))
    print(f"{'text':<{column}}  {'at x,y':>9}  {'width':>6}  {'first ms':>9}  {'again ms':>9}")
    for line in page.lines:
        place, time_taken = f"{line.box.left},{line.box.top}", line.timing
        print(
            f"{line.text:<{column}}  {place:>9}  {time_taken.shape[3]:>6}  "
            f"{time_taken.first_ms:>9.1f}  {time_taken.again_ms:>9.1f}"
        )
    if page.turned:
        print(f"\nturned by {page.turned:.1f} degrees to level the lines; positions are those in the turned picture")
    height, width = page.detection.shape[2:]
    print(
        f"\nfound on a page of {width} x {height} in {page.detection.first_ms:.1f} ms first, "
        f"{page.detection.again_ms:.1f} ms again"
    )


def find_misread(read: list[str], expected: list[str]) -> list[str]:
    """One sentence for every line that differs, including lines that are missing or too many."""
    pairs = enumerate(zip_longest(read, expected), start=1)
    return [f"line {n}: read {got!r}, expected {want!r}" for n, (got, want) in pairs if got != want]


def main(arguments: list[str] | None = None) -> int:
    """Exit status 0, or 1 where the built-in picture is misread or a picture has no text."""
    parser = argparse.ArgumentParser(description="Reads the text in a picture.")
    parser.add_argument("--device", default="AUTO", help="CPU, GPU.1, ... (default: a GPU, else the CPU)")
    parser.add_argument("--image", type=Path, help="a picture with text in one direction (default: a built-in page)")
    options = parser.parse_args(arguments)

    picture = open_picture(options.image or PICTURE)
    reader = Reader(options.device)
    page = reader.read(picture)
    if not page.lines:
        print(f"no text found in {options.image or PICTURE}")
        return 1
    print_table(page)
    found, read = reader.detection, reader.recognition
    print(f"device {found.device}: {found.device_name}; compiled in {found.compile_s:.1f} s and {read.compile_s:.1f} s")
    if options.image:
        return 0
    misread = find_misread([line.text for line in page.lines], EXPECTED.read_text(encoding="utf-8").splitlines())
    print("\n".join(misread) or f"all {len(page.lines)} lines read correctly")
    return 1 if misread else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (ClinferError, OSError) as error:
        sys.exit(f"error: {error}")
