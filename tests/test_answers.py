"""Answers that are kept on disk, and seeds that make them of use."""
from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from clinfer.frontend.openvino_import import openvino as ov
from tests import oracle, seeds
from tests.answers import Answers, digest_of_model, key_of
from tests.oracle import CpuPlugin

op = ov.opset13


def _model(factor: float = 2.0, shape: tuple[int, ...] = (-1, 3)) -> ov.Model:
    data = op.parameter(ov.PartialShape(list(shape)), ov.Type.f32)
    return ov.Model([op.relu(op.multiply(data, op.constant(np.float32(factor))))], [data], "scaled")


def test_equal_models_have_one_digest() -> None:
    first, second = _model(), _model()
    assert first.get_ops()[0].friendly_name != second.get_ops()[0].friendly_name
    assert digest_of_model(first) == digest_of_model(second)
    digests = {digest_of_model(model) for model in (first, _model(3.0), _model(shape=(2, 3)))}
    assert len(digests) == 3 and None not in digests


def test_a_model_with_a_state_has_no_digest() -> None:
    data = op.parameter(ov.PartialShape([1]), ov.Type.f32)
    read = ov.opset6.read_value(op.constant(np.zeros(1, np.float32)), "sum", ov.Type.f32, ov.PartialShape([1]))
    total = op.add(read, data)
    assert digest_of_model(ov.Model([op.result(total)], [ov.opset6.assign(total, "sum")], [data])) is None


def test_a_key_tells_arrays_apart() -> None:
    array = np.arange(6, dtype=np.float32)
    others = [array.reshape(2, 3), array.view(np.int32), array + 1, array[:5]]
    assert len({key_of("a", arrays=[other]) for other in (array, *others)} | {key_of("b", arrays=[array])}) == 6
    assert key_of("a", arrays=[array]) == key_of("a", arrays=[np.repeat(array, 2)[::2]])


def test_answers_outlive_the_process_that_asked(tmp_path: Path) -> None:
    arrays = [np.float32([[1, np.nan]]), np.zeros((2, 0), np.int64), np.bool_(True)[()].reshape(())]
    Answers(tmp_path / "answers").keep(b"key", arrays)
    again = Answers(tmp_path / "answers")
    found = again.find(b"key")
    assert again.find(b"other") is None and found is not None
    for one, other in zip(found, arrays, strict=True):
        assert one.dtype == other.dtype and one.shape == other.shape
        assert np.array_equal(one, other, equal_nan=one.dtype.kind == "f")


def test_what_was_used_longest_ago_is_dropped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answers, array = Answers(tmp_path / "answers"), np.zeros(1000, np.uint8)
    for day in range(5):
        monkeypatch.setattr("tests.answers._today", lambda day=day: day)
        answers.keep(bytes([day]), [array])
    answers.find(b"\0")
    answers.trim(most_bytes=3500)
    assert [answers.find(bytes([day])) is not None for day in range(5)] == [True, False, False, True, True]


def test_a_damaged_file_is_made_anew(tmp_path: Path) -> None:
    path = tmp_path / "answers"
    path.write_bytes(b"damage" * 1000)
    answers = Answers(path)
    answers.keep(b"key", [np.ones(2)])
    assert answers.find(b"key") is not None


def test_a_kept_answer_needs_no_plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                       rng: np.random.Generator) -> None:
    answers = Answers(tmp_path / "answers")
    monkeypatch.setattr(oracle, "kept_answers", lambda: answers)
    given, = arrays = [rng.standard_normal((4, 3)).astype(np.float32)]
    expected = np.maximum(given * 2, 0)
    assert np.allclose(CpuPlugin(_model())(arrays)[0], expected)
    monkeypatch.setattr(CpuPlugin, "_infer", None)
    assert np.allclose(CpuPlugin(_model())(arrays)[0], expected)
    with pytest.raises(TypeError):
        CpuPlugin(_model())([given + 1])
    with pytest.raises(TypeError):
        CpuPlugin(_model(3.0))(arrays)
    with pytest.raises(TypeError):
        CpuPlugin(_model(), DYNAMIC_QUANTIZATION_GROUP_SIZE="0")(arrays)


def test_most_seeds_are_kept_and_some_are_fresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seeds, "_GIVEN", None)
    monkeypatch.setattr(seeds, "FULL", False)
    monkeypatch.setattr(seeds, "FOLDER", tmp_path)
    names = [f"row {number}" for number in range(800)]
    fresh = []
    for run in (1, 2):
        monkeypatch.setattr(seeds, "SEED", run)
        fresh.append({name for name in names if seeds.seed_of(name) == run})
        assert {seeds.seed_of(name) for name in names} == {run, seeds.kept_seed(tmp_path / "seed")}
    usual = seeds.FRESH * len(names)
    assert all(usual / 2 < len(found) < 2 * usual for found in fresh) and fresh[0] != fresh[1]
    seeds.kept_seed.cache_clear()
    assert seeds.seed_of(next(name for name in names if name not in fresh[1])) == int((tmp_path / "seed").read_text())
