"""Transpositions to channels last that keep memory as it is, between convolutions on devices with tensor cores."""
from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from clinfer.base.errors import ClinferError
from clinfer.frontend.openvino_import import openvino as ov
from clinfer.runtime.engine import Engine
from tests.ops.case_runner import execute
from tests.ops.on_tensor_cores import TOLERANCE, network_of, random_halves
from tests.oracle import assert_close

ORDERS = {3: (0, 2, 1), 4: (0, 3, 1, 2), 5: (0, 4, 1, 2, 3)}
"""Which bring the last axis to the place of channels."""


@pytest.fixture(autouse=True)
def with_tensor_cores(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing here computes on them."""
    monkeypatch.setattr(engine, "capabilities", replace(engine.capabilities, tensor_cores=True))


@pytest.mark.parametrize("fused", [False, True])
@pytest.mark.parametrize("kernel", ["kept_rows", "kept_ref"])
@pytest.mark.parametrize("rank", ORDERS)
def test_channels_become_the_second_axis(engine: Engine, rng: np.random.Generator, rank: int, kernel: str,
                                         fused: bool) -> None:
    """Over open sizes; `fused`: an addition of a tensor that lies otherwise, and a bias of the channels."""
    from openvino import opset13 as op
    order = ORDERS[rank]
    x, other = (op.parameter([-1] * (rank - 1) + [24], ov.Type.f16), op.parameter([-1, 24] + [-1] * (rank - 2),
                                                                                  ov.Type.f16))
    turned = op.transpose(op.relu(x), np.array(order), name="tiled")
    bias = random_halves(rng, (1, 24, *(1,) * (rank - 2)))
    result = op.relu(op.add(op.add(turned, op.constant(bias)), other)) if fused else op.sqrt(turned)
    network = network_of(engine, ov.Model([result], [x, *([other] if fused else [])], "turned"), f"transpose_{kernel}")
    for sizes in ((2, 5, 7, 3), (1, 1, 9, 4), (3, 6, 1, 1), (0, 4, 4, 4)):
        given = random_halves(rng, (*sizes[:rank - 1], 24))
        added = random_halves(rng, tuple(given.shape[axis] for axis in order))
        wanted = np.maximum(given.astype(np.float64), 0).transpose(order)
        wanted = np.maximum(wanted + bias + added, 0) if fused else np.sqrt(wanted)
        assert_close(execute(network, [given, added] if fused else [given])[0].astype(np.float64), wanted, TOLERANCE,
                     f"{given.shape}")


@pytest.mark.parametrize("order", [(0, 2, 3, 1), (0, 1, 3, 2), (3, 0, 1, 2)])
def test_other_orders_are_refused(engine: Engine, order: tuple[int, ...]) -> None:
    from openvino import opset13 as op
    x = op.parameter([2, 3, 4, 5], ov.Type.f16)
    model = ov.Model([op.relu(op.transpose(x, np.array(order), name="tiled"))], [x], "turned")
    with pytest.raises(ClinferError, match="kept_rows"):
        network_of(engine, model, "transpose_kept_rows")
