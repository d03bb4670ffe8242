"""The small examples, on every device: each checks its own result."""
from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from clinfer.runtime.device import DeviceInfo, available_devices
from examples import own_queue, shared_queue, zero_copy_loop

ROOT = Path(__file__).resolve().parent.parent


@pytest.mark.parametrize("name", ["own_queue", "shared_queue", "zero_copy_loop"])
def test_examples_run_as_programs(name: str) -> None:
    device = available_devices()[0].name
    done = subprocess.run([sys.executable, "-m", f"examples.{name}", "--device", device], cwd=ROOT, capture_output=True,
                          text=True, timeout=300, env={**os.environ, "PYTHONPATH": str(ROOT)})
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"device {device}: " in done.stdout


@pytest.mark.parametrize("main", [own_queue.main, shared_queue.main, zero_copy_loop.main])
def test_examples_agree_with_the_plain_way(main: object, device: DeviceInfo,
                                           capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--device", device.name]) == 0  # type: ignore[operator]
    assert f"device {device.name}: " in capsys.readouterr().out
