"""Intel's CPU runtime loads binaries in the folder of its settings: it looks for them with every kernel."""
from __future__ import annotations

import ctypes
import os
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from clinfer.runtime import driver
from clinfer.runtime.engine import Engine
from clinfer.runtime.program import binary_of, compile_source
from clinfer.runtime.settings_folder import settings_folder
from clinfer.runtime.waiting import answering, in_folder

SOURCE = "__kernel void nothing(__global int *a) { a[0] = 1; }"


def _is_allowed() -> bool:
    """Whether threads may have working folders of their own: many containers forbid it."""
    found: list[bool] = []
    thread = threading.Thread(target=lambda: found.append(
        sys.platform == "linux" and ctypes.CDLL(None).unshare(0x200) == 0))
    thread.start()
    thread.join()
    return found[0]


@pytest.mark.parametrize("is_main", [True, False])
def test_a_call_has_a_working_folder_of_its_own(tmp_path: Path, is_main: bool) -> None:
    before, found = os.getcwd(), list[str]()

    def call() -> None:
        found.extend([in_folder(str(tmp_path), os.getcwd), answering(os.getcwd), os.getcwd(),
                      in_folder(str(tmp_path), os.getcwd), in_folder(str(tmp_path / "nowhere"), os.getcwd)])
    if is_main:
        call()
    else:
        thread = threading.Thread(target=call)
        thread.start()
        thread.join()
    own = str(tmp_path) if _is_allowed() else before
    assert found == [own, before, before, own, before]


def test_binaries_are_loaded_where_the_settings_are(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    device, folders = engine.device.cl_device, list[str]()
    build = driver.build_program

    def note(*given: Any) -> int:
        folders.append(os.getcwd())
        return build(*given)
    monkeypatch.setattr(driver, "build_program", note)
    binary = binary_of(compile_source(engine.cl_context, device, SOURCE, ""), engine.device)
    engine.load_binary(binary, "")
    wanted = settings_folder(device) if _is_allowed() else ""
    assert folders == [os.getcwd(), wanted or os.getcwd()], "sources include files from the working folder"
    assert not wanted or Path(wanted, "cl.cfg").is_file()
    assert not wanted or engine.device.platform_name.startswith("Intel")


def test_settings_of_the_user_come_first(engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    found = settings_folder(engine.device.cl_device)
    (tmp_path / "cl.cfg").write_text("CL_CONFIG_USE_VECTORIZER = True\n")
    assert settings_folder(engine.device.cl_device) == ""
    if engine.device.found == "installed by pip" and sys.platform == "linux":
        assert Path(found, "libintelocl.so").is_file()
