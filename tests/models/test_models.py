"""Whole models beside OpenVINO's CPU plugin at f32: new shapes in random order, twice, and from four threads."""
from __future__ import annotations

import threading
from functools import lru_cache

import numpy as np
import pytest
from PIL import Image

import clinfer
from bench.models import MODELS
from clinfer.runtime.device import DeviceInfo
from examples import ppocr, read_text
from tests.oracle import CpuPlugin, assert_close, ov

pytestmark = pytest.mark.slow

SHAPES = {
    "ppocr_rec": [(b, 3, 48, w) for b, w in (
        (1, 48), (1, 320), (2, 96), (1, 517), (3, 161), (1, 1000), (4, 64), (1, 7))],
    "ppocr_cls": [(b, 3, 48, w) for b, w in (
        (1, 192), (6, 192), (2, 100), (1, 333), (3, 48), (1, 50), (5, 64), (2, 191))],
    "resnet50": [(b, 3, 224, 224) for b in (1, 3, 2, 4, 1, 5, 2, 3)],
}


@lru_cache(maxsize=3)
def _model(name: str) -> ov.Model:
    return MODELS[name].build()


@lru_cache(maxsize=3)
def _oracle(name: str) -> CpuPlugin:
    return CpuPlugin(_model(name))


@lru_cache(maxsize=6)
def _compiled(name: str, device: str) -> clinfer.CompiledModel:
    return clinfer.Core().compile_model(_model(name), device, {"INFERENCE_PRECISION_HINT": "f32"})


def _picture(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    return rng.uniform(-1, 1, shape).astype(np.float32)


@pytest.mark.parametrize("name", SHAPES)
def test_new_and_seen_shapes_through_one_request(device: DeviceInfo, name: str, rng: np.random.Generator) -> None:
    request, oracle = _compiled(name, device.name).create_infer_request(), _oracle(name)
    shapes = SHAPES[name] * 2
    for index in rng.permutation(len(shapes)):
        picture = _picture(rng, shapes[index])
        assert_close(request.infer([picture])[0], oracle([picture])[0], 1e-4, f"{name} {shapes[index]}")


@pytest.mark.parametrize("name", ["ppocr_rec", "ppocr_cls"])
def test_four_threads_with_a_request_each(device: DeviceInfo, name: str, rng: np.random.Generator) -> None:
    compiled, oracle = _compiled(name, device.name), _oracle(name)
    work = [[_picture(rng, SHAPES[name][i]) for i in rng.permutation(len(SHAPES[name]))[:4]] for _ in range(4)]
    expected = [[oracle([picture])[0] for picture in pictures] for pictures in work]
    failures: list[BaseException] = []

    def run(pictures: list[np.ndarray], wanted: list[np.ndarray]) -> None:
        try:
            request = compiled.create_infer_request()
            for picture, right in zip(pictures, wanted, strict=True):
                assert_close(request.infer([picture])[0], right, 1e-4, f"{name} {picture.shape}")
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=run, args=pair) for pair in zip(work, expected, strict=True)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(300)
    assert not failures, failures[0]
    assert not any(thread.is_alive() for thread in threads)


@pytest.mark.parametrize("name", ["ppocr_cls", "resnet50"])
def test_f16_stays_near_f32(device: DeviceInfo, name: str, rng: np.random.Generator) -> None:
    compiled = clinfer.Core().compile_model(_model(name), device.name, {"INFERENCE_PRECISION_HINT": "f16"})
    for shape in SHAPES[name][:2]:
        picture = _picture(rng, shape)
        assert_close(compiled([picture])[0], _oracle(name)([picture])[0], 2e-2, f"{name} {shape} f16")


def test_f16_reads_the_same_text(device: DeviceInfo) -> None:
    # Between two characters the scores change so steeply that f16 moves single ones by a tenth; the text stays.
    picture = np.asarray(Image.open(read_text.PICTURE).convert("RGB"))
    alphabet = ppocr.make_alphabet(_model("ppocr_rec").get_rt_info(["framework", "character"]).astype(str))
    compiled = clinfer.Core().compile_model(_model("ppocr_rec"), device.name, {"INFERENCE_PRECISION_HINT": "f16"})
    lines = [ppocr.prepare_line(picture, box) for box in ppocr.find_lines(picture)]
    texts = [ppocr.decode(compiled([line])[0][0], alphabet) for line in lines]
    assert texts == read_text.EXPECTED.read_text(encoding="utf-8").splitlines()


def test_a_new_width_builds_no_kernel(device: DeviceInfo, monkeypatch: pytest.MonkeyPatch,
                                      rng: np.random.Generator) -> None:
    compiled = _compiled("ppocr_rec", device.name)

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a kernel was built on the inference path")
    monkeypatch.setattr("clinfer.runtime.program.compile_source", refuse)
    monkeypatch.setattr("clinfer.runtime.program.compile_binary", refuse)
    request = compiled.create_infer_request()
    for width in rng.choice(np.arange(16, 700), 4, replace=False).tolist():
        request.infer([_picture(rng, (1, 3, 48, width))])
