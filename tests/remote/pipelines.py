"""What users with an OpenCL pipeline have, and the models that they run."""
from __future__ import annotations

import numpy as np
import pyopencl as cl
import pytest
from openvino import opset13 as ops

from clinfer.frontend.openvino_import import openvino as ov
from clinfer.remote.context import ClContext
from clinfer.remote.tensors import RemoteTensor
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


def made(kind: str, context: ClContext, user: User, array: np.ndarray) -> RemoteTensor:
    """A tensor of that kind with an array's contents."""
    def over(**handle: object) -> RemoteTensor:
        return context.create_tensor(array.dtype, array.shape, **handle)

    if kind == "buffer":
        return over(handle=user.buffer(array))
    if kind == "cl_mem":
        given = user.buffer(array)
        return over(cl_mem=given.int_ptr)
    if kind == "sub-buffer":
        unit = user.device.cl_device.mem_base_addr_align // 8
        whole = user.buffer(unit + array.nbytes)
        part = whole.get_sub_region(unit, array.nbytes)
        cl.enqueue_copy(user.queue, part, array)
        return over(handle=part)
    if kind == "svm":
        if context.engine.svm_calls is None or not context.engine.device.cl_device.svm_capabilities:
            pytest.skip("no shared virtual memory")
        shared = cl.csvm_empty(user.context, array.shape, array.dtype)
        with cl.SVM(shared).map_rw(user.queue) as mapped:
            mapped[...] = array
        user.queue.finish()
        return over(handle=cl.SVM(shared))
    if kind == "own buffer":
        tensor = over()
    else:
        wanted = "usm_host" if kind == "usm host" else "usm_device"
        if context.engine.native_types[wanted] in ("cl_mem", "host_cl_mem"):
            pytest.skip("no pointers of this type")
        create = context.create_usm_host_tensor if kind == "usm host" else context.create_usm_device_tensor
        tensor = create(array.dtype, array.shape)
        if kind == "usm":
            if not context.engine.capabilities.usm:
                pytest.skip("no unified shared memory")
            base = tensor
            tensor = over(usm=base.get())
            tensor.kept_by_the_test = base  # type: ignore[attr-defined]
    tensor.copy_from(array)
    return tensor


def read(tensor: RemoteTensor) -> np.ndarray:
    """A tensor's storage units."""
    found = np.empty(tensor.static_shape, tensor.kind.storage)
    tensor.copy_to(found)
    return found


def is_alone(queue: cl.CommandQueue, device: DeviceInfo) -> bool:
    """Whether nobody else refers to the user's queue. PoCL itself does once a queue has worked."""
    return "Portable" in device.platform_name or queue.reference_count == 1
