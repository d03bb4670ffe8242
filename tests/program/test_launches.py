"""How many kernels everyday models launch, and how many of them are reorders, by type of device."""
from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import pytest

from bench.models import MODELS, Inputs, bert, vit
from clinfer.frontend.openvino_import import openvino as ov
from clinfer.frontend.transformations import prepare
from clinfer.network.network import Network
from clinfer.runtime.device import available_devices
from clinfer.runtime.engine import Engine
from tests.devices import engine_of
from tests.network.running import network_of, run_once

pytestmark = pytest.mark.slow


@dataclass(frozen=True)
class Most:
    """The most launches, and the most reorders among them, of one inference."""

    launches: int
    reorders: int


@dataclass(frozen=True)
class Row:
    """A model, an input of its first shape, and what it may launch on each type of device."""

    build: Callable[[], ov.Model]
    inputs: Callable[[np.random.Generator], Inputs]
    most: dict[str, Most]


def _whole(name: str, **most: Most) -> Row:
    model = MODELS[name]
    return Row(model.build, partial(model.inputs, model.shapes[0]), most)


def _layers(build: Callable[..., ov.Model], name: str, **most: Most) -> Row:
    """A transformer of the width of a published one."""
    return Row(build, partial(MODELS[name].inputs, MODELS[name].shapes[0]), most)


# Of all words the table alone would take a gigabyte to compile.
_BERT = bert.Size(layers=2, vocabulary=4000)
ROWS = {
    "resnet50": _whole("resnet50", CPU=Most(56, 0), GPU=Most(56, 0)),
    "mobilenet_v3": _whole("mobilenet_v3", CPU=Most(73, 0), GPU=Most(73, 0)),
    "yolo": _whole("yolo", CPU=Most(114, 2), GPU=Most(142, 0)),
    "unet": _whole("unet", CPU=Most(48, 1), GPU=Most(50, 0)),
    "ppocr_det": _whole("ppocr_det", CPU=Most(89, 0), GPU=Most(91, 0)),
    "ppocr_rec": _whole("ppocr_rec", CPU=Most(69, 1), GPU=Most(65, 0)),
    "ppocr_cls": _whole("ppocr_cls", CPU=Most(67, 1), GPU=Most(66, 0)),
    "bert_base, 2 layers": Row(partial(bert.build, size=_BERT),
                               partial(bert.random_tokens, (1, 128), vocabulary=_BERT.vocabulary),
                               {"CPU": Most(23, 0), "GPU": Most(20, 0)}),
    "vit_b16, 2 layers": _layers(partial(vit.build, layers=2), "vit_b16", CPU=Most(25, 1), GPU=Most(21, 0)),
}


@pytest.fixture(scope="session", params=sorted({device.type for device in available_devices()}))
def engine_of_type(request: pytest.FixtureRequest) -> Engine:
    """One engine per type of device: the pipeline asks for no more than that."""
    return engine_of(next(device.name for device in available_devices() if device.type == request.param))


@pytest.mark.slow
@pytest.mark.sampled(1 / 2)
@pytest.mark.parametrize("name", ROWS)
def test_launches(engine_of_type: Engine, name: str, rng: np.random.Generator) -> None:
    row, kind = ROWS[name], engine_of_type.device.type
    if kind not in row.most:
        pytest.skip(f"nothing is known of {kind} devices")
    network = network_of(engine_of_type, prepare(row.build(), "f32"))
    launched = _launched(network, row.inputs(rng))
    found = Most(launched.total(), launched["Reorder"])
    most = row.most[kind]
    assert found.launches <= most.launches and found.reorders <= most.reorders, (
        f"{found}, at most {most}: {dict(launched.most_common())}")


def _launched(network: Network, inputs: Inputs) -> Counter[str]:
    """Launches by type of primitive."""
    found: Counter[str] = Counter()
    for node in run_once(network, inputs).nodes:
        found[node.primitive] += node.launches
    return +found
