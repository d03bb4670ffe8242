"""Generates text with a decoder that keeps keys and values as variable states, token by token as they come.

`python -m examples.generate decoder/openvino_model.xml --prompt "Once upon a time" [--device AUTO] [--tokens 64]`

The model is one that optimum-intel or another exporter made with state. Text needs the package `tokenizers` and the
model's tokenizer.json beside it; without, `--ids 1 15 27` gives the prompt as numbers. Without a model a small decoder
with random weights says what comes to its mind.

With `--lookup 4` the best tokens are found several at a time: where the last tokens stood in the text before, the four
that followed there are guessed, and one inference tells which of them the model would have said. The text is the same
(but where the two best scores are as close as rounding), and sooner there where it repeats itself.
"""
from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import clinfer as ov

Choose = Callable[[np.ndarray], int]
"""Scores [vocabulary] -> the next token."""


class Decoder:
    """One sequence on one request."""

    def __init__(self, model: ov.Model, device: str) -> None:
        self._names = {name for port in model.inputs for name in port.get_names()}
        self._request = ov.Core().compile_model(model, device).create_infer_request()
        self._length = 0
        self.inferences = 0

    def begin(self) -> None:
        """Forget the sequence."""
        self._request.reset_state()
        self._length = self.inferences = 0

    def scores(self, tokens: list[int]) -> np.ndarray:
        """Put tokens behind the sequence; for each of them, or the last alone where the model tells no others, the
        scores [tokens, vocabulary] of what follows."""
        given, self._length = np.array([tokens], np.int64), self._length + len(tokens)
        inputs = {"input_ids": given, "tokens": given, "attention_mask": np.ones((1, self._length), np.int64),
                  "position_ids": np.arange(self._length - len(tokens), self._length, dtype=np.int64)[None],
                  "beam_idx": np.zeros(1, np.int32)}
        self.inferences += 1
        found = self._request.infer({name: value for name, value in inputs.items() if name in self._names})
        return found[0][0]

    def forget(self, count: int) -> None:
        """Take the last tokens off the sequence, which moves nothing."""
        self._length -= count
        for state in self._request.query_state() if count else ():
            state.shorten(self._length)

    def generate(self, prompt: list[int], count: int, choose: Choose) -> Iterator[int]:
        """At most `count` tokens that follow a prompt, each as soon as it is there."""
        tokens = prompt
        for _ in range(count):
            tokens = [choose(self.scores(tokens)[-1])]
            yield tokens[0]

    def look_up(self, prompt: list[int], count: int, ahead: int) -> Iterator[int]:
        """The best `count` tokens behind a prompt, where up to `ahead` of them are guessed from the text and then
        verified at once. Source: Saxena, "Prompt lookup decoding" (2023). ValueError if the model scores the last token
        alone."""
        text, guess = list(prompt), list[int]()
        given = text
        while len(text) < len(prompt) + count:
            best = self.scores([*given, *guess]).argmax(-1)
            if len(best) < 1 + len(guess):
                raise ValueError("the model scores the last token alone, so that no guesses can be verified")
            best = best[-1 - len(guess):]
            right = next((number for number, token in enumerate(guess) if token != best[number]), len(guess))
            self.forget(len(guess) - right)
            said = best[:min(right + 1, len(prompt) + count - len(text))].tolist()
            text += said
            yield from said
            given, guess = text[-1:], guessed(text, ahead)


def guessed(text: list[int], count: int) -> list[int]:
    """What would follow a text if it went on as it did where its last tokens (3, 2 or 1) stood before; empty if they
    never did."""
    for size in (3, 2, 1):
        for start in range(len(text) - size - 1, -1, -1):
            if text[start:start + size] == text[-size:]:
                period = len(text) - size - start
                return [text[start + size + number % period] for number in range(count)]
    return []


def sampler(temperature: float, top: int, seed: int) -> Choose:
    """The best token, or with a temperature one of the `top` best."""
    random = np.random.default_rng(seed)

    def choose(scores: np.ndarray) -> int:
        if not temperature:
            return int(scores.argmax())
        best = np.argsort(scores)[-top:]
        odds = np.exp((scores[best].astype(np.float64) - scores[best].max()) / temperature)
        return int(random.choice(best, p=odds / odds.sum()))
    return choose


def random_model() -> ov.Model:
    """A decoder of 9 million random weights."""
    from bench.models import llama
    return llama.build_exported(llama.Size(layers=4, hidden=256, heads=8, groups=4, inside=688, vocabulary=4000))


def tokenizer_of(model: Path | None) -> Any:
    """The tokenizer beside a model; None if there is none."""
    file = None if model is None else model.parent / "tokenizer.json"
    if file is None or not file.exists():
        return None
    from tokenizers import Tokenizer
    return Tokenizer.from_file(str(file))


def say(tokens: Iterator[int], end: int, tokenizer: Any) -> list[float]:
    """Print tokens as they come, until one is `end`; when that began, and when each of them was there."""
    times, said, shown = [time.perf_counter()], list[int](), ""
    for token in tokens:
        times.append(time.perf_counter())
        if token == end:
            break
        said.append(token)
        text = tokenizer.decode(said) if tokenizer else f"{shown}{token} "
        print(text[len(shown):], end="", flush=True)
        shown = text
    return times


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", nargs="?", type=Path)
    parser.add_argument("--device", default="AUTO")
    parser.add_argument("--prompt", default="")
    parser.add_argument("--ids", type=int, nargs="*", default=[])
    parser.add_argument("--tokens", type=int, default=64)
    parser.add_argument("--end", type=int, default=-1, help="the token that ends a text")
    parser.add_argument("--temperature", type=float, default=0.0)
    parser.add_argument("--top", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lookup", type=int, default=0, help="tokens to guess at a time")
    options = parser.parse_args(arguments)
    if min(options.tokens, options.top) < 1 or options.lookup < 0:
        parser.error("--tokens and --top are at least 1, --lookup at least 0")
    tokenizer = tokenizer_of(options.model)
    if options.prompt and tokenizer is None:
        print("a prompt as text needs the model's tokenizer.json beside it; --ids takes numbers", file=sys.stderr)
        return 2
    if options.lookup and options.temperature:
        print("guesses are verified against the best tokens: --lookup goes without --temperature", file=sys.stderr)
        return 2
    prompt = tokenizer.encode(options.prompt).ids if options.prompt else options.ids or [1, 2, 3]
    decoder = Decoder(random_model() if options.model is None else ov.Core().read_model(options.model), options.device)
    choose = sampler(options.temperature, options.top, options.seed)
    tokens = (decoder.look_up(prompt, options.tokens, options.lookup) if options.lookup else
              decoder.generate(prompt, options.tokens, choose))
    try:
        times = say(tokens, options.end, tokenizer)
    except ValueError as error:
        print(f"\n{error}", file=sys.stderr)
        return 2
    following = times[-1] - times[1]
    rate = f", {(len(times) - 2) / following:.1f} tokens/s" if following else ""
    print(f"\ndevice {options.device}: {len(prompt)} tokens of prompt, first token after "
          f"{(times[1] - times[0]) * 1e3:.0f} ms{rate}, {decoder.inferences} inferences")
    return 0


if __name__ == "__main__":
    sys.exit(main())
