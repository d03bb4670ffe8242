"""Numbers of types that no device holds: as weights, and as tensors of the host."""
from __future__ import annotations

import numpy as np
import pytest
from openvino import opset13 as op

from clinfer.api.core import Core
from clinfer.base.errors import UnsupportedError
from clinfer.frontend.openvino_import import openvino as ov
from clinfer.runtime.device import DeviceInfo
from tests.api.blob_models import exported
from tests.api.models import F32
from tests.oracle import CpuPlugin, assert_close


@pytest.mark.parametrize("is_scaled", [False, True], ids=["", "scaled"])
@pytest.mark.parametrize(("kind", "bits"), [
    ("nf4", 4), ("f4e2m1", 4), ("f8e8m0", 8), ("u1", 1), ("u2", 2), ("u3", 3), ("u6", 6)])
def test_types_of_weights_that_clinfer_does_not_hold(core: Core, rng: np.random.Generator, kind: str, bits: int,
                                                     is_scaled: bool) -> None:
    """They are unpacked when the model is read, without OpenVINO on the host too."""
    raw = rng.integers(120 if kind == "f8e8m0" else 0, 130 if kind == "f8e8m0" else 256, 3 * 8 * bits // 8, np.uint8)
    weights = op.convert(ov.op.Constant(ov.Tensor(raw, ov.Shape([3, 8]), getattr(ov.Type, kind))), "f16")
    if is_scaled:
        weights = op.multiply(weights, np.array([[0.5], [2], [1]], np.float16))
    x = op.parameter([-1, 8], np.float32)
    model = ov.Model([op.matmul(x, op.convert(weights, "f32"), False, True)], [x])
    given = rng.standard_normal((5, 8)).astype(np.float32)
    expected = CpuPlugin(model)([given])[0]
    for choice in ("NO", "YES"):
        compiled = core.compile_model(model, "CPU", F32 | {"host_fallback": choice})
        # OpenVINO multiplies by what is not rounded to f16 in between.
        assert_close(compiled(given)[0], expected, 1e-3 if kind == "nf4" else 1e-5)
        assert "HOST" not in core.query_model(model, "CPU").values()


@pytest.mark.parametrize("choice", ["NO", "YES"])
@pytest.mark.parametrize("kind", ["nf4", "f4e2m1", "u2"])
def test_what_would_take_such_elements_for_bytes_is_refused(core: Core, kind: str, choice: str) -> None:
    """OpenVINO's CPU plugin gathers, transposes and joins the bytes of several, or dies of it."""
    kinds = getattr(ov.Type, kind)
    constant, rows = ov.op.Constant(ov.Tensor(kinds, ov.Shape([4, 8]))), op.parameter([-1], np.int64)
    codes = ov.op.Parameter(kinds, ov.PartialShape([4, 8]))
    for node, parameters in ((op.gather(constant, rows, np.int64(0)), [rows]),
                             (op.transpose(codes, np.array([1, 0])), [codes]), (op.concat([codes, codes], 1), [codes])):
        node.set_friendly_name("moved")
        model = ov.Model([node], parameters)
        with pytest.raises(UnsupportedError, match=f"type {kind}(.|\\n)*layer 'moved'"):
            core.compile_model(model, "CPU", {"host_fallback": choice})
        assert "moved" not in core.query_model(model, "CPU")


@pytest.mark.parametrize("choice", ["NO", "YES"])
def test_such_constants_are_no_results(core: Core, choice: str) -> None:
    constant = ov.op.Constant(ov.Tensor(ov.Type.nf4, ov.Shape([4, 8])))
    with pytest.raises(UnsupportedError, match=r"no tensors of type nf4(.|\n)*Constant"):
        core.compile_model(ov.Model([op.result(constant)], []), "CPU", {"host_fallback": choice})


@pytest.mark.parametrize("name", ["f4e2m1", "nf4", "f8e8m0", "u2"])
def test_tensors_of_types_that_no_device_holds(core: Core, device: DeviceInfo, rng: np.random.Generator,
                                               name: str) -> None:
    kind = getattr(ov.Type, name)
    codes, numbers = ov.op.Parameter(kind, ov.PartialShape([-1, 3])), op.parameter([-1, 8], np.float32)
    model = ov.Model([op.add(op.convert(codes, "f32"), np.float32(1)), op.convert(op.abs(numbers), name)],
                     [codes, numbers])
    ours = core.compile_model(model, device.name, F32)
    theirs = ov.Core().compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    requests = [each.create_infer_request() for each in (ours, core.import_model(exported(ours), device.name), theirs)]
    for rows in (1, 4, 3):
        tensor = ov.Tensor(kind, ov.Shape([rows, 3]))
        tensor.data[:] = rng.integers(0, 256 if name != "f8e8m0" else 255, tensor.data.shape, np.uint8)
        given = rng.uniform(-2, 2, (rows, 8)).astype(np.float32)
        for request in requests:
            request.set_input_tensor(0, tensor)
            request.set_input_tensor(1, ov.Tensor(given))
            request.infer()
        *own, expected = ([request.get_output_tensor(i) for i in range(2)] for request in requests)
        for found in own:
            assert_close(found[0].data, expected[0].data, 1e-6)
            assert list(found[1].shape) == list(expected[1].shape)
            assert found[1].element_type == kind and np.array_equal(found[1].data, expected[1].data)
        assert np.array_equal(requests[0].results[1], expected[1].data)
