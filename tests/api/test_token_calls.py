"""What a token of a decoder with state takes the host, counted in calls of functions, which no other work disturbs."""
from __future__ import annotations

import sys
from collections.abc import Iterator
from types import FrameType

import numpy as np
import pytest

from clinfer.api.core import Core
from clinfer.network import network as network_module
from clinfer.network.plans.planner import Planner
from clinfer.runtime.device import DeviceInfo
from tests.decoders import F32, Decoder, Run, Shape

LAYERS = (2, 6)
MOST_A_LAYER = 75
"""Of Python's functions and C's; 68 on both runtimes of CPUs."""
MOST_BEFORE = 360
"""Until the first launch, however many layers there are, where the token was foreseen; 341 on both runtimes."""


@pytest.fixture
def unchecked(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Plans are not made a second time by nodes, which would count."""
    monkeypatch.setattr(network_module, "Planner", Planner)
    yield


def _calls(core: Core, device: DeviceInfo, layers: int, rng: np.random.Generator) -> tuple[int, int]:
    """Of the token that takes the fewest of some: until the first launch, and in all."""
    decoder = Decoder(Shape(layers, hidden=128, heads=4, kv_heads=2), np.random.default_rng(7))
    run, found = Run(core.compile_model(decoder.model(), device.name, F32), decoder, 1, rng), []
    for _ in range(40):
        run.step(1)
    for _ in range(20):
        given = run.reference.feed(rng.integers(decoder.shape.vocabulary, size=(1, 1)))
        called: list[str] = []

        def note(frame: FrameType, event: str, _: object, called: list[str] = called) -> None:
            if event in ("call", "c_call"):
                called.append(frame.f_code.co_name if event == "call" else "")

        sys.setprofile(note)
        try:
            run.request.infer(given)
        finally:
            sys.setprofile(None)
        found.append((called.index("enqueue_all"), len(called)))
    return min(before for before, _ in found), min(count for _, count in found)


def test_a_layer_takes_few_calls(core: Core, device: DeviceInfo, unchecked: None, rng: np.random.Generator) -> None:
    (before, few), (same, many) = (_calls(core, device, layers, rng) for layers in LAYERS)
    assert (many - few) / (LAYERS[1] - LAYERS[0]) <= MOST_A_LAYER, (few, many)
    assert before == same <= MOST_BEFORE
