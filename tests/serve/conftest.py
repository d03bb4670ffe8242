"""What the tests of serving share; they are left out where the packages of the extra `serve` are not installed."""
from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from clinfer.frontend.openvino_import import openvino as ov
from clinfer.runtime.device import available_devices

NEEDED = ("grpc", "prometheus_client", "pydantic", "starlette", "tritonclient", "uvicorn")
collect_ignore_glob = [] if all(find_spec(name) for name in NEEDED) else ["test_*.py"]

op = ov.opset13
DATATYPES = {"BOOL": bool, "UINT8": np.uint8, "UINT16": np.uint16, "UINT32": np.uint32, "UINT64": np.uint64,
             "INT8": np.int8, "INT16": np.int16, "INT32": np.int32, "INT64": np.int64, "FP16": np.float16,
             "FP32": np.float32, "FP64": np.float64}


def save(folder: Path, name: str, outputs: dict[str, ov.Node], *inputs: ov.Node) -> Path:
    """A model in a file, whose inputs are named after their nodes."""
    for node in inputs:
        node.output(0).set_names({node.friendly_name})
    for output, node in outputs.items():
        node.output(0).set_names({output})
    path = folder / f"{name}.xml"
    ov.save_model(ov.Model([op.result(node) for node in outputs.values()], list(inputs), name), path,
                  compress_to_fp16=False)
    return path


def save_models(folder: Path) -> None:
    """Into a folder: `scores` (rows are independent), `centred` (they are not), `kinds` (an input of each datatype),
    `texts`, and `counts`, which adds 1 to `x` as often as `n` says."""
    x = op.parameter([-1, 6], np.float32, name="x")
    save(folder, "scores", {"y": op.softmax(x, 1)}, x)
    x = op.parameter([-1, 6], np.float32, name="x")
    save(folder, "centred", {"y": op.subtract(x, op.reduce_mean(x, op.constant(np.array([0])), True))}, x)
    inputs = [op.parameter([-1, 2], kind, name=name) for name, kind in {**DATATYPES, "BF16": ov.Type.bf16}.items()]
    save(folder, "kinds", {f"{each.friendly_name}_out": op.concat([each, each], 1) for each in inputs}, *inputs)
    texts = op.parameter([-1], ov.Type.string, name="texts")
    save(folder, "texts", {"same": op.gather(texts, op.constant(np.array([0])), op.constant(np.int64(0)))}, texts)
    _save_counting(folder)


def _save_counting(folder: Path) -> None:
    x, n = op.parameter([4], np.float32, name="x"), op.parameter([], np.int64, name="n")
    inner = op.parameter([4], np.float32, name="inner")
    more = op.add(inner, op.constant(np.float32(1)))
    body = ov.Model([op.constant(np.array([True])), more], [inner], "body")
    loop = op.loop(n, op.constant(np.array([True])))
    loop.set_function(body)
    loop.set_special_body_ports([-1, 0])
    loop.set_merged_input(inner, x.output(0), body.results[1].output(0))
    found = loop.get_iter_value(body.results[1].output(0), -1)
    save(folder, "counts", {"y": op.add(found, op.constant(np.float32(0)))}, x, n)


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of models; see save_models."""
    folder = tmp_path_factory.mktemp("models")
    save_models(folder)
    return folder


@pytest.fixture(scope="session")
def first_device() -> Iterator[str]:
    """Serving does not depend on the device."""
    yield available_devices()[0].name
