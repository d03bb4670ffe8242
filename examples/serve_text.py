"""Generates several texts at once with a decoder that keeps keys and values as variable states: continuous batching.

`python -m examples.serve_text decoder/openvino_model.xml [--device AUTO] [--texts 16] [--at-once 8] [--tokens 48]`

Texts join the batch when there is room, and leave it when they are done, each with a length of its own. All share the
inferences of one request: a row of the batch for each text. `beam_idx` keeps the rows of texts that go on, and gives
one to each text that joins; `attention_mask` hides what its row held before, and `position_ids` count its own tokens.
A prompt is read token by token, beside what others say. The model is one that optimum-intel or another exporter made
with state. Without a model a small decoder with random weights says what comes to its mind.

The same texts are then generated one at a time, for comparison.
"""
from __future__ import annotations

import argparse
import sys
import time
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

import clinfer as ov
from examples.generate import Decoder, random_model, sampler


@dataclass
class Text:
    """A prompt (at least one token) and the best tokens behind it, of which `count` are wanted."""

    prompt: list[int]
    count: int
    said: list[int] = field(default_factory=list)
    read: int = 0
    """Tokens that the model has seen."""

    @property
    def is_done(self) -> bool:
        return len(self.said) == self.count

    def next_token(self) -> int:
        """The token that the model has not seen yet."""
        return self.prompt[self.read] if self.read < len(self.prompt) else self.said[-1]

    def hear(self, scores: np.ndarray) -> None:
        """Go on by a token, with the scores [vocabulary] of what follows that."""
        self.read += 1
        if self.read >= len(self.prompt):
            self.said.append(int(scores.argmax()))


class Batch:
    """Texts on one request. `trim_at`: columns of the states that belong to no text any more are given up once there
    are so many of them, and as many as others. ValueError for a model that cannot tell texts of one batch apart."""

    def __init__(self, model: ov.Model, device: str, trim_at: int = 256) -> None:
        names = {name for port in model.inputs for name in port.get_names()}
        if missing := {"input_ids", "attention_mask", "position_ids", "beam_idx"} - names:
            raise ValueError(f"texts of other lengths need inputs that the model does not have: {sorted(missing)}")
        self._request = ov.Core().compile_model(model, device).create_infer_request()
        self._trim_at = trim_at
        self._texts: list[Text] = []
        self._seen = np.zeros((0, 0), np.int64)
        """Which columns of the states each row sees: [texts, length]."""
        self.inferences = 0

    @property
    def going_on(self) -> int:
        """How many texts are not done."""
        return sum(not text.is_done for text in self._texts)

    @property
    def length(self) -> int:
        """Columns of the states."""
        return self._seen.shape[1]

    def step(self, joining: Iterable[Text] = ()) -> None:
        """A token for each text that is not done, and for those that join; at least one."""
        rows, new = [row for row, text in enumerate(self._texts) if not text.is_done], list(joining)
        if not rows:
            self._request.reset_state()
            self._seen = np.zeros((0, 0), np.int64)
        self._texts = [*(self._texts[row] for row in rows), *new]
        past = np.concatenate([self._seen[rows], np.zeros((len(new), self.length), np.int64)])
        self._seen = np.concatenate([past, np.ones((len(self._texts), 1), np.int64)], 1)
        beams = [*rows, *[0] * len(new)] if rows else range(len(new))
        scores = self._infer(np.array(beams, np.int32))
        for text, row in zip(self._texts, scores, strict=True):
            text.hear(row)
        self._trim()

    def _infer(self, beams: np.ndarray) -> np.ndarray:
        """The scores [texts, vocabulary] behind the next token of each text."""
        tokens = np.array([[text.next_token()] for text in self._texts], np.int64)
        inputs = {"input_ids": tokens, "attention_mask": self._seen, "beam_idx": beams,
                  "position_ids": np.array([[text.read] for text in self._texts], np.int64)}
        self.inferences += 1
        return np.array(self._request.infer(inputs)[0][:, -1])

    def _trim(self) -> None:
        """Take what belongs to no text that goes on off the front of the states [..., length, size]."""
        rows = [row for row, text in enumerate(self._texts) if not text.is_done]
        unused = int(self._seen[rows].any(0).argmax()) if rows else 0
        if unused < max(self._trim_at, self.length - unused):
            return
        for state in self._request.query_state():
            state.state = ov.Tensor(np.ascontiguousarray(state.state.data[..., unused:, :]))
        self._seen = self._seen[:, unused:]


def serve(batch: Batch, texts: Iterable[Text], at_once: int) -> None:
    """Generate texts, at most so many at once."""
    waiting = deque(texts)
    while waiting or batch.going_on:
        batch.step([waiting.popleft() for _ in range(min(at_once - batch.going_on, len(waiting)))])


def random_texts(count: int, tokens: int, vocabulary: int, seed: int) -> list[Text]:
    """Prompts of 1 to 12 tokens, with half to all of so many tokens behind them."""
    random = np.random.default_rng(seed)
    return [Text(random.integers(3, vocabulary, random.integers(1, 13)).tolist(),
                 int(random.integers((tokens + 1) // 2, tokens + 1))) for _ in range(count)]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", nargs="?", type=Path)
    parser.add_argument("--device", default="AUTO")
    parser.add_argument("--texts", type=int, default=16)
    parser.add_argument("--at-once", type=int, default=8, help="texts in the batch")
    parser.add_argument("--tokens", type=int, default=48, help="the most that a text says")
    parser.add_argument("--vocabulary", type=int, default=1000, help="prompts are made of tokens below")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    if min(options.texts, options.at_once, options.tokens) < 1 or options.vocabulary < 4:
        parser.error("--texts, --at-once and --tokens are at least 1, --vocabulary at least 4")
    model = random_model() if options.model is None else ov.Core().read_model(options.model)
    texts = random_texts(options.texts, options.tokens, options.vocabulary, options.seed)
    try:
        batch, alone = Batch(model, options.device), Decoder(model, options.device)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    serve(batch, random_texts(2, 4, options.vocabulary, options.seed), 2)
    list(alone.generate([1, 2, 3], 4, sampler(0.0, 1, 0)))

    start = time.perf_counter()
    serve(batch, texts, options.at_once)
    together = time.perf_counter() - start
    same, start = 0, time.perf_counter()
    for text in texts:
        alone.begin()
        same += list(alone.generate(text.prompt, text.count, sampler(0.0, 1, 0))) == text.said
    apart = time.perf_counter() - start
    tokens = sum(text.count for text in texts)
    print(f"device {options.device}: {len(texts)} texts, {tokens} tokens, {same} texts are the same alone; "
          f"{options.at_once} at once {tokens / together:.1f} tokens/s, one at a time {tokens / apart:.1f}, "
          f"{apart / together:.2f}x")
    return 0


if __name__ == "__main__":
    sys.exit(main())
