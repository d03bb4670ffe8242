"""The example that finds text in a video."""

from __future__ import annotations

import numpy as np
import pytest

from clinfer.base.errors import ClinferError
from clinfer.runtime.device import DeviceInfo
from examples.fetch_models import model_path
from examples.make_picture import HEIGHT as PAGE
from examples.make_picture import TEXTS
from examples.watch_text import HEIGHT, WIDTH, frames, to_planes, watch


@pytest.mark.slow
def test_lines_are_found_in_each_frame(device: DeviceInfo) -> None:
    try:
        model_path("detection")
    except ClinferError as error:
        pytest.skip(str(error))
    found = list(watch(device.name, 2))
    for (boxes, _), top in zip(found, (0, PAGE - HEIGHT), strict=True):
        seen = [text for text in TEXTS if top + 10 < text.top < top + HEIGHT - 80 and text.left < WIDTH - 200]
        assert len(seen) > 3
        for text in seen:
            x, y = text.left + text.size, text.top - top + text.size // 2
            assert any(b.left <= x < b.right and b.top <= y < b.bottom for b in boxes), f"{text} at {top}: {boxes}"


def test_planes_are_those_of_the_picture() -> None:
    picture = next(frames(1))
    for pairs in (True, False):
        y, *colors = (plane.astype(np.float32) for plane in to_planes(picture, pairs))
        u, v = np.moveaxis(np.concatenate(colors, -1), -1, 0).repeat(2, 1).repeat(2, 2) - 128
        bright = 1.164 * (y[..., 0] - 16)
        back = np.stack([bright + 1.596 * v, bright - 0.391 * u - 0.813 * v, bright + 2.018 * u], -1).clip(0, 255)
        assert np.abs(back - picture).mean() < 2
