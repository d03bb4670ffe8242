"""Whole models beside OpenVINO's CPU plugin at f32: new shapes in random order, twice, and from four threads."""
from __future__ import annotations

import threading
from functools import lru_cache

import numpy as np
import pytest

import clinfer
from bench.models import minilm
from clinfer.runtime.device import DeviceInfo
from examples import read_text
from examples.ppocr_detection import find_lines, prepare_page
from examples.ppocr_recognition import decode, make_alphabet, prepare_line
from tests.models.zoo import EVERYWHERE, IN_F16, LARGE, ROWS, model_of, oracle_of
from tests.oracle import assert_close

pytestmark = pytest.mark.slow

# What f16 is tried on where the device only emulates it.
CHEAP_IN_F16 = ("ppocr_cls", "ppocr_det_scores", "mobilenet_v3_small", "bert_small", "unet_small", "yolo_small")


@lru_cache(maxsize=1)
def _compiled(name: str, device: str, precision: str = "f32") -> clinfer.CompiledModel:
    return clinfer.Core().compile_model(model_of(name), device, {"INFERENCE_PRECISION_HINT": precision})


def _compare(request: clinfer.InferRequest, name: str, index: int, rng: np.random.Generator,
             tolerance: float = 1e-4) -> None:
    shape = ROWS[name].shapes[index]
    inputs = ROWS[name].inputs(shape, rng)
    expected = oracle_of(name)(inputs)
    results = request.infer(inputs)
    assert len(results) == len(expected)
    for number, want in enumerate(expected):
        assert_close(results[number], want, tolerance, f"{name} {shape} output {number}")


def _compare_in_random_order(name: str, device: DeviceInfo, rng: np.random.Generator) -> None:
    request, count = _compiled(name, device.name).create_infer_request(), len(ROWS[name].shapes)
    for index in rng.permutation(2 * count):
        _compare(request, name, index % count, rng)


@pytest.mark.parametrize("name", EVERYWHERE)
def test_new_and_seen_shapes_through_one_request(device: DeviceInfo, name: str, rng: np.random.Generator) -> None:
    _compare_in_random_order(name, device, rng)


@pytest.mark.sampled(1 / 3)
@pytest.mark.parametrize("name", LARGE)
def test_large_models(name: str, rng: np.random.Generator) -> None:
    request = _compiled(name, "AUTO").create_infer_request()
    for index in rng.permutation(len(ROWS[name].shapes)):
        _compare(request, name, index, rng)


@pytest.mark.full
@pytest.mark.parametrize("name", LARGE)
def test_large_models_everywhere(device: DeviceInfo, name: str, rng: np.random.Generator) -> None:
    _compare_in_random_order(name, device, rng)


@pytest.mark.parametrize("name", ["ppocr_rec", "bert_small"])
def test_four_threads_with_a_request_each(device: DeviceInfo, name: str, rng: np.random.Generator) -> None:
    compiled, row, oracle = _compiled(name, device.name), ROWS[name], oracle_of(name)
    shapes = [[row.shapes[i] for i in rng.permutation(len(row.shapes))[:4]] for _ in range(4)]
    work = [[row.inputs(shape, rng) for shape in some] for some in shapes]
    expected = [[oracle(inputs)[0] for inputs in some] for some in work]
    failures: list[BaseException] = []

    def run(number: int) -> None:
        try:
            request = compiled.create_infer_request()
            for shape, inputs, right in zip(shapes[number], work[number], expected[number], strict=True):
                assert_close(request.infer(inputs)[0], right, 1e-4, f"{name} {shape}")
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(300)
    assert not failures, failures[0]
    assert not any(thread.is_alive() for thread in threads)


@pytest.mark.sampled(1 / 2)
@pytest.mark.parametrize("name", IN_F16)
def test_f16_stays_near_f32(device: DeviceInfo, name: str, rng: np.random.Generator) -> None:
    if device.type != "GPU" and name not in CHEAP_IN_F16:
        pytest.skip("f16 is emulated on this device")
    request = _compiled(name, device.name, "f16").create_infer_request()
    for index in range(min(3, len(ROWS[name].shapes))):
        _compare(request, name, index, rng, 2e-2)


@pytest.mark.first_device
def test_f16_reads_the_same_text(device: DeviceInfo) -> None:
    picture = read_text.open_picture(read_text.PICTURE)
    alphabet = make_alphabet(model_of("ppocr_rec").get_rt_info(["framework", "character"]).astype(str))
    likely = _compiled("ppocr_det", device.name, "f16").create_infer_request().infer([prepare_page(picture)])[0][0, 0]
    recognise = _compiled("ppocr_rec", device.name, "f16").create_infer_request()
    lines = [prepare_line(picture, box) for box in find_lines(likely, *picture.shape[:2])]
    texts = [decode(recognise.infer([line])[0][0], alphabet)[0] for line in lines]
    assert texts == read_text.EXPECTED.read_text(encoding="utf-8").splitlines()


def test_sentences_of_one_meaning_are_near_each_other(device: DeviceInfo) -> None:
    texts = ["A man is eating food.", "Someone is having a meal.", "The stock market fell sharply on Monday.",
             "Shares dropped at the start of the week.", "How do I bake sourdough bread at home?"]
    request = _compiled("minilm", device.name).create_infer_request()
    vectors = request.infer(minilm.tokenize(texts))[0]
    alone = np.concatenate([request.infer(minilm.tokenize([text]))[0] for text in texts])
    assert_close(vectors, alone, 1e-4, "padded beside unpadded")
    likeness = vectors @ vectors.T - 2 * np.eye(len(texts))
    assert likeness.argmax(axis=1)[:4].tolist() == [1, 0, 3, 2]
    assert likeness[4].max() < 0.4


def test_tokens_are_those_of_the_published_tokenizer() -> None:
    ids, mask, types = minilm.tokenize(["Hello, world!", "unaffable naïve café", "x" * 150, ""])
    assert [row[: int(valid.sum())].tolist() for row, valid in zip(ids, mask, strict=True)] == [
        [101, 7592, 1010, 2088, 999, 102], [101, 14477, 20961, 3468, 15743, 7668, 102], [101, 100, 102], [101, 102]]
    assert not types.any()
    assert not ids[mask == 0].any()


def test_a_new_width_builds_no_kernel(device: DeviceInfo, monkeypatch: pytest.MonkeyPatch,
                                      rng: np.random.Generator) -> None:
    compiled = _compiled("ppocr_rec", device.name)

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a kernel was built on the inference path")
    monkeypatch.setattr("clinfer.runtime.program.compile_source", refuse)
    monkeypatch.setattr("clinfer.runtime.program.compile_binary", refuse)
    request = compiled.create_infer_request()
    for width in rng.choice(np.arange(16, 700), 4, replace=False).tolist():
        request.infer([rng.uniform(-1, 1, (1, 3, 48, width)).astype(np.float32)])
