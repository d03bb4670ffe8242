"""Draws the demo's built-in picture and writes the text that stands in it.

The font is the one that Pillow carries (Aileron, CC0), so no font needs to be installed.
Usage: python -m examples.make_picture
"""

from __future__ import annotations

from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

PICTURE = Path(__file__).with_name("lines.png")
EXPECTED = Path(__file__).with_name("lines.txt")

SMALL, LARGE = 26, 44
LINES = (
    (LARGE, "Any model, any device"),
    (SMALL, "Each line of this picture has its own width."),
    (SMALL, "So each line is a new input shape"),
    (LARGE, "Total 4821.50"),
    (SMALL, "OK"),
    (SMALL, "The quick brown fox jumps over the lazy dog while 12 monkeys watch."),
    (LARGE, "Gate B27"),
    (SMALL, "invoice@example.org"),
    (SMALL, "Room 1408, second floor, please ring twice"),
)
MARGIN = 40
INK, PAPER = (25, 30, 60), (247, 245, 238)


def draw(lines: tuple[tuple[int, str], ...] = LINES) -> Image.Image:
    """An RGB picture with one row of text per entry (font size in pixels, text)."""
    fonts = {size: ImageFont.load_default(size) for size, _ in lines}
    width = max(int(fonts[size].getlength(text)) for size, text in lines) + 2 * MARGIN
    height = sum(2 * size for size, _ in lines) + 2 * MARGIN
    picture = Image.new("RGB", (width, height), PAPER)
    pen = ImageDraw.Draw(picture)
    top = MARGIN
    for size, text in lines:
        pen.text((MARGIN, top), text, font=fonts[size], fill=INK)
        top += 2 * size
    return picture


def main() -> None:
    draw().quantize(32).save(PICTURE, optimize=True)
    EXPECTED.write_text("".join(f"{text}\n" for _, text in LINES), encoding="utf-8")


if __name__ == "__main__":
    main()
