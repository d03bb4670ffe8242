"""OpenVINO's telemetry stays off, without a trace in the user's environment."""
from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

OFF = """
import os, sys, threading
before = dict(os.environ)
from clinfer.frontend.openvino_import import openvino
import openvino as theirs
assert openvino is theirs
assert sys.modules["openvino_telemetry"] is None
assert dict(os.environ) == before
assert threading.active_count() == 1, threading.enumerate()
openvino.Core()
assert threading.active_count() == 1, threading.enumerate()
"""

LEFT_ALONE = """
import sys, types
package = sys.modules["openvino_telemetry"] = types.ModuleType("openvino_telemetry")
sys.modules["openvino"] = theirs = types.ModuleType("openvino")
from clinfer.frontend.openvino_import import openvino
assert openvino is theirs
assert sys.modules["openvino_telemetry"] is package
del sys.modules["openvino_telemetry"], sys.modules["clinfer.frontend.openvino_import"]
import clinfer.frontend.openvino_import
assert "openvino_telemetry" not in sys.modules
"""


def run(code: str) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    environment.pop("CI", None)
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, text=True,
                          timeout=120)
    assert done.returncode == 0, done.stderr


def test_telemetry_is_off_and_the_environment_untouched() -> None:
    run(OFF)


def test_an_openvino_imported_before_is_left_alone() -> None:
    run(LEFT_ALONE)
