"""Inputs from the command line: arrays, archives and pictures, good and malformed."""
from __future__ import annotations

import builtins
import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from clinfer.api.ports import Ports
from clinfer.cli import pictures
from clinfer.cli.inputs import InputOrder, make_inputs
from clinfer.cli.usage import UsageError
from clinfer.frontend.openvino_import import openvino as ov
from tests.api.models import softmax_model


def ports_of(shape: list[Any], kind: str = "f32", layout: str = "") -> Ports:
    """The ports of a model with one input `x`."""
    model = softmax_model({"x": shape}, getattr(ov.Type, kind))
    if layout:
        model.get_parameters()[0].set_layout(ov.Layout(layout))
    return Ports.of(model)


def make(ports: Ports, *files: str, shapes: tuple[str, ...] = ()) -> np.ndarray:
    return make_inputs(ports, InputOrder(files, shapes))[0]


@pytest.fixture
def picture(tmp_path: Path, rng: np.random.Generator) -> tuple[Path, np.ndarray]:
    """A colour picture, 5 high and 7 wide, and its pixels."""
    pixels = rng.integers(0, 256, (5, 7, 3), np.uint8)
    path = tmp_path / "picture.png"
    Image.fromarray(pixels).save(path)
    return path, pixels


# -- pictures ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("shape", "layout", "axes"), [
    ([1, 3, 5, 7], "", (2, 0, 1)), ([1, 5, 7, 3], "", (0, 1, 2)), ([3, 5, 7], "", (2, 0, 1)),
    ([5, 7, 3], "", (0, 1, 2)),
    ([-1, 3, -1, -1], "", (2, 0, 1)), ([2, 3, 5, 7], "", (2, 0, 1)), ([1, 3, 7, 5], "NCWH", (2, 1, 0)),
    ([1, -1, -1, 3], "NHWC", (0, 1, 2)),
])
@pytest.mark.parametrize("kind", ["f32", "f16", "bf16", "u8", "i32", "i64"])
def test_a_picture_takes_the_form_of_the_input(picture: tuple[Path, np.ndarray], shape: list[int], layout: str,
                                               axes: tuple[int, ...], kind: str) -> None:
    path, pixels = picture
    array = make(ports_of(shape, kind, layout), f"x={path}")
    expected = pixels.transpose(axes) / (255.0 if kind in ("f32", "f16", "bf16") else 1)
    assert array.shape == tuple(wish if wish > 0 else array.shape[i] for i, wish in enumerate(shape))
    for each in array if len(shape) == 4 else [array]:
        np.testing.assert_allclose(each.astype(np.float64), expected, rtol=0, atol=1e-3)


def test_a_picture_is_resized_to_the_input(picture: tuple[Path, np.ndarray]) -> None:
    path, pixels = picture
    wanted = np.asarray(Image.fromarray(pixels).resize((13, 11), Image.Resampling.BILINEAR)).transpose(2, 0, 1)
    for shape, given in (([1, 3, 11, 13], ()), ([1, 3, -1, -1], ("[1,3,11,13]",))):
        array = make(ports_of(shape), str(path), shapes=given)
        np.testing.assert_allclose(array[0], wanted / 255, rtol=0, atol=1e-6)


def test_bounds_of_the_input_bound_the_picture(picture: tuple[Path, np.ndarray]) -> None:
    array = make(ports_of([ov.Dimension(2, 4), 3, ov.Dimension(8, 16), ov.Dimension(1, 6)]), str(picture[0]))
    assert array.shape == (2, 3, 8, 6)


@pytest.mark.parametrize("channels", [1, 3, 4])
def test_grey_rgb_and_rgba_are_made_from_each_other(tmp_path: Path, rng: np.random.Generator, channels: int) -> None:
    for mode, name in (("L", "grey.png"), ("RGB", "colour.jpg"), ("RGBA", "alpha.png"), ("P", "palette.gif")):
        source = Image.fromarray(rng.integers(0, 256, (4, 6), np.uint8)).convert(mode)
        source.save(tmp_path / name)
        array = make(ports_of([1, channels, 4, 6]), str(tmp_path / name))
        assert array.shape == (1, channels, 4, 6) and 0 <= array.min() <= array.max() <= 1
        with Image.open(tmp_path / name) as image:
            kind = {1: "L", 3: "RGB", 4: "RGBA"}[channels]
            expected = np.asarray(image.convert(kind)).reshape(4, 6, channels)
        np.testing.assert_allclose(array[0], expected.transpose(2, 0, 1) / 255, atol=1e-6)


