"""PyTorch's tensors on the CPU: seen in clinfer's memory, and the other way round."""
from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

import clinfer
from clinfer.api.core import Core
from clinfer.base.errors import ClinferError
from clinfer.remote.context import ClContext
from tests.remote.pipelines import F32, assert_softmax, softmax_model

torch = pytest.importorskip("torch", reason="PyTorch is not installed")


def test_tensors_of_torch_are_inputs_and_outputs(core: Core, context: ClContext, traffic: list[str]) -> None:
    given, result = torch.empty(300, 5), torch.full((300, 5), float("nan"))
    request = core.compile_model(softmax_model(), context, F32).create_infer_request()
    request.set_tensor("x", clinfer.from_dlpack(given))
    request.set_tensor("y", clinfer.from_dlpack(result))
    for turn in range(3):
        given.normal_()
        traffic.clear()
        request.infer()
        assert_softmax(result.numpy(), given.numpy())
        assert not (turn and context.engine.capabilities.buffers_in_place and traffic)


@pytest.mark.parametrize("share", [False, True])
def test_infer_takes_them(core: Core, context: ClContext, share: bool) -> None:
    request = core.compile_model(softmax_model(), context, F32).create_infer_request()
    for rows in (300, 7):
        given = torch.randn(rows, 5)
        assert_softmax(request.infer({"x": given}, share_inputs=share)["y"], given.numpy())
    transposed = torch.randn(5, 9).T
    assert_softmax(request.infer({"x": transposed}, share_inputs=share)["y"], transposed.numpy())
    half = torch.randn(4, 5).half()
    assert_softmax(request.infer({"x": half}, share_inputs=share)["y"], half.float().numpy())


@pytest.mark.parametrize("convert", [torch.from_dlpack, torch.asarray])
def test_torch_sees_remote_tensors(context: ClContext, convert: object) -> None:
    if not context.engine.capabilities.buffers_in_place:
        pytest.skip("the host does not see buffers")
    tensor = context.create_tensor(np.float32, [4, 5])
    gone = weakref.ref(tensor)
    seen = convert(tensor)  # type: ignore[operator]
    seen.normal_()
    found = np.empty((4, 5), np.float32)
    tensor.copy_to(found)
    np.testing.assert_array_equal(found, seen.numpy())
    del tensor
    gc.collect()
    assert gone() is not None
    del seen
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize(("given", "told"), [
    (torch.zeros(2, dtype=torch.bfloat16), "NumPy cannot see"),
    (torch.zeros(2, 3).T, "another order"),
    (torch.zeros(2, device="meta"), "meta"),
    (torch.zeros(2, requires_grad=True), "gradient"),
])
def test_what_is_refused(given: object, told: str) -> None:
    with pytest.raises(ClinferError, match=told):
        clinfer.from_dlpack(given)


def test_bfloat16_goes_as_raw_bits(core: Core, context: ClContext) -> None:
    given = torch.randn(6, 5).bfloat16()
    model = core.compile_model(softmax_model(clinfer.Type.bf16), context, F32)
    result = model({"x": given.view(torch.uint16)})["y"]
    bits = np.asarray(result).view(np.uint16).reshape(6, 5).astype(np.uint32) << 16
    np.testing.assert_allclose(bits.view(np.float32), torch.softmax(given.float(), 1).numpy(), atol=1e-2)
