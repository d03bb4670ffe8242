"""From OpenVINO's model to a topology: reading, transformations, conversion, shape rules.

The public names of `openvino.frontend` can be had from here as well.
"""
from __future__ import annotations

from typing import Any


def __getattr__(name: str) -> Any:
    if not name.startswith("_"):
        from clinfer.frontend.openvino_import import openvino

        found = getattr(openvino.frontend, name, None)
        if found is not None:
            return found
    raise AttributeError(f"module 'clinfer.frontend' has no attribute {name!r}")
