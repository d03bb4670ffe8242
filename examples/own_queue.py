"""A queue of your own on clinfer's context: the model runs in clinfer's queues, your kernels in yours.

`python -m examples.own_queue [--device CPU.0]`
"""
from __future__ import annotations

import argparse
from collections.abc import Sequence

import numpy as np
import pyopencl as cl

import clinfer as ov

SIDE = 64
KERNEL = "kernel void brighten(global float *picture) { picture[get_global_id(0)] *= 1.5f; }"


def blur() -> ov.Model:
    """A picture of one channel, averaged over 3x3 pixels."""
    picture = ov.opset13.parameter([1, 1, SIDE, SIDE], np.float32)
    weights = ov.opset13.constant(np.full((1, 1, 3, 3), 1 / 9, np.float32))
    return ov.Model([ov.opset13.convolution(picture, weights, [1, 1], [1, 1], [1, 1], [1, 1])], [picture], "blur")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="AUTO")
    core = ov.Core()
    compiled = core.compile_model(blur(), parser.parse_args(arguments).device)
    request = compiled.create_infer_request()

    # The context in which the model runs, and in it a queue, a buffer and a kernel of ours.
    context = compiled.get_context().as_(ov.ClContext)
    cl_context = context.get()
    queue = cl.CommandQueue(cl_context, properties=cl.command_queue_properties.OUT_OF_ORDER_EXEC_MODE_ENABLE)
    picture = np.random.default_rng().random((1, 1, SIDE, SIDE), dtype=np.float32)
    buffer = cl.Buffer(cl_context, cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR, hostbuf=picture)
    brighten = cl.Program(cl_context, KERNEL).build().brighten

    brighten(queue, (picture.size,), None, buffer)
    queue.finish()                                  # the model runs in another queue, which does not wait for ours
    request.set_input_tensor(context.create_tensor(ov.Type.f32, picture.shape, buffer))
    blurred = request.infer()[0]

    expected = compiled.create_infer_request().infer([picture * np.float32(1.5)])[0]
    difference = float(np.abs(blurred - expected).max())
    print(f"device {context.device_name}: brightened by our kernel in our queue, blurred by the model")
    print(f"largest difference from the same by way of arrays: {difference:.1e}")
    return 0 if difference < 1e-3 else 1


if __name__ == "__main__":
    raise SystemExit(main())
