"""A Llama with state on a GPU at f16, token by token, beside PyTorch's: wall time of a token and of its prompt.

For a machine with PyTorch for CUDA and transformers. Every engine runs in a process of its own. A call is one token
number from the host, `start_async()` and `queue.finish()`, the scores left on the GPU; PyTorch's is a call of
transformers' Llama of the same sizes and `torch.cuda.synchronize()`: eager with a growing cache, or compiled with CUDA
graphs and a static cache. Tokens are timed behind `--context` others, to which the states are shortened again.

    python -m bench.gpu_decoder [--engines clinfer,eager,compiled] [--weights i4 --group 64] [--layers 16] [--profile]
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from bench.models import llama
from bench.models.compressed import LEVELS, compress_weights

ENGINES = ("clinfer", "eager", "compiled")
_WARM_S, _TIMED, _PROMPTS = 12.0, 100, 5
_MORE = 128
"""Tokens behind the context that a cache has room for."""
Feed = Callable[[np.ndarray], object]


def measure_clinfer(size: llama.Size, options: argparse.Namespace) -> dict[str, Any]:
    """clinfer's figures; `start_ms`: what of a token's time the host takes until all is enqueued."""
    import pyopencl as cl

    import clinfer

    model = llama.build_stateful(size)
    if options.weights:
        compress_weights(model, options.weights, options.group)
    core = clinfer.Core()
    queue = cl.CommandQueue(core.get_default_context("GPU").get())
    context = clinfer.ClContext(core, queue)
    start = time.perf_counter()
    compiled = core.compile_model(model, context, {"INFERENCE_PRECISION_HINT": "f16"})
    compile_s = time.perf_counter() - start
    request = compiled.create_infer_request()
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
            state.shorten(options.context)

    figures = _timed(feed, request.reset_state, shorten, size, options.context)
    return {**figures, "start_ms": statistics.median(begun[-_TIMED:]), "compile_s": compile_s,
            "device": core.get_property("GPU", "FULL_DEVICE_NAME")}


def profile_clinfer(size: llama.Size, options: argparse.Namespace) -> dict[str, tuple[float, int]]:
    """Microseconds and launches of a token by kernel, with events."""
    import clinfer

    model = llama.build_stateful(size)
    if options.weights:
        compress_weights(model, options.weights, options.group)
    compiled = clinfer.Core().compile_model(model, "GPU", {"INFERENCE_PRECISION_HINT": "f16", "PERF_COUNT": True})
    request = compiled.create_infer_request()
    for tokens in (np.ones((1, options.context), np.int64), *[np.ones((1, 1), np.int64)] * 5):
        request.infer({"tokens": tokens, "beam_idx": np.zeros(1, np.int32)})
    times: Counter[str] = Counter()
    launches: Counter[str] = Counter()
    for node in request.get_profiling_info():
        if node.real_time.total_seconds() > 0:
            times[node.exec_type] += node.real_time.total_seconds() * 1e6
            launches[node.exec_type] += 1
    return {kernel: (round(us, 1), launches[kernel]) for kernel, us in times.most_common()}


def measure_torch(engine: str, size: llama.Size, context: int) -> dict[str, Any]:
    """PyTorch's figures."""
    torch, transformers = import_module("torch"), import_module("transformers")

    kept = context + _MORE
    config = transformers.LlamaConfig(
        hidden_size=size.hidden, intermediate_size=size.inside, num_hidden_layers=size.layers,
        num_attention_heads=size.heads, num_key_value_heads=size.heads // size.groups, vocab_size=size.vocabulary,
        attn_implementation="sdpa", max_position_embeddings=kept)
    with torch.device("cuda"):
        module = transformers.LlamaForCausalLM(config).half().eval()
    past, cache = 0, None  # type: int, Any

    def reset() -> None:
        nonlocal cache
        if engine == "compiled" and cache is not None:
            cache.reset()
            return
        cache = (transformers.StaticCache(config=config, max_cache_len=kept) if engine == "compiled"
                 else transformers.DynamicCache(config=config))

    def shorten() -> None:
        nonlocal past
        past = context
        if engine != "compiled":
            cache.crop(context)

    step = torch.compile(module, mode="reduce-overhead") if engine == "compiled" else module

    def feed(tokens: np.ndarray) -> None:
        nonlocal past
        length = tokens.shape[1]
        past = 0 if length > 1 else past
        places = torch.arange(past, past + length, device="cuda")
        past += length
        run = step if length == 1 else module
        run(input_ids=torch.from_numpy(tokens).cuda(), position_ids=places[None], cache_position=places,
            past_key_values=cache, use_cache=True, logits_to_keep=1)
        torch.cuda.synchronize()

    reset()
    with torch.inference_mode():
        return {**_timed(feed, reset, shorten, size, context), "device": torch.cuda.get_device_name()}


def _timed(feed: Feed, reset: Callable[[], None], shorten: Callable[[], None], size: llama.Size,
           context: int) -> dict[str, float]:
    """Milliseconds of a token behind the context and of the context as a prompt: medians; tokens also at most."""
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
    return {"token_ms": statistics.median(tokens), "p90_ms": statistics.quantiles(tokens, n=10)[-1],
            "most_ms": max(tokens), "prompt_ms": statistics.median(prompts[1:]), "first_ms": prompts[0]}


def main() -> None:
    """Print a line for each engine."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--engines", default=",".join(ENGINES))
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
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    size = llama.Size(options.layers, options.hidden, options.heads, options.inside, options.vocabulary,
                      options.groups)
    if options.one:
        measured = {"clinfer": measure_clinfer, "profile": profile_clinfer}.get(options.one)
        print(json.dumps(measured(size, options) if measured else measure_torch(options.one, size, options.context)))
        return
    for engine in (*options.engines.split(","), *["profile"] * options.profile):
        done = subprocess.run([sys.executable, "-m", "bench.gpu_decoder", "--one", engine, *sys.argv[1:]],
                              stdout=subprocess.PIPE, text=True)
        if done.returncode:
            print(f"{engine} failed")
            continue
        found = json.loads(done.stdout.strip().splitlines()[-1])
        if engine == "profile":
            print(*(f"  {kernel:40} {us:8.1f} {launches:4}" for kernel, (us, launches) in found.items()), sep="\n")
        else:
            print(engine, *(f"{name} {value:.3f}" if isinstance(value, float) else value
                            for name, value in found.items()), flush=True)


if __name__ == "__main__":
    main()
