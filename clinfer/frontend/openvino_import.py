"""The one place that imports OpenVINO: `from clinfer.frontend.openvino_import import openvino`.

OpenVINO's telemetry starts a thread and contacts a server at import. Without its telemetry package
it stays silent, so the package is declared absent for this process; the user's environment is left
alone, and so is an OpenVINO that was imported before.
"""
from __future__ import annotations

import sys

if "openvino" not in sys.modules:
    sys.modules.setdefault("openvino_telemetry", None)  # type: ignore[arg-type]

import openvino

__all__ = ["openvino"]
