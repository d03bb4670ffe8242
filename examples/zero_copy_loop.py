"""NumPy in, NumPy out, nothing copied: the device works in the arrays themselves.

On a CPU any arrays will do, such as those that a camera fills. On a GPU `create_host_tensor` makes arrays in memory
that the device reaches, if it has any. `python -m examples.zero_copy_loop [--device CPU.0] [--frames 20]`
"""
from __future__ import annotations

import argparse
from collections.abc import Sequence

import numpy as np

import clinfer as ov

SIDE = 128


def edges() -> ov.Model:
    """A picture of one channel, differentiated along both axes."""
    picture = ov.opset13.parameter([1, 1, SIDE, SIDE], np.float32)
    kernels = np.array([[[[1, 0, -1]] * 3], [[[1] * 3, [0] * 3, [-1] * 3]]], np.float32)
    convolved = ov.opset13.convolution(picture, ov.opset13.constant(kernels), [1, 1], [1, 1], [1, 1], [1, 1])
    return ov.Model([ov.opset13.abs(convolved)], [picture], "edges")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="AUTO")
    parser.add_argument("--frames", type=int, default=20)
    options = parser.parse_args(arguments)
    compiled = ov.Core().compile_model(edges(), options.device)
    request, plain = compiled.create_infer_request(), compiled.create_infer_request()

    if compiled.get_context().device_name.startswith("CPU"):
        frame = np.empty((1, 1, SIDE, SIDE), np.float32)         # yours, from wherever it comes
        found = np.empty((1, 2, SIDE, SIDE), np.float32)
        request.set_input_tensor(ov.from_dlpack(frame))
        request.set_output_tensor(ov.from_dlpack(found))
    else:
        context = compiled.get_context()
        given = context.create_host_tensor(ov.Type.f32, [1, 1, SIDE, SIDE])
        taken = context.create_host_tensor(ov.Type.f32, [1, 2, SIDE, SIDE])
        frame, found = given.data, taken.data
        request.set_input_tensor(given)
        request.set_output_tensor(taken)

    random, difference = np.random.default_rng(), 0.0
    for _ in range(options.frames):
        random.random(out=frame, dtype=np.float32)               # the next frame, written in place
        request.infer()                                          # and its edges are in `found`
        difference = max(difference, float(np.abs(found - plain.infer([frame])[0]).max()))
    print(f"device {compiled.get_context().device_name}: {options.frames} frames of {frame.nbytes} bytes, "
          f"results of {found.nbytes} bytes, all in two arrays")
    print(f"largest difference from the same by way of copies: {difference:.1e}")
    return 0 if difference == 0 else 1


if __name__ == "__main__":
    raise SystemExit(main())
