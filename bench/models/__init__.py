"""The models that are measured and that the tests compare with OpenVINO, by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import openvino as ov
from numpy.typing import NDArray

from bench.models import bert, llama, mamba, minilm, mobilenet_v3, resnet50, segformer, t5, unet, vit, whisper, yolo
from examples.fetch_models import model_path

Shape = tuple[int, ...]
Inputs = list[NDArray[Any]]


def _normal(shape: Shape, random: np.random.Generator) -> Inputs:
    return [random.standard_normal(shape, dtype=np.float32)]


def _bytes(shape: Shape, random: np.random.Generator) -> Inputs:
    """Bytes as i32; 256 stands for none."""
    return [random.integers(0, 257, shape, dtype=np.int32)]


def _tokens(shape: Shape, random: np.random.Generator) -> Inputs:
    return [random.integers(0, llama.TINY.vocabulary, shape)]


@dataclass(frozen=True)
class BenchModel:
    """A model: how to get it, shapes worth measuring, and `inputs`, which makes all inputs for one of them."""

    build: Callable[[], ov.Model]
    shapes: tuple[Shape, ...]
    inputs: Callable[[Shape, np.random.Generator], Inputs] = _normal


FILES = {"magika": partial(model_path, "magika"), "ppocr_det": partial(model_path, "detection"),
         "ppocr_rec": partial(model_path, "recognition"), "ppocr_cls": partial(model_path, "classification")}
"""The models that are read from a file, and where it is."""


def _published(name: str) -> Callable[[], ov.Model]:
    return lambda: ov.Core().read_model(FILES[name]())


MODELS = {
    "resnet50": BenchModel(resnet50.build, ((1, 3, 224, 224), (4, 3, 224, 224))),
    "mobilenet_v3": BenchModel(mobilenet_v3.build, ((1, 3, 224, 224), (4, 3, 224, 224))),
    "bert_base": BenchModel(bert.build, ((1, 128), (1, 17), (4, 64)), bert.random_tokens),
    "minilm": BenchModel(minilm.build, ((1, 16), (8, 32), (1, 128)), bert.random_tokens),
    "llama": BenchModel(llama.build, ((1, 128), (1, 17), (4, 64)), _tokens),
    "llama_grouped": BenchModel(partial(llama.build, size=llama.GROUPED), ((1, 128), (1, 17), (4, 64)), _tokens),
    "llama_decoder": BenchModel(llama.build_decoder, ((1, 1, 128), (1, 128, 0), (4, 1, 64)), llama.decoder_inputs),
    "t5": BenchModel(t5.build, ((1, 128, 1), (1, 17, 9), (4, 64, 16)), t5.random_tokens),
    "mamba": BenchModel(mamba.build, ((1, 128), (1, 17), (4, 64)), _tokens),
    "segformer": BenchModel(segformer.build, ((1, 3, 512, 512), (1, 3, 320, 480), (2, 3, 256, 256))),
    "vit_b16": BenchModel(vit.build, ((1, 3, 224, 224), (2, 3, 224, 224))),
    "yolo": BenchModel(yolo.build, ((1, 3, 640, 640), (1, 3, 480, 640), (1, 3, 320, 320))),
    "unet": BenchModel(unet.build, ((1, 3, 256, 256), (1, 3, 192, 320))),
    "whisper_encoder": BenchModel(whisper.build, ((1, 80, 3000),)),
    "magika": BenchModel(_published("magika"), ((1, 2048), (16, 2048)), _bytes),
    "ppocr_det": BenchModel(_published("ppocr_det"), ((1, 3, 640, 640), (1, 3, 480, 736), (1, 3, 960, 960))),
    "ppocr_rec": BenchModel(
        _published("ppocr_rec"), ((1, 3, 48, 96), (1, 3, 48, 320), (1, 3, 48, 517), (1, 3, 48, 1024))
    ),
    "ppocr_cls": BenchModel(_published("ppocr_cls"), ((1, 3, 48, 192), (6, 3, 48, 192))),
}
