"""The models of the tests: everyday models whole, and the large ones made small, with shapes that follow each other."""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache, partial

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from bench.models import (
    MODELS,
    BenchModel,
    Inputs,
    Shape,
    bert,
    llama,
    mamba,
    mobilenet_v3,
    resnet50,
    segformer,
    t5,
    unet,
    vit,
    whisper,
    yolo,
)
from tests.oracle import CpuPlugin, ov
from tests.seeds import FULL


@dataclass(frozen=True)
class Row:
    """One model, shapes in no particular order, and how inputs are made for a shape."""

    build: Callable[[], ov.Model]
    shapes: tuple[Shape, ...]
    inputs: Callable[[Shape, np.random.Generator], Inputs]


def _whole(name: str, *shapes: Shape) -> Row:
    model = MODELS[name]
    return Row(model.build, shapes or model.shapes, model.inputs)


def _small(build: Callable[[], ov.Model], *shapes: Shape) -> Row:
    return Row(build, shapes, BenchModel(build, shapes).inputs)


def _without_last(build: Callable[[], ov.Model]) -> Callable[[], ov.Model]:
    """A model of one output, without the operation that gives it."""
    def cut() -> ov.Model:
        model = build()
        return ov.Model([model.output(0).get_node().input_value(0).get_node().input_value(0)],
                        model.get_parameters(), "cut")
    return cut


def _written(shape: Shape, rng: np.random.Generator) -> Inputs:
    """Pages with some letters on noise: on noise alone, detection answers 0 and every error is large beside it."""
    batch, _, height, width = shape
    pages = []
    for _ in range(batch):
        page = Image.fromarray(rng.integers(180, 256, (height, width, 3), np.uint8))
        size = int(rng.integers(14, 28))
        left, top = int(rng.integers(0, 8)), int(rng.integers(0, height - size))
        text = "".join(rng.choice(list("ABCabcxyz012"), 6))
        ImageDraw.Draw(page).text((left, top), text, font=ImageFont.load_default(size), fill=(10, 10, 30))
        pages.append(np.asarray(page, np.float32).transpose(2, 0, 1) / 127.5 - 1)
    return [np.stack(pages)]


def _lines(*sizes: tuple[int, int]) -> tuple[Shape, ...]:
    return tuple((batch, 3, 48, width) for batch, width in sizes)


