"""Packages that compute with OpenVINO, as they are: on clinfer they find what they find on OpenVINO at f32.

Each is left out where it is not installed; docs/coming_from_openvino.md tells which versions were run.
"""
from __future__ import annotations

import os
import subprocess
import sys
from importlib import util
from pathlib import Path

import numpy as np
import pytest

from clinfer.runtime.device import available_devices
from tests.api.package_clients import CLIENTS

ROOT = Path(__file__).resolve().parents[2]
SEED = "7"
"""With other weights two boxes or labels might have the same score."""

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not any(device.type == "CPU" for device in available_devices()),
                       reason="the clients ask for a device named CPU"),
]


def python(folder: Path, *arguments: str) -> None:
    done = subprocess.run([sys.executable, *arguments], cwd=folder, env={**os.environ, "PYTHONPATH": str(ROOT)},
                          capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", CLIENTS)
def test_they_find_what_they_find_on_openvino(name: str, tmp_path: Path) -> None:
    for module in CLIENTS[name].needed:
        if util.find_spec(module) is None:
            pytest.skip(f"{module} is not installed")
    client = "tests.api.package_clients"
    python(tmp_path, "-m", client, "make", name, str(tmp_path), SEED)
    found = {}
    for engine, start in (("openvino", ()), ("clinfer", ("-m", "clinfer.drop_in"))):
        file = str(tmp_path / f"{engine}.npz")
        python(tmp_path, *start, "-m", client, "run", name, str(tmp_path), file)
        found[engine] = dict(np.load(file))
        assert found[engine].pop("engine") == engine
    assert found["clinfer"].keys() == found["openvino"].keys()
    for part, ours in found["clinfer"].items():
        theirs = found["openvino"][part]
        assert ours.shape == theirs.shape and ours.size, part
        if ours.dtype.kind == "f":
            assert np.abs(ours - theirs).max() <= 5e-4 * np.abs(theirs).max(), part
        else:
            assert np.array_equal(ours, theirs), part
