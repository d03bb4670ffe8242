"""Cases of prior_box. The size of the map comes at run time, as constants alone would be computed at build."""
from __future__ import annotations

from typing import Any

import numpy as np

from clinfer.ops.operation import Case

_PRIORS: dict[str, Any] = {"aspect_ratio": [2.0], "clip": False, "flip": True, "step": 16.0, "offset": 0.5,
                           "variance": [0.1, 0.1, 0.2, 0.2], "scale_all_sizes": True, "min_size": [4.0, 7.0],
                           "max_size": [9.0]}
_CLUSTERED: dict[str, Any] = {"width": [5.0, 9.0], "height": [4.0, 8.0], "clip": True, "step": 16.0,
                              "step_widths": 0.0, "step_heights": 0.0, "offset": 0.5, "variance": [0.1, 0.1, 0.2, 0.2]}


def _row(op: str, opset: int, label: str, attributes: dict[str, Any]) -> Case:
    return Case(op, f"opset{opset}", (((2,), "i64"), np.array([64, 80])), attributes, low=3, high=6,
                id=f"{op}-{opset}-{label}")


CASES = (
    _row("PriorBox", 1, "plain", _PRIORS),
    _row("PriorBox", 8, "filling", _PRIORS | {
        "min_max_aspect_ratios_order": True, "clip": True, "step": 0.0, "variance": [0.3], "flip": False}),
    _row("PriorBox", 8, "of the height", _PRIORS | {
        "min_max_aspect_ratios_order": True, "scale_all_sizes": False, "min_size": [0.1, 0.3], "max_size": [],
        "step": -1.0, "variance": []}),
    _row("PriorBox", 8, "steps of the height", _PRIORS | {
        "min_max_aspect_ratios_order": True, "scale_all_sizes": False, "min_size": [0.1], "max_size": [],
        "step": 0.2}),
    _row("PriorBox", 8, "fixed", _PRIORS | {
        "min_max_aspect_ratios_order": True, "min_size": [], "max_size": [], "fixed_size": [9.6, 20.0],
        "density": [2.0, 3.0]}),
    _row("PriorBox", 8, "fixed ratios", _PRIORS | {
        "min_max_aspect_ratios_order": True, "min_size": [], "max_size": [], "flip": False, "fixed_size": [9.6],
        "density": [2.0], "fixed_ratio": [1.0, 0.5]}),
    _row("PriorBoxClustered", 1, "plain", _CLUSTERED),
    _row("PriorBoxClustered", 1, "filling", _CLUSTERED | {"step": 0.0, "clip": False}),
    _row("PriorBoxClustered", 1, "steps", _CLUSTERED | {"step_widths": 20.0, "step_heights": 12.0, "clip": False}),
)