# Cheap enough for every device in every run.
EVERYWHERE = {
    "resnet50_small": _small(partial(resnet50.build, size=-1), (1, 3, 96, 96), (3, 3, 64, 96), (2, 3, 96, 64)),
    "ppocr_rec": _whole("ppocr_rec", *_lines((1, 48), (1, 320), (2, 96), (1, 517), (3, 161), (1, 1000), (1, 7))),
    "ppocr_cls": _whole("ppocr_cls", *_lines((1, 192), (6, 192), (2, 100), (1, 333), (3, 48), (1, 50), (2, 191))),
    "ppocr_det": Row(MODELS["ppocr_det"].build, ((1, 3, 64, 96), (2, 3, 32, 64), (1, 3, 160, 64), (1, 3, 96, 320)),
                     _written),
    "magika": _whole("magika", (1, 2048), (3, 2048), (2, 2048)),
    "minilm": _whole("minilm", (1, 9), (3, 20), (1, 1), (2, 65)),
    "mobilenet_v3_small": _small(partial(mobilenet_v3.build, size=-1, width=0.25),
                                 (1, 3, 64, 64), (2, 3, 96, 64), (1, 3, 33, 47), (3, 3, 32, 160)),
    "bert_small": Row(partial(bert.build, size=bert.TINY), ((1, 128), (2, 17), (1, 1), (3, 40), (5, 2)),
                      partial(bert.random_tokens, vocabulary=bert.TINY.vocabulary)),
    "llama_small": Row(partial(llama.build, size=llama.TINY), ((1, 40), (2, 17), (1, 1), (3, 33)),
                       MODELS["llama"].inputs),
    "llama_grouped_small": Row(partial(llama.build, size=llama.TINY_GROUPED), ((1, 40), (2, 17), (1, 1), (3, 33)),
                               MODELS["llama"].inputs),
    "llama_decoder_small": Row(partial(llama.build_decoder, size=llama.TINY_GROUPED),
                               ((1, 5, 0), (1, 1, 5), (1, 1, 6), (2, 3, 9), (1, 1, 7)),
                               partial(llama.decoder_inputs, size=llama.TINY_GROUPED)),
    "t5_small": Row(partial(t5.build, size=t5.TINY), ((1, 40, 1), (2, 17, 9), (1, 1, 1), (3, 33, 12)),
                    t5.random_tokens),
    "mamba_small": Row(partial(mamba.build, size=mamba.TINY), ((1, 7), (2, 5), (1, 1), (3, 12)),
                       MODELS["mamba"].inputs),
    "segformer_small": _small(partial(segformer.build, size=segformer.TINY),
                              (1, 3, 64, 64), (2, 3, 96, 64), (1, 3, 32, 160)),
    "vit_small": _small(partial(vit.build, size=64, layers=2, hidden=64, heads=4, classes=10),
                        (1, 3, 64, 64), (5, 3, 64, 64), (2, 3, 64, 64)),
    "yolo_small": _small(partial(yolo.build, scale=0.125, classes=7),
                         (1, 3, 64, 64), (2, 3, 96, 32), (1, 3, 160, 96), (1, 3, 32, 224)),
    "unet_small": _small(partial(unet.build, width=16, depth=2),
                         (1, 3, 32, 32), (2, 3, 20, 44), (1, 3, 4, 96), (1, 3, 60, 8)),
    "whisper_small": _small(partial(whisper.build, frames=-1, layers=2, hidden=48, heads=3, positions=150),
                            (1, 80, 300), (2, 80, 63), (1, 80, 1), (1, 80, 128)),
}
# As wide as people run them. What takes more than a gigabyte to compile has some of its layers, in full all of them.
_BERT = bert.Size() if FULL else bert.Size(layers=3, vocabulary=4000)
LARGE = {
    "resnet50": _whole("resnet50", *((b, 3, 224, 224) for b in (1, 3, 2))),
    "mobilenet_v3": _whole("mobilenet_v3", (1, 3, 224, 224), (3, 3, 224, 224)),
    "bert_base": Row(partial(bert.build, size=_BERT), ((1, 128), (2, 33), (1, 7)),
                     partial(bert.random_tokens, vocabulary=_BERT.vocabulary)),
    "vit_b16": _small(vit.build if FULL else partial(vit.build, layers=3), (1, 3, 224, 224)),
    "yolo": _whole("yolo", (1, 3, 320, 256), (2, 3, 64, 160), (1, 3, 640, 640)),
    "unet": _whole("unet", (1, 3, 192, 128), (2, 3, 64, 64)),
    "whisper_encoder": _whole("whisper_encoder"),
}
# The last activation of these is so steep where ink begins or a character ends that any rounding before it shows:
# in f16, compare what enters it.
STEEP = {f"{name}_scores": replace(EVERYWHERE[name], build=_without_last(EVERYWHERE[name].build))
         for name in ("ppocr_det", "ppocr_rec")}
ROWS = {**EVERYWHERE, **LARGE, **STEEP}
IN_F16 = [name for name in ROWS if f"{name}_scores" not in STEEP]


@lru_cache(maxsize=1)
def model_of(name: str) -> ov.Model:
    """The model of a row; large ones are kept only for a short time."""
    return ROWS[name].build()


@lru_cache(maxsize=1)
def oracle_of(name: str) -> CpuPlugin:
    """OpenVINO's CPU plugin on the model of a row."""
    return CpuPlugin(model_of(name))
