"""PRelu whose slopes may belong to axis 1 or to the last axis: each inference decides, as OpenVINO does."""
from __future__ import annotations

import numpy as np
import pytest
from openvino import opset13 as op

import clinfer
from clinfer.frontend.openvino_import import openvino as ov
from clinfer.runtime.device import DeviceInfo

COUNT = 8


@pytest.mark.parametrize("declared", [(2, -1, COUNT), (-1, -1, COUNT), (-1, -1, -1), (2, -1, 5, COUNT)])
def test_each_shape_decides_where_slopes_belong(device: DeviceInfo, declared: tuple[int, ...],
                                                rng: np.random.Generator) -> None:
    slopes = rng.uniform(-2, -1, COUNT).astype(np.float32)
    x = op.parameter(list(declared), ov.Type.f32)
    model = ov.Model([op.prelu(x, op.constant(slopes))], [x], "slopes")
    compiled = clinfer.Core().compile_model(model, device.name, {"INFERENCE_PRECISION_HINT": "f32"})
    request = compiled.create_infer_request()
    for channels in (COUNT, 5, 1, COUNT):
        shape = (2, channels, *(size if size > 0 else COUNT for size in declared[2:]))
        data = rng.uniform(-1, 1, shape).astype(np.float32)
        placed = slopes.reshape(-1, *[1] * (len(shape) - 2)) if channels == COUNT else slopes
        np.testing.assert_allclose(request.infer([data])[0], np.where(data < 0, data * placed, data), rtol=1e-5)
