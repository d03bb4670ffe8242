"""One queue for all: your kernel, the model, another kernel of yours; the host waits once, at the end.

`python -m examples.shared_queue [--device CPU.0]`
"""
from __future__ import annotations

import argparse
from collections.abc import Sequence

import numpy as np
import pyopencl as cl

import clinfer as ov

CLASSES, FEATURES, ROWS = 10, 32, 8
KERNELS = """
kernel void scale(global const uchar *from, global float *to) {      // before: 0..255 becomes -1..1
    to[get_global_id(0)] = from[get_global_id(0)] / 127.5f - 1;
}
kernel void best(global const float *scores, global int *classes) {  // behind: the best class of each row
    int row = get_global_id(0), found = 0;
    for (int i = 1; i < CLASSES; ++i)
        if (scores[row * CLASSES + i] > scores[row * CLASSES + found]) found = i;
    classes[row] = found;
}
"""


def classifier(random: np.random.Generator) -> ov.Model:
    """Any number of rows of features, to scores of classes."""
    features = ov.opset13.parameter([-1, FEATURES], np.float32)
    weights = ov.opset13.constant(random.standard_normal((FEATURES, CLASSES), dtype=np.float32))
    return ov.Model([ov.opset13.softmax(ov.opset13.matmul(features, weights, False, False), 1)], [features], "classes")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="AUTO")
    core, random = ov.Core(), np.random.default_rng()

    # Ours: a context, a queue in it that is out of order, kernels and buffers.
    device = core.get_default_context(parser.parse_args(arguments).device).get().devices[0]
    cl_context = cl.Context([device])
    queue = cl.CommandQueue(cl_context, properties=cl.command_queue_properties.OUT_OF_ORDER_EXEC_MODE_ENABLE)
    program = cl.Program(cl_context, KERNELS).build([f"-DCLASSES={CLASSES}"])
    scale, best = cl.Kernel(program, "scale"), cl.Kernel(program, "best")
    raw = random.integers(0, 256, (ROWS, FEATURES), np.uint8)
    given = cl.Buffer(cl_context, cl.mem_flags.READ_ONLY | cl.mem_flags.COPY_HOST_PTR, hostbuf=raw)
    features, scores, classes = (cl.Buffer(cl_context, cl.mem_flags.READ_WRITE, 4 * ROWS * count)
                                 for count in (FEATURES, CLASSES, 1))

    # The model runs in our queue, on our buffers.
    context = ov.ClContext(core, queue)
    compiled = core.compile_model(classifier(random), context)
    request = compiled.create_infer_request()
    request.set_input_tensor(context.create_tensor(ov.Type.f32, [ROWS, FEATURES], features))
    request.set_output_tensor(context.create_tensor(ov.Type.f32, [ROWS, CLASSES], scores))

    scale(queue, (raw.size,), None, given, features)
    cl.enqueue_barrier(queue)                       # no inference before our kernel is done
    request.start_async()                           # returns when all is enqueued
    cl.enqueue_barrier(queue)                       # and nothing of ours before the inference is
    best(queue, (ROWS,), None, scores, classes)
    queue.finish()                                  # the only wait

    found, probabilities = np.empty(ROWS, np.int32), np.empty((ROWS, CLASSES), np.float32)
    cl.enqueue_copy(queue, found, classes)
    cl.enqueue_copy(queue, probabilities, scores)
    plain = compiled.create_infer_request().infer([raw / np.float32(127.5) - 1])[0]
    difference = float(np.abs(probabilities - plain).max())
    print(f"device {context.device_name}: scaled, classified and chosen in one queue, with one wait")
    print(f"classes {found.tolist()}; largest difference from the same by way of arrays: {difference:.1e}")
    return 0 if difference < 1e-2 and (found == probabilities.argmax(1)).all() else 1


if __name__ == "__main__":
    raise SystemExit(main())
