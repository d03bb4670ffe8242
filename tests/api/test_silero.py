"""Silero's voice detector, made stateful, over a stream of sound."""
from __future__ import annotations

from importlib import util
from pathlib import Path

import numpy as np
import pytest

from clinfer.api.core import Core
from clinfer.frontend.openvino_import import openvino as ov
from clinfer.runtime.device import DeviceInfo

F32 = {"INFERENCE_PRECISION_HINT": "f32"}

pytestmark = pytest.mark.skipif(util.find_spec("silero_vad") is None, reason="silero-vad is not installed")


def model_file() -> Path:
    found = util.find_spec("silero_vad")
    assert found is not None and found.origin is not None
    return Path(found.origin).parent / "data" / "silero_vad_op18_ifless.onnx"


def test_a_stream_of_sound(core: Core, device: DeviceInfo, rng: np.random.Generator) -> None:
    from openvino._offline_transformations import apply_make_stateful_transformation
    model = ov.Core().read_model(str(model_file()))
    model.reshape({"input": [1, 576], "state": [2, 1, 128]})
    stateful = model.clone()
    apply_make_stateful_transformation(stateful, {"state": "stateN"})
    request = core.compile_model(stateful, device.name, F32).create_infer_request()
    oracle = ov.Core().compile_model(model, "CPU", F32).create_infer_request()
    state = np.zeros((2, 1, 128), np.float32)
    for step in range(60):
        if step == 40:
            request.reset_state()
            state = np.zeros_like(state)
        given = {"input": (rng.standard_normal((1, 576)) * 0.1).astype(np.float32), "sr": np.array(16000)}
        wanted = oracle.infer({**given, "state": state})
        state = wanted["stateN"].copy()
        np.testing.assert_allclose(request.infer(given)["output"], wanted["output"], rtol=1e-4, atol=1e-5)
