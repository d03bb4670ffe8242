"""Models that are compiled with a CACHE_DIR, and what is found there."""
from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from clinfer.api.compiled_model import CompiledModel
from clinfer.api.core import Core
from clinfer.frontend.openvino_import import openvino as ov
from clinfer.runtime.device import DeviceInfo
from tests.api.models import F32


def write_scaling(path: Path, factor: float) -> None:
    """x [?,5] times a number, which is in the weights' file."""
    x = ov.op.Parameter(ov.Type.f32, ov.PartialShape([-1, 5]))
    x.output(0).set_names({"x"})
    product = ov.opset13.multiply(x, ov.op.Constant(np.full((1, 5), factor, np.float32)))
    ov.save_model(ov.Model([ov.op.Result(product.output(0))], [x], "scaling"), path, compress_to_fp16=False)


def compile_in(folder: Path, model: Any, device: DeviceInfo, core: Core | None = None, **config: Any) -> CompiledModel:
    return (core or Core()).compile_model(model, device.name, {**F32, "CACHE_DIR": str(folder), **config})


def is_loaded(compiled: CompiledModel) -> bool:
    found = compiled.get_property(ov.properties.loaded_from_cache)
    assert isinstance(found, bool)
    return found


def blobs(folder: Path) -> list[Path]:
    found = sorted(folder.iterdir())
    assert all(path.suffix == ".blob" for path in found), f"left behind: {found}"
    return found
