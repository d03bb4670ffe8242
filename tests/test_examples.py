"""The small examples, on every device: each checks its own result."""
from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from bench.models import llama
from clinfer.frontend.openvino_import import openvino as ov
from clinfer.runtime.device import DeviceInfo, available_devices
from examples import generate, own_queue, serve_text, shared_queue, zero_copy_loop

ROOT = Path(__file__).resolve().parent.parent


@pytest.mark.parametrize("name", ["generate", "own_queue", "shared_queue", "zero_copy_loop"])
def test_examples_run_as_programs(name: str) -> None:
    device = available_devices()[0].name
    done = subprocess.run([sys.executable, "-m", f"examples.{name}", "--device", device], cwd=ROOT, capture_output=True,
                          text=True, timeout=300, env={**os.environ, "PYTHONPATH": str(ROOT)})
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"device {device}: " in done.stdout


@pytest.mark.parametrize("main", [own_queue.main, shared_queue.main, zero_copy_loop.main])
def test_examples_agree_with_the_plain_way(main: object, device: DeviceInfo,
                                           capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--device", device.name]) == 0  # type: ignore[operator]
    assert f"device {device.name}: " in capsys.readouterr().out


def test_generated_tokens_are_those_of_openvino(device: DeviceInfo) -> None:
    model = llama.build_stateful(llama.TINY_GROUPED)
    decoder, choose = generate.Decoder(model, device.name), generate.sampler(0.0, 1, 0)
    request = ov.Core().compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"}).create_infer_request()
    for prompt in ([5, 7, 9, 11], [250]):
        decoder.begin()
        request.reset_state()
        tokens = prompt
        for found in decoder.generate(prompt, 12, choose):
            scores = request.infer({"tokens": np.array([tokens]), "beam_idx": np.zeros(1, np.int32)})[0][0, -1]
            # Random weights make near ties.
            assert scores[found] > scores.max() - 1e-3 * np.abs(scores).max()
            tokens = [found]


def test_guessed_tokens_are_those_that_openvino_finds_best(device: DeviceInfo) -> None:
    model, prompt, count = llama.build_exported(llama.TINY_GROUPED), [5, 7, 9, 11, 5, 7], 90
    decoder = generate.Decoder(model, device.name)
    oracle = ov.Core().compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"}).create_infer_request()
    for ahead in (1, 4):
        decoder.begin()
        said = list(decoder.look_up(prompt, count, ahead))
        assert len(said) == count and decoder.inferences < count, "some of them were guessed"
        assert _are_best(oracle, prompt, said)


def _are_best(oracle: ov.InferRequest, prompt: list[int], said: list[int]) -> bool:
    """Whether each token is the best behind those before, by a request that gets the whole text."""
    text = np.array([prompt + said])[:, :-1]
    oracle.reset_state()
    scores = oracle.infer({"input_ids": text, "attention_mask": np.ones_like(text), "beam_idx": np.zeros(1, np.int32),
                           "position_ids": np.arange(text.shape[1])[None]})[0][0, len(prompt) - 1:]
    chosen = scores[np.arange(len(said)), said]
    # Random weights make near ties.
    return bool((chosen > scores.max(1) - 1e-3 * np.abs(scores).max(1)).all())


def test_texts_that_join_and_leave_a_batch_say_what_openvino_says(device: DeviceInfo) -> None:
    model = llama.build_exported(llama.TINY_GROUPED)
    texts = serve_text.random_texts(9, 24, llama.TINY_GROUPED.vocabulary, seed=3)
    batch = serve_text.Batch(model, device.name, trim_at=8)
    serve_text.serve(batch, texts, at_once=3)
    oracle = ov.Core().compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"}).create_infer_request()
    assert all(_are_best(oracle, text.prompt, text.said) and len(text.said) == text.count for text in texts)
    assert max(text.read for text in texts) < batch.inferences < sum(text.read for text in texts) / 2
    assert batch.length < batch.inferences, "states were trimmed"
    with pytest.raises(ValueError, match="attention_mask"):
        serve_text.Batch(llama.build_stateful(llama.TINY_GROUPED), device.name)


def test_serving_texts_is_compared_with_one_at_a_time(device: DeviceInfo, monkeypatch: pytest.MonkeyPatch,
                                                      capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(serve_text, "random_model", lambda: llama.build_exported(llama.TINY_GROUPED))
    assert serve_text.main(["--device", device.name, "--texts", "3", "--tokens", "4", "--vocabulary", "300"]) == 0
    assert f"device {device.name}: 3 texts" in capsys.readouterr().out


def test_models_that_score_one_token_verify_no_guesses(device: DeviceInfo) -> None:
    decoder = generate.Decoder(llama.build_stateful(llama.TINY_GROUPED), device.name)
    with pytest.raises(ValueError, match="last token alone"):
        list(decoder.look_up([5, 5, 5, 5], 20, 4))


def test_what_cannot_be_generated_is_said(device: DeviceInfo, monkeypatch: pytest.MonkeyPatch,
                                          capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(generate, "random_model", lambda: llama.build_stateful(llama.TINY_GROUPED))
    asked = ["--device", device.name, "--ids", "5", "5", "5", "5"]
    assert generate.main([*asked, "--lookup", "4"]) == 2
    assert "last token alone" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        generate.main([*asked, "--tokens", "0"])
    assert "--tokens" in capsys.readouterr().err


@pytest.mark.parametrize(("text", "wanted"), [
    ([1, 2, 3, 4, 1, 2], [3, 4, 1]), ([7, 7], [7, 7, 7]), ([1, 2, 9, 3, 2, 9, 5, 9], [5, 9, 5]), ([1, 2, 3], []),
    ([], [])])
def test_a_text_is_guessed_to_go_on_as_before(text: list[int], wanted: list[int]) -> None:
    assert generate.guessed(text, 3) == wanted


def test_samples_are_among_the_best() -> None:
    scores = np.arange(50, dtype=np.float32)
    drawn = {generate.sampler(1.0, 5, seed)(scores) for seed in range(200)}
    assert drawn == {45, 46, 47, 48, 49}
