"""Reads the lines of text in a picture with PP-OCRv4 recognition.

Every line has a width of its own, so every line is an input shape that the engine has not seen before.
Usage: python -m examples.read_text [--device GPU] [--image picture.png]
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

import clinfer as ov
from clinfer.base.errors import ClinferError
from examples import ppocr
from examples.fetch_models import model_path

PICTURE = Path(__file__).with_name("lines.png")
EXPECTED = Path(__file__).with_name("lines.txt")


@dataclass(frozen=True)
class Line:
    """One line as it was read: its text, the width of the network's input, milliseconds per inference."""

    text: str
    width: int
    first_ms: float
    again_ms: float


class Reader:
    """PP-OCRv4 recognition on one device; all lines go through one infer request."""

    def __init__(self, device: str) -> None:
        core = ov.Core()
        model = core.read_model(model_path("recognition"))
        self.alphabet = ppocr.make_alphabet(model.get_rt_info(["framework", "character"]).astype(str))
        start = time.perf_counter()
        compiled = core.compile_model(model, device)
        self.compile_s = time.perf_counter() - start
        self.device = compiled.get_property("EXECUTION_DEVICES")[0]
        self.device_name = core.get_property(self.device, "FULL_DEVICE_NAME")
        self.request = compiled.create_infer_request()

    def recognise(self, inputs: NDArray[np.float32]) -> tuple[str, float]:
        """The text of one prepared line and the milliseconds that its inference took."""
        start = time.perf_counter()
        scores = self.request.infer([inputs])[0]
        elapsed = (time.perf_counter() - start) * 1e3
        return ppocr.decode(scores[0], self.alphabet), elapsed

    def read(self, picture: NDArray[np.uint8], repeats: int = 5) -> list[Line]:
        """All lines of an [H, W, 3] picture: each seen once, then all of them `repeats` times more."""
        inputs = [ppocr.prepare_line(picture, box) for box in ppocr.find_lines(picture)]
        first = [self.recognise(line) for line in inputs]
        again = [[self.recognise(line)[1] for line in inputs] for _ in range(repeats)]
        medians = [statistics.median(times) for times in zip(*again, strict=True)]
        return [
            Line(text, line.shape[3], first_ms, again_ms)
            for line, (text, first_ms), again_ms in zip(inputs, first, medians, strict=True)
        ]


def print_table(lines: list[Line]) -> None:
    column = max([len("text"), *(len(line.text) for line in lines)])
    print(f"{'text':<{column}}  {'width':>6}  {'first ms':>9}  {'again ms':>9}")
    for line in lines:
        print(f"{line.text:<{column}}  {line.width:>6}  {line.first_ms:>9.1f}  {line.again_ms:>9.1f}")


def find_misread(read: list[str], expected: list[str]) -> list[str]:
    """One sentence for every line that differs, including lines that are missing or too many."""
    pairs = enumerate(zip_longest(read, expected), start=1)
    return [f"line {n}: read {got!r}, expected {want!r}" for n, (got, want) in pairs if got != want]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Reads the lines of text in a picture.")
    parser.add_argument("--device", default="AUTO", help="CPU, GPU.1, ... (default: a GPU, else the CPU)")
    parser.add_argument("--image", type=Path, help="a picture of upright text on a plain background")
    options = parser.parse_args(arguments)

    picture = np.asarray(Image.open(options.image or PICTURE).convert("RGB"))
    reader = Reader(options.device)
    lines = reader.read(picture)
    print_table(lines)
    print(f"\ndevice {reader.device}: {reader.device_name}; compiled in {reader.compile_s:.1f} s")
    if options.image:
        return 0
    misread = find_misread([line.text for line in lines], EXPECTED.read_text(encoding="utf-8").splitlines())
    print("\n".join(misread) or f"all {len(lines)} lines read correctly")
    return 1 if misread else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (ClinferError, OSError) as error:
        sys.exit(f"error: {error}")
