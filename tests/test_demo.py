"""The demo: what it does around the network on random inputs, and the whole of it on every device."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from clinfer.base.errors import ClinferError
from examples import fetch_models, make_picture, ppocr, read_text

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture
def random() -> np.random.Generator:
    seed = int.from_bytes(os.urandom(4), "little")
    print(f"seed {seed}")
    return np.random.default_rng(seed)


def picture_of(boxes: list[ppocr.Box], paper: int, ink: int) -> NDArray[np.uint8]:
    picture = np.full((max(b.bottom for b in boxes) + 30, 400, 3), paper, np.uint8)
    for box in boxes:
        picture[box.top : box.bottom, box.left : box.right] = ink
    return picture


@pytest.mark.parametrize(("paper", "ink"), [(250, 20), (10, 240)])
def test_lines_are_found_where_they_are(random: np.random.Generator, paper: int, ink: int) -> None:
    boxes, top = [], 25
    for height in random.integers(10, 60, 7):
        left = int(random.integers(20, 150))
        boxes.append(ppocr.Box(top, top + int(height), left, left + int(random.integers(20, 200))))
        top += int(height) + 20
    found = ppocr.find_lines(picture_of(boxes, paper, ink))
    assert len(found) == len(boxes)
    for box, (top, bottom, left, right) in zip(boxes, found, strict=True):
        margin = box.top - top
        assert 0 < margin <= (box.bottom - box.top) / 5 + 1
        assert (bottom - margin, left + margin, right - margin) == (box.bottom, box.left, box.right)


def test_dots_belong_to_their_line() -> None:
    dot, stem = ppocr.Box(20, 24, 50, 54), ppocr.Box(28, 58, 50, 54)
    assert len(ppocr.find_lines(picture_of([dot, stem], 255, 0))) == 1


def test_an_empty_picture_has_no_lines() -> None:
    assert ppocr.find_lines(np.full((100, 200, 3), 130, np.uint8)) == []


def test_prepared_lines_keep_their_proportions(random: np.random.Generator) -> None:
    height, width = (int(size) for size in random.integers(12, 300, 2))
    picture = np.empty((height, width, 3), np.uint8)
    picture[:] = colour = random.integers(0, 256, 3)
    line = ppocr.prepare_line(picture, ppocr.Box(0, height, 0, width))
    assert line.dtype == np.float32
    assert line.shape == (1, 3, 48, -(-48 * width // height))
    np.testing.assert_allclose(line[0, :, 20, 0], colour[::-1] / 127.5 - 1, atol=0.01)


def test_decoding_inverts_encoding(random: np.random.Generator) -> None:
    alphabet = ppocr.make_alphabet("a\nb\nc")
    assert alphabet == ["", "a", "b", "c", " "]
    text = "".join(random.choice(list("abc "), 20))
    steps: list[int] = []
    for letter in text:
        blanks = int(random.integers(1, 3)) if steps and alphabet[steps[-1]] == letter else 0
        steps += [0] * blanks + [alphabet.index(letter)] * int(random.integers(1, 4))
    scores = random.uniform(0, 0.5, (len(steps), 5)).astype(np.float32)
    scores[np.arange(len(steps)), steps] += 0.6
    assert ppocr.decode(scores, alphabet) == text


def test_misread_lines_are_named() -> None:
    assert read_text.find_misread(["a", "b"], ["a", "b"]) == []
    assert read_text.find_misread(["a", "x"], ["a", "b"]) == ["line 2: read 'x', expected 'b'"]
    assert len(read_text.find_misread(["a"], ["a", "b", "c"])) == 2
    assert len(read_text.find_misread(["a", "b"], ["a"])) == 1


def test_the_picture_shows_the_expected_text() -> None:
    expected = read_text.EXPECTED.read_text(encoding="utf-8").splitlines()
    assert expected == [text for _, text in make_picture.LINES]
    assert read_text.PICTURE.stat().st_size < 100_000
    picture = np.asarray(Image.open(read_text.PICTURE).convert("RGB"))
    widths = [ppocr.prepare_line(picture, box).shape[3] for box in ppocr.find_lines(picture)]
    assert len(set(widths)) == len(expected)


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
        for file in fetch_models.MODELS.values():
            archive.writestr(f"rapidocr_onnxruntime/models/{file}", file)
    content = wheel.read_bytes()
    monkeypatch.setattr(fetch_models, "WHEEL_SHA256", hashlib.sha256(content).hexdigest())
    monkeypatch.setattr(subprocess, "run", fake_pip(content, 0))
    folder = tmp_path / "models"
    for name, file in fetch_models.MODELS.items():
        assert fetch_models.model_path(name, folder).read_text() == file
        monkeypatch.setattr(subprocess, "run", fake_pip(b"", 1))
    assert {path.name for path in folder.iterdir()} == set(fetch_models.MODELS.values())


def run_python(*arguments: str, folder: Path = ROOT) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300)


@pytest.mark.slow
def test_the_demo_reads_its_picture(device: Any) -> None:
    done = run_python("-m", "examples.read_text", "--device", device.name)
    assert done.returncode == 0, done.stdout + done.stderr
    for line in read_text.EXPECTED.read_text(encoding="utf-8").splitlines():
        assert re.search(rf"^{re.escape(line)} +\d+ +[\d.]+ +[\d.]+$", done.stdout, re.MULTILINE)
    assert f"device {device.name}: {device.full_name}" in done.stdout


@pytest.mark.slow
def test_the_demo_fails_when_a_line_is_misread(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    expected = tmp_path / "expected.txt"
    expected.write_text(read_text.EXPECTED.read_text(encoding="utf-8").replace("OK", "NO"), encoding="utf-8")
    monkeypatch.setattr(read_text, "EXPECTED", expected)
    assert read_text.main([]) == 1
    assert "line 5: read 'OK', expected 'NO'" in capsys.readouterr().out


@pytest.mark.slow
def test_the_readme_example_runs(tmp_path: Path) -> None:
    code = (ROOT / "README.md").read_text(encoding="utf-8").split("```python\n")[1].split("```")[0]
    (tmp_path / "model.onnx").symlink_to(fetch_models.model_path("recognition"))
    done = run_python("-c", code, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert [int(width) for width in re.findall(r"^(\d+) \(1, ", done.stdout, re.MULTILINE)] == [320, 517, 96]