def test_photographs_are_turned_upright(picture: tuple[Path, np.ndarray]) -> None:
    path, pixels = picture
    exif = Image.Exif()
    exif[0x0112] = 6
    Image.fromarray(pixels).save(path, exif=exif)
    np.testing.assert_allclose(make(ports_of([1, 3, 7, 5]), str(path))[0],
                               np.rot90(pixels, -1).transpose(2, 0, 1) / 255, atol=1e-6)


def test_sixteen_bits_keep_their_range(tmp_path: Path, rng: np.random.Generator) -> None:
    pixels = rng.integers(0, 1 << 16, (5, 7), np.uint16)
    Image.fromarray(pixels).save(tmp_path / "deep.png")
    np.testing.assert_allclose(make(ports_of([1, 1, 5, 7]), str(tmp_path / "deep.png"))[0, 0], pixels / 65535,
                               atol=1 / 255)


def test_values_without_a_range_are_refused(tmp_path: Path, rng: np.random.Generator) -> None:
    Image.fromarray(rng.standard_normal((5, 7), np.float32)).save(tmp_path / "float.tif")
    with pytest.raises(UsageError, match="no known range"):
        make(ports_of([1, 1, 5, 7]), str(tmp_path / "float.tif"))


@pytest.mark.parametrize(("shape", "kind", "layout"), [
    ([1, 16, 5, 7], "f32", ""), ([3, 5], "f32", ""), ([1, -1, 5, 7], "f32", ""), ([1, 3, 2, 5, 7], "f32", ""),
    ([1, 3, 5, 7], "i8", ""), ([1, 3, 5, 7], "boolean", ""), ([1, 3, 5, 9], "f32", "NHWC"),
])
def test_inputs_that_are_no_pictures_say_so(picture: tuple[Path, np.ndarray], shape: list[int], kind: str,
                                            layout: str) -> None:
    with pytest.raises(UsageError, match=r"input 'x' does not take a picture[^$]*\.npy"):
        make(ports_of(shape, kind, layout), str(picture[0]))


def _huge_png() -> bytes:
    header = struct.pack(">IIBBBBB", 60000, 60000, 8, 2, 0, 0, 0)
    chunk = b"IHDR" + header
    return (b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + chunk + struct.pack(">I", zlib.crc32(chunk))
            + b"\0\0\0\0IDAT" + struct.pack(">I", zlib.crc32(b"IDAT")))


@pytest.mark.parametrize("spoil", [
    lambda data: b"", lambda data: data[:40], lambda data: data[:-30], lambda data: b"text" * 50,
    lambda data: data[:60] + bytes(60) + data[120:], lambda data: _huge_png(),
], ids=["empty", "header only", "truncated", "text", "damaged", "a bomb"])
def test_malformed_pictures_are_one_clear_error(picture: tuple[Path, np.ndarray],
                                                spoil: Callable[[bytes], bytes]) -> None:
    path, _ = picture
    path.write_bytes(spoil(path.read_bytes()))
    with pytest.raises(UsageError, match=r"a picture cannot be read[^$]*picture\.png"):
        make(ports_of([1, 3, 5, 7]), str(path))


def test_pictures_without_pillow(picture: tuple[Path, np.ndarray], monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> object:
        raise ImportError(name)
    monkeypatch.setattr(pictures.importlib, "import_module", absent)
    with pytest.raises(UsageError, match=r"clinfer\[pictures\]"):
        make(ports_of([1, 3, 5, 7]), str(picture[0]))


# -- arrays -----------------------------------------------------------------------------------------


def test_arrays_by_name_alone_and_from_archives(tmp_path: Path, rng: np.random.Generator) -> None:
    a, b = rng.standard_normal((2, 3)), rng.standard_normal((4, 5))
    ports = Ports.of(softmax_model({"a": [2, 3], "b": [-1, 5]}))
    np.save(tmp_path / "a.npy", a)
    np.savez(tmp_path / "both.npz", a=a, b=b)
    np.savez(tmp_path / "one.npz", anything=b)
    for files in (("both.npz",), ("a=a.npy", "b=one.npz")):
        entries = tuple(f"{n}={tmp_path / f}" if "=" in e else str(tmp_path / e)
                        for e in files for n, _, f in [e.partition("=")])
        made = make_inputs(ports, InputOrder(entries))
        assert np.array_equal(made[0], a) and np.array_equal(made[1], b)
    assert np.array_equal(make(ports_of([2, 3]), str(tmp_path / "a.npy")), a)


def _write(path: Path, content: object) -> None:
    if isinstance(content, bytes):
        path.write_bytes(content)
    elif isinstance(content, dict):
        np.savez(path, **content)
    else:
        with builtins.open(path, "wb") as file:
            np.save(file, content)  # type: ignore[arg-type]


GOOD = np.zeros((2, 3), np.float32)


def header(shape: str) -> bytes:
    """An .npy file without its numbers."""
    text = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({shape}), }}".ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00v\x00" + text.encode()


