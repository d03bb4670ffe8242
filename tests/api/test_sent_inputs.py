"""What is transferred of inputs that come again."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from openvino import Model, Tensor, Type
from openvino import opset13 as op

from clinfer.api.core import Core
from clinfer.base.errors import ClinferError
from clinfer.network.network import Network
from clinfer.runtime.device import DeviceInfo
from clinfer.runtime.memory_types import IN_PLACE_ALIGNMENT
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


def _lying(values: np.ndarray, is_aligned: bool) -> np.ndarray:
    """A copy where devices that work in the host's memory can reach it, or where they cannot."""
    memory = np.empty(values.nbytes + 2 * IN_PLACE_ALIGNMENT, np.uint8)
    start = -memory.ctypes.data % IN_PLACE_ALIGNMENT + (0 if is_aligned else values.itemsize)
    found = memory[start:start + values.nbytes].view(values.dtype).reshape(values.shape)
    found[...] = values
    return found


@pytest.mark.parametrize("way", ["shared arrays", "tensors"])
def test_the_host_reads_what_was_given_last_wherever_it_lies(way: str, device: DeviceInfo,
                                                             rng: np.random.Generator) -> None:
    """Of sizes that are sent to the device once, and that lie where it can read them itself in between."""
    x, sizes = op.parameter([-1], Type.f32, name="x"), op.parameter([2], Type.i64, name="sizes")
    model = Model([op.broadcast(x, sizes)], [x, sizes], "m")
    request = Core().compile_model(model, device.name, F32).create_infer_request()
    data = rng.standard_normal(5).astype(np.float32)
    for rows, is_aligned in [(2, False), (3, True), (2, False), (4, True), (4, False), (2, False), (2, True),
                             *zip(rng.integers(1, 4, 20).tolist(), (rng.random(20) < 0.5).tolist(), strict=True)]:
        given = _lying(np.array([rows, 5], np.int64), is_aligned)
        if way == "tensors":
            request.set_tensor("sizes", Tensor(given, shared_memory=True))
            result = request.infer({"x": data})[0]
        else:
            result = request.infer({"x": data, "sizes": given}, share_inputs=True)[0]
        np.testing.assert_array_equal(result, np.broadcast_to(data, (rows, 5)))
