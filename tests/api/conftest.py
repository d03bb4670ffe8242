"""One Core for all tests of the API, two compiled models, and fresh inputs for them."""
from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from clinfer.api.compiled_model import CompiledModel
from clinfer.api.core import Core
from clinfer.frontend.openvino_import import openvino as ov
from clinfer.runtime.device import DeviceInfo
from tests.api.cached_models import write_scaling
from tests.api.models import F32, softmax_model


@pytest.fixture(scope="session")
def core() -> Core:
    """A Core whose devices stay open for the whole run."""
    return Core()


@pytest.fixture(scope="session")
def one(core: Core, device: DeviceInfo) -> CompiledModel:
    """One dynamic input `x`."""
    return core.compile_model(softmax_model({"x": [-1, 5]}), device.name, F32)


@pytest.fixture(scope="session")
def two(core: Core, device: DeviceInfo) -> CompiledModel:
    """Inputs `a` (static) and `b` (bounded)."""
    return core.compile_model(softmax_model({"a": [2, 3], "b": [ov.Dimension(1, 6), 4]}), device.name, F32)


@pytest.fixture
def x(rng: np.random.Generator) -> np.ndarray:
    return rng.standard_normal((3, 5), dtype=np.float32)


@pytest.fixture
def a(rng: np.random.Generator) -> np.ndarray:
    return rng.standard_normal((2, 3), dtype=np.float32)


@pytest.fixture
def b(rng: np.random.Generator) -> np.ndarray:
    return rng.standard_normal((6, 4), dtype=np.float32)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A CACHE_DIR that is not there yet."""
    return tmp_path / "made" / "on demand"


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    """An IR file of a model with weights."""
    path = tmp_path / "model.xml"
    write_scaling(path, 2.0)
    return path
