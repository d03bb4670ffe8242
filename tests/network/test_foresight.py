"""Shapes that are foreseen, and plans that are made for them while the device is at work."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from clinfer.api.core import Core
from clinfer.network.foresight import Foresight
from clinfer.network.network import Network
from clinfer.network.plans.planner import Planner
from clinfer.runtime.device import DeviceInfo
from clinfer.runtime.stream import Stream
from tests.decoders import F32, Decoder, Reference, Shape, error


def test_a_step_that_was_made_twice_is_taken_again() -> None:
    foresight = Foresight()
    seen = [foresight.next([(2, length, 8), (length,), ()]) for length in (20, 1, 2, 3, 4, 4, 5, 7, 9, 6, 3)]
    lengths = [None if shapes is None else (shapes[0][1], shapes[1][0]) for shapes in seen]
    assert lengths == [None, None, None, (4, 4), (5, 5), None, None, None, (11, 11), None, (0, 0)]
    assert seen[3] == ((2, 4, 8), (4,), ())
    assert foresight.next([(2, 0, 8), (0,), ()]) is None, "there are no negative sizes"
    assert [foresight.next(shapes) for shapes in ([(1,)], [(2,)], [(3, 1)], [(4, 1)])] == [None] * 4


def test_tokens_are_planned_ahead(device: DeviceInfo, rng: np.random.Generator,
                                  monkeypatch: pytest.MonkeyPatch) -> None:
    decoder = Decoder(Shape(), rng)
    request = Core().compile_model(decoder.model(), device.name, F32).create_infer_request()
    done: list[str] = []

    def noted(where: type, what: str) -> None:
        before = getattr(where, what)

        def call(*given: Any, **named: Any) -> Any:
            done.append(what)
            return before(*given, **named)
        monkeypatch.setattr(where, what, call)

    noted(Planner, "plan")
    noted(Stream, "enqueue_all")
    tokens = rng.integers(decoder.shape.vocabulary, size=(1, 60))
    found = []
    for turn in range(2):
        # The length goes back in between, which nothing foresees.
        request.reset_state()
        reference = Reference(decoder, 1)
        for start, end in ((0, 7), *((n, n + 1) for n in range(7, 30))):
            done.clear()
            found.append(request.infer(reference.feed(tokens[:, start:end]))["logits"])
        assert done == ["enqueue_all", "plan"], f"turn {turn}: {done}"
        assert error(np.concatenate(found, 1), reference.logits(30)) < 1e-5
        found.clear()


def test_states_move_behind_the_token_that_fills_them(device: DeviceInfo, rng: np.random.Generator,
                                                      monkeypatch: pytest.MonkeyPatch) -> None:
    """The token that needs more room than its states have finds it."""
    decoder = Decoder(Shape(), rng)
    request = Core().compile_model(decoder.model(), device.name, F32).create_infer_request()
    tokens, reference = rng.integers(decoder.shape.vocabulary, size=(1, 60)), Reference(decoder, 1)
    found, moves, ran_otherwise = [], 0, []
    run = Network._run_segment
    monkeypatch.setattr(Network, "_run_segment", lambda *given: (ran_otherwise.append(given), run(*given))[1])
    for start, end in ((0, 7), *((n, n + 1) for n in range(7, 60))):
        ran_otherwise.clear()
        found.append(request.infer(reference.feed(tokens[:, start:end]))["logits"])
        assert end < 11 or not ran_otherwise, f"token {end} was not foreseen"
        moves += any(growth.kind == "output" for segment in request.dynamic_record.segments for growth in segment.grown)
    assert moves, "no state moved"
    assert error(np.concatenate(found, 1), reference.logits(60)) < 1e-5
