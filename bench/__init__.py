"""Measurements: interleaved, medians, ratios within one run. Nothing here is a test."""

import sys

# OpenVINO reports its use to an analytics host from the moment it is imported, unless this module is absent.
sys.modules.setdefault("openvino_telemetry", None)  # type: ignore[arg-type]
