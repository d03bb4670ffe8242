"""The portable reductions of include/subgroup.cl: by sub-groups where they exist, through local memory elsewhere."""
from __future__ import annotations

import numpy as np
import pytest

from clinfer.kernels.jitter import common_source
from clinfer.kernels.kernel_cache import device_macros
from clinfer.runtime.engine import Engine
from clinfer.runtime.launches import WorkSize
from clinfer.runtime.stream import Stream

KERNEL = """
kernel void reduce(const global float* input, global float* output) {
    local float shared[LANES];
    const int lane = get_local_id(0), item = get_global_id(0);
    float sum = input[item], highest = input[item], lowest = input[item];
    GROUP_ADD(sum, shared, lane, LANES);
    GROUP_MAX(highest, shared, lane, LANES);
    GROUP_COMBINE(fmin, lowest, shared, lane, LANES);
    output[item * 3] = sum;
    output[item * 3 + 1] = highest;
    output[item * 3 + 2] = lowest;
}
"""


@pytest.mark.parametrize("lanes", [1, 4, 16, 64, 128])
@pytest.mark.parametrize("subgroups", [True, False])
def test_every_work_item_receives_the_result(engine: Engine, stream: Stream, rng: np.random.Generator, lanes: int,
                                             subgroups: bool) -> None:
    macros = device_macros(engine)
    if not subgroups:
        macros = macros.replace("#define CLINFER_SUBGROUPS 1", "#define CLINFER_SUBGROUPS 0")
    program = engine.build_program("\n".join([macros, f"#define LANES {lanes}", common_source(), KERNEL]))
    kernel = engine.create_kernel(program, "reduce")
    values = rng.standard_normal((5, lanes)).astype(np.float32)
    source, target = engine.allocate_bytes(values.nbytes), engine.allocate_bytes(3 * values.nbytes)
    stream.write(source, values)
    kernel.set_buffer(0, source)
    kernel.set_buffer(1, target)
    stream.enqueue(kernel, WorkSize((5 * lanes,), (lanes,)))
    found = stream.read(target).view(np.float32).reshape(5, lanes, 3)
    expected = np.stack([values.sum(1), values.max(1), values.min(1)], axis=-1)
    assert np.allclose(found, expected[:, None, :], atol=1e-4)
