"""What is prepared for likely sizes when a model is compiled, where these are too large to have room."""
from __future__ import annotations

import numpy as np
from openvino import Model
from openvino import opset13 as op

from clinfer.api.core import Core
from clinfer.runtime.device import DeviceInfo
from tests.decoders import F32


def test_likely_sizes_of_five_axes(core: Core, device: DeviceInfo, rng: np.random.Generator) -> None:
    x = op.parameter([-1] * 5, np.float32)
    rolled = op.roll(op.maximum(x, x), op.constant(np.array([3, -1])), op.constant(np.array([-5, 1])))
    compiled = core.compile_model(Model([op.result(rolled)], [x], "rolling"), device.name, F32)
    for shape in ((1, 1, 7, 7, 4), (5, 2, 1, 3, 3)):
        given = rng.normal(size=shape).astype(np.float32)
        assert np.array_equal(compiled([given])[0], np.roll(given, (3, -1), (0, 1)))
