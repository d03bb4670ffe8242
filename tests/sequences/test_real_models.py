"""Real models, made small, over random sequences of shapes: each inference equals OpenVINO's CPU plugin."""
from __future__ import annotations

from functools import lru_cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import clinfer
from bench.models import Shape
from clinfer.runtime.device import DeviceInfo
from tests.models.zoo import EVERYWHERE, model_of, oracle_of
from tests.oracle import assert_close
from tests.seeds import FULL

pytestmark = pytest.mark.slow


def _sizes(*axes: int | tuple[int, int] | tuple[int, int, int]) -> st.SearchStrategy[Shape]:
    """Shapes of fixed sizes and of sizes in (least, most), multiples of a third number; both ends are likely."""
    def one(axis: int | tuple[int, ...]) -> st.SearchStrategy[int]:
        if isinstance(axis, int):
            return st.just(axis)
        low, high, step = (*axis, 1)[:3]
        return st.one_of(st.sampled_from([low, high]), st.integers(low // step, high // step)).map(
            lambda n: n if n in (low, high) else n * step)
    return st.tuples(*map(one, axes))


SHAPES = {
    "bert_small": _sizes((1, 4), (1, 70)),
    "mobilenet_v3_small": _sizes((1, 3), 3, (32, 97), (32, 97)),
    "unet_small": _sizes((1, 3), 3, (4, 48, 4), (4, 48, 4)),
    "ppocr_cls": _sizes((1, 4), 3, 48, (8, 200)),
    "whisper_small": _sizes((1, 2), 80, (1, 130)),
    "yolo_small": _sizes((1, 2), 3, (32, 128, 32), (32, 128, 32)),
}


@lru_cache(maxsize=2)
def _compiled(name: str, device: str) -> clinfer.CompiledModel:
    return clinfer.Core().compile_model(model_of(name), device, {"INFERENCE_PRECISION_HINT": "f32"})


@pytest.mark.sampled(1 / 2)
@pytest.mark.parametrize("name", SHAPES)
def test_random_sequences(device: DeviceInfo, name: str) -> None:
    request = _compiled(name, device.name).create_infer_request()

    @settings(max_examples=200 if FULL else 4)
    @given(st.lists(SHAPES[name], min_size=2, max_size=5), st.integers(0, 2**32 - 1))
    def check(shapes: list[Shape], seed: int) -> None:
        rng, infer = np.random.default_rng(seed), request.infer
        for shape in (*shapes, shapes[0]):
            inputs = EVERYWHERE[name].inputs(shape, rng)
            results = infer(inputs)
            for number, wanted in enumerate(oracle_of(name)(inputs)):
                assert_close(results[number], wanted, 1e-4, f"{name} {shape} output {number}")
    check()
