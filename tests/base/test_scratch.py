"""Temporary files where the system's folders for them can be written to, and where they cannot."""
from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from clinfer.base import scratch
from clinfer.base.errors import ClinferError
from clinfer.runtime.device import DeviceInfo
from clinfer.runtime.helper import Helper


@pytest.fixture
def nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """No folder of the system's can be written to."""
    def refuse() -> str:
        raise FileNotFoundError(2, "No usable temporary directory found in ['/tmp']")

    monkeypatch.setattr(tempfile, "gettempdir", refuse)


def test_the_folder_of_the_system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with scratch.scratch_folder() as folder:
        assert Path(folder).parent == tmp_path
    assert not list(tmp_path.iterdir())


def test_memory_takes_its_place(nowhere: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                device: DeviceInfo) -> None:
    monkeypatch.setattr(scratch, "_IN_MEMORY", str(tmp_path))
    with scratch.scratch_folder() as folder, scratch.scratch_file() as file:
        assert Path(folder).parent == tmp_path
        file.write(b"text")
    assert not list(tmp_path.iterdir())
    Helper(device).close()


def test_no_place_at_all(nowhere: None, monkeypatch: pytest.MonkeyPatch, device: DeviceInfo) -> None:
    monkeypatch.setattr(scratch, "_IN_MEMORY", "/no/such/folder")
    for make in (scratch.scratch_folder, scratch.scratch_file, lambda: Helper(device)):
        with pytest.raises(ClinferError, match="no folder for temporary files") as caught:
            make()
        assert "TMPDIR" in str(caught.value) and "/tmp" in str(caught.value)