@pytest.mark.parametrize(("name", "content", "words"), [
    ("x.npy", b"", "cannot be read"), ("x.npy", b"\x93NUMPY", "cannot be read"),
    ("x.npy", b"hello", "no array of numbers"),
    ("x.npy", header("2, 3"), "cannot be read"), ("x.npy", header("99999999999, 99999999"), "cannot be read"),
    ("x.npy", np.array([{}, None]), "cannot be read"), ("x.npy", np.array([["a", "b"]]), "cannot be made"),
    ("x.npy", np.zeros((2, 4), np.float32), "outside the model's bounds"), ("x.npy", np.zeros(3), "wrong rank"),
    ("x.npy", GOOD.astype([("r", "f4")]), "cannot be made"), ("x.npy", np.zeros((2, 3), complex), "cannot be made"),
    ("x.npz", b"PK\x03\x04 broken", "cannot be read"), ("x.npz", {"x": GOOD, "y": GOOD}, "several arrays"),
    ("x.npz", {}, "no arrays"),
    ("x.npz", {"x": np.array([None])}, "cannot be read"), ("x.txt", b"1 2 3", "cannot be read"),
], ids=str)
def test_malformed_arrays_are_one_clear_error(tmp_path: Path, name: str, content: object, words: str) -> None:
    _write(tmp_path / name, content)
    with pytest.raises(UsageError, match=words):
        make(ports_of([2, 3]), f"x={tmp_path / name}")


@pytest.mark.parametrize("save", [np.save, np.savez_compressed])
def test_flipped_bytes_are_one_clear_error_or_other_numbers(tmp_path: Path, rng: np.random.Generator,
                                                            save: Callable[..., None]) -> None:
    path = tmp_path / ("x.npy" if save is np.save else "x.npz")
    save(path, rng.random((40, 5), np.float32))
    content, ports, refused = path.read_bytes(), ports_of([-1, 5]), 0
    for _ in range(300):
        spoilt = bytearray(content)
        spoilt[rng.integers(min(len(content), 400))] = rng.integers(256)
        path.write_bytes(spoilt)
        try:
            make(ports, f"x={path}")
        except UsageError:
            refused += 1
    assert refused > 10


def test_an_archive_with_other_names(tmp_path: Path) -> None:
    np.savez(tmp_path / "x.npz", y=GOOD)
    with pytest.raises(UsageError, match="no input 'y'"):
        make(ports_of([2, 3]), str(tmp_path / "x.npz"))


def test_an_input_is_given_once_and_in_one_shape(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", GOOD)
    file = f"x={tmp_path / 'x.npy'}"
    with pytest.raises(UsageError, match="given twice"):
        make(ports_of([2, 3]), file, file)
    with pytest.raises(UsageError, match="another shape"):
        make(ports_of([-1, 3]), file, shapes=("x=[4,3]",))
    assert np.array_equal(make(ports_of([-1, 3]), file, shapes=("x=[2,3]",)), GOOD)


@pytest.mark.parametrize("text", [
    "[1,2", "1,,2", "[1;2]", "[1,2]]", "[-1,2]", "[1.5]", "[?]", "[a]", "[1 2]", "9" * 30])
def test_malformed_shapes(text: str) -> None:
    with pytest.raises(UsageError, match="a shape is written"):
        make(ports_of([-1, -1]), shapes=(f"x={text}",))


@pytest.mark.parametrize("text", ["[4,3]", "4,3", " [ 4 , 3 ] ", "x=[4,3]"])
def test_forms_of_a_shape(text: str) -> None:
    assert make(ports_of([-1, -1]), shapes=(text,)).shape == (4, 3)


def test_a_shape_too_large_for_the_host() -> None:
    with pytest.raises(UsageError, match="no array of this shape"):
        make(ports_of([-1, -1]), shapes=("[99999999999,99999999999]",))
