"""CACHE_DIR in a folder that others may write to, or with something else in a blob's place."""
from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from clinfer.api.compiled_model import CompiledModel
from clinfer.api.core import Core
from clinfer.frontend.openvino_import import openvino as ov
from clinfer.runtime.device import DeviceInfo
from tests.api.models import F32, assert_softmax, softmax_model


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    path = tmp_path / "model.xml"
    ov.save_model(softmax_model({"x": [-1, 5]}), path, compress_to_fp16=False)
    return path


def compile_in(folder: Path, model: object, device: DeviceInfo) -> CompiledModel:
    return Core().compile_model(model, device.name, {**F32, "CACHE_DIR": str(folder)})


@pytest.mark.parametrize("form", ["file", "object"])
def test_a_folder_that_others_may_write_is_not_used(device: DeviceInfo, saved: Path, rng: np.random.Generator,
                                                    form: str) -> None:
    x = rng.random((2, 5), np.float32)
    folder = saved.parent / "folder"
    folder.mkdir()
    folder.chmod(0o777)
    model = saved if form == "file" else Core().read_model(saved)
    with pytest.warns(RuntimeWarning, match="other users may write") as caught:
        for _ in range(2):
            compiled = compile_in(folder, model, device)
            assert not compiled.get_property("LOADED_FROM_CACHE")
            assert_softmax(compiled(x)[0], x)
    assert len([w for w in caught if "clinfer does not use" in str(w.message)]) == 1 and not list(folder.iterdir())


@pytest.mark.parametrize("kind", ["fifo", "link"])
def test_what_is_no_blob_of_the_folder_is_replaced(device: DeviceInfo, saved: Path, rng: np.random.Generator,
                                                   kind: str) -> None:
    x = rng.random((2, 5), np.float32)
    folder, victim = saved.parent / "folder", saved.parent / "victim"
    compile_in(folder, saved, device)
    path, = folder.iterdir()
    path.rename(victim)
    content = victim.read_bytes()
    if kind == "fifo":
        os.mkfifo(path)
    else:
        path.symlink_to(victim)
    compiled = compile_in(folder, saved, device)
    assert not compiled.get_property("LOADED_FROM_CACHE") and victim.read_bytes() == content
    assert_softmax(compiled(x)[0], x)
    assert compile_in(folder, saved, device).get_property("LOADED_FROM_CACHE")
