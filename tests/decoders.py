"""Small decoders with state as exporters write them, and the same in NumPy in float64."""
from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from clinfer.frontend.openvino_import import openvino as ov

op = ov.opset13
F32 = {"INFERENCE_PRECISION_HINT": "f32"}
ORACLE = {**F32, "CPU_RUNTIME_CACHE_CAPACITY": "0"}
_EPSILON = 1e-5
_BASE = 10000.0


@dataclass(frozen=True)
class Shape:
    """Sizes of a decoder. `fused`: attention is one operation, else it is written out."""

    layers: int = 2
    hidden: int = 48
    heads: int = 6
    kv_heads: int = 2
    inner: int = 80
    vocabulary: int = 160
    fused: bool = True

    @property
    def head(self) -> int:
        return self.hidden // self.heads


class Decoder:
    """RMS norms, rotated positions, grouped heads and gated units, with weights from `rng`."""

    def __init__(self, shape: Shape, rng: np.random.Generator) -> None:
        self.shape = shape
        wide, narrow = shape.hidden, shape.kv_heads * shape.head

        def matrix(rows: int, columns: int) -> np.ndarray:
            return (rng.standard_normal((rows, columns)) / np.sqrt(columns)).astype(np.float32)

        self.embedding = rng.standard_normal((shape.vocabulary, wide)).astype(np.float32)
        self.layers = [{"q": matrix(wide, wide), "k": matrix(narrow, wide), "v": matrix(narrow, wide),
                        "o": matrix(wide, wide), "gate": matrix(shape.inner, wide), "up": matrix(shape.inner, wide),
                        "down": matrix(wide, shape.inner), "norm1": rng.uniform(0.5, 1.5, wide).astype(np.float32),
                        "norm2": rng.uniform(0.5, 1.5, wide).astype(np.float32)} for _ in range(shape.layers)]
        self.norm = rng.uniform(0.5, 1.5, wide).astype(np.float32)
        self.head = matrix(shape.vocabulary, wide)
        self.frequencies = (_BASE ** (-np.arange(0, shape.head, 2) / shape.head)).astype(np.float32)

    # -- in NumPy -------------------------------------------------------------------------------

    def logits(self, tokens: np.ndarray, mask: np.ndarray, positions: np.ndarray) -> np.ndarray:
        """[batch, length, vocabulary] of whole sequences; `mask` is 0 where a token counts for nobody."""
        shape, x = self.shape, self.embedding.astype(np.float64)[tokens]
        length = tokens.shape[1]
        seen = np.tril(np.ones((length, length), bool))[None, None] & (mask[:, None, None, :] > 0)
        for layer in self.layers:
            h = _norm(x, layer["norm1"])
            q, k = (self._rotated(self._split(h @ layer[name].T.astype(np.float64)), positions) for name in ("q", "k"))
            v = self._split(h @ layer["v"].T.astype(np.float64))
            k, v = (np.repeat(part, shape.heads // shape.kv_heads, 1) for part in (k, v))
            scores = np.where(seen, q @ k.swapaxes(2, 3) / np.sqrt(shape.head), -1e9)
            scores = np.exp(scores - scores.max(-1, keepdims=True))
            mixed = (scores / scores.sum(-1, keepdims=True)) @ v
            x = x + mixed.swapaxes(1, 2).reshape(x.shape) @ layer["o"].T.astype(np.float64)
            h = _norm(x, layer["norm2"])
            gate = h @ layer["gate"].T.astype(np.float64)
            x = x + (gate / (1 + np.exp(-gate)) * (h @ layer["up"].T.astype(np.float64))) @ layer["down"].T.astype(
                np.float64)
        return _norm(x, self.norm) @ self.head.T.astype(np.float64)

    def _split(self, x: np.ndarray) -> np.ndarray:
        return x.reshape(*x.shape[:2], -1, self.shape.head).swapaxes(1, 2)

    def _rotated(self, x: np.ndarray, positions: np.ndarray) -> np.ndarray:
        angles = positions[:, None, :, None] * self.frequencies.astype(np.float64)
        cos, sin = (np.concatenate([part, part], -1) for part in (np.cos(angles), np.sin(angles)))
        first, second = np.split(x, 2, -1)
        return x * cos + np.concatenate([-second, first], -1) * sin

    # -- as a model -----------------------------------------------------------------------------

    def model(self) -> ov.Model:
        """Inputs `input_ids`, `attention_mask`, `position_ids`, all [batch, length], and `beam_idx`; output
        `logits`."""
        return _Writer(self).model()


def _norm(x: np.ndarray, weights: np.ndarray) -> np.ndarray:
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + _EPSILON) * weights.astype(np.float64)


def _number(value: float) -> Any:
    return op.constant(np.float32(value))


def _integers(*values: int) -> Any:
    return op.constant(np.array(values, np.int64))


def _size(node: Any, axis: int) -> Any:
    return op.gather(op.shape_of(node), _integers(axis), op.constant(np.int64(0)))


class _Writer:
    def __init__(self, decoder: Decoder) -> None:
        self.decoder, self.shape = decoder, decoder.shape
        self.ids, self.mask, self.positions = (
            op.parameter([-1, -1], np.int64, name=name) for name in ("input_ids", "attention_mask", "position_ids"))
        self.beams = op.parameter([-1], np.int32, name="beam_idx")
        self.sinks: list[Any] = []

    def model(self) -> ov.Model:
        parameters = [self.ids, self.mask, self.positions, self.beams]
        for parameter in parameters:
            parameter.output(0).set_names({parameter.get_friendly_name()})
        x = op.gather(op.constant(self.decoder.embedding), self.ids, op.constant(np.int64(0)))
        angles = op.matmul(op.convert(op.unsqueeze(self.positions, _integers(2)), "f32"),
                           op.constant(self.decoder.frequencies[None, None]), False, False)
        angles = op.unsqueeze(op.concat([angles, angles], 2), _integers(1))
        self.cos, self.sin = op.cos(angles), op.sin(angles)
        self.bias: Any = None
        for number, layer in enumerate(self.decoder.layers):
            x = op.add(x, self._attention(self._norm(x, layer["norm1"]), layer, number))
            h = self._norm(x, layer["norm2"])
            gated = op.multiply(op.swish(self._product(h, layer["gate"])), self._product(h, layer["up"]))
            x = op.add(x, self._product(gated, layer["down"]))
        logits = self._product(self._norm(x, self.decoder.norm), self.decoder.head)
        logits.output(0).set_names({"logits"})
        return ov.Model([op.result(logits)], self.sinks, parameters, "decoder")

    def _attention(self, h: Any, layer: dict[str, np.ndarray], number: int) -> Any:
        shape = self.shape
        q, k = (self._rotated(self._split(self._product(h, layer[name]), heads))
                for name, heads in (("q", shape.heads), ("k", shape.kv_heads)))
        v = self._split(self._product(h, layer["v"]), shape.kv_heads)
        k, v = (self._cached(part, f"past.{number}.{name}") for part, name in ((k, "key"), (v, "value")))
        if self.bias is None:
            self.bias = self._mask(k)
        k, v = (self._repeated(part) for part in (k, v))
        if shape.fused:
            mixed = op.scaled_dot_product_attention(q, k, v, self.bias)
        else:
            scores = op.multiply(op.matmul(q, k, False, True), _number(shape.head ** -0.5))
            mixed = op.matmul(op.softmax(op.add(scores, self.bias), -1), v, False, False)
        joined = op.reshape(op.transpose(mixed, _integers(0, 2, 1, 3)), _integers(0, 0, shape.hidden), True)
        return self._product(joined, layer["o"])

    def _cached(self, new: Any, name: str) -> Any:
        sizes = op.concat([_size(self.ids, 0), _integers(self.shape.kv_heads, 0, self.shape.head)], 0)
        value = op.read_value(op.broadcast(_number(0), sizes), name, ov.Type.f32,
                              ov.PartialShape([-1, self.shape.kv_heads, -1, self.shape.head]))
        joined = op.concat([op.gather(value, self.beams, op.constant(np.int64(0))), new], 2)
        self.sinks.append(op.assign(joined, name))
        return joined

    def _mask(self, keys: Any) -> Any:
        """0 where a token sees another one, else a large negative number, [batch, 1, length, all]."""
        whole, length = _size(keys, 2), _size(self.ids, 1)
        places = op.range(op.constant(np.int64(0)), op.squeeze(whole, _integers(0)), op.constant(np.int64(1)), "i64")
        rows = op.range(op.squeeze(op.subtract(whole, length), _integers(0)), op.squeeze(whole, _integers(0)),
                        op.constant(np.int64(1)), "i64")
        seen = op.less_equal(op.unsqueeze(places, _integers(0)), op.unsqueeze(rows, _integers(1)))
        counts = op.not_equal(op.unsqueeze(self.mask, _integers(1, 2)), op.constant(np.int64(0)))
        return op.select(op.logical_and(op.unsqueeze(seen, _integers(0, 1)), counts), _number(0), _number(-1e9))

    def _repeated(self, x: Any) -> Any:
        """Each head for its group, as exporters write it."""
        shape, times = self.shape, self.shape.heads // self.shape.kv_heads
        raised = op.unsqueeze(x, _integers(2))
        sizes = op.concat([_size(x, 0), _integers(shape.kv_heads, times), _size(x, 2), _integers(shape.head)], 0)
        return op.reshape(op.broadcast(raised, sizes), _integers(0, shape.heads, -1, shape.head), True)

    def _rotated(self, x: Any) -> Any:
        half = self.shape.head // 2
        first = op.slice(x, _integers(0), _integers(half), _integers(1), _integers(3))
        second = op.slice(x, _integers(half), _integers(2 * half), _integers(1), _integers(3))
        turned = op.concat([op.multiply(second, _number(-1)), first], 3)
        return op.add(op.multiply(x, self.cos), op.multiply(turned, self.sin))

    def _split(self, x: Any, heads: int) -> Any:
        return op.transpose(op.reshape(x, _integers(0, 0, heads, self.shape.head), True), _integers(0, 2, 1, 3))

    @staticmethod
    def _norm(x: Any, weights: np.ndarray) -> Any:
        mean = op.reduce_mean(op.power(x, _number(2)), _integers(-1), True)
        return op.multiply(op.constant(weights[None, None]),
                           op.multiply(x, op.divide(_number(1), op.sqrt(op.add(mean, _number(_EPSILON))))))

    @staticmethod
    def _product(x: Any, weights: np.ndarray) -> Any:
        return op.matmul(x, op.constant(weights), False, True)


class Reference:
    """Sequences that grow by what a decoder is given, and their logits."""

    def __init__(self, decoder: Decoder, batch: int) -> None:
        self._decoder = decoder
        self.tokens = np.zeros((batch, 0), np.int64)
        self.mask = np.zeros((batch, 0), np.int64)

    @property
    def positions(self) -> np.ndarray:
        """Those of tokens that count, from 0."""
        return np.maximum(np.cumsum(self.mask, 1) - 1, 0)

    def feed(self, tokens: np.ndarray, mask: np.ndarray | None = None,
             beams: np.ndarray | None = None) -> dict[str, np.ndarray]:
        """Take tokens [batch, n] behind the sequences that `beams` selects; what a model is given for them."""
        beams = np.arange(len(tokens)) if beams is None else beams
        mask = np.ones_like(tokens) if mask is None else mask
        past = self.tokens[beams] if self.tokens.shape[1] else np.zeros((len(tokens), 0), np.int64)
        past_mask = self.mask[beams] if self.tokens.shape[1] else past
        self.tokens, self.mask = np.concatenate([past, tokens], 1), np.concatenate([past_mask, mask], 1)
        return {"input_ids": tokens, "attention_mask": self.mask,
                "position_ids": self.positions[:, -tokens.shape[1]:], "beam_idx": beams.astype(np.int32)}

    def logits(self, count: int) -> np.ndarray:
        """Those of the last `count` tokens."""
        return self._decoder.logits(self.tokens, self.mask, self.positions)[:, -count:]


class Run:
    """A request beside its reference."""

    def __init__(self, compiled: Any, decoder: Decoder, batch: int, rng: np.random.Generator,
                 bound: float = 1e-4) -> None:
        self.request, self.reference, self.rng = compiled.create_infer_request(), Reference(decoder, batch), rng
        self.batch, self.vocabulary, self.bound = batch, decoder.shape.vocabulary, bound

    def step(self, count: int = 1, beams: np.ndarray | None = None, mask: np.ndarray | None = None) -> np.ndarray:
        batch = self.batch if beams is None else len(beams)
        given = self.reference.feed(self.rng.integers(self.vocabulary, size=(batch, count)), mask, beams)
        found = self.request.infer(given)["logits"]
        assert error(found, self.reference.logits(count)) < self.bound
        return found


def error(found: np.ndarray, wanted: np.ndarray) -> float:
    """Relative to the scale."""
    assert found.shape == wanted.shape
    return float(np.abs(found - wanted).max() / np.abs(wanted).max())


def count_calls(patch: pytest.MonkeyPatch, made: Counter[str], functions: Iterable[tuple[Any, str]]) -> None:
    """Count the calls of functions, (owner, name) each, by their names."""
    def count(owner: Any, name: str) -> None:
        function = getattr(owner, name)
        patch.setattr(owner, name, lambda *rest, **named: (made.update([name]), function(*rest, **named))[1])

    for owner, name in functions:
        count(owner, name)
