"""The models that are measured and that the tests compare with OpenVINO, by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import openvino as ov

from bench.models import resnet50
from examples.fetch_models import model_path

Shape = tuple[int, ...]


@dataclass(frozen=True)
class BenchModel:
    """A model of one input: how to get it, and input shapes worth measuring."""

    build: Callable[[], ov.Model]
    shapes: tuple[Shape, ...]


def _ppocr(name: str) -> Callable[[], ov.Model]:
    return lambda: ov.Core().read_model(model_path(name))


MODELS = {
    "resnet50": BenchModel(resnet50.build, ((1, 3, 224, 224), (4, 3, 224, 224))),
    "ppocr_rec": BenchModel(
        _ppocr("recognition"), ((1, 3, 48, 96), (1, 3, 48, 320), (1, 3, 48, 517), (1, 3, 48, 1024))
    ),
    "ppocr_cls": BenchModel(_ppocr("classification"), ((1, 3, 48, 192), (6, 3, 48, 192))),
}
