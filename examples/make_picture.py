"""Draws the demo's built-in page and writes the text that stands on it.

The font is the one that Pillow carries (Aileron, CC0), so no font needs to be installed.
Usage: python -m examples.make_picture
"""

from __future__ import annotations

from typing import NamedTuple

from PIL import Image, ImageDraw, ImageFont

from examples.read_text import EXPECTED, PICTURE

WIDTH, HEIGHT = 900, 1120
PAPER, INK, GREY, BAND = (247, 245, 238), (25, 30, 60), (110, 112, 120), (36, 64, 110)


class Text(NamedTuple):
    """One line: left and top of its box and its font's size, in pixels."""

    left: int
    top: int
    size: int
    text: str
    colour: tuple[int, int, int] = INK


TEXTS = (
    Text(60, 40, 58, "Any shape, any device", PAPER),
    Text(62, 150, 26, "Detection finds the lines of this page,"),
    Text(62, 192, 26, "recognition reads them, one after the other."),
    Text(120, 262, 22, "Each line has its own width, so each line is a new input shape."),
    Text(60, 350, 40, "Invoice 4821"),
    Text(560, 356, 30, "21 Nov. 2026"),
    Text(60, 440, 24, "Coffee, freshly ground"),
    Text(700, 440, 24, "12.50"),
    Text(60, 486, 24, "Six porcelain cups"),
    Text(700, 486, 24, "48.00"),
    Text(60, 532, 24, "Delivery"),
    Text(700, 532, 24, "4.90"),
    Text(60, 596, 36, "Total"),
    Text(690, 596, 36, "65.40"),
    Text(90, 720, 20, "Room 1408, second floor", GREY),
    Text(430, 690, 46, "Gate B27"),
    Text(60, 800, 28, "The quick brown fox jumps over the lazy dog"),
    Text(60, 848, 28, "while 12 monkeys watch."),
    Text(300, 930, 72, "OK"),
    Text(60, 1050, 18, "Questions? Write to invoice@example.org", GREY),
    Text(690, 1050, 18, "Thank you", GREY),
)


def draw(texts: tuple[Text, ...] = TEXTS) -> Image.Image:
    """The page as an RGB picture: a band on top, a rule above the total, and the texts."""
    picture = Image.new("RGB", (WIDTH, HEIGHT), PAPER)
    pen = ImageDraw.Draw(picture)
    pen.rectangle((0, 0, WIDTH, 122), fill=BAND)
    pen.line((60, 580, WIDTH - 60, 580), fill=GREY, width=2)
    for text in texts:
        pen.text((text.left, text.top), text.text, font=ImageFont.load_default(text.size), fill=text.colour)
    return picture


def main() -> None:
    draw().quantize(48, dither=Image.Dither.NONE).save(PICTURE, optimize=True)
    EXPECTED.write_text("".join(f"{text.text}\n" for text in TEXTS), encoding="utf-8")


if __name__ == "__main__":
    main()
