"""A Llama with state on a GPU at f16, token by token: wall time of a token and of its prompt.

A call is token numbers from the host, `start_async()` and `queue.finish()`, the scores left on the GPU. Tokens are
timed behind `--context` others, to which the states are shortened again, and as answers to prompts, a new one each
time, of which the first token waits for what the prompt has changed.

    python -m bench.gpu_decoder [--device GPU] [--weights i4 --group 64] [--layers 16] [--profile]
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import clinfer
from bench.gpu import by_kernel
from bench.models import llama
from bench.models.compressed import LEVELS, compress_weights

_WARM_S, _TIMED, _PROMPTS, _ANSWERS = 25.0, 100, 5, 5
_F16 = {"INFERENCE_PRECISION_HINT": "f16"}
Feed = Callable[[np.ndarray], object]


def measure(model: Any, size: llama.Size, device: str, context: int) -> dict[str, float]:
    """Milliseconds; `start_ms`: what of a token's time the host takes until all is enqueued."""
    import pyopencl as cl

    core = clinfer.Core()
    queue = cl.CommandQueue(core.get_default_context(device).get())
    start = time.perf_counter()
    remote = clinfer.ClContext(core, queue)
    compiled = core.compile_model(model, remote, _F16)
    compile_s = time.perf_counter() - start
    request = compiled.create_infer_request()
    scores = compiled.outputs[0]
    request.set_output_tensor(remote.create_tensor(scores.get_element_type(), [1, 1, size.vocabulary]))
    request.set_tensor("beam_idx", clinfer.Tensor(np.zeros(1, np.int32)))
    begun: list[float] = []

    def feed(tokens: np.ndarray) -> None:
        start = time.perf_counter()
        request.set_tensor("tokens", clinfer.Tensor(tokens))
        request.start_async()
        begun.append(1e3 * (time.perf_counter() - start))
        queue.finish()

    def shorten() -> None:
        for state in request.query_state():
            state.shorten(context)

    figures = _timed(feed, request.reset_state, shorten, size, context)
    return {**figures, "start_ms": statistics.median(begun[-_TIMED:]), "compile_s": compile_s}


def profile(model: Any, device: str, context: int) -> dict[str, tuple[float, int]]:
    """Microseconds and launches of a token by kernel, with events."""
    request = clinfer.Core().compile_model(model, device, {**_F16, "PERF_COUNT": True}).create_infer_request()
    for tokens in (np.ones((1, context), np.int64), *[np.ones((1, 1), np.int64)] * 5):
        request.infer({"tokens": tokens, "beam_idx": np.zeros(1, np.int32)})
    return by_kernel(request)


def _timed(feed: Feed, reset: Callable[[], None], shorten: Callable[[], None], size: llama.Size,
           context: int) -> dict[str, float]:
    """Milliseconds of a token behind the context and of the context as a prompt: medians; tokens also at most. Of
    answers the median of tokens behind the first one, the most that one of them takes, and the median of the first."""
    random = np.random.default_rng(0)

    def taken(length: int) -> float:
        tokens = random.integers(0, size.vocabulary, (1, length))
        start = time.perf_counter()
        feed(tokens)
        return 1e3 * (time.perf_counter() - start)

    prompts = []
    for _ in range(_PROMPTS):
        reset()
        prompts.append(taken(context))
    begin = time.perf_counter()
    while time.perf_counter() - begin < _WARM_S:
        for _ in range(_TIMED):
            taken(1)
        shorten()
    tokens = [taken(1) for _ in range(_TIMED)]
    answers = []
    for _ in range(_ANSWERS):
        reset()
        taken(int(random.integers(context // 2, context)))
        answers.append([taken(1) for _ in range(_TIMED)])
    others = [ms for _, *behind in answers for ms in behind]
    return {"token_ms": statistics.median(tokens), "p90_ms": statistics.quantiles(tokens, n=10)[-1],
            "most_ms": max(tokens), "prompt_ms": statistics.median(prompts[1:]), "first_ms": prompts[0],
            "answer_ms": statistics.median(others), "answer_most_ms": max(others),
            "answer_first_ms": statistics.median(answer[0] for answer in answers)}


def main() -> None:
    """Print a line, and one for each kernel if a profile is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="GPU")
    parser.add_argument("--context", type=int, default=512)
    parser.add_argument("--layers", type=int, default=16)
    parser.add_argument("--hidden", type=int, default=2048)
    parser.add_argument("--heads", type=int, default=32)
    parser.add_argument("--groups", type=int, default=4, help="heads that share one of keys and values")
    parser.add_argument("--inside", type=int, default=8192)
    parser.add_argument("--vocabulary", type=int, default=128256)
    parser.add_argument("--weights", choices=list(LEVELS), help="the type of compressed weights; without, f16")
    parser.add_argument("--group", type=int, default=64, help="weights of one scale")
    parser.add_argument("--profile", action="store_true", help="microseconds by kernel, too")
    options = parser.parse_args()
    size = llama.Size(options.layers, options.hidden, options.heads, options.inside, options.vocabulary,
                      options.groups)
    model = llama.build_stateful(size)
    if options.weights:
        compress_weights(model, options.weights, options.group)
    print(clinfer.Core().get_property(options.device, "FULL_DEVICE_NAME"), *(
        f"{name} {value:.3f}" for name, value in measure(model, size, options.device, options.context).items()),
        flush=True)
    if options.profile:
        for kernel, (us, launches) in profile(model, options.device, options.context).items():
            print(f"  {kernel:40} {us:8.1f} {launches:4}")


if __name__ == "__main__":
    main()
