"""Tables on the device of which words are exchanged."""
from __future__ import annotations

import numpy as np
import pytest

from clinfer.base.errors import ClinferError
from clinfer.runtime.engine import Engine
from clinfer.runtime.stage_table import StageTable, exchange_job
from clinfer.runtime.stream import Stream


@pytest.fixture
def table(engine: Engine) -> StageTable:
    return StageTable(engine, engine.build(exchange_job(engine)), 16 * 1001)


def _change(table: StageTable, rng: np.random.Generator, words: int) -> None:
    for place in rng.choice(len(table.image.words), words, replace=False):
        table.image.put(4 * int(place), rng.bytes(4))


def test_few_words_are_exchanged_and_many_written(table: StageTable, engine: Engine, rng: np.random.Generator,
                                                  monkeypatch: pytest.MonkeyPatch) -> None:
    stream, done = engine.create_stream(), list[str]()
    for name in ("write", "enqueue"):
        def noted(*given: object, name: str = name, act: object = getattr(Stream, name), **named: object) -> object:
            done.append(name)
            return act(*given, **named)  # type: ignore[operator]
        monkeypatch.setattr(Stream, name, noted)
    for words, expected in ((4004, "write"), (1, "enqueue"), (0, ""), (90, "enqueue"), (3000, "write"), (7, "enqueue"),
                            (2, "enqueue")):
        done.clear()
        _change(table, rng, words)
        table.update(stream)
        assert done == [expected] * bool(expected), words
        assert stream.read(table.memory).tobytes() == table.image.words.tobytes()


def test_what_was_interrupted_is_written_anew(table: StageTable, engine: Engine, rng: np.random.Generator,
                                              monkeypatch: pytest.MonkeyPatch) -> None:
    stream = engine.create_stream()
    table.update(stream)
    for words, name in ((5, "enqueue"), (2000, "write")):
        _change(table, rng, words)
        with monkeypatch.context() as patch, pytest.raises(ClinferError, match="lost"):
            def failing(*given: object, **named: object) -> None:
                raise ClinferError("lost", where="the test")
            patch.setattr(Stream, name, failing)
            table.update(stream)
        table.update(stream)
        assert stream.read(table.memory).tobytes() == table.image.words.tobytes()
