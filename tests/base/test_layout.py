"""Layouts: pack and unpack, sizes, and the index arithmetic of views, for every format."""
from __future__ import annotations

import math

import ml_dtypes
import numpy as np
import pytest

from clinfer.base.element_type import ALL_TYPES, ElementType
from clinfer.base.errors import ClinferError
from clinfer.base.format import FORMATS, Format
from clinfer.base.layout import NO_PADDING, Layout, Padding
from clinfer.base.shape import ANY, Dim, admits
from clinfer.base.tensor_view import TensorView

F32 = ElementType.of("f32")
FITTING = [(f, rank) for f in FORMATS.values() for rank in range(9) if f.fits(rank)]


def _random_layout(rng: np.random.Generator, fmt: Format, rank: int, padded: bool) -> Layout:
    shape = tuple(int(n) for n in rng.integers(1, 20 if rank < 5 else 4, rank))
    pads = [tuple(int(n) for n in rng.integers(0, 4, rank)) for _ in range(2)]
    return Layout(shape, F32, fmt, Padding(*pads) if padded else NO_PADDING)


def _element(view: TensorView, at: tuple[int, ...]) -> int:
    """The index that GET_INDEX computes, from its definition."""
    index = view.offset
    for coordinate, pitch, blocks in zip(at, view.pitches, view.blocks, strict=True):
        if blocks is None:
            index += coordinate * pitch
            continue
        outer = coordinate + blocks.lower
        for size, inner_pitch in reversed(blocks.levels):
            index += outer % size * inner_pitch
            outer //= size
        index += outer * pitch
    return index


@pytest.mark.parametrize("padded", [False, True])
@pytest.mark.parametrize("fmt, rank", FITTING, ids=[f"{f}-{r}" for f, r in FITTING])
def test_pack_unpack_and_index_agree(rng: np.random.Generator, fmt: Format, rank: int, padded: bool) -> None:
    layout = _random_layout(rng, fmt, rank, padded)
    values = rng.standard_normal(layout.static_shape).astype(np.float32)
    units = layout.pack(values)
    assert units.nbytes == layout.byte_size
    assert np.array_equal(layout.unpack(units), values)
    assert np.array_equal(layout.unpack(units.view(np.uint8)), values)
    view = TensorView.of(layout)
    for _ in range(20):
        at = tuple(int(rng.integers(0, n)) for n in layout.static_shape)
        assert units[_element(view, at)] == values[at]


@pytest.mark.parametrize("kind", ALL_TYPES, ids=str)
def test_every_type_packs(rng: np.random.Generator, kind: ElementType) -> None:
    low, high = {"u4": (0, 16), "i4": (-8, 8), "boolean": (0, 2), "f8e4m3": (-16, 17), "f8e5m2": (-8, 9)}.get(
        kind.name, (0, 100))
    values = rng.integers(low, high, (3, 5)).astype(kind.numpy)
    layout = Layout.planar((3, 5), kind)
    assert layout.byte_size == math.ceil(15 * kind.bits / 8)
    assert np.array_equal(layout.unpack(layout.pack(values)), values)


def test_bf16_rounds_to_nearest_even_and_keeps_nan() -> None:
    kind = ElementType.of("bf16")
    bits = np.array([0x3F808000, 0x3F818000, 0x3F808001, 0x7FC00001], np.uint32).view(np.float32)
    assert kind.encode(bits).tolist() == [0x3F80, 0x3F82, 0x3F81, 0x7FC0]


@pytest.mark.parametrize("name, other", [("f8e4m3", ml_dtypes.float8_e4m3fn), ("f8e5m2", ml_dtypes.float8_e5m2)])
def test_floats_of_8_bits(rng: np.random.Generator, name: str, other: type) -> None:
    kind, codes = ElementType.of(name), np.arange(256, dtype=np.uint8)
    values = codes.view(other).astype(np.float32)
    np.testing.assert_array_equal(kind.decode(codes, 256), values)
    finite = values[np.isfinite(values)].astype(np.float64)
    ends = np.array([np.inf, -np.inf, np.nan, 0.0, -0.0, 448, 464, 465, 480, 57344, 61439, 61440, 61441, 1e38])
    random = rng.standard_normal(2000) * np.exp2(rng.uniform(-20, 18, 2000))
    given = np.concatenate([values, (np.sort(finite)[1:] + np.sort(finite)[:-1]) / 2, ends, random]).astype(np.float32)
    found, wanted = kind.decode(kind.encode(given), given.size), given.astype(other).astype(np.float32)
    np.testing.assert_array_equal(found, wanted)
    np.testing.assert_array_equal(np.signbit(found), np.signbit(wanted))


def test_a_blocked_tensor_takes_whole_blocks() -> None:
    layout = Layout((2, 17, 3, 5), F32, Format.of("b_fs_yx_fsv16"))
    assert layout.byte_size == 2 * 32 * 3 * 5 * 4


@pytest.mark.parametrize("fmt, shape", [("bfyx", (1, 2, 3, 4, 5)), ("bfzyx", (1, 2, 3)), ("b_fs_yx_fsv16", (4,))])
def test_a_format_refuses_other_ranks(fmt: str, shape: tuple[int, ...]) -> None:
    with pytest.raises(ClinferError, match="does not fit a tensor of rank"):
        Layout(shape, F32, Format.of(fmt))


def test_errors_name_what_is_known() -> None:
    with pytest.raises(ClinferError, match=r"unknown format 'nchw'[^$]*bfyx"):
        Format.of("nchw")
    with pytest.raises(ClinferError, match=r"unknown element type 'float32'[^$]*f32"):
        ElementType.of("float32")
    with pytest.raises(ClinferError, match="dynamic layout"):
        _ = Layout((1, ANY), F32, Format.of("bfyx")).byte_size


def test_unknown_sizes_make_unknown_pitches() -> None:
    view = TensorView.of(Layout((ANY, 3, Dim(1, 8), 5), F32, Format.of("bfyx")))
    assert view.pitches == (None, None, 5, 1)
    blocked = TensorView.of(Layout((ANY, 32, ANY, 7), F32, Format.of("b_fs_yx_fsv16")))
    assert blocked.pitches == (None, None, 112, 16)


def test_broadcast_views_stretch_with_pitch_zero() -> None:
    view = TensorView.of(Layout((3, 1), F32, Format.planar(2))).broadcast((2, 3, 7))
    assert (view.sizes, view.pitches) == ((2, 3, 7), (0, 1, 0))
    unknown = TensorView.of(Layout((ANY, 4), F32, Format.planar(2))).broadcast((ANY, 4))
    assert unknown.pitches == (None, 1)


def test_bounds_admit_what_lies_within() -> None:
    assert admits((Dim(1, 8), ANY, 16), (8, 1000, 16))
    assert not admits((Dim(1, 8), ANY, 16), (9, 1, 16))
    assert not admits((ANY, ANY), (1, 1, 1))
    assert admits(None, (1, 2, 3))
