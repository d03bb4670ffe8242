"""What a token of a decoder with state takes the host, counted in calls of functions, which no other work disturbs."""
from __future__ import annotations

import sys
from collections.abc import Iterator

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


@pytest.fixture
def unchecked(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Plans are not made a second time by nodes, which would count."""
    monkeypatch.setattr(network_module, "Planner", Planner)
    yield


def _calls(core: Core, device: DeviceInfo, layers: int, rng: np.random.Generator) -> int:
    """Those of the token that takes the fewest of some."""
    decoder = Decoder(Shape(layers, hidden=128, heads=4, kv_heads=2), np.random.default_rng(7))
    run, found = Run(core.compile_model(decoder.model(), device.name, F32), decoder, 1, rng), []
    for _ in range(40):
        run.step(1)
    for _ in range(20):
        given, counted = run.reference.feed(rng.integers(decoder.shape.vocabulary, size=(1, 1))), [0]

        def note(_: object, event: str, __: object, counted: list[int] = counted) -> None:
            counted[0] += event in ("call", "c_call")

        sys.setprofile(note)
        try:
            run.request.infer(given)
        finally:
            sys.setprofile(None)
        found.append(counted[0])
    return min(found)


def test_a_layer_takes_few_calls(core: Core, device: DeviceInfo, unchecked: None, rng: np.random.Generator) -> None:
    few, many = (_calls(core, device, layers, rng) for layers in LAYERS)
    assert (many - few) / (LAYERS[1] - LAYERS[0]) <= MOST_A_LAYER, (few, many)
