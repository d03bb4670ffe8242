"""Random models, random sequences of shapes and of values that shapes depend on.

Each inference equals OpenVINO's CPU plugin, whatever ran before it; so does the model compiled for that shape alone;
and so do several requests in threads. Every plan is made in both ways (see tests/conftest.py).
"""
from __future__ import annotations

import threading
from collections.abc import Sequence

import pytest
from hypothesis import given

import clinfer
from clinfer.runtime.device import DeviceInfo
from tests.sequences.graphs import Recipe
from tests.sequences.running import Inference, RandomModel, Setting
from tests.sequences.strategies import RECIPES, sequences

pytestmark = pytest.mark.slow

CONFIG = {"INFERENCE_PRECISION_HINT": "f32", "NUM_STREAMS": 2}


@pytest.fixture(scope="session")
def core() -> clinfer.Core:
    """Keeps the devices open, and with them the kernels built before."""
    return clinfer.Core()


@given(recipe=RECIPES, settings=sequences())
def test_random_models(core: clinfer.Core, device: DeviceInfo, recipe: Recipe, settings: list[Setting]) -> None:
    model = RandomModel(recipe)
    work = [model.inference(setting) for setting in settings]
    compiled = core.compile_model(model.model, device.name, CONFIG)
    request = compiled.create_infer_request()
    for inference in (*work, *work[::-1]):
        model.check(request.infer, inference)
    _in_threads(model, compiled, work)
    _alone(model, core, device, work[-1])


def _alone(model: RandomModel, core: clinfer.Core, device: DeviceInfo, inference: Inference) -> None:
    """The model compiled for these sizes and values alone gives the same."""
    try:
        fixed = model.alone(inference.inputs)
    except RuntimeError:
        return
    request = core.compile_model(fixed, device.name, CONFIG).create_infer_request()
    model.check(lambda inputs: request.infer(inputs[:1]), inference)


def _in_threads(model: RandomModel, compiled: clinfer.CompiledModel, work: Sequence[Inference]) -> None:
    failures: list[BaseException] = []

    def one(part: Sequence[Inference]) -> None:
        request = compiled.create_infer_request()
        try:
            for inference in part:
                model.check(request.infer, inference)
        except BaseException as error:
            failures.append(error)
    threads = [threading.Thread(target=one, args=(part,)) for part in (work, work[::-1])]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert not any(thread.is_alive() for thread in threads)
    if failures:
        raise failures[0]
