"""CACHE_DIR where something cannot be written costs only the cache."""
from __future__ import annotations

import os
import tempfile
from pathlib import Path

import numpy as np
import pytest

from clinfer.base.errors import ClinferError
from clinfer.runtime.device import DeviceInfo
from tests.api.cached_models import blobs, compile_in, is_loaded
from tests.api.models import softmax_model


def test_a_full_disk_costs_only_the_cache(device: DeviceInfo, folder: Path, saved: Path, x: np.ndarray,
                                          monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: object, **places: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", refuse)
    compiled = compile_in(folder, saved, device)
    assert not is_loaded(compiled) and not blobs(folder)
    np.testing.assert_allclose(compiled(x)[0], x * 2, rtol=1e-6)


def test_a_folder_that_can_only_be_read_keeps_its_blobs(device: DeviceInfo, folder: Path,
                                                        monkeypatch: pytest.MonkeyPatch) -> None:
    """As in an image: a model object is found there, and one that is not costs only the cache."""
    make, elsewhere = tempfile.mkdtemp, tempfile.gettempdir()

    def refuse(suffix: str | None = None, prefix: str | None = None, dir: str | os.PathLike[str] | None = None) -> str:
        if Path(dir or elsewhere) != folder:
            return make(suffix, prefix, dir)
        raise OSError(30, "Read-only file system")

    compile_in(folder, softmax_model({"x": [-1, 5]}), device)
    monkeypatch.setattr("tempfile.mkdtemp", refuse)
    monkeypatch.setattr("os.replace", lambda *args, **places: refuse(dir=folder))
    assert is_loaded(compile_in(folder, softmax_model({"x": [-1, 5]}), device))
    other = compile_in(folder, softmax_model({"x": [-1, 7]}), device)
    assert not is_loaded(other) and len(blobs(folder)) == 1


def test_a_model_that_there_is_no_room_to_write_down_is_not_cached(device: DeviceInfo, folder: Path,
                                                                  monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: object, **places: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("tempfile.mkdtemp", refuse)
    assert not is_loaded(compile_in(folder, softmax_model({"x": [-1, 5]}), device)) and not blobs(folder)


def test_what_cannot_be_written_down_costs_only_the_cache(device: DeviceInfo, folder: Path, saved: Path, x: np.ndarray,
                                                          monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: object) -> None:
        raise ClinferError("this cannot be part of a compiled blob")

    monkeypatch.setattr("clinfer.api.model_cache.save_model_parts", refuse)
    compiled = compile_in(folder, saved, device)
    assert not is_loaded(compiled) and not blobs(folder)
    np.testing.assert_allclose(compiled(x)[0], x * 2, rtol=1e-6)
