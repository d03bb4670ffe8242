"""What users with an OpenCL pipeline have, and the models that they run."""
from __future__ import annotations

import numpy as np
import pyopencl as cl
from openvino import opset13 as ops

from clinfer.frontend.openvino_import import openvino as ov
from clinfer.runtime.device import DeviceInfo

F32 = {"INFERENCE_PRECISION_HINT": "f32"}

_SOURCE = """
kernel void halve(global const float *from, global float *to) { to[get_global_id(0)] = from[get_global_id(0)] / 2; }
kernel void negate(global const float *from, global float *to) { to[get_global_id(0)] = -from[get_global_id(0)]; }
"""


class User:
    """A context, buffers and kernels that know nothing of clinfer."""

    def __init__(self, device: DeviceInfo) -> None:
        self.device = device
        self.context = cl.Context([device.cl_device])
        self.queue = cl.CommandQueue(self.context)
        program = cl.Program(self.context, _SOURCE).build()
        self.halve, self.negate = cl.Kernel(program, "halve"), cl.Kernel(program, "negate")

    def buffer(self, contents: np.ndarray | int) -> cl.Buffer:
        """A buffer with these contents; of a number of bytes, with NaNs."""
        if isinstance(contents, int):
            contents = np.full(contents, 0xFF, np.uint8)
        return cl.Buffer(self.context, cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR, hostbuf=contents)

    def contents(self, buffer: cl.Buffer, like: np.ndarray) -> np.ndarray:
        """What is in a buffer, as an array like another one."""
        found = np.empty_like(like)
        cl.enqueue_copy(self.queue, found, buffer)
        return found


def softmax_model(element_type: ov.Type = ov.Type.f32, rows: int = -1) -> ov.Model:
    """`x` -> `y`, the softmax of each row of five."""
    x = ops.parameter([rows, 5], element_type)
    x.output(0).set_names({"x"})
    y = ops.softmax(x, 1)
    y.output(0).set_names({"y"})
    return ov.Model([y], [x], "softmax")


def softmax(values: np.ndarray) -> np.ndarray:
    """The expected output, in double precision."""
    shifted = values.astype(np.float64) - values.max(axis=-1, keepdims=True)
    return np.exp(shifted) / np.exp(shifted).sum(axis=-1, keepdims=True)


def assert_softmax(actual: np.ndarray, given: np.ndarray) -> None:
    np.testing.assert_allclose(actual, softmax(given), rtol=0, atol=1e-5)


def non_zero_model() -> ov.Model:
    """`x` -> where it is positive: how many places there are only the device knows."""
    x = ops.parameter([-1], np.float32)
    x.output(0).set_names({"x"})
    where = ops.non_zero(ops.greater(x, np.float32(0)), "i64")
    where.set_friendly_name("where")
    where.output(0).set_names({"y"})
    return ov.Model([where], [x], "where")
