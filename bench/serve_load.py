"""Requests for Locust (https://locust.io) by which `bench.serve` loads a server: one model, inputs of mixed sizes.

The environment says what is asked: BENCH_MODEL, BENCH_SEED, and BENCH_RATE, requests per second of each user, which are
due at random times; a user that still waits for an answer then is late (0: each asks again at once).
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import gevent
import numpy as np
from locust import FastHttpUser, events, task
from tritonclient.http import InferenceServerClient, InferInput

KINDS = 150
Body = tuple[bytes, int]


def _body(arrays: dict[str, np.ndarray]) -> Body:
    """A request with raw tensors, and the length of its JSON."""
    inputs = []
    for name, array in arrays.items():
        given = InferInput(name, list(array.shape), {"f": "FP32", "i": "INT64"}[array.dtype.kind])
        given.set_data_from_numpy(array)
        inputs.append(given)
    body, length = InferenceServerClient.generate_request_body(inputs)
    return body, length


def _text_line(random: np.random.Generator) -> dict[str, np.ndarray]:
    """A line of text, 32 to 512 pixels wide."""
    return {"x": random.random((1, 3, 48, int(random.integers(32, 513))), np.float32)}


def _sentence(random: np.random.Generator) -> dict[str, np.ndarray]:
    """A sentence of 4 to 128 tokens."""
    length = int(random.integers(4, 129))
    return {"input_ids": random.integers(1000, 30000, (1, length)), "attention_mask": np.ones((1, length), np.int64),
            "token_type_ids": np.zeros((1, length), np.int64)}


def _small(random: np.random.Generator) -> dict[str, np.ndarray]:
    """Six numbers."""
    return {"x": random.random((1, 6), np.float32)}


MAKERS: dict[str, Callable[[np.random.Generator], dict[str, np.ndarray]]] = {
    "ppocr_rec": _text_line, "minilm": _sentence, "small": _small}


@lru_cache
def bodies(model: str, seed: int) -> list[Body]:
    """KINDS requests of random sizes."""
    random = np.random.default_rng(seed)
    return [_body(MAKERS[model](random)) for _ in range(KINDS)]


@events.request.add_listener
def tell(exception: BaseException | None, **_: Any) -> None:
    """Print why a request failed: Locust's figures count them only."""
    if exception is not None:
        print(f"failed: {exception!r}", file=sys.stderr)


class Client(FastHttpUser):
    """Asks for one request after another, in random order."""

    model, rate = os.environ.get("BENCH_MODEL", "small"), float(os.environ.get("BENCH_RATE", "0"))

    def on_start(self) -> None:
        self._random = np.random.default_rng()
        self._bodies = bodies(self.model, int(os.environ.get("BENCH_SEED", "0")))
        self._next = time.monotonic()
        gevent.sleep(self.wait_time())

    def wait_time(self) -> float:
        """Seconds until the next request is due: the times of a Poisson process."""
        if not self.rate:
            return 0.0
        self._next += self._random.exponential(1 / self.rate)
        return max(0.0, self._next - time.monotonic())

    @task
    def ask(self) -> None:
        """One inference. Locust would have the answer packed, as Triton's clients do not: that took as long
        as all the rest."""
        body, length = self._bodies[self._random.integers(len(self._bodies))]
        self.client.post(f"/v2/models/{self.model}/infer", data=body, name=self.model, headers={
            "Content-Type": "application/octet-stream", "Inference-Header-Content-Length": str(length),
            "Accept-Encoding": "identity"})
