"""What stands behind the last channel of a block must not reach a result: NaN there changes nothing."""
from __future__ import annotations

import numpy as np
import pytest

from clinfer.base.element_type import ElementType
from clinfer.base.layout import Layout
from clinfer.kernels.contract import Candidate, Problem
from clinfer.kernels.implementation import bind, generate
from clinfer.kernels.kernel_cache import kernel_cache_of
from clinfer.kernels.selector import is_able
from clinfer.ops import kernels_of
from clinfer.ops.convolution import Convolution, GroupConvolution
from clinfer.ops.deconvolution import ConvolutionBackpropData
from clinfer.runtime.engine import Engine
from clinfer.runtime.memory import Memory
from tests.oracle import assert_close
from tests.seeds import SEED

F32 = ElementType.of("f32")
SQUARE = {"strides": (1, 1), "dilations": (1, 1), "pads_begin": (1, 1), "pads_end": (1, 1)}
POINT = {"strides": (1, 1), "dilations": (1, 1), "pads_begin": (0, 0), "pads_end": (0, 0)}
CASES = {
    "any": (Convolution("node", ("data", "weights"), **SQUARE), (2, 20, 5, 17), (40, 20, 3, 3)),
    "point": (Convolution("node", ("data", "weights"), **POINT), (2, 20, 5, 17), (40, 20, 1, 1)),
    "point-half": (Convolution("node", ("data", "weights"), **POINT), (2, 24, 5, 17), (70, 24, 1, 1)),
    "depthwise": (GroupConvolution("node", ("data", "weights"), **SQUARE), (1, 19, 5, 11), (19, 1, 1, 3, 3)),
    "transposed": (ConvolutionBackpropData("node", ("data", "weights"), **SQUARE), (2, 20, 5, 17), (20, 40, 3, 3)),
    "transposed-few": (ConvolutionBackpropData("node", ("data", "weights"), **SQUARE), (2, 20, 5, 17), (20, 2, 2, 2)),
}


def _poisoned(engine: Engine, layout: Layout, values: np.ndarray) -> Memory:
    """Memory with the values, and NaN wherever the layout holds no value."""
    raw = layout.pack(values)
    raw[layout.pack(np.ones(values.shape, np.float32)) == 0] = np.nan
    memory = engine.allocate_memory(layout)
    stream = engine.create_stream()
    stream.write(memory, raw, blocking=True)
    return memory


def _run(engine: Engine, candidate: Candidate, problem: Problem, arrays: tuple[np.ndarray, ...]) -> np.ndarray:
    """One kernel on poisoned data (weights keep their zero tails)."""
    data = _poisoned(engine, problem.inputs[0], arrays[0])
    weights = engine.allocate_memory(problem.inputs[1])
    output = engine.allocate_memory(problem.outputs[0])
    stream = engine.create_stream()
    stream.write(weights, problem.inputs[1].pack(arrays[1]), blocking=True)
    stream.fill(output, 0xFF)
    implementation = generate(candidate, problem)
    programs = kernel_cache_of(engine).prepare(stage.code for stage in implementation.stages)
    memories = {"input": (data, weights), "output": (output,)}
    for part, launch in zip(implementation.stages, bind(implementation, problem), strict=True):
        kernel = engine.create_kernel(programs[part.code.kernel_id], part.code.kernel_id)
        for index, buffer in enumerate(part.buffers):
            kernel.set_buffer(index, memories[buffer.kind][buffer.index])
        if launch.block:
            kernel.set_bytes(len(part.buffers), launch.block)
        stream.enqueue(kernel, launch.work.global_size, launch.work.local_size)
    return problem.outputs[0].unpack(stream.read(output))


@pytest.mark.parametrize("name", CASES)
def test_garbage_behind_the_last_channel_is_not_read(engine: Engine, name: str) -> None:
    primitive, data_shape, weights_shape = CASES[name]
    rng = np.random.default_rng(SEED)
    arrays = tuple(rng.uniform(-1, 1, shape).astype(np.float32) for shape in (data_shape, weights_shape))
    (output_shape,) = primitive.infer_shapes((data_shape, weights_shape), {})
    kernels = kernels_of(primitive)
    planar = kernels.problem(primitive, tuple(Layout.planar(a.shape, F32) for a in arrays),
                             (Layout.planar(output_shape, F32),), engine.capabilities)
    *blocked, reference = kernels.candidates(planar)
    wanted = _run(engine, reference, planar, arrays)
    tried = 0
    for candidate in blocked:
        problem = candidate.in_own_formats(planar)
        if is_able(candidate, problem) and candidate.accepts(problem) is None and problem.inputs[0].format.blocks:
            tried += 1
            actual = _run(engine, candidate, problem, arrays)
            assert_close(actual, wanted, 1e-4, f"{name} {candidate.name} seed {SEED}")
    assert tried or engine.capabilities.device_type != "CPU"
