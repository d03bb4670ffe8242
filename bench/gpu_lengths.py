"""BERT-base at f16 on a GPU, one sentence of a length after another: first sight of a length, and seen ones.

A call is `set_input_tensor` of tokens on the GPU, `start_async()` and `queue.finish()`; lengths are random, all of them
once and then again and again in the same order, so that no call has the length of the one before. Last the same length
again and again, which clinfer specialises. Needs PyTorch and transformers.
`python -m bench.gpu_lengths [--device GPU] [--lengths 60] [--rest 15]`
"""

from __future__ import annotations

import argparse
import random
import statistics
import time
from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np

from bench.gpu import network, wall_ms

_SHORTEST, _LONGEST, _WIDE, _PASSES = 16, 512, 768, 30


def caller(device: str, lengths: list[int]) -> Callable[[int], float]:
    """What infers a sentence of one of some lengths; milliseconds."""
    import pyopencl as cl

    import clinfer

    torch, openvino = import_module("torch"), import_module("openvino")
    with torch.no_grad():
        model = openvino.convert_model(network("bert"), example_input=torch.zeros((1, 128), dtype=torch.int64))
    model.reshape({model.input(0): [-1, -1]})
    core = clinfer.Core()
    queue = cl.CommandQueue(core.get_default_context(device).get())
    context = clinfer.ClContext(core, queue)
    compiled = core.compile_model(model, context, {"INFERENCE_PRECISION_HINT": "f16"})
    request, kind = compiled.create_infer_request(), compiled.inputs[0].get_element_type()
    tokens: dict[int, Any] = {}
    for length in lengths:
        tokens[length] = context.create_tensor(kind, [1, length])
        tokens[length].copy_from(np.random.default_rng(length).integers(0, 30000, (1, length)))
    request.set_output_tensor(context.create_tensor(compiled.outputs[0].get_element_type(), [1, _LONGEST, _WIDE]))

    def call(length: int) -> float:
        start = time.perf_counter()
        request.set_input_tensor(tokens[length])
        request.start_async()
        queue.finish()
        return 1e3 * (time.perf_counter() - start)

    return call


def main() -> None:
    """Print a line of medians, nine in ten and the most for first and seen lengths, and one for each repeated one."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="GPU")
    parser.add_argument("--lengths", type=int, default=60)
    parser.add_argument("--rest", type=float, default=15.0, help="seconds in which kernels are built beside")
    options = parser.parse_args()
    lengths = random.Random(0).sample(range(_SHORTEST, _LONGEST + 1), options.lengths)
    repeated = [16, 64, 128, 256, 512]
    call = caller(options.device, [*lengths, *repeated])
    passes = [[call(length) for length in lengths] for _ in range(_PASSES)]
    time.sleep(options.rest)
    seen = [call(length) for _ in range(3) for length in lengths]
    for name, times in ("first sight", passes[0]), ("seen", seen):
        p90 = statistics.quantiles(times, n=10)[-1]
        print(f"{name}: median {statistics.median(times):.3f} ms, nine in ten {p90:.3f}, at most {max(times):.3f}")
    for length in repeated:
        print(f"{length} again and again: {wall_ms(partial(call, length))['wall_ms']:.3f} ms", flush=True)


if __name__ == "__main__":
    main()
