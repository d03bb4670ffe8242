"""Counters of kernels: zeros when a stage begins, whatever ran before, and one set for a node of each request."""
from __future__ import annotations

import io
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import clinfer
from clinfer.frontend.openvino_import import openvino as ov
from clinfer.kernels.contract import Kernel, KernelTable, Lowered, Problem, Stage, Work, all_operands, counters_operand
from clinfer.ops.eltwise import OPERATION, Eltwise
from clinfer.runtime.device import DeviceInfo

SOURCE = """
// Hands on what it reads while there are as many counts as work-items; the last one leaves zero.
KERNEL(counting)(const global INPUT0_TYPE* input, global OUTPUT0_TYPE* output, global COUNTERS_TYPE* counters ARGS) {
    const uint at = get_global_id(0), last = get_global_size(0) - 1;
    const uint before = atomic_inc((volatile global uint*)counters + 7);
    if (before == last) counters[7] = 0;
    OUTPUT0_STORE(output, at, before > last ? -1 : INPUT0_LOAD(input, at));
}
"""


class Counting(Kernel[Problem, None]):
    """Absolute values of positive numbers, by a kernel that counts its work-items."""

    name = "counting"

    def lower(self, problem: Problem, config: None) -> Lowered:
        return Lowered((Stage("counting.cl", (*all_operands(problem), counters_operand()),
                              Work((problem.outputs[0].count,)), text=SOURCE),))


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> ov.Model:
    """Two operations whose kernels count, one behind the other, of any numbers of elements."""
    from openvino import opset13 as op
    monkeypatch.setitem(OPERATION.kernels, Eltwise, KernelTable((Counting(),)))  # type: ignore[arg-type]
    x, y = op.parameter([-1], ov.Type.f32), op.parameter([-1], ov.Type.f32)
    return ov.Model([op.abs(x), op.abs(y)], [x, y], "counting")


def _check(request: clinfer.InferRequest, rng: np.random.Generator) -> None:
    for sizes in ((1, 5), (300, 70), (70, 2000), (300, 70)):
        given = [rng.uniform(1, 2, size).astype(np.float32) for size in sizes]
        found = request.infer(given)
        assert all(np.array_equal(found[number], data) for number, data in enumerate(given))


def test_counters_are_zeros(device: DeviceInfo, model: ov.Model, rng: np.random.Generator) -> None:
    """Of requests one after the other, at the same time, behind a release of memory, and of an imported model."""
    core = clinfer.Core()
    compiled = core.compile_model(model, device.name, {"NUM_STREAMS": 2, "INFERENCE_PRECISION_HINT": "f32"})
    requests = [compiled.create_infer_request() for _ in range(2)]
    for request in requests:
        _check(request, rng)
    with ThreadPoolExecutor(2) as threads:
        list(threads.map(_check, requests, (rng, np.random.default_rng(rng.integers(99)))))
    compiled.release_memory()
    _check(requests[0], rng)
    blob = compiled.export_model()
    _check(core.import_model(io.BytesIO(blob.getvalue()), device.name).create_infer_request(), rng)
