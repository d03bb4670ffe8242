"""What is transferred of inputs that come again."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from openvino import Model, Type
from openvino import opset13 as op

from clinfer.api.core import Core
from clinfer.base.errors import ClinferError
from clinfer.network.network import Network
from clinfer.runtime.device import DeviceInfo
from clinfer.runtime.stream import Stream
from tests.decoders import F32


def test_small_inputs_that_are_there_already_are_not_sent_again(device: DeviceInfo, rng: np.random.Generator,
                                                                monkeypatch: pytest.MonkeyPatch) -> None:
    x = op.parameter([-1, 3], Type.f32, name="x")
    request = Core().compile_model(Model([op.relu(x)], [x], "m"), device.name, F32).create_infer_request()
    written: list[int] = []
    write = Stream.write

    def noted(stream: Stream, memory: Any, array: np.ndarray, *given: Any, **named: Any) -> None:
        written.append(array.nbytes)
        write(stream, memory, array, *given, **named)

    monkeypatch.setattr(Stream, "write", noted)

    def sent(values: np.ndarray) -> bool:
        written.clear()
        np.testing.assert_array_equal(request.infer(values)[0], np.maximum(values, 0))
        return bool(written)

    one, large = (rng.standard_normal((rows, 3)).astype(np.float32) for rows in (5, 1000))
    assert [sent(each) for each in (one, one.copy(), -one, one, one)] == [True, False, True, True, False]
    # The same bytes in another shape, and inputs that no copy is kept of.
    assert [sent(each) for each in (one[:2], one, one.copy(), large, large, one)] == [
        True, True, False, True, True, True]
    one[0, 0] = -one[0, 0]
    assert sent(one) and not sent(one)
    with monkeypatch.context() as patch, pytest.raises(ClinferError, match="lost"):
        def lost(*given: Any, **named: Any) -> None:
            raise ClinferError("lost", where="the test")
        patch.setattr(Network, "execute", lost)
        request.infer(one)
    assert sent(one) and not sent(one)
