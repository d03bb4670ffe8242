"""What random graphs are made of: groups of operations, and styles that say how often each group is tried."""
from __future__ import annotations

from collections.abc import Callable, Mapping

from tests.fuzz.draft import Draft
from tests.fuzz.operations import (
    bodies,
    deciding,
    detecting,
    elementwise,
    heavy,
    moving,
    rare,
    reducing,
    seldom,
    special,
    spelled,
    values,
)
from tests.fuzz.operations.table import GROUPS

__all__ = ["GROUPS", "MODULES", "NOT_DRAWN", "STYLES"]

MODULES = (bodies, deciding, detecting, elementwise, heavy, moving, rare, reducing, seldom, special, spelled,
           values)
Operation = Callable[[Draft], None]
STYLES: Mapping[str, Mapping[str, float]] = {
    "moving": {"moving": 6, "reducing": 2, "elementwise": 1, "values": 1},
    "chains": {"moving": 5, "reducing": 5},
    "convolutions": {"heavy": 4, "moving": 2, "elementwise": 2, "reducing": 0.5, "values": 0.5},
    "sequences": {"heavy": 3, "elementwise": 2, "reducing": 1, "moving": 1, "bodies": 1},
    "values": {"values": 5, "moving": 2, "reducing": 2, "elementwise": 1},
    "deciding": {"deciding": 3, "moving": 2, "values": 2, "elementwise": 1, "reducing": 1, "bodies": 1},
    "bodies": {"bodies": 3, "moving": 2, "reducing": 1, "elementwise": 1, "values": 1},
    "special": {"special": 4, "moving": 2, "elementwise": 1, "heavy": 1},
    "rare": {"rare": 4, "moving": 2, "elementwise": 1, "values": 1, "heavy": 1},
    "seldom": {"seldom": 5, "moving": 2, "elementwise": 1, "values": 1},
    "spelled": {"spelled": 5, "moving": 2, "elementwise": 1, "values": 1},
    "detecting": {"detecting": 5, "moving": 2, "elementwise": 1, "values": 1},
    "mixed": {"elementwise": 2, "moving": 2, "reducing": 2, "heavy": 2, "values": 2, "deciding": 1, "bodies": 1,
              "rare": 1},
}
NOT_DRAWN = {
    "Assign": "drawn as Remember", "ReadValue": "drawn as Remember", "Result": "every graph has it",
    "BGRtoNV12": "OpenVINO's CPU plugin refuses it", "RGBtoNV12": "OpenVINO's CPU plugin refuses it",
    "GroupedMatMul": "OpenVINO's CPU plugin refuses it",
    "StringTensorPack": "OpenVINO computes it for both", "StringTensorUnpack": "OpenVINO computes it for both",
}
"""Operations that no group has, and why."""
