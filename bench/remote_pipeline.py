"""What copies cost: frames that lie on the device, through a model, with remote tensors and by way of the host.

A kernel of the user's makes each frame in a buffer of his, another one reads the results. Zero-copy: all in one queue,
`start_async`, one wait per frame. Copying: the frame is read, given to `infer` as an array, and the results are written
back. Both take turns in one run. Host time is the thread's; bytes are those that cross between host and device memory.
`python -m bench.remote_pipeline [--device CPU.0] [--size 512] [--frames 60]`
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Mapping

import numpy as np
import pyopencl as cl

import clinfer
from clinfer.frontend.openvino_import import openvino as ov
from clinfer.runtime import transfers
from clinfer.runtime.memory import Memory

_SOURCE = """
kernel void draw(global float *frame, float time) { frame[get_global_id(0)] = (get_global_id(0) & 255) * time; }
kernel void look(global const float *result, global float *seen) { seen[get_global_id(0)] = result[get_global_id(0)]; }
"""


def _model(size: int) -> ov.Model:
    """A picture made a quarter as large by a convolution, so that transfers weigh."""
    frame = ov.opset13.parameter([1, 3, size, size], np.float32)
    weights = ov.opset13.constant(np.full((8, 3, 4, 4), 1 / 48, np.float32))
    return ov.Model([ov.opset13.relu(ov.opset13.convolution(frame, weights, [4, 4], [0, 0], [0, 0], [1, 1]))], [frame])


class _Pipeline:
    """The user's side, and the two ways through the model."""

    def __init__(self, device: str, size: int) -> None:
        self.core = clinfer.Core()
        self.cl_context = self.core.get_default_context(device).get()
        self.queue = cl.CommandQueue(self.cl_context)
        program = cl.Program(self.cl_context, _SOURCE).build()
        self.draw, self.look = cl.Kernel(program, "draw"), cl.Kernel(program, "look")
        self.frame = np.empty((1, 3, size, size), np.float32)
        self.result = np.empty((1, 8, size // 4, size // 4), np.float32)
        self.given, self.taken, self.seen = (cl.Buffer(self.cl_context, cl.mem_flags.READ_WRITE, array.nbytes)
                                             for array in (self.frame, self.result, self.result))
        context = clinfer.ClContext(self.core, self.queue)
        self.remote = self.core.compile_model(_model(size), context).create_infer_request()
        self.remote.set_input_tensor(context.create_tensor(ov.Type.f32, self.frame.shape, self.given))
        self.remote.set_output_tensor(context.create_tensor(ov.Type.f32, self.result.shape, self.taken))
        self.copied = self.core.compile_model(_model(size), device).create_infer_request()

    def zero_copy(self, number: int) -> int:
        """One frame; the bytes that the user copied."""
        self.draw(self.queue, (self.frame.size,), None, self.given, np.float32(number))
        self.remote.start_async()
        self.look(self.queue, (self.result.size,), None, self.taken, self.seen)
        self.queue.finish()
        return 0

    def copying(self, number: int) -> int:
        """One frame; the bytes that the user copied."""
        self.draw(self.queue, (self.frame.size,), None, self.given, np.float32(number))
        cl.enqueue_copy(self.queue, self.frame, self.given)
        result = self.copied.infer([self.frame], share_inputs=True, share_outputs=True)[0]
        cl.enqueue_copy(self.queue, self.taken, result)
        self.look(self.queue, (self.result.size,), None, self.taken, self.seen)
        self.queue.finish()
        return int(self.frame.nbytes + result.nbytes)

    def check(self) -> None:
        """Raise unless both ways give the same."""
        found = []
        for way in (self.zero_copy, self.copying):
            way(7)
            found.append(np.empty_like(self.result))
            cl.enqueue_copy(self.queue, found[-1], self.seen)
        np.testing.assert_allclose(found[0], found[1], rtol=1e-2)


class TransferCounter:
    """Counts the bytes that clinfer itself moves between host and device."""

    def __init__(self) -> None:
        self.nbytes = 0
        self._write, self._read = transfers.write, transfers.read
        transfers.write, transfers.read = self._counted_write, self._counted_read

    def _counted_write(self, queue: cl.CommandQueue, memory: Memory, offset: int, source: np.ndarray,
                       blocking: bool) -> cl.Event:
        self.nbytes += source.nbytes
        return self._write(queue, memory, offset, source, blocking)

    def _counted_read(self, queue: cl.CommandQueue, memory: Memory, offset: int, into: np.ndarray,
                      blocking: bool) -> cl.Event:
        self.nbytes += into.nbytes
        return self._read(queue, memory, offset, into, blocking)


def _measured(way: Callable[[int], int], number: int, counter: TransferCounter) -> tuple[float, float, int]:
    """One turn of a way: milliseconds, those of the thread, and bytes copied (its own, and clinfer's)."""
    counter.nbytes = 0
    wall, host = time.perf_counter(), time.thread_time()
    copied = way(number)
    return ((time.perf_counter() - wall) * 1e3, (time.thread_time() - host) * 1e3, copied + counter.nbytes)


def parse_options(description: str | None) -> argparse.Namespace:
    """`device`, `size` of the frames and how many `frames` from the command line."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--device", default="CPU")
    parser.add_argument("--size", type=int, default=512)
    parser.add_argument("--frames", type=int, default=60)
    return parser.parse_args()


def compare(ways: Mapping[str, Callable[[int], int]], options: argparse.Namespace) -> None:
    """Let the ways take turns, frame by frame, and print what each costs. A way takes the number of the frame and
    gives the bytes that it copied itself."""
    counter = TransferCounter()
    samples: dict[str, list[tuple[float, float, int]]] = {name: [] for name in ways}
    for number in range(options.frames):
        for name, way in ways.items():
            samples[name].append(_measured(way, number, counter))
    print(f"{options.device}, frames of 3x{options.size}x{options.size} f32, medians of {options.frames}")
    for name, found in samples.items():
        wall, host, copied = (statistics.median(column) for column in zip(*found, strict=True))
        print(f"{name:>10}: {wall:8.3f} ms per frame, {host:8.3f} ms of host time, {copied:.0f} bytes copied")


def main() -> None:
    options = parse_options(__doc__)
    pipeline = _Pipeline(options.device, options.size)
    pipeline.check()
    compare({"zero-copy": pipeline.zero_copy, "copying": pipeline.copying}, options)


if __name__ == "__main__":
    main()
