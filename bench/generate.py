"""What generation costs beside OpenVINO's CPU plugin at f32: a decoder with state, its prompt and its tokens.

Both engines hold the same model in one process, and take turns token by token, so that a change of the machine's speed
meets both. A token's time is that of `infer` alone. Ratios above 1 mean that clinfer is faster.
`python -m bench.generate [--device CPU.0] [--prompt 512] [--tokens 40] [--layers 12] [--hidden 768] [--groups 1]
[--at-once 1 5] [--weights i4 --group 64] [--cache u8] [--beams 4]`: steps of so many tokens in turn; of several it is
what verifying guesses takes. Beams begin with one prompt, and half of the steps select some at random. `read` is what
a step reads of weights and states, over clinfer's time.
"""

from __future__ import annotations

import argparse
import math
import statistics
import time
from typing import Any

import numpy as np
import openvino
from numpy.typing import NDArray

import clinfer
from bench.models import llama
from bench.models.compressed import LEVELS, compress_weights
from bench.worker import usable_cpus


class Generator:
    """A request of one engine."""

    def __init__(self, module: Any, model: openvino.Model, device: str, config: dict[str, Any]) -> None:
        start = time.perf_counter()
        self._request = module.Core().compile_model(model, device, config).create_infer_request()
        self.compile_s = time.perf_counter() - start

    def begin(self) -> None:
        """Forget what was said."""
        self._request.reset_state()

    def feed(self, tokens: NDArray[Any], beams: NDArray[Any]) -> tuple[float, NDArray[Any]]:
        """Milliseconds that tokens [beams, n] took, and the scores of the last ones."""
        given = {"tokens": tokens, "beam_idx": beams.astype(np.int32)}
        start = time.perf_counter()
        scores = self._request.infer(given)["scores"]
        return (time.perf_counter() - start) * 1e3, scores

    @property
    def state_bytes(self) -> int:
        """Bytes of all states, in the types that the model declares."""
        return sum(state.state.byte_size for state in self._request.query_state())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="CPU")
    parser.add_argument("--prompt", type=int, default=512)
    parser.add_argument("--tokens", type=int, default=40)
    parser.add_argument("--at-once", type=int, nargs="+", default=[1], help="tokens of a step")
    parser.add_argument("--beams", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=3, help="prompts; the first one does not count")
    parser.add_argument("--threads", type=int, default=usable_cpus(), help="of OpenVINO's CPU plugin")
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--hidden", type=int, default=768)
    parser.add_argument("--heads", type=int, default=12)
    parser.add_argument("--groups", type=int, default=1)
    parser.add_argument("--inside", type=int, default=2048)
    parser.add_argument("--vocabulary", type=int, default=16384)
    parser.add_argument("--weights", choices=list(LEVELS), help="the type of compressed weights; without, f32")
    parser.add_argument("--group", type=int, default=64, help="weights of one scale")
    parser.add_argument("--cache", choices=["f32", "f16", "u8"], default="f32", help="the type of keys and values")
    options = parser.parse_args()
    size = llama.Size(options.layers, options.hidden, options.heads, options.inside, options.vocabulary,
                      options.groups)
    model, random = llama.build_stateful(size), np.random.default_rng(0)
    if options.weights:
        compress_weights(model, options.weights, options.group)
    settings = {"INFERENCE_PRECISION_HINT": "f32", "KV_CACHE_PRECISION": options.cache}
    engines = {"clinfer": Generator(clinfer, model, options.device, settings),
               "openvino": Generator(openvino, model, "CPU", {
                   **settings, "INFERENCE_NUM_THREADS": str(options.threads), "PERFORMANCE_HINT": "LATENCY"})}
    times: dict[str, dict[str, list[float]]] = {name: {} for name in engines}
    worst = 0.0
    for number in range(options.rounds):
        given = random.integers(0, size.vocabulary, (1, options.prompt)).repeat(options.beams, 0)
        for step in range(options.tokens + 1):
            names = list(engines) if (number + step) % 2 else list(reversed(engines))
            beams, found = np.arange(options.beams), {}
            if step % 4 > 1:
                beams = random.integers(0, options.beams, options.beams)
            for name in names:
                if not step:
                    engines[name].begin()
                taken, found[name] = engines[name].feed(given, beams)
                if number:
                    what = _what(step, given.shape[1], beams)
                    times[name].setdefault(what, []).append(taken)
            scale = float(np.abs(found["openvino"]).max())
            worst = max(worst, float(np.abs(found["clinfer"] - found["openvino"]).max()) / scale)
            given = random.integers(0, size.vocabulary, (options.beams, options.at_once[step % len(options.at_once)]))
    constants = [node for node in model.get_ops() if node.get_type_name() == "Constant"]
    parameters = sum(math.prod(node.shape) for node in constants)
    state_bytes = engines["clinfer"].state_bytes * _stored_share(options.cache, size.hidden // size.heads)
    # Of the table of embeddings a token reads one row.
    read = sum(node.get_byte_size() for node in constants) - 4 * size.vocabulary * size.hidden + state_bytes
    print(f"{parameters / 1e6:.0f}M parameters, prompt {options.prompt}, {options.tokens} steps, "
          f"states {state_bytes / 1e6:.1f} MB, largest difference {worst:.1e} of the scale")
    for what in times["clinfer"]:
        ours, theirs = (statistics.median(times[name][what]) for name in ("clinfer", "openvino"))
        rate = "" if what == "prompt" else f", read {read / ours / 1e6:.1f} GB/s"
        print(f"{what}: clinfer {ours:.2f} ms, openvino {theirs:.2f} ms, {theirs / ours:.2f}x{rate}")
    print("compiling: " + ", ".join(f"{name} {engine.compile_s:.1f} s" for name, engine in engines.items()))


def _what(step: int, tokens: int, beams: NDArray[Any]) -> str:
    """What is timed: the prompt, or steps of so many tokens, those that select other beams apart."""
    if not step:
        return "prompt"
    return f"step of {tokens}" + ("" if (beams == np.arange(len(beams))).all() else ", other beams")


def _stored_share(cache: str, depth: int) -> float:
    """What a key or value of `depth` elements takes where it is stored, over what it takes in f32."""
    return {"f32": 1.0, "f16": 0.5, "u8": (1 + 8 / depth) / 4}[cache]


if __name__ == "__main__":
    main()
