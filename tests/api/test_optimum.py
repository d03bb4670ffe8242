"""optimum-intel as it is, on models that it exports on the spot: what it says on clinfer and on OpenVINO."""
from __future__ import annotations

import os
import subprocess
import sys
from importlib import util
from pathlib import Path

import numpy as np
import pytest

from clinfer.runtime.device import available_devices
from tests.seeds import SEED

ROOT = Path(__file__).resolve().parents[2]
KINDS = ("llama", "mistral", "gpt2", "bart", "t5", "whisper")
TOLERANCE = 1e-5
"""Of logits, in parts of their scale."""

pytestmark = [
    pytest.mark.skipif(not all(map(util.find_spec, ("torch", "transformers", "optimum"))),
                       reason="torch, transformers or optimum-intel is not installed"),
    pytest.mark.skipif(not any(device.type == "CPU" for device in available_devices()),
                       reason="the client asks for a device named CPU"),
]


def python(*arguments: str) -> None:
    done = subprocess.run([sys.executable, *arguments], cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)},
                          capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_text_is_that_of_openvino(kind: str, tmp_path: Path) -> None:
    folder, client = str(tmp_path / kind), "tests.api.optimum_client"
    python("-m", client, "export", kind, folder, str(SEED))
    found = {}
    for engine, start in (("openvino", ()), ("clinfer", ("clinfer.drop_in", "-m"))):
        file = str(tmp_path / f"{engine}.npz")
        python("-m", *start, client, "run", kind, folder, file)
        found[engine] = np.load(file)
        assert found[engine]["engine"] == engine
    ours, theirs = found["clinfer"], found["openvino"]
    for name in ("greedy", "sampled", "beams"):
        logits, wanted = ours[f"{name} logits"], theirs[f"{name} logits"]
        assert logits.shape == wanted.shape
        # Random weights are nearly tied: behind a token that was chosen otherwise texts have nothing in common.
        same = np.array_equal(ours[name], theirs[name])
        steps = len(logits) if same else first_difference(ours[name], theirs[name], len(logits))
        assert steps
        scale = np.abs(wanted).max()
        assert np.abs(logits[:steps] - wanted[:steps]).max() <= TOLERANCE * scale
        if not same:
            best = np.sort(wanted[steps - 1], -1)
            assert (best[:, -1] - best[:, -2]).min() <= 10 * TOLERANCE * scale


def first_difference(ours: np.ndarray, theirs: np.ndarray, steps: int) -> int:
    """The number of the step that first chose another token, from 1."""
    return steps - ours.shape[1] + 1 + int((ours != theirs).any(0).argmax())
