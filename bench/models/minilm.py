"""The sentence encoder all-MiniLM-L6-v2: BERT layers with published weights, mean pooling, unit vectors.

Texts become token numbers by BERT's uncased WordPiece.
"""

from __future__ import annotations

import json
import struct
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np
import openvino as ov
from numpy.typing import NDArray
from openvino import opset13 as op

from bench.models import bert
from bench.models.layers import integers, named
from bench.models.transformer import WeightSource
from examples.fetch_models import model_path

SIZE = bert.Size(layers=6, hidden=384, heads=12, inside=1536)
LONGEST_TEXT, LONGEST_WORD = 256, 100


def read_safetensors(path: Path) -> WeightSource:
    """The tensors of a safetensors file by name; all that are asked for must be f32 of the given shape."""
    data = np.memmap(path, np.uint8, mode="r")
    size = struct.unpack("<Q", data[:8].tobytes())[0]
    table = json.loads(data[8 : 8 + size].tobytes())
    body = data[8 + size :]

    def weights(name: str, shape: tuple[int, ...]) -> NDArray[np.float32]:
        entry = table[name]
        if entry["dtype"] != "F32" or tuple(entry["shape"]) != shape:
            raise ValueError(f"{path}: {name} is {entry['dtype']} {entry['shape']}, not F32 {list(shape)}")
        first, last = entry["data_offsets"]
        return np.frombuffer(body[first:last].tobytes(), np.float32).reshape(shape)

    return weights


def build(batch: int = -1, length: int = -1) -> ov.Model:
    """Inputs as `bert.token_inputs`; output `embedding` [batch, 384] f32 of length 1. -1 leaves a size dynamic."""
    inputs = bert.token_inputs(batch, length)
    states = bert.encode(SIZE, read_safetensors(model_path("minilm")), inputs)
    weights = op.convert(op.unsqueeze(inputs[1], integers(-1)), "f32")
    total = op.reduce_sum(op.multiply(states, weights), integers(1), keep_dims=False)
    count = op.maximum(op.reduce_sum(weights, integers(1), keep_dims=False), np.float32(1e-9))
    mean = op.divide(total, count)
    norm = op.maximum(op.reduce_l2(mean, integers(-1), keep_dims=True), np.float32(1e-12))
    return ov.Model([named(op.divide(mean, norm), "embedding")], inputs, "minilm")


def tokenize(texts: Sequence[str]) -> list[NDArray[np.int64]]:
    """The model's inputs for texts: token numbers, mask and types [texts, longest], padded with zeros."""
    rows = [_tokens(text) for text in texts]
    ids = np.zeros((len(rows), max(map(len, rows), default=0)), np.int64)
    mask = np.zeros_like(ids)
    for number, row in enumerate(rows):
        ids[number, : len(row)] = row
        mask[number, : len(row)] = 1
    return [ids, mask, np.zeros_like(ids)]


@lru_cache(maxsize=1)
def _vocabulary() -> dict[str, int]:
    lines = model_path("minilm_vocabulary").read_text(encoding="utf-8").split("\n")
    return {piece: number for number, piece in enumerate(lines) if piece}


def _tokens(text: str) -> list[int]:
    vocabulary = _vocabulary()
    pieces = [piece for word in _words(text) for piece in _pieces(word, vocabulary)]
    inner = [vocabulary[piece] for piece in pieces[: LONGEST_TEXT - 2]]
    return [vocabulary["[CLS]"], *inner, vocabulary["[SEP]"]]


def _words(text: str) -> list[str]:
    """Lower-case words without accents; punctuation marks and ideographs stand alone."""
    spaced = []
    for letter in unicodedata.normalize("NFD", text.lower()):
        kind = unicodedata.category(letter)
        if kind == "Mn" or (kind[0] == "C" and letter not in "\t\n\r"):
            continue
        alone = kind[0] == "P" or letter in "$+<=>^`|~" or 0x4E00 <= ord(letter) <= 0x9FFF
        spaced.append(f" {letter} " if alone else letter)
    return "".join(spaced).split()


def _pieces(word: str, vocabulary: dict[str, int]) -> list[str]:
    """The longest known pieces from left to right; `##` marks those inside of a word."""
    pieces: list[str] = []
    start = 0
    while start < len(word):
        mark = "##" if start else ""
        ends = (end for end in range(len(word), start, -1) if mark + word[start:end] in vocabulary)
        end = next(ends, None)
        if end is None or len(word) > LONGEST_WORD:
            return ["[UNK]"]
        pieces.append(mark + word[start:end])
        start = end
    return pieces
