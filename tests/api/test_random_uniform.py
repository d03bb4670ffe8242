"""Random numbers: OpenVINO's, run by run."""
from __future__ import annotations

import numpy as np
import pytest

from clinfer.api.core import Core
from clinfer.base.errors import ClinferError
from clinfer.frontend.openvino_import import openvino as ov
from clinfer.runtime.device import DeviceInfo
from tests.api.models import F32
from tests.api.test_host_fallback import hosted
from tests.oracle import assert_close

NATIVE = F32 | {"host_fallback": "NO"}
RANGES = {"f32": (-2.5, 7.0), "i32": (-5, 200), "i64": (-5, 2000), "f16": (0.5, 4.0)}


def _drawn(kind: str, alignment: str = "tensorflow", seeds: tuple[int, int] = (7, 9)) -> ov.Model:
    shape = ov.op.Parameter(ov.Type.i64, ov.Shape([2]))
    low, high = (ov.op.Constant(np.array(bound, np.dtype(kind.replace("f", "float").replace("i", "int"))))
                 for bound in RANGES[kind])
    return ov.Model([ov.opset8.random_uniform(shape, low, high, kind, *seeds, alignment)], [shape])


@pytest.mark.parametrize("kind", RANGES)
def test_the_same_numbers_run_by_run(core: Core, device: DeviceInfo, kind: str) -> None:
    model = _drawn(kind)
    ours = core.compile_model(model, device.name, NATIVE).create_infer_request()
    theirs = ov.Core().compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"}).create_infer_request()
    before = None
    for shape in ((3, 7), (3, 7), (0, 5), (1, 2), (30, 31)):
        found, expected = (request.infer([np.array(shape)])[0] for request in (ours, theirs))
        assert_close(found, expected, 2e-3 if kind == "f16" else 1e-6)
        assert before is None or shape != before.shape or not np.array_equal(found, before)
        before = found.copy()


def test_ranges_beyond_32_bits(core: Core, device: DeviceInfo) -> None:
    """OpenVINO's CPU plugin draws numbers of 32 bits here; what it evaluates itself is the definition."""
    bounds = [np.int64(-5), np.int64(2**45)]
    node = ov.opset8.random_uniform(np.array([3, 7]), *bounds, "i64", 7, 9)
    expected = ov.Tensor(ov.Type.i64, ov.Shape([3, 7]))
    assert node.evaluate([expected], [ov.Tensor(np.array(x)) for x in (np.array([3, 7]), *bounds)])
    model = ov.Model([node], [])
    found = core.compile_model(model, device.name, NATIVE)()[0]
    assert np.array_equal(found, expected.data)


@pytest.mark.parametrize("kind", ["f32", "i32"])
def test_scalars(core: Core, device: DeviceInfo, kind: str) -> None:
    """OpenVINO's CPU plugin leaves them as the memory was; what it evaluates itself is the definition."""
    of = np.dtype(kind.replace("f", "float").replace("i", "int"))
    bounds = [np.array(bound, of) for bound in RANGES[kind]]
    node = ov.opset8.random_uniform(np.zeros(0, np.int64), *bounds, kind, 7, 9)
    expected = ov.Tensor(getattr(ov.Type, kind), ov.Shape([]))
    assert node.evaluate([expected], [ov.Tensor(x) for x in (np.zeros(0, np.int64), *bounds)])
    found = core.compile_model(ov.Model([node], []), device.name, NATIVE)()[0]
    assert found.shape == () and found == expected.data and bounds[0] <= found < bounds[1]


def test_without_seeds_every_network_draws_others(core: Core, device: DeviceInfo) -> None:
    compiled = core.compile_model(_drawn("f32", seeds=(0, 0)), device.name, NATIVE)
    first, second = (compiled.create_infer_request().infer([np.array([20, 30])])[0] for _ in range(2))
    assert not np.array_equal(first, second)
    assert min(first.min(), second.min()) >= -2.5 and max(first.max(), second.max()) < 7
    assert abs(first.mean() - 2.25) < 0.6 and first.std() > 2


def test_numbers_aligned_with_pytorch_are_drawn_on_the_host(core: Core, device: DeviceInfo) -> None:
    model = _drawn("f32", "pytorch")
    assert hosted(core.compile_model(model, device.name, F32)) == ["RandomUniform"]
    with pytest.raises(ClinferError, match="PyTorch"):
        core.compile_model(model, device.name, NATIVE)
