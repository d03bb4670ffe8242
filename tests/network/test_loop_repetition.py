"""Runs of a loop are given again as they were, where only what they work on lies elsewhere."""
from __future__ import annotations

import numpy as np
import pytest
from openvino import opset13 as ops

from clinfer.network import loop_pieces
from clinfer.network.network import Network
from clinfer.runtime.engine import Engine
from tests.network.loop_models import Rng, floats, running_sums
from tests.network.running import network_of
from tests.ops.case_runner import execute
from tests.oracle import assert_close, ov


def test_runs_are_repeated_and_what_they_copy_is_found_once(engine: Engine, rng: Rng,
                                                            monkeypatch: pytest.MonkeyPatch) -> None:
    x, start = ops.parameter([-1, -1], np.float32), ops.parameter([-1, 1], np.float32)
    network = network_of(engine, ov.Model(running_sums(x, start, 1, 1, (False, True)), [x, start]))
    shapes, executed, copies = [(2, 40), (5, 30), (1, 50)], list[Network](), list[object]()
    for rows, length in shapes:
        execute(network, [floats(rng, rows, length), floats(rng, rows, 1)])
    (body,), plain, plain_copies = network._bodies._networks.values(), Network._execute, loop_pieces.row_copies
    monkeypatch.setattr(Network, "_execute", lambda self, *rest: (executed.append(self), plain(self, *rest))[1])
    monkeypatch.setattr(loop_pieces, "row_copies", lambda *rest, **named: (copies.append(rest), plain_copies(
        *rest, **named))[1])
    for rows, length in shapes:
        for _ in range(2):
            inputs = [floats(rng, rows, length), floats(rng, rows, 1)]
            executed.clear()
            copies.clear()
            last, joined = execute(network, inputs)
            sums = np.cumsum(inputs[0].astype(np.float64), 1) + inputs[1]
            assert_close(last, sums[:, -1:].astype(np.float32), 1e-5)
            assert_close(joined, 2 * sums[:, ::-1].astype(np.float32), 1e-5)
            assert executed.count(body) <= 3 and len(copies) <= 4
